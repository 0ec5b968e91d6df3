#include "reconcile/ipam/work.h"

namespace berth::ipam {

Work::Work(async::Executor& executor, runtime::Leadership& leadership, kube::Transport& transport,
           Caches& caches, Space& space, Metrics* metrics, const System::Options& options)
    : registry(options.registry),
      events(executor, transport,
             {.controller = "berth.dev/ipam",
              .instance = leadership.identity(),
              .registry = options.registry}),
      pace(executor),
      context{executor,
              kube::Api(leadership.fenced()),
              events,
              caches,
              space,
              metrics,
              options.stamp_key,
              pace},
      subnet(context, [this](const Subnet& last) { Gone(last); }),
      claim(
          context,
          [this](const Subnet& made) {
            const Subnet* known = context.caches.subnets.Get(made.id.Key());
            if (!known || known->id.uid != made.id.uid) {
              subnets.AddAfter(made.id.Key(), subnet.Made(made));
            }
            context.space.PutSubnet(made);
          },
          [this](const std::string& resting, const std::string& for_claim) {
            const bool news = subnet.EndRest(resting, for_claim);
            if (news) subnets.Add(resting);
            return news;
          },
          [this](const std::string& key) { return subnet.UnseenAt(key); }),
      pool(context),
      pool_claim(context, claim),
      subnets(executor, Named("Subnet"),
              [this](std::string key) { return subnet.Reconcile(std::move(key)); }),
      claims(executor, Named("CIDRAllocator"),
             [this](std::string key) { return claim.Reconcile(std::move(key)); }),
      pools(executor, Named("PoolStatus"),
            [this](std::string key) { return pool.Reconcile(std::move(key)); }),
      pool_claims(executor, Named("SubnetPoolClaim"),
                  [this](std::string key) { return pool_claim.Reconcile(std::move(key)); }) {}

void Work::Gone(const Subnet& last) {
  const std::string key = last.id.Key();
  context.space.RemoveSubnet(last, claim.MayReturn(last) || claim.IsTold(last));
  const auto wanted = subnet.TakeWanted(key);
  const Claim* waiting = wanted ? context.caches.claims.Get(*wanted) : nullptr;
  if (waiting) claim.TakeNow(*waiting);
  if (!last.claim_name.empty()) claims.Add(KeyBeside(key, last.claim_name));
}

void Work::Resync() {
  const auto all = [](auto& informer, runtime::Controller& controller) {
    informer.ForEach([&](const std::string& key, const auto&) { controller.AddResync(key); });
  };
  all(context.caches.claims, claims);
  all(context.caches.subnets, subnets);
  all(context.caches.pools, pools);
  all(context.caches.pool_claims, pool_claims);
}

}  // namespace berth::ipam
