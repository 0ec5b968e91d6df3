#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "async/test_executor.h"
#include "cloud/test_account.h"
#include "json/json.h"
#include "kube/memory/local_transport.h"
#include "log/format.h"
#include "reconcile/eni/system.h"
#include "reconcile/test_crds.h"

namespace berth::eni {

using namespace std::chrono_literals;

// The test decides the fate of each call to the cloud.
class CloudScript : public cloud::simulator::Fates {
 public:
  explicit CloudScript(async::Executor& executor) : latency_(executor, 1ms, 5ms) {}

  cloud::simulator::Fate Draw(const http::Request& request) override {
    auto fate = latency_.Draw(request);
    for (const http::Header& header : request.headers) {
      if (header.name != "x-acs-action") continue;
      ++calls[header.value];
      if (on_call) on_call(header.value, fate);
    }
    return fate;
  }

  std::function<void(const std::string& action, cloud::simulator::Fate& fate)> on_call;
  std::map<std::string, int> calls;  // by action

 private:
  cloud::simulator::Latency latency_;
};

// An API server that fails or holds up writes when it is told to.
class UnreliableApi : public kube::Transport {
 public:
  UnreliableApi(kube::Transport& inner, async::Executor& executor)
      : inner_(inner), executor_(executor) {}

  async::Handle Send(kube::Request request, Done done) override {
    if (request.method == kube::Method::kPatch && refuses && refuses(request)) {
      return executor_.RunAfter(1ms, [done] {
        done(std::unexpected(kube::Error{ErrorClass::kRetry, {}, "etcd is unwell", 500}));
      });
    }
    if (request.method == kube::Method::kPatch && holds_up && holds_up(request) > 0s) {
      const auto delay = holds_up(request);
      return executor_.RunAfter(delay, [this, request = std::move(request), done] {
        late_.push_back(inner_.Send(request, done));
      });
    }
    return inner_.Send(std::move(request), std::move(done));
  }
  async::Handle Watch(kube::Request request, Stream stream) override {
    return inner_.Watch(std::move(request), std::move(stream));
  }

  std::function<bool(const kube::Request&)> refuses;
  std::function<async::Duration(const kube::Request&)> holds_up;

 private:
  std::vector<async::Handle> late_;
  kube::Transport& inner_;
  async::Executor& executor_;
};

// The system with its real client, on an API server in memory and a simulated cloud with two
// instances, i-1 and i-2, of 4 ENIs with 10 addresses each.
class EniSystemTest : public testing::Test {
 protected:
  EniSystemTest() {
    InstallCrds(server_);
    Send(kube::Method::kPost, "/api/v1/namespaces", R"({"metadata":{"name":"kube-system"}})");
    account_.cloud.vpc().CreateVSwitch(
        {.id = "vsw-1", .zone_id = "cn-hangzhou-h", .cidr = "10.64.0.0/16"});
    for (const char* id : {"i-1", "i-2"}) ecs().CreateInstance({.id = id, .vswitch_id = "vsw-1"});
    Boot();
  }

  // A replica that leads, in the place of the one before, which crashes.
  void Boot() {
    system_.reset();
    leadership_ = std::make_unique<runtime::Leadership>(
        executor_, transport_,
        kube::LeaderElector::Options{
            .ns = "default", .name = "berth", .identity = Format("berth-{}", ++boots_)});
    system_ = std::make_unique<System>(
        executor_, transport_, *leadership_,
        Backends{.ecs = account_.eni_accounts, .eflo = &account_.leni_accounts}, System::Options{});
    leadership_->Start();
    for (int i = 0; i < 120 && !system_->leading(); ++i) executor_.Advance(1s);
    ASSERT_TRUE(system_->leading());
  }

  cloud::simulator::EcsProduct& ecs() { return account_.cloud.ecs(); }

  kube::Response Send(kube::Method method, const std::string& path, const std::string& body = "",
                      const std::string& type = "application/json") {
    kube::Response answer;
    server_.Handle({.method = method, .path = path, .body = body, .content_type = type},
                   [&](kube::Response response) { answer = std::move(response); });
    executor_.Advance(0s);
    return answer;
  }

