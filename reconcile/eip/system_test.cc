#include "reconcile/eip/system.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <format>
#include <memory>
#include <string>
#include <vector>

#include "async/test_executor.h"
#include "cloud/aliyun/api_client.h"
#include "cloud/aliyun/credentials.h"
#include "cloud/aliyun/vpc_client.h"
#include "cloud/simulator/cloud.h"
#include "cloud/simulator/transport.h"
#include "kube/json.h"
#include "kube/memory/local_transport.h"
#include "kube/yaml.h"
#include "reconcile/crds.h"

namespace berth::eip {
namespace {

using namespace std::chrono_literals;
using testing::Contains;
using testing::HasSubstr;

// The operator with its real client, on an API server in memory and a simulated cloud.
class EipSystemTest : public testing::Test {
 protected:
  EipSystemTest() {
    cloud_.keys().Add({.id = "id", .secret = "secret", .caller = "berth"});
    for (const std::string_view yaml : CustomResourceDefinitions()) {
      Send(kube::Method::kPost, "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
           kube::YamlToJson(yaml)->to_string());
    }
    leadership_.Start();
    for (int i = 0; i < 60 && !system_.leading(); ++i) executor_.Advance(1s);
  }

  kube::Response Send(kube::Method method, const std::string& path, const std::string& body = "",
                      const std::string& type = "application/json") {
    kube::Response answer;
    server_.Handle({.method = method, .path = path, .body = body, .content_type = type},
                   [&](kube::Response response) { answer = std::move(response); });
    executor_.Advance(0s);
    return answer;
  }

