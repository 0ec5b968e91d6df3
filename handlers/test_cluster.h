#pragma once

#include <prometheus/registry.h>

#include <memory>
#include <string>
#include <utility>

#include "async/test_executor.h"
#include "handlers/admission/ipam.h"
#include "handlers/memory/webhook_calls.h"
#include "json/json.h"
#include "kube/memory/local_transport.h"
#include "reconcile/ipam/desk.h"
#include "reconcile/test_crds.h"

namespace berth {

// For tests only: an API server in memory with the IPAM's kinds, webhooks and reconcilers, all on
// one executor whose time the test moves.
class TestCluster {
 public:
  static constexpr const char* kGroup = "/apis/plexaubnet.io/v1alpha1/namespaces/default/";

  // Leads and knows all there is.
  TestCluster() {
    InstallCrds(server);
    admission::RegisterIpam(webhooks, desk);
    memory::InstallWebhooks(server, webhooks, executor);
    system = std::make_unique<ipam::System>(executor, transport, leadership,
                                            ipam::System::Options{.stamp_key = "key"});
    desk.Open(system.get());
    leadership.Start();
    for (int i = 0; i < 60 && !system->leading(); ++i) executor.Advance(std::chrono::seconds(1));
  }

  // The answer, once all that follows without a wait has happened.
  kube::Response Send(kube::Method method, const std::string& path, const std::string& body = "",
                      const std::string& type = "application/json") {
    kube::Response answer;
    server.Handle({.method = method, .path = path, .body = body, .content_type = type},
                  [&](kube::Response response) { answer = std::move(response); });
    executor.RunUntilIdle();
    return answer;
  }

  // "subnetpools", "office", the spec as JSON; `metadata` goes beside the name, with a comma.
  kube::Response Create(const std::string& plural, const std::string& name, const std::string& spec,
                        const std::string& metadata = "", const std::string& query = "") {
    return Send(kube::Method::kPost, kGroup + plural + query,
                R"({"apiVersion":"plexaubnet.io/v1alpha1","kind":")" + KindOf(plural) +
                    R"(","metadata":{)" + metadata + R"("name":")" + name + R"("},"spec":)" + spec +
                    "}");
  }
  kube::Response Merge(const std::string& plural, const std::string& name,
                       const std::string& patch) {
    return Send(kube::Method::kPatch, kGroup + plural + "/" + name, patch,
                "application/merge-patch+json");
  }
  kube::Response Delete(const std::string& plural, const std::string& name) {
    return Send(kube::Method::kDelete, kGroup + plural + "/" + name);
  }
  Json Get(const std::string& plural, const std::string& name) {
    return Json::parse(Send(kube::Method::kGet, kGroup + plural + "/" + name).body);
  }

  async::TestExecutor executor;
  kube::memory::Server server{{.now = [this] { return executor.WallNow(); },
                               .random = [this] { return executor.Random(); }}};
  kube::memory::LocalTransport transport{executor, server};
  runtime::Leadership leadership{
      executor, transport, {.ns = "default", .name = "berth", .identity = "one"}};
  ipam::Desk desk{executor};
  prometheus::Registry registry;
  admission::Webhooks webhooks{registry};
  std::unique_ptr<ipam::System> system;

 private:
  static std::string KindOf(const std::string& plural) {
    for (const kube::Resource& resource :
         {ipam::kPools, ipam::kSubnets, ipam::kClaims, ipam::kPoolClaims}) {
      if (resource.plural == plural) return std::string(resource.kind);
    }
    return "";
  }
};

}  // namespace berth