  static std::string Path(const std::string& name = "") {
    return "/apis/network.alibabacloud.com/v1beta1/nodes" + (name.empty() ? "" : "/" + name);
  }
  // A Node as Terway's daemon writes it. `pool` are members of spec.pool.
  void CreateNode(const std::string& name, const std::string& instance, const std::string& pool) {
    const auto made = Send(
        kube::Method::kPost, Path(),
        Format(R"({{"apiVersion":"network.alibabacloud.com/v1beta1","kind":"Node",)"
               R"("metadata":{{"name":"{}"}},"spec":{{"nodeMetadata":{{"regionID":"cn-hangzhou",)"
               R"("zoneID":"cn-hangzhou-h","instanceType":"ecs.g7.xlarge","instanceID":"{}"}},)"
               R"("nodeCap":{{"adapters":4,"totalAdapters":4,"ipv4PerAdapter":10}},)"
               R"("eni":{{"vSwitchOptions":["vsw-1"],"securityGroupIDs":["sg-1"],)"
               R"("vSwitchSelectPolicy":"most","enableIPv4":true}},"pool":{{{}}}}}}})",
               name, instance, pool));
    ASSERT_EQ(made.code, 201) << made.body;
    Send(kube::Method::kPost, "/api/v1/nodes", Format(R"({{"metadata":{{"name":"{}"}}}})", name));
  }
  // An operator wants the cloud to be looked at.
  void ForceSync(const std::string& name) {
    Send(kube::Method::kPatch, Path(name) + "/status",
         R"({"status":{"nextSyncOpenAPITime":"2026-01-01T00:00:00Z"}})",
         "application/merge-patch+json");
  }
  void CreatePod(const std::string& name, const std::string& node) {
    const auto made =
        Send(kube::Method::kPost, "/api/v1/namespaces/default/pods",
             Format(R"({{"metadata":{{"name":"{}"}},"spec":{{"nodeName":"{}","containers":)"
                    R"([{{"name":"a","image":"b"}}]}}}})",
                    name, node));
    ASSERT_EQ(made.code, 201) << made.body;
  }
  void DeletePod(const std::string& name) {
    Send(kube::Method::kDelete,
         "/api/v1/namespaces/default/pods/" + name + "?gracePeriodSeconds=0");
  }
  void Merge(const std::string& name, const std::string& patch) {
    const auto patched =
        Send(kube::Method::kPatch, Path(name), patch, "application/merge-patch+json");
    ASSERT_EQ(patched.code, 200) << patched.body;
  }
  void Delete(const std::string& name) { Send(kube::Method::kDelete, Path(name)); }
  bool Exists(const std::string& name) { return Send(kube::Method::kGet, Path(name)).code == 200; }
  Json Get(const std::string& name) {
    return Json::parse(Send(kube::Method::kGet, Path(name)).body);
  }
  // "True Ready", with the message after it.
  std::string Condition(const std::string& name, const std::string& type = "Ready") {
    const Json object = Get(name);
    if (!object.contains("status") || !object["status"].contains("conditions")) return "";
    for (const Json& condition : object["status"]["conditions"].array_range()) {
      if (condition["type"] == type)
        return Format("{} {} {}", condition["status"].as_string(), condition["reason"].as_string(),
                      condition["message"].as_string());
    }
    return "";
  }
  // The ENIs of a Node's status, with the status of each.
  std::map<std::string, std::string> Nics(const std::string& name) {
    std::map<std::string, std::string> nics;
    const Json object = Get(name);
    if (!object.contains("status") || !object["status"].contains("networkInterfaces")) return nics;
    for (const auto& entry : object["status"]["networkInterfaces"].object_range())
      nics.emplace(entry.key(), entry.value()["status"].as_string());
    return nics;
  }
  // The addresses that pods are bound to, by "ns/name".
  std::map<std::string, std::string> Bindings(const std::string& name) {
    std::map<std::string, std::string> bindings;
    const Json object = Get(name);
    if (!object.contains("status") || !object["status"].contains("networkInterfaces"))
      return bindings;
    for (const auto& nic : object["status"]["networkInterfaces"].object_range()) {
      if (!nic.value().contains("ipv4")) continue;
      for (const auto& ip : nic.value()["ipv4"].object_range()) {
        const std::string pod = ip.value().get_value_or<std::string>("podID", "");
        if (!pod.empty()) bindings.emplace(pod, ip.key());
      }
    }
    return bindings;
  }
  // The ENIs that the cloud has of ours, with the status of each.
  std::map<std::string, std::string> Own() {
    account_.cloud.Settle(executor_.WallNow());
    std::map<std::string, std::string> enis;
    for (const auto& [id, record] : ecs().enis()) {
      if (record.eni.tags.contains(std::string(kAttemptTag))) enis.emplace(id, record.eni.status);
    }
    return enis;
  }

  async::TestExecutor executor_;
  kube::memory::Server server_{{.now = [this] { return executor_.WallNow(); },
                                .random = [this] { return executor_.Random(); }}};
  kube::memory::LocalTransport local_{executor_, server_};
  UnreliableApi transport_{local_, executor_};
  CloudScript script_{executor_};
  cloud::TestAccount account_{
      executor_,
      script_,
      {.ecs = {.until_visible = 5s, .attaching = 4s, .detaching = 2s, .deleting = 1s}}};
  int boots_ = 0;
  std::unique_ptr<runtime::Leadership> leadership_;
  std::unique_ptr<System> system_;
};

}  // namespace berth::eni
