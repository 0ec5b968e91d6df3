#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <prometheus/registry.h>

#include <memory>
#include <string>

#include "async/test_executor.h"
#include "cloud/test_account.h"
#include "handlers/admission/eip.h"
#include "handlers/memory/webhook_calls.h"
#include "json/json.h"
#include "kube/memory/local_transport.h"
#include "log/format.h"
#include "reconcile/test_crds.h"

// The webhooks for EIPs with everything they are about: an API server that calls them, the
// reconciler, whose own writes they see too, and a cloud.
namespace berth::admission {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

// With the CRD of either scope.
class EipInCluster : public testing::TestWithParam<const char*> {
 protected:
  EipInCluster() {
    InstallCrds(server_, GetParam());
    RegisterEip(webhooks_, desk_);
    memory::InstallWebhooks(server_, webhooks_, executor_);
    desk_.Open(&system_);
    leadership_.Start();
    for (int i = 0; i < 60 && !system_.leading(); ++i) executor_.Advance(1s);
  }

  kube::Response Send(kube::Method method, const std::string& path, const std::string& body = "",
                      const std::string& type = "application/json") {
    kube::Response answer;
    server_.Handle({.method = method, .path = path, .body = body, .content_type = type},
                   [&](kube::Response response) { answer = std::move(response); });
    executor_.RunUntilIdle();
    return answer;
  }
  bool namespaced() const { return GetParam() == std::string("Namespaced"); }
  std::string Path(const std::string& name = "") const {
    return std::string("/apis/eip.alibabacloud.com/v1alpha1/") +
           (namespaced() ? "namespaces/default/" : "") + "eips" + (name.empty() ? "" : "/" + name);
  }
  static std::string Manifest(const std::string& name, const std::string& spec) {
    return Format(R"({{"apiVersion":"eip.alibabacloud.com/v1alpha1","kind":"EIP",)"
                  R"("metadata":{{"name":"{}"}},"spec":{{{}}}}})",
                  name, spec);
  }
  kube::Response Create(const std::string& name, const std::string& spec) {
    return Send(kube::Method::kPost, Path(), Manifest(name, spec));
  }
  kube::Response Merge(const std::string& name, const std::string& patch) {
    return Send(kube::Method::kPatch, Path(name), patch, "application/merge-patch+json");
  }
  Json Get(const std::string& name) {
    return Json::parse(Send(kube::Method::kGet, Path(name)).body);
  }
  std::string Reason(const std::string& name) {
    const Json object = Get(name);
    return object["status"]["conditions"][0]["reason"].as_string();
  }

