#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "async/test_executor.h"
#include "json/json.h"
#include "kube/age.h"
#include "kube/memory/local_transport.h"
#include "log/format.h"
#include "reconcile/sandbox/stamp.h"
#include "reconcile/sandbox/system.h"
#include "reconcile/sandbox/test_agents.h"
#include "reconcile/test_crds.h"

namespace berth::sandbox {

using namespace std::chrono_literals;

// An API server that fails writes when it is told to, and remembers them.
class WatchedApi : public kube::Transport {
 public:
  enum class Fault : std::uint8_t { kNone, kRefused, kAnswerLost };

  WatchedApi(kube::Transport& inner, async::Executor& executor)
      : inner_(inner), executor_(executor) {}

  async::Handle Send(kube::Request request, Done done) override {
    const bool is_write = request.method != kube::Method::kGet;
    if (is_write && !request.path.contains("/leases") && !request.path.contains("/events")) {
      writes.push_back(Format("{} {}", static_cast<int>(request.method), request.path));
      const Fault what = fault ? fault(request) : Fault::kNone;
      if (what == Fault::kRefused) {
        return executor_.RunAfter(1ms, [done] {
          done(std::unexpected(kube::Error{ErrorClass::kRetry, {}, "etcd is unwell", 500}));
        });
      }
      if (what == Fault::kAnswerLost) {
        return inner_.Send(std::move(request), [done](const auto&) {
          done(std::unexpected(kube::Error{ErrorClass::kAmbiguous, {}, "the answer is lost"}));
        });
      }
    }
    return inner_.Send(std::move(request), std::move(done));
  }
  async::Handle Watch(kube::Request request, Stream stream) override {
    return inner_.Watch(std::move(request), std::move(stream));
  }

  std::function<Fault(const kube::Request&)> fault;
  std::vector<std::string> writes;

 private:
  kube::Transport& inner_;
  async::Executor& executor_;
};

// The system on an API server in memory, whose machinery runs pods on the nodes worker-1 to
// worker-3, and agents in memory.
class SandboxTest : public testing::Test {
 protected:
  static constexpr const char* kStampKey = "the key of all replicas";

  SandboxTest()
      : server_({.now = [this] { return executor_.WallNow(); },
                 .random = [this] { return executor_.Random(); },
                 .machinery = kube::memory::Server::MachineryOptions{}}) {
    InstallCrds(server_);
    Send(kube::Method::kPost, "/api/v1/namespaces", R"({"metadata":{"name":"default"}})");
    Send(kube::Method::kPost, "/api/v1/namespaces", R"({"metadata":{"name":"other"}})");
    for (const char* node : {"worker-1", "worker-2", "worker-3"})
      Send(kube::Method::kPost, "/api/v1/nodes", Format(R"({{"metadata":{{"name":"{}"}}}})", node));
    Boot();
  }

  // A replica that leads, in the place of the one before, which crashes.
  void Boot() {
    Crash();
    leadership_ = std::make_unique<runtime::Leadership>(
        executor_, transport_,
        kube::LeaderElector::Options{
            .ns = "default", .name = "berth", .identity = Format("berth-{}", ++boots_)});
    system_ =
        std::make_unique<System>(executor_, transport_, *leadership_, agents_,
                                 System::Options{.stamp_key = kStampKey, .registry = &registry_});
    leadership_->Start();
    for (int i = 0; i < 120 && !system_->leading(); ++i) Advance(1s);
    ASSERT_TRUE(system_->leading());
  }
  void Crash() {
    system_.reset();
    leadership_.reset();
  }

  // Time goes by, for the cluster's machinery too.
  void Advance(async::Duration time) {
    constexpr async::Duration kStep = 100ms;
    for (async::Duration done{}; done < time; done += kStep) {
      while (server_.RunMachinery()) executor_.RunUntilIdle();
      while (server_.CollectGarbage()) executor_.RunUntilIdle();
      executor_.Advance(std::min(kStep, time - done));
    }
  }
  bool Until(const std::function<bool()>& holds, async::Duration at_most = 60s) {
    for (async::Duration waited{}; waited < at_most; waited += 100ms) {
      if (holds()) return true;
      Advance(100ms);
    }
    return holds();
  }

