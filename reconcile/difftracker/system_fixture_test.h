#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "async/test_executor.h"
#include "json/json.h"
#include "kube/memory/local_transport.h"
#include "log/format.h"
#include "reconcile/difftracker/system.h"
#include "reconcile/difftracker/test_gateway.h"

namespace berth::difftracker {

using namespace std::chrono_literals;

// An API server that fails writes when it is told to.
class UnreliableApi : public kube::Transport {
 public:
  UnreliableApi(kube::Transport& inner, async::Executor& executor)
      : inner_(inner), executor_(executor) {}

  async::Handle Send(kube::Request request, Done done) override {
    if (request.method == kube::Method::kPatch) ++patches;
    if (request.method == kube::Method::kPatch && refuses && refuses(request)) {
      return executor_.RunAfter(1ms, [done] {
        done(std::unexpected(kube::Error{ErrorClass::kRetry, {}, "etcd is unwell", 500}));
      });
    }
    return inner_.Send(std::move(request), std::move(done));
  }
  async::Handle Watch(kube::Request request, Stream stream) override {
    return inner_.Watch(std::move(request), std::move(stream));
  }

  std::function<bool(const kube::Request&)> refuses;
  int patches = 0;

 private:
  kube::Transport& inner_;
  async::Executor& executor_;
};

// The system on an API server in memory, whose machinery runs pods on the nodes worker-1 to
// worker-3 and fills EndpointSlices, and a service gateway in memory.
class DiffTrackerTest : public testing::Test {
 protected:
  explicit DiffTrackerTest(bool dual_stack = false)
      : server_({.now = [this] { return executor_.WallNow(); },
                 .random = [this] { return executor_.Random(); },
                 .machinery = kube::memory::Server::MachineryOptions{.dual_stack = dual_stack}}) {
    Send(kube::Method::kPost, "/api/v1/namespaces", R"({"metadata":{"name":"kube-system"}})");
    Send(kube::Method::kPost, "/api/v1/namespaces", R"({"metadata":{"name":"default"}})");
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
    system_ = std::make_unique<System>(executor_, transport_, *leadership_, *used_gateway_,
                                       System::Options{.registry = &registry_});
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

  kube::Response Send(kube::Method method, const std::string& path, const std::string& body = "",
                      const std::string& type = "application/json") {
    kube::Response answer;
    server_.Handle({.method = method, .path = path, .body = body, .content_type = type},
                   [&](kube::Response response) { answer = std::move(response); });
    executor_.Advance(0s);
    return answer;
  }

  static std::string ServicePath(const std::string& name = "") {
    return "/api/v1/namespaces/default/services" + (name.empty() ? "" : "/" + name);
  }
  static std::string PodPath(const std::string& name = "") {
    return "/api/v1/namespaces/default/pods" + (name.empty() ? "" : "/" + name);
  }
  // A Service of type LoadBalancer that selects pods by app=name. `spec` are more members of it.
  std::string CreateService(const std::string& name, const std::string& spec = "",
                            const std::string& metadata = "",
                            const std::string& ports = R"({"port":80,"targetPort":8080})") {
    const auto made =
        Send(kube::Method::kPost, ServicePath(),
             Format(R"({{"metadata":{{"name":"{}"{}}},"spec":{{"type":"LoadBalancer",)"
                    R"("selector":{{"app":"{}"}},"ports":[{}]{}}}}})",
                    name, metadata, name, ports, spec));
    EXPECT_EQ(made.code, 201) << made.body;
    return Json::parse(made.body)["metadata"]["uid"].as_string();
  }
  void CreatePod(const std::string& name, const std::string& labels,
                 const std::string& metadata = "") {
    const auto made = Send(kube::Method::kPost, PodPath(),
                           Format(R"({{"metadata":{{"name":"{}","labels":{{{}}}{}}},"spec":{{)"
                                  R"("containers":[{{"name":"a","image":"b"}}]}}}})",
                                  name, labels, metadata));
    ASSERT_EQ(made.code, 201) << made.body;
  }
  void CreateEgressPod(const std::string& name, const std::string& egress) {
    CreatePod(name, Format(R"("kubernetes.azure.com/service-egress-gateway":"{}")", egress));
  }
  void DeletePod(const std::string& name) {
    Send(kube::Method::kDelete, PodPath(name) + "?gracePeriodSeconds=0");
  }
  void DeleteService(const std::string& name) { Send(kube::Method::kDelete, ServicePath(name)); }
  void Merge(const std::string& path, const std::string& patch) {
    const auto patched = Send(kube::Method::kPatch, path, patch, "application/merge-patch+json");
    ASSERT_EQ(patched.code, 200) << patched.body;
  }
  bool Exists(const std::string& path) { return Send(kube::Method::kGet, path).code == 200; }
  Json Get(const std::string& path) { return Json::parse(Send(kube::Method::kGet, path).body); }
  Json GetService(const std::string& name) { return Get(ServicePath(name)); }

  // The address in status.loadBalancer.ingress; empty for none.
  std::string Ingress(const std::string& name) {
    const Json service = GetService(name);
    const Json& ingress = service["status"]["loadBalancer"]["ingress"];
    return ingress.is_array() && ingress.size() == 1 ? ingress[0]["ip"].as_string() : "";
  }
  // "True Provisioned", with the message after it.
  std::string Condition(const std::string& name) {
    const Json service = GetService(name);
    const Json& conditions = service["status"]["conditions"];
    if (!conditions.is_array()) return "";
    for (const Json& condition : conditions.array_range()) {
      if (condition["type"] == "berth.dev/Provisioned")
        return Format("{} {} {}", condition["status"].as_string(), condition["reason"].as_string(),
                      condition["message"].as_string());
    }
    return "";
  }
  std::vector<std::string> Finalizers(const std::string& path) {
    const Json object = Get(path);
    const Json& list = object["metadata"]["finalizers"];
    return list.is_array() ? list.as<std::vector<std::string>>() : std::vector<std::string>();
  }
  // The reasons of all events.
  std::vector<std::string> Events() {
    std::vector<std::string> reasons;
    const Json list = Get("/apis/events.k8s.io/v1/events");
    for (const Json& event : list["items"].array_range())
      reasons.push_back(event["reason"].as_string());
    return reasons;
  }
  // The service in the gateway as the engine sees it.
  std::optional<ServiceView> View(const std::string& service) {
    return system_->tracker()->engine().Find(service);
  }
  // The same; an empty view of one that is not tracked.
  ServiceView SeenOf(const std::string& service) { return View(service).value_or(ServiceView()); }

  async::TestExecutor executor_;
  kube::memory::Server server_;
  kube::memory::LocalTransport local_{executor_, server_};
  UnreliableApi transport_{local_, executor_};
  TestGateway gateway_{executor_};
  cloud::ServiceGateway* used_gateway_ = &gateway_;
  prometheus::Registry registry_;
  int boots_ = 0;
  std::unique_ptr<runtime::Leadership> leadership_;
  std::unique_ptr<System> system_;
};

}  // namespace berth::difftracker
