// The end of a pool claim: its child pools go first, then its block, then the finalizer.
#include <algorithm>

#include "kube/object.h"
#include "log/format.h"
#include "reconcile/ipam/pool_claim_reconciler.h"

namespace berth::ipam {
namespace {

constexpr std::string_view kOrphanFinalizer = "orphan";  // of Kubernetes

}  // namespace

async::Task<Outcome> PoolClaimReconciler::End(PoolClaim claim) {
  if (!claim.id.finalizer) co_return runtime::Requeue{};
  // `kubectl delete --cascade=orphan`: the garbage collector takes the owner reference off the
  // child pool, which stays.
  if (std::ranges::contains(claim.id.other_finalizers, kOrphanFinalizer)) {
    co_return co_await TellEnding(std::move(claim),
                                  "waits until the garbage collector has released its SubnetPool",
                                  kLookAgain);
  }
  // A create without an answer must not be carried out after its object was looked for.
  if (const auto left = OpenFor(claim); left > left.zero()) co_return runtime::Requeue{left};
  if (const auto* refusal = refusals_.Waiting(claim.id, context_.executor.Now())) {
    const auto left = refusal->until - context_.executor.Now();
    co_return co_await TellEnding(std::move(claim), refusal->message, left);
  }
  if (claim.allow_delete) {
    if (auto allowed = co_await AllowDelete(claim); !allowed) {
      co_return co_await Refused(std::move(claim), allowed.error());
    }
  }
  const auto no_child = co_await ChildrenGone(claim);
  if (!no_child) co_return co_await Refused(std::move(claim), no_child.error());
  if (!*no_child) {
    std::string message = Format("SubnetPool {} has to go first", ChildNameOf(claim));
    co_return co_await TellEnding(std::move(claim), std::move(message), kLookAgain);
  }
  const auto no_block = co_await BlocksGone(claim);
  if (!no_block) co_return co_await Refused(std::move(claim), no_block.error());
  if (!*no_block) {
    const Claim* block = BlockClaimOf(claim);
    std::string message =
        Format("SubnetClaim {} has to go first", block ? block->id.name : ChildClaimName(claim.id));
    co_return co_await TellEnding(std::move(claim), std::move(message), kLookAgain);
  }
  const std::string uid = claim.id.uid;
  if (auto removed = co_await SetFinalizer(&claim, false); !removed) {
    co_return co_await Refused(std::move(claim), removed.error());
  }
  settled_.erase(uid);
  co_return runtime::Requeue{};
}

async::Task<Outcome> PoolClaimReconciler::TellEnding(PoolClaim claim, std::string message,
                                                     async::Duration again) {
  std::string phase = claim.phase.empty() ? "Pending" : claim.phase;
  co_return co_await Tell(
      std::move(claim),
      {.phase = std::move(phase), .reason = "Deleting", .message = std::move(message)}, again);
}

// The names of the pools that go with the claim. The cache may be behind: those that Berth gives
// are among them in any case.
std::set<std::string> PoolClaimReconciler::ChildNames(const PoolClaim& claim) const {
  std::set<std::string> names = {ChildPoolName(claim.id)};
  if (!claim.bound_pool.empty()) names.insert(claim.bound_pool);
  context_.caches.pools.ForEachIn(context_.caches.pools_by_owner, claim.id.uid,
                                  [&](const std::string&, const Pool& pool) {
                                    if (IsFor(pool, claim)) names.insert(pool.id.name);
                                  });
  return names;
}

async::Task<kube::Result<bool>> PoolClaimReconciler::ChildrenGone(PoolClaim claim) {
  const std::set<std::string> names = ChildNames(claim);
  bool gone = true;
  for (const std::string& name : names) {
    const auto one = co_await Gone(&kPools, claim, name);
    if (!one) co_return one;
    gone = gone && *one;
  }
  co_return gone;
}

async::Task<kube::Result<bool>> PoolClaimReconciler::BlocksGone(PoolClaim claim) {
  std::set<std::string> names = {ChildClaimName(claim.id)};
  context_.caches.claims.ForEachIn(context_.caches.claims_by_owner, claim.id.uid,
                                   [&](const std::string&, const Claim& block) {
                                     if (IsBlockClaim(block, claim)) names.insert(block.id.name);
                                   });
  if (const Claim* stray = StrayBlockClaimOf(claim)) names.insert(stray->id.name);
  bool gone = true;
  for (const std::string& name : names) {
    const auto one = co_await Gone(&kClaims, claim, name);
    if (!one) co_return one;
    gone = gone && *one;
  }
  co_return gone;
}

// Asks for the end of what was made for the claim; true once the API server has it no more, or has
// somebody else's object of that name.
async::Task<kube::Result<bool>> PoolClaimReconciler::Gone(const kube::Resource* resource,
                                                          PoolClaim claim, std::string name) {
  const auto read = co_await context_.api.Get(*resource, claim.id.ns, name);
  if (!read) {
    if (IsGone(read.error())) co_return true;
    co_return std::unexpected(read.error());
  }
  kube::JsonDocument document;
  const auto object = document.Parse(*read);
  if (!object) co_return std::unexpected(object.error());
  const auto made_for = [&] {
    if (resource == &kPools) return IsOwned(Pool::From(*object).value_or(Pool()), claim);
    const Claim block = Claim::From(*object).value_or(Claim());
    // Nobody else would give its block back. A child pool that was released stays without it.
    return IsOwned(block, claim) || HasLostOwner(block, claim);
  };
  if (!made_for()) co_return true;
  const Identity id = Identity::From(*object, kFinalizer);
  if (id.deleting != 0) co_return false;
  const auto deleted = co_await context_.api.Delete(
      *resource, id.ns, id.name, {.uid = id.uid, .resource_version = {}, .call = {}});
  if (!deleted && !IsGone(deleted.error())) {
    co_return std::unexpected(Explained(deleted.error(), resource->kind, name, "deleted"));
  }
  co_return false;
}

// The escape holds for the child pools, too.
async::Task<Step> PoolClaimReconciler::AllowDelete(PoolClaim claim) {
  const std::set<std::string> names = ChildNames(claim);
  for (const std::string& name : names) {
    const Pool* child = context_.caches.pools.Get(KeyBeside(claim.id.ns + "/", name));
    if (!child || child->allow_delete || !IsOwned(*child, claim)) continue;
    Json patch = PatchOf(child->id);
    patch["metadata"]["annotations"] = Json::Object();
    patch["metadata"]["annotations"][kAllowDeleteAnnotation] = "true";
    const auto written = co_await context_.api.Patch(kPools, claim.id.ns, name,
                                                     kube::PatchType::kMerge, patch.to_string());
    if (!written && !IsGone(written.error())) {
      const auto refused = Format("annotated with {}", kAllowDeleteAnnotation);
      co_return std::unexpected(Explained(written.error(), kPools.kind, name, refused));
    }
  }
  co_return Step();
}

}  // namespace berth::ipam
