#include "systems/sandbox.h"

#include <chrono>
#include <utility>

#include "async/task.h"
#include "handlers/admission/sandbox.h"
#include "handlers/apis/agents.h"
#include "handlers/apis/reservations.h"
#include "handlers/apis/sandboxrequests.h"
#include "kube/json_view.h"
#include "log/format.h"
#include "reconcile/runtime/preflight.h"
#include "reconcile/sandbox/desk.h"
#include "reconcile/sandbox/objects.h"
#include "reconcile/sandbox/system.h"

namespace berth::systems {
namespace {

using namespace std::chrono_literals;

constexpr std::string_view kExample = "sandbox.yaml";
constexpr std::string_view kRequest = "sandboxrequest.yaml";
constexpr auto kAskAgain = 5s;
constexpr kube::Resource kSelfReviews{"authentication.k8s.io", "v1", "selfsubjectreviews",
                                      "SelfSubjectReview", false};

// The user name that the API server knows us by; none when it does not tell.
async::Task<std::optional<std::string>> AskForName(kube::Api api) {
  const auto answer = co_await api.Create(
      kSelfReviews, "", R"({"apiVersion":"authentication.k8s.io/v1","kind":"SelfSubjectReview"})");
  if (!answer) co_return std::nullopt;
  kube::JsonDocument document;
  const auto review = document.Parse(*answer);
  if (!review) co_return std::nullopt;
  const auto name = (*review)["status"]["userInfo"]["username"].String();
  if (!name) co_return std::nullopt;
  co_return std::string(*name);
}

class Sandbox : public EngineSystem<sandbox::System, sandbox::Desk> {
 public:
  Sandbox(async::Executor& control, const SandboxOptions& options)
      : EngineSystem(control, admission::kStampWithin),
        options_(options),
        agents_(control),
        requests_(control) {}

  std::string_view name() const override { return "sandbox"; }
  std::vector<Kind> kinds() const override {
    return {{sandbox::kSandboxes, Rights::kCreate},
            {sandbox::kPools},
            {sandbox::kPods, Rights::kReplace}};
  }
  std::string_view cloud() const override { return "fast-sandbox"; }  // its agents
  bool enabled() const override { return options_.enabled; }
  std::string demo_commands(const std::filesystem::path& dir) const override;
  std::vector<DemoFile> demo_files() const override {
    return {{kExample, Example(kExample)}, {kRequest, Example(kRequest)}};
  }
  async::Task<kube::Result<Findings>> Preflight(const Survey* survey) override;

  void Register(admission::Webhooks& webhooks, apis::ApiServer& api) override {
    admission::RegisterSandbox(webhooks, desk_, account_, enabled());
    api.Add(agents_.store());
    api.Add(reservations_.store());
    api.Add(requests_);
  }
  void Start(const Host& host) override {
    Open(std::make_unique<sandbox::System>(
        host.executor, host.transport, host.leadership, *host.sandbox_agents,
        sandbox::System::Options{.stamp_key = host.derive_key("sandbox allocation"),
                                 .registry = &host.registry}));
    requests_.Open(*engine_, host.transport, &host.registry);
    executor_ = &host.executor;
    FindName(kube::Api(host.transport));
  }
  void Publish() override {
    agents_.Publish(engine_->slots());
    reservations_.Publish(engine_->slots());
  }
  void Stop() override {
    agents_.Publish(nullptr);
    reservations_.Publish(nullptr);
    requests_.Close();
    asking_ = {};
    ask_again_ = {};
    EngineSystem::Stop();
  }

 private:
  void FindName(kube::Api api) { asking_ = async::Start(KeepName(api)); }
  async::Task<void> KeepName(kube::Api api) {
    if (auto name = co_await AskForName(api)) {
      account_.Set(std::move(*name));
      co_return;
    }
    ask_again_ = executor_->RunAfter(kAskAgain, [this, api] { FindName(api); });
  }

  const SandboxOptions options_;
  admission::OwnAccount account_;
  apis::Agents agents_;
  apis::Reservations reservations_;
  apis::SandboxRequests requests_;
  async::Executor* executor_ = nullptr;
  async::Running asking_;
  async::Handle ask_again_;
};

std::string Sandbox::demo_commands(const std::filesystem::path& dir) const {
  return Format(
      R"(  kubectl apply -f {}    # a pool of two agents with five slots each, and four sandboxes
  kubectl wait sbx/shell sbx/web sbx/api sbx/batch --for=condition=Ready --timeout=60s
  kubectl get sbx                            # Pending, Bound, Running; -w to follow them
  kubectl get sbxpool                        # agents, and the slots that are free
  kubectl get agents                         # slots that are bound, reserved, draining; reservations likewise
  kubectl create -f {} -o yaml    # answers once the sandbox runs; sent again, it gets the same one
  kubectl annotate sbx shell --overwrite sandbox.fast.io/allocation='{{"assignedPod":"mine"}}'   # forged: Berth removes it
)",
      (dir / kExample).string(), (dir / kRequest).string());
}

async::Task<kube::Result<Findings>> Sandbox::Preflight(const Survey* survey) {
  Findings findings;
  if (!survey->IsTrue({"sandbox", "enabled"})) co_return findings;  // fast-sandbox looks after them
  const auto sandboxes =
      co_await runtime::ReadAll<sandbox::Sandbox>(survey->api, sandbox::kSandboxes);
  if (!sandboxes) co_return std::unexpected(sandboxes.error());
  for (const sandbox::Sandbox& object : *sandboxes) {
    const std::string name = Format("Sandbox {}", object.id.Key());
    if (!object.status.assigned_pod.empty() && object.status.assigned_pod_uid.empty()) {
      findings.push_back(
          {name,
           Format("fast-sandbox runs it on {}, and Berth does not know the UID of "
                  "that pod: the sandbox is Lost and its container deleted",
                  object.status.assigned_pod),
           "set spec.resetRevision after the switch, which starts it anew; see \"Switch from "
           "fast-sandbox\" in docs/sandbox.md"});
    }
    for (const sandbox::Env& env : object.spec.envs) {
      if (!env.has_value_from) continue;
      findings.push_back({name,
                          Format("its variable {} has a valueFrom, which is refused", env.name),
                          "write it as value"});
    }
  }
  co_return findings;
}

}  // namespace

std::unique_ptr<System> MakeSandbox(async::Executor& control, const SandboxOptions& options) {
  return std::make_unique<Sandbox>(control, options);
}

}  // namespace berth::systems
