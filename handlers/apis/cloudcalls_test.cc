#include "handlers/apis/cloudcalls.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "async/test_executor.h"
#include "cloud/aliyun/api_client.h"
#include "cloud/aliyun/test_cloud.h"

namespace berth::apis {
namespace {

using namespace std::chrono_literals;
using cloud::CallRecord;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

class CloudCalls : public testing::Test {
 protected:
  std::vector<std::string> CellsOf(const std::string& name) {
    std::vector<std::string> cells;
    for (const Cell& cell : calls_.Get("", name)->cells) {
      cells.push_back(cell.since ? "since " + std::to_string(*cell.since)
                                 : Json::parse(cell.json).as_string());
    }
    EXPECT_EQ(cells.size(), calls_.type().columns.size());
    return cells;
  }
  Json StatusOf(const std::string& name) {
    return Json::parse(calls_.Get("", name)->json)["status"];
  }

  cloud::CallHistory history_;
  LiveCollection calls_{CloudCallType(), 1000, kCloudCallLimits};
  const async::WallTime at_{std::chrono::seconds(1'767'323'045)};
};

TEST_F(CloudCalls, AnActionIsAnObject) {
  history_.Called({.action = "AllocateEipAddress",
                   .at = at_,
                   .waited = 2500ms,
                   .latency = 10ms,
                   .http_code = 400,
                   .code = "Throttling.User",
                   .message = "too fast",
                   .request_id = "R-1",
                   .resource = "berth-u-1",
                   .throttled = true});
  history_.Called({.action = "AllocateEipAddress",
                   .at = at_ + 1500ms,
                   .latency = 42ms,
                   .http_code = 200,
                   .code = "OK",
                   .request_id = "R-2",
                   .resource = "eip-1"});
  PublishCloudCalls(calls_, history_);
  EXPECT_THAT(CellsOf("allocateeipaddress"),
              ElementsAre("AllocateEipAddress", "2", "1", "1", "OK", "10ms", "since 1767323046",
                          "2.50s", "Throttling.User", "R-1", "too fast"));
  EXPECT_EQ(StatusOf("allocateeipaddress"), Json::parse(R"({
      "action":"AllocateEipAddress","calls":2,"errors":1,"throttled":1,
      "codes":{"OK":1,"Throttling.User":1},"latency":"10ms","waited":"2.50s",
      "lastError":{"at":"2026-01-02T03:04:05.000000Z","code":"Throttling.User","httpStatus":400,
        "message":"too fast","latency":"10ms","waited":"2.50s","requestID":"R-1",
        "resource":"berth-u-1","throttled":true},
      "recent":[
        {"at":"2026-01-02T03:04:06.500000Z","code":"OK","httpStatus":200,"latency":"42ms",
         "waited":"0ms","requestID":"R-2","resource":"eip-1"},
        {"at":"2026-01-02T03:04:05.000000Z","code":"Throttling.User","httpStatus":400,
         "message":"too fast","latency":"10ms","waited":"2.50s","requestID":"R-1",
         "resource":"berth-u-1","throttled":true}]})"));
}

TEST_F(CloudCalls, WithoutAnErrorThereIsNone) {
  history_.Called({.action = "TagResources", .at = at_, .code = "OK"});
  PublishCloudCalls(calls_, history_);
  EXPECT_THAT(CellsOf("tagresources"),
              ElementsAre("TagResources", "1", "0", "0", "OK", "0ms", "since 1767323045", "0ms",
                          "<none>", "<none>", "<none>"));
  EXPECT_FALSE(StatusOf("tagresources").contains("lastError"));
}

TEST_F(CloudCalls, OnlyWhatWasCalledIsPublished) {
  history_.Called({.action = "TagResources", .at = at_, .code = "OK"});
  PublishCloudCalls(calls_, history_);
  const auto version = calls_.version();
  PublishCloudCalls(calls_, history_);
  EXPECT_EQ(calls_.version(), version);
  history_.Called({.action = "TagResources", .at = at_, .code = "OK"});
  PublishCloudCalls(calls_, history_);
  EXPECT_EQ(calls_.version(), version + 1);
  EXPECT_EQ(StatusOf("tagresources")["calls"], 2);
}

TEST_F(CloudCalls, EveryActionHasANameThatObjectsMayHave) {
  history_.Called({.action = "Vpc.Tag_Resources2?", .at = at_, .code = "OK"});
  history_.Called({.action = "??", .at = at_, .code = "OK"});
  PublishCloudCalls(calls_, history_);
  EXPECT_TRUE(calls_.Get("", "vpc-tag-resources2"));
  EXPECT_TRUE(calls_.Get("", "unnamed"));
}

TEST_F(CloudCalls, TheSchemaNamesWhatIsShown) {
  history_.Called({.action = "TagResources",
                   .http_code = 400,
                   .code = "Odd",
                   .message = "m",
                   .request_id = "R",
                   .resource = "eip-1",
                   .throttled = true});
  PublishCloudCalls(calls_, history_);
  const Json& status = calls_.type().properties["status"]["properties"];
  for (const auto& member : StatusOf("tagresources").object_range()) {
    EXPECT_TRUE(status.contains(member.key())) << member.key();
  }
  const Json& call = status["recent"]["items"]["properties"];
  for (const auto& member : StatusOf("tagresources")["recent"][0].object_range()) {
    EXPECT_TRUE(call.contains(member.key())) << member.key();
  }
}

// A credential that the cloud repeats would be seen by everybody who may read cloudcalls.
TEST_F(CloudCalls, NoCredentialIsShown) {
  async::TestExecutor executor;
  cloud::aliyun::ScriptedTransport transport;
  cloud::aliyun::TestCredentials credentials;
  credentials.now = cloud::aliyun::Credential{"LTAI-the-id", "very-secret", "sts-token"};
  cloud::aliyun::ApiClient api(
      executor, transport, credentials, &history_,
      {.endpoint = "https://vpc.aliyuncs.com", .version = "2016-04-28", .region = "cn-hangzhou"});
  const cloud::aliyun::Pending<Result<Json>> call(
      api.Call("ReleaseEipAddress", {{"AllocationId", "eip-1"}}));
  transport.last().Answer(400, R"({"Code":"SignatureDoesNotMatch","RequestId":"R-7",
      "Message":"LTAI-the-id signed with very-secret and sts-token"})");
  PublishCloudCalls(calls_, history_);
  const ObjectPtr object = calls_.Get("", "releaseeipaddress");
  std::string shown = object->json + object->metadata;
  for (const Cell& cell : object->cells) shown += cell.json;
  EXPECT_THAT(shown, HasSubstr("SignatureDoesNotMatch"));
  EXPECT_THAT(shown, HasSubstr("eip-1"));
  EXPECT_THAT(shown, HasSubstr("R-7"));
  for (const char* secret : {"LTAI-the-id", "very-secret", "sts-token"}) {
    EXPECT_THAT(shown, Not(HasSubstr(secret)));
  }
}

}  // namespace
}  // namespace berth::apis
