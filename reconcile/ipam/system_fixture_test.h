#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "async/test_executor.h"
#include "json/json.h"
#include "kube/memory/local_transport.h"
#include "log/format.h"
#include "reconcile/ipam/system.h"
#include "reconcile/test_crds.h"

namespace berth::ipam {

using namespace std::chrono_literals;

struct Replica {
  Replica(async::Executor& executor, kube::Transport& transport, std::string identity)
      : leadership(executor, transport,
                   {.ns = "default", .name = "berth", .identity = std::move(identity)}),
        system(executor, transport, leadership, {.stamp_key = "key"}) {
    leadership.Start();
  }

  runtime::Leadership leadership;
  System system;
};

// The reconcilers on an API server in memory, without webhooks: what they must get right even where
// nobody keeps users from writing nonsense.
class SystemTest : public testing::Test {
 protected:
  SystemTest() {
    InstallCrds(server_);
    Boot();
  }

  void Boot() { BootThrough(transport_); }
  void BootThrough(kube::Transport& transport) {
    replica_.reset();
    ++life_;
    replica_ = std::make_unique<Replica>(executor_, transport, Format("life {}", life_));
    system_ = &replica_->system;
    for (int i = 0; i < 60 && !system_->leading(); ++i) executor_.Advance(1s);
    ASSERT_TRUE(system_->leading());
    executor_.Advance(1s);
  }

  kube::Response Send(kube::Method method, const std::string& path, const std::string& body = "",
                      const std::string& type = "application/json") {
    kube::Response answer;
    server_.Handle({.method = method, .path = path, .body = body, .content_type = type},
                   [&](kube::Response response) { answer = std::move(response); });
    executor_.Advance(1s);
    return answer;
  }

  static std::string Path(const std::string& plural, const std::string& name = "") {
    return "/apis/plexaubnet.io/v1alpha1/namespaces/default/" + plural +
           (name.empty() ? "" : "/" + name);
  }

  void Create(const std::string& kind, const std::string& name, const std::string& spec,
              const std::string& metadata = "") {
    const std::string plural = kind == "SubnetPool"    ? "subnetpools"
                               : kind == "Subnet"      ? "subnets"
                               : kind == "SubnetClaim" ? "subnetclaims"
                                                       : "subnetpoolclaims";
    const auto made = Send(kube::Method::kPost, Path(plural),
                           Format(R"({{"apiVersion":"plexaubnet.io/v1alpha1","kind":"{}",)"
                                  R"("metadata":{{"name":"{}"{}}},"spec":{{{}}}}})",
                                  kind, name, metadata, spec));
    ASSERT_EQ(made.code, 201) << made.body;
  }
  void Pool(const std::string& name, const std::string& cidr, const std::string& more = "") {
    Create("SubnetPool", name, Format(R"("cidr":"{}"{})", cidr, more));
  }
  void Claim(const std::string& name, const std::string& pool, int size,
             const std::string& cluster = "") {
    Create("SubnetClaim", name,
           Format(R"("poolRef":"{}","clusterID":"{}","blockSize":{})", pool,
                  cluster.empty() ? name : cluster, size));
  }
  // As a leader makes it that tells nobody any more.
  void SubnetFor(const std::string& claim, const std::string& pool, const std::string& cidr) {
    Create("Subnet", SubnetName(pool, *Cidr::Parse(cidr)),
           Format(R"("poolRef":"{}","cidr":"{}","clusterID":"{}",)"
                  R"("claimRef":{{"name":"{}","uid":"{}"}})",
                  pool, cidr, claim, claim,
                  Get("subnetclaims", claim)["metadata"]["uid"].as<std::string>()),
           R"(,"labels":{"plexaubnet.io/ipam":"true"})");
  }
  std::string Uid(const std::string& plural, const std::string& name) {
    return Get(plural, name)["metadata"]["uid"].as<std::string>();
  }
  // Metadata of what was made for another object.
  std::string OwnedBy(const std::string& kind, const std::string& plural, const std::string& name) {
    return Format(R"(,"ownerReferences":[{{"apiVersion":"plexaubnet.io/v1alpha1","kind":"{}",)"
                  R"("name":"{}","uid":"{}","controller":true,"blockOwnerDeletion":true}}])",
                  kind, name, Uid(plural, name));
  }
  void Delete(const std::string& plural, const std::string& name) {
    const auto deleted = Send(kube::Method::kDelete, Path(plural, name));
    ASSERT_EQ(deleted.code, 200) << deleted.body;
  }
  // Strips a pool's finalizer and deletes it before anybody can put the finalizer on again.
  void RemoveByForce(const std::string& pool) {
    const auto ignore = [](const kube::Response&) {};
    server_.Handle({.method = kube::Method::kPatch,
                    .path = Path("subnetpools", pool),
                    .body = R"({"metadata":{"finalizers":null}})",
                    .content_type = "application/merge-patch+json"},
                   ignore);
    server_.Handle({.method = kube::Method::kDelete, .path = Path("subnetpools", pool)}, ignore);
    executor_.Advance(2s);
  }
  void Merge(const std::string& plural, const std::string& name, const std::string& patch) {
    const auto patched =
        Send(kube::Method::kPatch, Path(plural, name), patch, "application/merge-patch+json");
    ASSERT_EQ(patched.code, 200) << patched.body;
  }

  Json Get(const std::string& plural, const std::string& name) {
    return Json::parse(Send(kube::Method::kGet, Path(plural, name)).body);
  }
  std::vector<Json> List(const std::string& plural) {
    const Json list = Json::parse(Send(kube::Method::kGet, Path(plural)).body);
    std::vector<Json> items;
    for (const Json& item : list["items"].array_range()) items.push_back(item);
    return items;
  }
  Json Status(const std::string& plural, const std::string& name) {
    return Get(plural, name).get_value_or<Json>("status", Json::Object());
  }
  std::string Phase(const std::string& claim) {
    return Status("subnetclaims", claim).get_value_or<std::string>("phase", "");
  }
  std::string Allocated(const std::string& claim) {
    return Status("subnetclaims", claim).get_value_or<std::string>("allocatedCIDR", "");
  }
  std::string Reason(const std::string& plural, const std::string& name,
                     const std::string& type = "Ready") {
    const Json status = Status(plural, name);
    for (const Json& condition :
         status.get_value_or<Json>("conditions", Json::Array()).array_range()) {
      if (condition["type"].as<std::string>() == type) return condition["reason"].as<std::string>();
    }
    return "";
  }
  // Once the pool's figures are told.
  Json PoolStatus(const std::string& name) {
    executor_.Advance(6s);
    return Status("subnetpools", name);
  }
  std::vector<std::string> EventReasons() {
    const Json list = Json::parse(Send(kube::Method::kGet, "/apis/events.k8s.io/v1/events").body);
    std::vector<std::string> reasons;
    for (const Json& event : list["items"].array_range()) {
      reasons.push_back(event["reason"].as<std::string>());
    }
    return reasons;
  }

  async::TestExecutor executor_;
  kube::memory::Server server_{{.now = [this] { return executor_.WallNow(); },
                                .random = [this] { return executor_.Random(); }}};
  kube::memory::LocalTransport transport_{executor_, server_};
  std::unique_ptr<Replica> replica_;
  System* system_ = nullptr;
  int life_ = 0;
};

}  // namespace berth::ipam