  static std::string Path(const std::string& name = "") {
    return "/apis/eip.alibabacloud.com/v1alpha1/eips" + (name.empty() ? "" : "/" + name);
  }
  void Create(const std::string& name, const std::string& spec) {
    const auto made = Send(kube::Method::kPost, Path(),
                           std::format(R"({{"apiVersion":"eip.alibabacloud.com/v1alpha1",)"
                                       R"("kind":"EIP","metadata":{{"name":"{}"}},"spec":{{{}}}}})",
                                       name, spec));
    ASSERT_EQ(made.code, 201) << made.body;
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
  std::string Status(const std::string& name, const std::string& member) {
    const Json object = Get(name);
    return object.contains("status") ? object["status"].get_value_or<std::string>(member, "") : "";
  }
  // "True Created", with the message after it.
  std::string Ready(const std::string& name) {
    const Json object = Get(name);
    if (!object.contains("status")) return "";
    for (const Json& condition : object["status"]["conditions"].array_range()) {
      if (condition["type"] == "Ready") {
        return std::format("{} {} {}", condition["status"].as<std::string>(),
                           condition["reason"].as<std::string>(),
                           condition["message"].as<std::string>());
      }
    }
    return "";
  }
  std::vector<std::string> EventReasons() {
    const Json list = Json::parse(Send(kube::Method::kGet, "/apis/events.k8s.io/v1/events").body);
    std::vector<std::string> reasons;
    for (const Json& event : list["items"].array_range()) {
      reasons.push_back(event["reason"].as<std::string>());
    }
    return reasons;
  }
  std::uint64_t Calls(const std::string& action) {
    const auto found = cloud_.calls().find(action);
    return found == cloud_.calls().end() ? 0 : found->second.carried_out;
  }
  const cloud::Eip* Address(const std::string& name) {
    cloud_.vpc().Settle(executor_.WallNow());
    return cloud_.vpc().Find(Status(name, "allocationID"));
  }

  async::TestExecutor executor_;
  kube::memory::Server server_{{.now = [this] { return executor_.WallNow(); },
                                .random = [this] { return executor_.Random(); }}};
  kube::memory::LocalTransport transport_{executor_, server_};
  cloud::simulator::Cloud cloud_{{.vpc = {.until_visible = 5s, .releasing = 3s}}};
  cloud::simulator::Latency latency_{executor_, 1ms, 5ms};
  cloud::simulator::Network network_{cloud_, executor_, latency_};
  cloud::simulator::Transport to_cloud_{network_, executor_};
  cloud::aliyun::FixedCredentials credentials_{
      {.key_id = "id", .secret = "secret", .security_token = ""}};
  cloud::aliyun::ApiClient api_{executor_,
                                to_cloud_,
                                credentials_,
                                nullptr,
                                {.endpoint = cloud::aliyun::VpcEndpoint("cn-hangzhou", false),
                                 .version = std::string(cloud::aliyun::kVpcVersion),
                                 .region = "cn-hangzhou"}};
  cloud::aliyun::VpcClient vpc_{api_};
  runtime::Leadership leadership_{
      executor_, transport_, {.ns = "default", .name = "berth", .identity = "one"}};
  System system_{executor_, transport_, leadership_, vpc_, {}};
};

TEST_F(EipSystemTest, ANewObjectGetsAnAddressAsItsSpecSays) {
  Create("web", R"("bandwidth":"20","name":"front","tags":{"team":"web"})");
  executor_.Advance(30s);
  EXPECT_THAT(Ready("web"), HasSubstr("True Created"));
  EXPECT_EQ(Status("web", "origin"), "Created");
  EXPECT_EQ(Get("web")["spec"]["allocationID"], Get("web")["status"]["allocationID"]);
  ASSERT_TRUE(Address("web"));
  EXPECT_EQ(Address("web")->address, Status("web", "eipAddress"));
  EXPECT_EQ(Address("web")->bandwidth, "20");
  EXPECT_EQ(Address("web")->name, "front");
  EXPECT_EQ(Address("web")->tags.at("team"), "web");
  EXPECT_EQ(Address("web")->tags.at(std::string(kOwnerTag)),
            Get("web")["metadata"]["uid"].as<std::string>());
  EXPECT_THAT(EventReasons(), Contains("Created"));
}

TEST_F(EipSystemTest, FlawNothingIsWrittenWhenNothingChanged) {
  Create("web", R"("bandwidth":"20")");
  executor_.Advance(30s);
  const std::string version = Get("web")["metadata"]["resourceVersion"].as<std::string>();
  const auto calls = Calls("DescribeEipAddresses");
  executor_.Advance(16min);
  EXPECT_EQ(Get("web")["metadata"]["resourceVersion"].as<std::string>(), version);
  EXPECT_EQ(Calls("DescribeEipAddresses"), calls + 3) << "looked at every five minutes";
}

TEST_F(EipSystemTest, AResyncAsksForFiftyAddressesAtOnce) {
  for (int i = 0; i < 120; ++i) Create(std::format("e{}", i), "");
  executor_.Advance(4min);
  ASSERT_THAT(Ready("e119"), HasSubstr("True"));
  const auto calls = Calls("DescribeEipAddresses");
  executor_.Advance(5min);
  EXPECT_LE(Calls("DescribeEipAddresses"), calls + 3);
  EXPECT_GT(Calls("DescribeEipAddresses"), calls);
  EXPECT_EQ(Calls("AllocateEipAddress"), 120u);
}

TEST_F(EipSystemTest, AnAddressGoesWithItsObject) {
  Create("web", "");
  executor_.Advance(30s);
  ASSERT_TRUE(Address("web"));
  Delete("web");
  executor_.Advance(30s);
  EXPECT_FALSE(Exists("web"));
  EXPECT_TRUE(cloud_.vpc().Eips().empty());
  EXPECT_THAT(EventReasons(), Contains("Released"));
}

// It is not in the cloud's lists yet, and released all the same.
TEST_F(EipSystemTest, AnAddressThatIsNotSeenYetIsNotLeaked) {
  Create("web", "");
  executor_.Advance(1s);
  ASSERT_EQ(cloud_.vpc().Eips().size(), 1u);
  Delete("web");
  executor_.Advance(30s);
  EXPECT_FALSE(Exists("web"));
  EXPECT_TRUE(cloud_.vpc().Eips().empty());
}

TEST_F(EipSystemTest, FlawAnImportIsNotReleasedUnlessAskedFor) {
  const std::string kept = cloud_.vpc().CreateEip({});
  const std::string given = cloud_.vpc().CreateEip({});
  Create("kept", std::format(R"("allocationID":"{}")", kept));
  Create("given", std::format(R"("allocationID":"{}","releaseStrategy":"OnDelete")", given));
  executor_.Advance(10s);
  EXPECT_EQ(Status("kept", "origin"), "Imported");
  EXPECT_THAT(Ready("kept"), HasSubstr("True"));
  Delete("kept");
  Delete("given");
  executor_.Advance(30s);
  EXPECT_FALSE(Exists("kept"));
  EXPECT_FALSE(Exists("given"));
  EXPECT_TRUE(cloud_.vpc().Find(kept));
  EXPECT_FALSE(cloud_.vpc().Find(given));
  EXPECT_THAT(EventReasons(), Contains("Skipped"));
}

TEST_F(EipSystemTest, FlawOfTwoImportsOfOneAddressTheOlderHasIt) {
  const std::string id = cloud_.vpc().CreateEip({});
  Create("first", std::format(R"("allocationID":"{}")", id));
  executor_.Advance(2s);
  Create("second", std::format(R"("allocationID":"{}")", id));
  executor_.Advance(10s);
  EXPECT_THAT(Ready("first"), HasSubstr("True"));
  EXPECT_THAT(Ready("second"), HasSubstr("False InvalidConfig"));
  EXPECT_THAT(Ready("second"), HasSubstr("first"));
  Delete("first");
  executor_.Advance(10s);
  EXPECT_THAT(Ready("second"), HasSubstr("True"));
}

TEST_F(EipSystemTest, FlawDriftIsRepairedAtTheNextResync) {
  Create("web", R"("bandwidth":"20","name":"front","tags":{"team":"web"})");
  executor_.Advance(30s);
  const std::string id = Status("web", "allocationID");
  cloud_.vpc().Edit(id).name = "meddled";
  cloud_.vpc().Edit(id).bandwidth = "1";
  cloud_.vpc().SetTags(id, {{"foreign", "x"}});
  executor_.Advance(6min);
  EXPECT_EQ(Address("web")->name, "front");
  EXPECT_EQ(Address("web")->bandwidth, "20");
  EXPECT_EQ(Address("web")->tags.at("team"), "web");
  EXPECT_EQ(Address("web")->tags.at("foreign"), "x") << "others' tags are left alone";
  EXPECT_THAT(EventReasons(), Contains("Updated"));
}

TEST_F(EipSystemTest, ATagThatIsNoLongerWantedIsTakenOff) {
  Create("web", R"("tags":{"team":"web","stage":"x"})");
  executor_.Advance(30s);
  Merge("web", R"({"spec":{"tags":{"stage":null}}})");
  executor_.Advance(30s);
  EXPECT_TRUE(Address("web")->tags.contains("team"));
  EXPECT_FALSE(Address("web")->tags.contains("stage"));
}

TEST_F(EipSystemTest, ANewBandwidthIsSet) {
  Create("web", R"("bandwidth":"20")");
  executor_.Advance(30s);
  Merge("web", R"({"spec":{"bandwidth":"50"}})");
  executor_.Advance(10s);
  EXPECT_EQ(Address("web")->bandwidth, "50");
  EXPECT_EQ(Status("web", "bandwidth"), "50");
  EXPECT_THAT(Ready("web"), HasSubstr("True Updated"));
}

TEST_F(EipSystemTest, FlawARefusedSpecIsExplainedAndNotAskedForAgainAndAgain) {
  Create("web", R"("internetChargeType":"PayByMoonlight")");
  executor_.Advance(4min);
  EXPECT_THAT(Ready("web"), HasSubstr("False InvalidConfig"));
  EXPECT_THAT(Ready("web"), HasSubstr("InternetChargeType"));
  EXPECT_LE(Calls("AllocateEipAddress"), 2u);
  EXPECT_THAT(EventReasons(), Contains("CreateFailed"));
  Merge("web", R"({"spec":{"internetChargeType":"PayByTraffic"}})");
  executor_.Advance(30s);
  EXPECT_THAT(Ready("web"), HasSubstr("True"));
  EXPECT_EQ(cloud_.vpc().Eips().size(), 1u);
}

TEST_F(EipSystemTest, FlawWhatCannotBeReleasedSaysWhyAndCanBeAbandoned) {
  Create("web", "");
  executor_.Advance(30s);
  const std::string id = Status("web", "allocationID");
  cloud_.vpc().Edit(id).status = "InUse";
  cloud_.vpc().Edit(id).instance_id = "i-7";
  Delete("web");
  executor_.Advance(10s);
  EXPECT_THAT(Ready("web"), HasSubstr("in use by"));
  EXPECT_THAT(EventReasons(), Contains("ReleaseFailed"));
  Merge("web",
        std::format(R"({{"metadata":{{"annotations":{{"{}":"abandon"}}}}}})", kOnStuckAnnotation));
  executor_.Advance(10s);
  EXPECT_FALSE(Exists("web"));
  EXPECT_TRUE(cloud_.vpc().Find(id));
}

TEST_F(EipSystemTest, FlawALostAddressIsSaidToBeLostAndReplacedWhenAskedFor) {
  Create("web", "");
  executor_.Advance(30s);
  const std::string id = Status("web", "allocationID");
  cloud_.vpc().DeleteEip(id);
  executor_.Advance(12min);
  EXPECT_THAT(Ready("web"), HasSubstr("False Lost"));
  Merge("web", std::format(R"({{"metadata":{{"annotations":{{"{}":"reallocate"}}}}}})",
                           kOnLostAnnotation));
  executor_.Advance(30s);
  EXPECT_THAT(Ready("web"), HasSubstr("True"));
  EXPECT_NE(Status("web", "allocationID"), id);
  EXPECT_EQ(Get("web")["spec"]["allocationID"], Get("web")["status"]["allocationID"]);
}

}  // namespace
}  // namespace berth::eip
