#include "systems/eni.h"

#include <algorithm>
#include <map>

#include "handlers/apis/enitasks.h"
#include "log/format.h"
#include "reconcile/eni/system.h"
#include "reconcile/runtime/preflight.h"

namespace berth::systems {
namespace {

constexpr std::string_view kExample = "eni.yaml";
constexpr int kDemoInstances = 3;

class Eni : public System {
 public:
  Eni(async::Executor& control, const AliyunOptions& options)
      : options_(options), tasks_(control) {}

  std::string_view name() const override { return "eni"; }
  std::vector<Kind> kinds() const override {
    return {{eni::kNodes},
            {eni::kNodeRuntimes, Rights::kRead},
            {eni::kPods, Rights::kRead},
            {eni::kCoreNodes, Rights::kReadStatus},
            {eni::kNamespaces, Rights::kRead, "kube-system"}};
  }
  std::string_view cloud() const override { return "aliyun"; }
  bool enabled() const override { return options_.eni && !options_.region.empty(); }
  std::string demo_commands(const std::filesystem::path& dir) const override;
  std::vector<DemoFile> demo_files() const override { return {{kExample, Example(kExample)}}; }
  void FillDemo(const DemoClouds& clouds) const override;
  async::Task<kube::Result<Findings>> Preflight(const Survey* survey) override;

  void Register(admission::Webhooks&, apis::ApiServer& api) override { api.Add(tasks_.store()); }
  void Start(const Host& host) override {
    engine_ = std::make_unique<eni::System>(host.executor, host.transport, host.leadership,
                                            eni::Backends{.ecs = *host.ecs, .eflo = host.eflo},
                                            eni::System::Options{.registry = &host.registry});
  }
  void Publish() override { tasks_.Publish(engine_->tasks()); }
  std::vector<const runtime::Controller*> controllers() const override {
    return engine_->controllers();
  }
  std::size_t remembered() const override { return engine_->Remembered(); }
  void Stop() override {
    tasks_.Publish(nullptr);
    engine_.reset();
  }

 private:
  const AliyunOptions options_;
  apis::EniTasks tasks_;
  std::unique_ptr<eni::System> engine_;  // of the control thread
};

std::string Eni::demo_commands(const std::filesystem::path& dir) const {
  return Format(
      R"(  kubectl apply -f {}    # three nodes with four ENIs each at most, and twelve pods
  kubectl wait eninode/worker-1 eninode/worker-2 eninode/worker-3 --for=condition=Ready --timeout=120s
  kubectl get eninodes                       # ENIs and addresses of a simulated cloud
  kubectl wait pod/shop-1 --for=condition=Ready --timeout=60s    # it runs with an address of an ENI
  kubectl get enitasks -o wide               # attaches, detaches and deletions; -w to follow them
  kubectl delete eninode worker-3            # its ENIs are detached and deleted first
)",
      (dir / kExample).string());
}

// The vSwitch and the instances that the example names.
void Eni::FillDemo(const DemoClouds& clouds) const {
  if (!clouds.aliyun) return;
  clouds.aliyun->vpc().CreateVSwitch(
      {.id = "vsw-demo", .zone_id = Format("{}-h", options_.region), .cidr = "10.64.0.0/16"});
  for (int i = 1; i <= kDemoInstances; ++i) {
    clouds.aliyun->ecs().CreateInstance({.id = Format("i-demo-{}", i), .vswitch_id = "vsw-demo"});
  }
}

async::Task<kube::Result<Findings>> Eni::Preflight(const Survey* survey) {
  auto nodes = co_await runtime::ReadAll<eni::Node>(survey->api, eni::kNodes);
  if (!nodes) co_return std::unexpected(nodes.error());
  Findings findings;
  if (!survey->IsTrue({"eni", "enabled"})) co_return findings;  // Terway looks after them
  const std::string region = survey->Text({"aliyun", "region"}, "");
  std::map<std::string, std::string> owners;  // by instance
  std::ranges::sort(*nodes, {},
                    [](const eni::Node& node) { return std::pair(node.id.created, node.id.name); });
  for (const eni::Node& node : *nodes) {
    if (!node.IsOurs()) continue;
    const std::string object = Format("Node {}", node.id.name);
    const auto [owner, is_first] = owners.emplace(node.spec.instance, node.id.name);
    if (!is_first) {
      findings.push_back({object,
                          Format("has the instance {} of Node {}, which is older",
                                 node.spec.instance, owner->second),
                          "delete one of them: Berth looks after the older one"});
    }
    if (node.spec.region != region) {
      findings.push_back({object,
                          Format("is in region {}, and aliyun.region of the chart is \"{}\"",
                                 node.spec.region, region),
                          "install with the region of the nodes"});
    }
    if (node.unsupported) {
      findings.push_back({object, "asks for hdeni, which Berth does not look after",
                          "leave it to Terway's controller"});
    }
  }
  co_return findings;
}

}  // namespace

std::unique_ptr<System> MakeEni(async::Executor& control, const AliyunOptions& options) {
  return std::make_unique<Eni>(control, options);
}

}  // namespace berth::systems