  async::TestExecutor executor_;
  kube::memory::Server server_{{.now = [this] { return executor_.WallNow(); },
                                .random = [this] { return executor_.Random(); }}};
  kube::memory::LocalTransport transport_{executor_, server_};
  cloud::simulator::Latency latency_{executor_, 1ms, 5ms};
  cloud::TestAccount account_{executor_, latency_, {.vpc = {.until_visible = 5s, .releasing = 3s}}};
  cloud::simulator::Cloud& cloud_ = account_.cloud;
  runtime::Leadership leadership_{
      executor_, transport_, {.ns = "default", .name = "berth", .identity = "one"}};
  eip::System system_{executor_, transport_, leadership_, account_.vpcs, {}};
  eip::Desk desk_{executor_};
  prometheus::Registry registry_;
  Webhooks webhooks_{registry_};
};

INSTANTIATE_TEST_SUITE_P(OfTheCrd, EipInCluster, testing::Values("Cluster", "Namespaced"));

TEST_P(EipInCluster, WhatIsFilledInIsWhatIsAllocated) {
  ASSERT_EQ(Create("web", R"("bandwidth":"20")").code, 201);
  ASSERT_EQ(Create("line", R"("bandwidth":"300","isp":"ChinaMobile")").code, 201);
  executor_.Advance(30s);
  EXPECT_EQ(Get("web")["spec"]["internetChargeType"], "PayByTraffic");
  EXPECT_EQ(Get("web")["status"]["internetChargeType"], "PayByTraffic");
  EXPECT_EQ(Get("line")["spec"]["internetChargeType"], "PayByBandwidth");
  EXPECT_EQ(Get("line")["status"]["internetChargeType"], "PayByBandwidth");
  EXPECT_EQ(Get("line")["status"]["instanceChargeType"], "PostPaid");
  EXPECT_EQ(Get("web")["spec"]["allocationID"], Get("web")["status"]["allocationID"])
      << "Berth's own write was let through";
  EXPECT_FALSE(Get("web")["spec"].contains("releaseStrategy"));
}

TEST_P(EipInCluster, AnImportIsStoredAsItWasWritten) {
  const std::string id = cloud_.vpc().CreateEip({});
  const auto made = Create("old", Format(R"("allocationID":"{}")", id));
  ASSERT_EQ(made.code, 201) << made.body;
  executor_.Advance(30s);
  EXPECT_EQ(Get("old")["status"]["origin"], "Imported");
  EXPECT_EQ(Get("old")["spec"].to_string(), Format(R"({{"allocationID":"{}"}})", id));
}

TEST_P(EipInCluster, FlawAnAddressIsImportedOnce) {
  const std::string id = cloud_.vpc().CreateEip({});
  ASSERT_EQ(Create("first", Format(R"("allocationID":"{}")", id)).code, 201);
  ASSERT_EQ(Create("made", "").code, 201);
  executor_.Advance(30s);
  const auto second = Create("second", Format(R"("allocationID":"{}")", id));
  EXPECT_EQ(second.code, 422);
  EXPECT_THAT(second.body, HasSubstr("spec.allocationID"));
  EXPECT_THAT(second.body,
              HasSubstr(Format(R"(the EIP \"{}first\" has it)", namespaced() ? "default/" : "")));
  const std::string ours = Get("made")["status"]["allocationID"].as_string();
  EXPECT_EQ(Create("third", Format(R"("allocationID":"{}")", ours)).code, 422);
  ASSERT_EQ(Send(kube::Method::kDelete, Path("first")).code, 200);
  executor_.Advance(10s);
  EXPECT_EQ(Create("second", Format(R"("allocationID":"{}")", id)).code, 201);
}

TEST_P(EipInCluster, FlawAnAllocationIdIsNotChangedAndNoAddressOrphaned) {
  const std::string other = cloud_.vpc().CreateEip({});
  ASSERT_EQ(Create("web", "").code, 201);
  executor_.Advance(30s);
  const auto refused = Merge("web", Format(R"({{"spec":{{"allocationID":"{}"}}}})", other));
  EXPECT_EQ(refused.code, 422);
  EXPECT_THAT(refused.body, HasSubstr("field is immutable"));
  EXPECT_EQ(Merge("web", R"({"spec":{"isp":"BGP_PRO"}})").code, 422);
  EXPECT_EQ(Merge("web", R"({"spec":{"bandwidth":"50"}})").code, 200);
}

TEST_P(EipInCluster, AManifestReplacesTheObjectItMade) {
  const std::string spec = R"("bandwidth":"20","tags":{"team":"web"})";
  ASSERT_EQ(Create("web", spec).code, 201);
  executor_.Advance(30s);
  const Json before = Get("web");
  Json manifest = Json::parse(Manifest("web", spec));
  manifest["metadata"]["resourceVersion"] = before["metadata"]["resourceVersion"];
  const auto replaced = Send(kube::Method::kPut, Path("web"), manifest.to_string());
  ASSERT_EQ(replaced.code, 200) << replaced.body;
  EXPECT_EQ(Get("web")["spec"]["allocationID"], before["spec"]["allocationID"]);
  EXPECT_EQ(Get("web")["spec"]["instanceChargeType"], "PostPaid");
}

TEST_P(EipInCluster, FlawALostAddressIsReplacedThroughTheWebhooks) {
  ASSERT_EQ(Create("web", "").code, 201);
  executor_.Advance(30s);
  const std::string id = Get("web")["status"]["allocationID"].as_string();
  cloud_.vpc().DeleteEip(id);
  executor_.Advance(12min);
  ASSERT_EQ(Reason("web"), "Lost");
  ASSERT_EQ(Merge("web", R"({"metadata":{"annotations":
                {"eip.alibabacloud.com/on-lost":"reallocate"}}})")
                .code,
            200);
  executor_.Advance(1min);
  const Json web = Get("web");
  EXPECT_NE(web["status"]["allocationID"], Json(id));
  EXPECT_EQ(web["spec"]["allocationID"], web["status"]["allocationID"]);
}

TEST_P(EipInCluster, WhatTheCloudWouldRefuseNeverGetsThere) {
  const auto refused = Create("web", R"("internetChargeType":"PayByBandwidth","bandwidth":"501")");
  EXPECT_EQ(refused.code, 422);
  EXPECT_THAT(refused.body, HasSubstr("1 to 500"));
  executor_.Advance(30s);
  EXPECT_FALSE(cloud_.calls().contains("AllocateEipAddress"));
}

}  // namespace
}  // namespace berth::admission
