#include "systems/ipam.h"

#include "handlers/admission/ipam.h"
#include "handlers/apis/live_collection.h"
#include "handlers/apis/poolrecalculations.h"
#include "handlers/apis/poolusages.h"
#include "reconcile/ipam/desk.h"
#include "reconcile/ipam/preflight.h"
#include "reconcile/ipam/system.h"

namespace berth::systems {
namespace {

class Ipam : public EngineSystem<ipam::System, ipam::Desk> {
 public:
  using EngineSystem::EngineSystem;

  std::string_view name() const override { return "ipam"; }
  std::vector<Kind> kinds() const override {
    return {{ipam::kPools, Rights::kCreate},
            {ipam::kSubnets, Rights::kCreate},
            {ipam::kClaims, Rights::kCreate},
            {ipam::kPoolClaims}};
  }
  std::string demo_commands(const std::filesystem::path& dir) const override;
  async::Task<kube::Result<Findings>> Preflight(const Survey* survey) override;

  void Register(admission::Webhooks& webhooks, apis::ApiServer& api) override {
    admission::RegisterIpam(webhooks, desk_);
    api.Add(usages_);
    api.Add(recalculation_);
  }
  void Start(const Host& host) override {
    Open(std::make_unique<ipam::System>(
        host.executor, host.transport, host.leadership,
        ipam::System::Options{.stamp_key = host.derive_key("berth allocation stamps"),
                              .registry = &host.registry}));
  }
  void Publish() override {
    for (const std::string& pool : engine_->TakeDirty())
      apis::PublishPoolUsage(usages_, pool, engine_->space());
  }

 private:
  apis::LiveCollection usages_{apis::PoolUsageType()};
  apis::PoolRecalculation recalculation_{desk_};
};

std::string Ipam::demo_commands(const std::filesystem::path&) const {
  return R"(  echo '{"apiVersion": "plexaubnet.io/v1alpha1", "kind": "SubnetPool", "metadata": {"name": "office"}, "spec": {"cidr": "10.20.0.0/16"}}' | kubectl apply -f -
  echo '{"apiVersion": "plexaubnet.io/v1alpha1", "kind": "SubnetClaim", "metadata": {"name": "shop"}, "spec": {"poolRef": "office", "clusterID": "shop", "blockSize": 24}}' | kubectl apply -f -
  echo '{"apiVersion": "plexaubnet.io/v1alpha1", "kind": "SubnetPoolClaim", "metadata": {"name": "branch"}, "spec": {"parentPoolRef": "office", "desiredBlockSize": 20}}' | kubectl apply -f -
  kubectl wait subnetclaim/shop subnetpoolclaim/branch --for=condition=Ready --timeout=60s
  kubectl get subnetpools,subnetclaims,subnets,subnetpoolclaims
  kubectl get poolusages -o wide             # addresses used, free and delegated
  kubectl describe subnetclaim shop          # its fields, conditions and events
  kubectl patch subnetpool office --type=merge -p '{"spec":{"cidr":"10.20.0.0/24"}}'   # refused: blocks are in use
  kubectl explain subnetpools.spec
)";
}

async::Task<kube::Result<Findings>> Ipam::Preflight(const Survey* survey) {
  const auto inventory = co_await ipam::ReadInventory(survey->api);
  if (!inventory) co_return std::unexpected(inventory.error());
  co_return ipam::Foresee(survey->executor, *inventory, survey->UncheckedNamespaces());
}

}  // namespace

std::unique_ptr<System> MakeIpam(async::Executor& control) {
  return std::make_unique<Ipam>(control);
}

}  // namespace berth::systems
