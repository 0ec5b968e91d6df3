#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <prometheus/registry.h>

#include <memory>
#include <string>
#include <vector>

#include "async/sanitized.h"
#include "async/test_executor.h"
#include "cloud/call_history.h"
#include "cloud/test_account.h"
#include "json/json.h"
#include "kube/memory/local_transport.h"
#include "log/format.h"
#include "reconcile/eip/system.h"
#include "reconcile/test_crds.h"

namespace berth::eip {
namespace {

using namespace std::chrono_literals;
using testing::Contains;
using testing::Not;

constexpr const char* kCollection = "/apis/eip.alibabacloud.com/v1alpha1/eips";

constexpr int kMany = kSanitized ? 100 : 400;

// More objects than the cloud has calls for.
class Crowd : public testing::Test {
 protected:
  void Start(int calls_per_minute, std::chrono::milliseconds patience = 60s) {
    account_ = std::make_unique<cloud::TestAccount>(
        executor_, latency_, cloud::simulator::Cloud::Options{.vpc = {.until_visible = 3s}},
        cloud::aliyun::ApiOptions{.calls_per_minute = calls_per_minute, .patience = patience},
        &history_);
    for (const char* action : {"AllocateEipAddress", "DescribeEipAddresses", "ReleaseEipAddress"}) {
      account_->cloud.throttle().SetLimit(action, static_cast<std::uint64_t>(calls_per_minute));
    }
    InstallCrds(server_);
    system_ = std::make_unique<System>(executor_, transport_, leadership_, account_->vpcs,
                                       System::Options{.registry = &registry_});
    leadership_.Start();
    executor_.Advance(10s);
    ASSERT_TRUE(system_->leading());
  }

  kube::Response Send(kube::Method method, const std::string& path, const std::string& body = "",
                      const std::string& type = "application/json") {
    kube::Response answer;
    server_.Handle({.method = method, .path = path, .body = body, .content_type = type},
                   [&](kube::Response response) { answer = std::move(response); });
    EXPECT_LT(answer.code, 300) << answer.body;
    return answer;
  }
  void Create(const std::string& name) {
    Send(kube::Method::kPost, kCollection,
         Format(R"({{"apiVersion":"eip.alibabacloud.com/v1alpha1","kind":"EIP","metadata":)"
                R"({{"name":"{}"}},"spec":{{"bandwidth":"20","tags":{{"n":"{}"}}}}}})",
                name, name));
  }
  void CreateMany(int count) {
    for (int i = 0; i < count; ++i) Create(Format("many-{}", i));
  }
  double Gauge(const std::string& name) {
    for (const auto& family : registry_.Collect()) {
      if (family.name == name) return family.metric.at(0).gauge.value;
    }
    ADD_FAILURE() << name;
    return 0;
  }
  std::string Status(const std::string& name, const std::string& member) {
    const Json object =
        Json::parse(Send(kube::Method::kGet, Format("{}/{}", kCollection, name)).body);
    return object["status"].get_value_or<std::string>(member, "");
  }
  std::vector<std::string> EventReasons() {
    const Json list = Json::parse(Send(kube::Method::kGet, "/apis/events.k8s.io/v1/events").body);
    std::vector<std::string> reasons;
    for (const Json& event : list["items"].array_range()) {
      reasons.push_back(event["reason"].as<std::string>());
    }
    return reasons;
  }
  cloud::simulator::Cloud::Calls Calls(const std::string& action) {
    const auto found = account_->cloud.calls().find(action);
    return found == account_->cloud.calls().end() ? cloud::simulator::Cloud::Calls()
                                                  : found->second;
  }

  async::TestExecutor executor_;
  kube::memory::Server server_{{.now = [this] { return executor_.WallNow(); },
                                .random = [this] { return executor_.Random(); }}};
  kube::memory::LocalTransport transport_{executor_, server_};
  cloud::simulator::Latency latency_{executor_, 1ms, 30ms};
  cloud::CallHistory history_;
  prometheus::Registry registry_;
  std::unique_ptr<cloud::TestAccount> account_;
  runtime::Leadership leadership_{
      executor_, transport_, {.ns = "default", .name = "berth", .identity = "one"}};
  std::unique_ptr<System> system_;
};

TEST_F(Crowd, IsAllocatedAsFastAsTheCloudTakesItAndNoFaster) {
  Start(120);
  CreateMany(kMany);
  executor_.Advance(kMany * 60s / 115 + 10s);
  EXPECT_EQ(Gauge("berth_eip_not_ready"), 0);
  EXPECT_EQ(Calls("AllocateEipAddress").carried_out, static_cast<unsigned>(kMany));
  EXPECT_EQ(Calls("TagResources").carried_out, 0u) << "tags come with the allocation";
  EXPECT_LT(Calls("DescribeEipAddresses").carried_out, kMany * 3 / 4)
      << "several are looked at together";
  for (const auto& [action, calls] : account_->cloud.calls())
    EXPECT_EQ(calls.throttled, 0u) << action;
  EXPECT_THAT(EventReasons(), Not(Contains("Throttled")));
}

TEST_F(Crowd, DoesNotHoldUpOthers) {
  Start(60);
  Create("web");
  executor_.Advance(30s);
  CreateMany(kMany);
  executor_.Advance(2s);
  Send(kube::Method::kPatch, Format("{}/web", kCollection), R"({"spec":{"bandwidth":"50"}})",
       "application/merge-patch+json");
  executor_.Advance(10s);
  EXPECT_EQ(Status("web", "bandwidth"), "50");
  EXPECT_GT(Gauge("berth_eip_not_ready"), kMany * 3 / 4);
}

TEST_F(Crowd, WhoHadNoTurnIsNotToldOfItAndNotLookedForInTheCloud) {
  Start(30, 2s);
  CreateMany(30);
  executor_.Advance(3min);
  EXPECT_EQ(Gauge("berth_eip_not_ready"), 0);
  ASSERT_TRUE(history_.Find("AllocateEipAddress")->codes.contains("NotSent"));
  EXPECT_EQ(Calls("AllocateEipAddress").carried_out, 30u);
  EXPECT_THAT(EventReasons(), Not(Contains("Throttled")));
  for (const auto& call : history_.Find("DescribeEipAddresses")->recent) {
    EXPECT_TRUE(call.resource.starts_with("eip-")) << call.resource;
  }
}

TEST_F(Crowd, IsReleasedWithoutHoldingUpOthers) {
  Start(600);
  Create("web");
  CreateMany(kMany);
  executor_.Advance(60s);
  ASSERT_EQ(Gauge("berth_eip_not_ready"), 0);
  for (int i = 0; i < kMany; ++i) {
    Send(kube::Method::kDelete, Format("{}/many-{}", kCollection, i));
  }
  executor_.Advance(1s);
  Send(kube::Method::kPatch, Format("{}/web", kCollection), R"({"spec":{"bandwidth":"50"}})",
       "application/merge-patch+json");
  executor_.Advance(10s);
  EXPECT_EQ(Status("web", "bandwidth"), "50");
  executor_.Advance(2min);
  EXPECT_EQ(account_->cloud.vpc().Eips().size(), 1u);
  EXPECT_THAT(EventReasons(), Not(Contains("Throttled")));
}

}  // namespace
}  // namespace berth::eip
