// EFLO's client, with the test in the cloud's place.
#include <gtest/gtest.h>

#include "async/test_executor.h"
#include "cloud/aliyun/eflo_client.h"
#include "cloud/aliyun/test_cloud.h"
#include "log/format.h"

namespace berth::cloud::aliyun {
namespace {

using namespace std::chrono_literals;

class EfloRequestTest : public testing::Test {
 protected:
  Parameters Sent(const std::string& action) {
    const auto& exchange = transport_.last();
    EXPECT_EQ(exchange.header("x-acs-action"), action);
    EXPECT_EQ(exchange.header("x-acs-version"), kEfloVersion);
    EXPECT_EQ(exchange.header("content-type"), "application/x-www-form-urlencoded");
    EXPECT_EQ(exchange.header("authorization"), ExpectedAuthorization(exchange, *credentials_.now));
    EXPECT_TRUE(exchange.query().empty() || exchange.query() == (Parameters{{"", ""}}));
    Parameters form = exchange.form();
    EXPECT_EQ(form["RegionId"], "cn-hangzhou");
    form.erase("RegionId");
    return form;
  }
  void Answer(const std::string& body) { transport_.last().Answer(200, body); }

  async::TestExecutor executor_;
  ScriptedTransport transport_;
  TestCredentials credentials_;
  ApiClient api_{executor_,
                 transport_,
                 credentials_,
                 nullptr,
                 {.endpoint = EfloEndpoint("cn-hangzhou", false),
                  .version = std::string(kEfloVersion),
                  .region = "cn-hangzhou",
                  .form = true}};
  EfloApis apis_{executor_, api_, api_};
  EfloClient enis_{apis_};
};

TEST_F(EfloRequestTest, CreateSaysWhatIsAskedForInTheBody) {
  const Pending<Result<Eni>> call(enis_.Create({.client_token = "t",
                                                .vswitch_id = "vsw-1",
                                                .security_group_ids = {"sg-1", "sg-2"},
                                                .traffic_mode = "Standard",
                                                .tags = {{"a", "b"}},
                                                .instance_id = "e01-1",
                                                .zone_id = "z",
                                                .vpc_id = "vpc-1"},
                                               {}));
  EXPECT_EQ(Sent("CreateElasticNetworkInterface"), (Parameters{{"ClientToken", "t"},
                                                               {"VSwitchId", "vsw-1"},
                                                               {"SecurityGroupId", "sg-1"},
                                                               {"NodeId", "e01-1"},
                                                               {"ZoneId", "z"},
                                                               {"VpcId", "vpc-1"},
                                                               {"Tag.1.Key", "a"},
                                                               {"Tag.1.Value", "b"}}));
  Answer(R"({"Code":0,"RequestId":"R-1","Content":{}})");
  ASSERT_TRUE(call.ended() && !call.value());
  EXPECT_EQ(call.value().error().error_class, ErrorClass::kAmbiguous);
}

TEST_F(EfloRequestTest, AListThatIsNotWholeIsNoList) {
  for (const char* answer :
       {"{}", R"({"Code":0})", R"({"Code":0,"Content":{}})", R"({"Code":0,"Content":{"Total":1}})",
        R"({"Code":0,"Content":{"Total":-1,"Data":[]}})",
        R"({"Code":0,"Content":{"Total":1,"Data":[{"Type":"CUSTOM","Status":"Available"}]}})",
        R"({"Code":0,"Content":{"Total":1,"Data":[
            {"Type":"CUSTOM","ElasticNetworkInterfaceId":"leni-1"}]}})"}) {
    const Pending<Result<std::vector<Eni>>> call(enis_.Describe({"leni-1"}));
    executor_.Advance(1s);  // there may be a line
    Answer(answer);
    ASSERT_TRUE(call.ended() && !call.value()) << answer;
    EXPECT_EQ(call.value().error().error_class, ErrorClass::kRetry);
  }
}