  kube::Response Send(kube::Method method, const std::string& path, const std::string& body = "",
                      const std::string& type = "application/json") {
    kube::Response answer;
    server_.Handle({.method = method, .path = path, .body = body, .content_type = type},
                   [&](kube::Response response) { answer = std::move(response); });
    executor_.Advance(0s);
    return answer;
  }
  Json Get(const std::string& path) { return Json::parse(Send(kube::Method::kGet, path).body); }
  bool Exists(const std::string& path) { return Send(kube::Method::kGet, path).code == 200; }
  void Merge(const std::string& path, const std::string& patch) {
    const auto patched = Send(kube::Method::kPatch, path, patch, "application/merge-patch+json");
    ASSERT_EQ(patched.code, 200) << patched.body;
  }

  static std::string PathOf(const std::string& plural, const std::string& name = "",
                            const std::string& ns = "default") {
    return Format("/apis/sandbox.fast.io/v1alpha1/namespaces/{}/{}", ns, plural) +
           (name.empty() ? "" : "/" + name);
  }
  static std::string SandboxPath(const std::string& name = "") { return PathOf("sandboxes", name); }
  static std::string PodPath(const std::string& name = "", const std::string& ns = "default") {
    return Format("/api/v1/namespaces/{}/pods", ns) + (name.empty() ? "" : "/" + name);
  }

  void CreatePool(const std::string& name, int pods, int slots = 5, const std::string& more = "",
                  const std::string& ns = "default") {
    const auto made = Send(
        kube::Method::kPost, PathOf("sandboxpools", "", ns),
        Format(R"({{"apiVersion":"sandbox.fast.io/v1alpha1","kind":"SandboxPool",)"
               R"("metadata":{{"name":"{}"}},"spec":{{"capacity":{{"poolMin":{},"poolMax":{}{}}},)"
               R"("maxSandboxesPerPod":{},"agentTemplate":{{"spec":{{"containers":[)"
               R"({{"name":"agent","image":"agent:1"}}]}}}}}}}})",
               name, pods, pods, more, slots));
    ASSERT_EQ(made.code, 201) << made.body;
    Advance(5s);
  }
  // A Sandbox; `spec` are more members of it, `metadata` of that. Its UID.
  std::string CreateSandbox(const std::string& name, const std::string& pool = "pool",
                            const std::string& spec = "", const std::string& metadata = "",
                            const std::string& ns = "default") {
    const auto made =
        Send(kube::Method::kPost, PathOf("sandboxes", "", ns),
             Format(R"({{"apiVersion":"sandbox.fast.io/v1alpha1","kind":"Sandbox",)"
                    R"("metadata":{{"name":"{}"{}}},"spec":{{"image":"nginx","poolRef":"{}"{}}}}})",
                    name, metadata, pool, spec));
    EXPECT_EQ(made.code, 201) << made.body;
    return Json::parse(made.body)["metadata"]["uid"].as_string();
  }
  // The same as the webhook admits it: with the finalizer and a stamp.
  std::string CreateStamped(const std::string& name, const std::string& pool = "pool",
                            const std::string& spec = "") {
    return CreateSandbox(name, pool, spec,
                         Format(R"(,"finalizers":["sandbox.fast.io/cleanup"],"annotations":)"
                                R"({{"sandbox.fast.io/allocation":{}}})",
                                Json(Stamp(name, pool, spec)).to_string()));
  }
  std::string Stamp(const std::string& name, const std::string& pool = "pool",
                    const std::string& spec = "") {
    kube::JsonDocument document;
    const auto view = document.Parse(Format(R"({{"metadata":{{"namespace":"default","name":"{}"}},)"
                                            R"("spec":{{"image":"nginx","poolRef":"{}"{}}}}})",
                                            name, pool, spec));
    return system_->Stamp(*Sandbox::From(*view)).value_or("");
  }

