#include "systems/difftracker.h"

#include <utility>

#include "handlers/admission/difftracker.h"
#include "handlers/apis/locations.h"
#include "handlers/apis/trackedservices.h"
#include "log/format.h"
#include "reconcile/difftracker/admission.h"
#include "reconcile/difftracker/system.h"
#include "reconcile/runtime/preflight.h"

namespace berth::systems {
namespace {

constexpr std::string_view kExample = "difftracker.yaml";

class DiffTracker : public System {
 public:
  DiffTracker(async::Executor& control, const AzureOptions& options)
      : options_(options), services_(control), locations_(control) {}

  std::string_view name() const override { return "difftracker"; }
  std::vector<Kind> kinds() const override {
    return {{difftracker::kServices, Rights::kPatchStatus},
            {difftracker::kPods, Rights::kPatch},
            {difftracker::kSlices, Rights::kRead},
            {difftracker::kNodes, Rights::kRead},
            {difftracker::kNamespaces, Rights::kRead, "kube-system"}};
  }
  std::string_view cloud() const override { return "azure"; }
  bool enabled() const override { return options_.service_gateway; }
  std::string demo_commands(const std::filesystem::path& dir) const override;
  std::vector<DemoFile> demo_files() const override { return {{kExample, Example(kExample)}}; }
  async::Task<kube::Result<Findings>> Preflight(const Survey* survey) override;

  void Register(admission::Webhooks& webhooks, apis::ApiServer& api) override {
    admission::RegisterDiffTracker(webhooks, enabled());
    api.Add(services_.store());
    api.Add(locations_.store());
  }
  void Start(const Host& host) override {
    engine_ = std::make_unique<difftracker::System>(
        host.executor, host.transport, host.leadership, *host.service_gateway,
        difftracker::System::Options{.registry = &host.registry});
  }
  void Publish() override {
    services_.Publish(engine_->tracker());
    locations_.Publish(engine_->tracker());
  }
  std::vector<const runtime::Controller*> controllers() const override {
    return engine_->controllers();
  }
  std::size_t remembered() const override { return engine_->Remembered(); }
  void Stop() override {
    services_.Publish(nullptr);
    locations_.Publish(nullptr);
    engine_.reset();
  }

 private:
  const AzureOptions options_;
  apis::TrackedServices services_;
  apis::Locations locations_;
  std::unique_ptr<difftracker::System> engine_;  // of the control thread
};

std::string DiffTracker::demo_commands(const std::filesystem::path& dir) const {
  return Format(
      R"(  kubectl apply -f {}    # two Services, and six pods, two of them of an egress
  kubectl wait svc/web svc/dns --for=condition=berth.dev/Provisioned --timeout=120s
  kubectl get svc                            # addresses of a simulated Azure
  kubectl get tsvc                           # load balancers and NAT gateways; -w to follow them
  kubectl get locations                      # addresses behind each node
  kubectl delete pod -l kubernetes.azure.com/service-egress-gateway=egress-a --wait=false   # the NAT gateway goes with its last pod
)",
      (dir / kExample).string());
}

async::Task<kube::Result<Findings>> DiffTracker::Preflight(const Survey* survey) {
  Findings findings;
  if (!survey->IsTrue({"difftracker", "enabled"})) co_return findings;
  const auto services =
      co_await runtime::ReadAll<difftracker::Service>(survey->api, difftracker::kServices);
  if (!services) co_return std::unexpected(services.error());
  for (const difftracker::Service& service : *services) {
    const std::string object = Format("Service {}", service.id.Key());
    for (const difftracker::Refusal& refusal : difftracker::RefusalsOf(service)) {
      findings.push_back(
          {object,
           Format("{} is {}: {} ({})", refusal.field, refusal.value, refusal.why, refusal.reason),
           "change it, or give the Service a loadBalancerClass of another provider"});
    }
    if (service.IsOurs() && service.load_balancer_class.empty() && service.HasLegacyFinalizer() &&
        !service.id.finalizer) {
      findings.push_back(
          {object, "cloud-provider-azure has a load balancer for it, and Berth makes another one",
           "its address changes: see \"Switch from cloud-provider-azure\" in docs/difftracker.md"});
    }
  }
  co_return findings;
}

}  // namespace

std::unique_ptr<System> MakeDiffTracker(async::Executor& control, const AzureOptions& options) {
  return std::make_unique<DiffTracker>(control, options);
}

}  // namespace berth::systems