TEST_F(EfloRequestTest, AnEmptyListMayLackItsEntries) {
  const Pending<Result<std::vector<Eni>>> call(enis_.OfInstance("e01-1"));
  EXPECT_EQ(Sent("ListElasticNetworkInterfaces"),
            (Parameters{
                {"NodeId", "e01-1"}, {"Type", "CUSTOM"}, {"PageNumber", "1"}, {"PageSize", "20"}}));
  Answer(R"({"Code":0,"Content":{"Total":0}})");
  EXPECT_TRUE(call.ended() && call.value() && call.value()->empty());
}

// The cloud may cap the size of a page. An entry that has moved comes twice, or not at all.
TEST_F(EfloRequestTest, PagesMayBeSmallerThanAskedForAndOverlap) {
  const Pending<Result<std::vector<Eni>>> call(enis_.Tagged("k", "v"));
  const auto page = [](std::vector<const char*> ids) {
    std::string data;
    for (const char* id : ids) {
      data += Format(
          "{}{{\"Type\":\"CUSTOM\",\"Status\":\"Executing\","
          "\"ElasticNetworkInterfaceId\":\"{}\"}}",
          data.empty() ? "" : ",", id);
    }
    return Format("{{\"Code\":0,\"Content\":{{\"Total\":5,\"Data\":[{}]}}}}", data);
  };
  Answer(page({"leni-1", "leni-2"}));
  ASSERT_EQ(transport_.size(), 3u);
  transport_.at(2).Answer(200, page({"leni-5"}));
  transport_.at(1).Answer(200, page({"leni-2", "leni-3"}));
  ASSERT_TRUE(call.ended() && call.value());
  std::vector<std::string> ids;
  for (const Eni& eni : *call.value()) ids.push_back(eni.id);
  EXPECT_EQ(ids, (std::vector<std::string>{"leni-1", "leni-2", "leni-3", "leni-5"}));
}

TEST_F(EfloRequestTest, AnEniWithoutANodeHasNone) {
  const Pending<Result<std::vector<Eni>>> call(enis_.Describe({"leni-1"}));
  Answer(R"({"Code":0,"Content":{"Total":1,"Data":[{"Type":"CUSTOM","Status":"Unattached",
      "ElasticNetworkInterfaceId":"leni-1","NodeId":"e01-1"}]}})");
  executor_.Advance(1s);
  Answer(R"({"Code":0,"Content":{"Total":0,"Data":[]}})");
  ASSERT_TRUE(call.ended() && call.value() && call.value()->size() == 1);
  EXPECT_EQ(call.value()->front().status, "Available");
  EXPECT_EQ(call.value()->front().instance_id, "");
}

TEST_F(EfloRequestTest, ADateMayBeANumber) {
  for (const char* date : {R"("2026-01-02T03:04:05Z")", R"("1767323045000")", "1767323045000"}) {
    const Pending<Result<std::vector<Eni>>> call(enis_.Describe({"leni-1"}));
    executor_.Advance(1s);
    Answer(
        Format("{{\"Code\":0,\"Content\":{{\"Total\":1,\"Data\":[{{\"Type\":\"CUSTOM\","
               "\"Status\":\"Executing\",\"ElasticNetworkInterfaceId\":\"leni-1\","
               "\"CreateTime\":{}}}]}}}}",
               date));
    ASSERT_TRUE(call.ended() && call.value() && call.value()->size() == 1) << date;
    EXPECT_EQ(call.value()->front().created_at,
              std::chrono::system_clock::time_point(1'767'323'045s));
  }
}

TEST(EfloEndpointTest, IsThatOfTheRegion) {
  EXPECT_EQ(EfloEndpoint("cn-hangzhou", false), "https://eflo.cn-hangzhou.aliyuncs.com");
  EXPECT_EQ(EfloEndpoint("cn-hangzhou", true), "https://eflo-vpc.cn-hangzhou.aliyuncs.com");
  EXPECT_EQ(EfloEndpoint("cn-wulanchabu", false), "https://eflo.cn-wulanchabu.aliyuncs.com");
  EXPECT_EQ(EfloEndpoint("cn-wulanchabu", true),
            "https://eflo-tianwen-vpc.cn-wulanchabu.aliyuncs.com");
}

}  // namespace
}  // namespace berth::cloud::aliyun