  Sandbox Read(const std::string& name) {
    kube::JsonDocument document;
    const std::string body = Send(kube::Method::kGet, SandboxPath(name)).body;
    return *Sandbox::From(*document.Parse(body));
  }
  std::string Phase(const std::string& name) { return Read(name).status.phase_text; }
  std::string Pod(const std::string& name) { return Read(name).status.assigned_pod; }
  bool WaitFor(const std::string& name, const std::string& phase, async::Duration at_most = 60s) {
    return Until([&] { return Phase(name) == phase; }, at_most);
  }
  // "False NoCapacity" of a condition.
  std::string Condition(const std::string& name, const std::string& type = "Ready",
                        const std::string& plural = "sandboxes") {
    const Json object = Get(PathOf(plural, name));
    const Json& conditions = object["status"]["conditions"];
    if (!conditions.is_array()) return "";
    for (const Json& condition : conditions.array_range()) {
      if (condition["type"] == type)
        return Format("{} {}", condition["status"].as_string(), condition["reason"].as_string());
    }
    return "";
  }
  std::vector<std::string> Pods(const std::string& ns = "default") {
    std::vector<std::string> names;
    const Json list = Get(PodPath("", ns));
    for (const Json& pod : list["items"].array_range())
      names.push_back(pod["metadata"]["name"].as_string());
    return names;
  }
  void DeletePod(const std::string& name) {
    Send(kube::Method::kDelete, PodPath(name) + "?gracePeriodSeconds=0");
  }
  void Delete(const std::string& name) { Send(kube::Method::kDelete, SandboxPath(name)); }
  // The agent's container restarts, as its pod's status tells.
  void RestartAgent(const std::string& pod, const std::string& restarts = "1") {
    agents_.Restart(pod);
    Send(kube::Method::kPatch, PodPath(pod) + "/status",
         Format(R"({{"status":{{"containerStatuses":[{{"name":"agent","restartCount":{},)"
                R"("ready":true,"image":"agent:1","imageID":""}}]}}}})",
                restarts),
         "application/merge-patch+json");
  }
  // The reasons of all events.
  std::vector<std::string> Events() {
    std::vector<std::string> reasons;
    const Json list = Get("/apis/events.k8s.io/v1/events");
    for (const Json& event : list["items"].array_range())
      reasons.push_back(event["reason"].as_string());
    return reasons;
  }
  SlotCounts Counts(const std::string& pool = "pool") {
    return system_->slots()->registry().CountsOf("default", pool);
  }

  std::optional<TestAgents::PodFacts> PodAt(const std::string& ip) {
    kube::Response answer;
    server_.Handle({.method = kube::Method::kGet, .path = "/api/v1/pods"},
                   [&](kube::Response response) { answer = std::move(response); });
    const Json list = Json::parse(answer.body);
    for (const Json& pod : list["items"].array_range()) {
      if (!pod["status"].contains("podIP") || pod["status"]["podIP"] != ip) continue;
      std::size_t capacity = 0;
      const Json& env = pod["spec"]["containers"][0]["env"];
      for (const Json& each : env.array_range()) {
        if (each["name"] == "AGENT_CAPACITY")
          capacity = static_cast<std::size_t>(std::stoi(each["value"].as_string()));
      }
      return TestAgents::PodFacts{.uid = pod["metadata"]["uid"].as_string(),
                                  .name = pod["metadata"]["name"].as_string(),
                                  .capacity = capacity};
    }
    return std::nullopt;
  }
  bool PodExists(const std::string& uid) {
    kube::Response answer;
    server_.Handle({.method = kube::Method::kGet, .path = "/api/v1/pods"},
                   [&](kube::Response response) { answer = std::move(response); });
    const Json list = Json::parse(answer.body);
    return std::ranges::any_of(list["items"].array_range(), [&](const Json& pod) {
      return pod["metadata"]["uid"].as_string() == uid;
    });
  }

  async::TestExecutor executor_;
  kube::memory::Server server_;
  kube::memory::LocalTransport local_{executor_, server_};
  WatchedApi transport_{local_, executor_};
  TestAgents agents_{executor_, [this](const std::string& ip) { return PodAt(ip); },
                     [this](const std::string& uid) { return PodExists(uid); }};
  prometheus::Registry registry_;
  int boots_ = 0;
  std::unique_ptr<runtime::Leadership> leadership_;
  std::unique_ptr<System> system_;
};

}  // namespace berth::sandbox
