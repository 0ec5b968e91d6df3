#include "cloud/simulator/aliyun/cloud.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <map>
#include <set>

#include "cloud/simulator/aliyun/test_caller.h"
#include "log/timestamp.h"

namespace berth::cloud::simulator {
namespace {

using namespace std::chrono_literals;

async::WallTime At(const char* date) { return ParseTime(date).value(); }

struct CloudTest : testing::Test {
  Cloud cloud{{}};
  TestCaller caller{cloud};
};

// The published calls are of actions that are not here; that they are told so, and not that their
// signature is wrong, is the proof.
TEST_F(CloudTest, TheSignatureThatIsPublishedForAcs3IsRight) {
  cloud.keys().Add({.id = "YourAccessKeyId", .secret = "YourAccessKeySecret"});
  caller.now = At("2023-10-26T10:22:32Z");
  http::Request request{
      .url =
          "https://ecs.cn-shanghai.aliyuncs.com/"
          "?ImageId=win2019_1809_x64_dtc_zh-cn_40G_alibase_20230811.vhd&RegionId=cn-shanghai",
      .headers = {{"x-acs-action", "RunInstances"},
                  {"x-acs-content-sha256", aliyun::Sha256("")},
                  {"x-acs-date", "2023-10-26T10:22:32Z"},
                  {"x-acs-signature-nonce", "3156853299f313e23d1673dc12e1703d"},
                  {"x-acs-version", "2014-05-26"},
                  {"Authorization",
                   "ACS3-HMAC-SHA256 Credential=YourAccessKeyId,SignedHeaders=host;x-acs-action;"
                   "x-acs-content-sha256;x-acs-date;x-acs-signature-nonce;x-acs-version,Signature="
                   "06563a9e1b43f5dfe96b81484da74bceab24a1d853912eee15083a6f0f3283c0"}}};
  EXPECT_EQ(caller.Send(request).Code(), "InvalidAction.NotFound");
  request.url += "&DryRun=true";
  EXPECT_EQ(caller.Send(request).Code(), "SignatureDoesNotMatch");
}

TEST_F(CloudTest, TheSignatureThatIsPublishedForV1IsRight) {
  cloud.keys().Add({.id = "testid", .secret = "testsecret"});
  caller.now = At("2016-02-23T12:46:24Z");
  http::Request request{
      .method = "GET",
      .url =
          "https://ecs.aliyuncs.com/?Timestamp=2016-02-23T12%3A46%3A24Z&Format=XML"
          "&AccessKeyId=testid&Action=DescribeRegions&SignatureMethod=HMAC-SHA1"
          "&SignatureNonce=3ee8c1b8-83d3-44af-a94f-4e0ad82fd6cf&Version=2014-05-26"
          "&SignatureVersion=1.0&Signature=OLeaidS1JvxuMvnyHOwuJ%2BuX5qY%3D"};
  EXPECT_EQ(caller.Send(request).Code(), "InvalidAction.NotFound");
  request.method = "POST";
  EXPECT_EQ(caller.Send(request).Code(), "SignatureDoesNotMatch");
}

TEST_F(CloudTest, V1WorksWithAForm) {
  aliyun::Parameters form{{"Action", "AllocateEipAddress"},
                          {"Version", "2016-04-28"},
                          {"AccessKeyId", TestCaller::kKeyId},
                          {"SignatureMethod", "HMAC-SHA1"},
                          {"SignatureVersion", "1.0"},
                          {"SignatureNonce", "n"},
                          {"Timestamp", "2026-01-02T03:04:05Z"},
                          {"RegionId", "cn-hangzhou"},
                          {"Name", "été & co"}};
  form["Signature"] = aliyun::SignatureV1("POST", form, TestCaller::kSecret);
  const auto answer =
      caller.Send({.url = "https://vpc.aliyuncs.com/",
                   .headers = {{"Content-Type", "application/x-www-form-urlencoded"}},
                   .body = aliyun::Query(form)});
  ASSERT_EQ(answer.Code(), "OK");
  EXPECT_EQ(cloud.vpc().Find(answer["AllocationId"])->name, "été & co");
}

// As alibaba-cloud-sdk-go sends it.
TEST_F(CloudTest, V1IsServedWhateverHeadersComeWithIt) {
  aliyun::Parameters query{{"Action", "AllocateEipAddress"},
                           {"Version", "2016-04-28"},
                           {"Format", "JSON"},
                           {"AccessKeyId", TestCaller::kKeyId},
                           {"SignatureMethod", "HMAC-SHA1"},
                           {"SignatureVersion", "1.0"},
                           {"SignatureType", ""},
                           {"SignatureNonce", "n"},
                           {"Timestamp", "2026-01-02T03:04:05Z"},
                           {"RegionId", "cn-hangzhou"}};
  query["Signature"] = aliyun::SignatureV1("POST", query, TestCaller::kSecret);
  http::Request request{.url = "https://vpc.aliyuncs.com/?" + aliyun::Query(query),
                        .headers = {{"Content-Type", "application/x-www-form-urlencoded"},
                                    {"x-acs-action", "AllocateEipAddress"},
                                    {"x-acs-version", "2016-04-28"},
                                    {"x-acs-credentials-provider", "static_ak"}}};
  EXPECT_EQ(caller.Send(request).Code(), "OK");
  EXPECT_EQ(caller.Send(request).Code(), "SignatureNonceUsed");
  request.url += "&Bandwidth=9";
  EXPECT_EQ(caller.Send(request).Code(), "SignatureDoesNotMatch");
}

TEST_F(CloudTest, AnErrorIsToldAsTheCloudDoes) {
  const auto answer = caller.Ask("ReleaseEipAddress", {{"AllocationId", "eip-none"}});
  EXPECT_EQ(answer.http_code, 404);
  EXPECT_EQ(answer["Code"], "InvalidAllocationId.NotFound");
  EXPECT_EQ(answer["Message"], "Specified allocation ID is not found");
  EXPECT_EQ(answer["HostId"], TestCaller::kHost);
  EXPECT_EQ(answer["RequestId"].size(), 36);
  EXPECT_TRUE(answer["Recommend"].contains(answer["RequestId"]));
}

TEST_F(CloudTest, WhatWasTamperedWithIsRefused) {
  const aliyun::Acs3 good = caller.Unsigned("DescribeEipAddresses", {{"RegionId", "cn-hangzhou"}});
  const http::Request request = TestCaller::Signed(good);

  http::Request other = request;
  other.url += "&PageSize=50";
  EXPECT_EQ(caller.Send(other).Code(), "SignatureDoesNotMatch");
  other = request;
  other.body = "x=1";
  EXPECT_EQ(caller.Send(other).Code(), "SignatureDoesNotMatch");
  other = request;
  std::ranges::find(other.headers, "x-acs-action", &http::Header::name)->value =
      "ReleaseEipAddress";
  EXPECT_EQ(caller.Send(other).Code(), "SignatureDoesNotMatch");
  other = request;
  other.headers.push_back({"X-Acs-Security-Token", "stolen"});
  EXPECT_EQ(caller.Send(other).Code(), "IncompleteSignature");
  EXPECT_EQ(caller.Send(TestCaller::Signed(good, TestCaller::kKeyId, "guessed")).Code(),
            "SignatureDoesNotMatch");
  EXPECT_EQ(caller.Send(TestCaller::Signed(good, "LTAInobody")).http_code, 404);
  EXPECT_EQ(caller.Send(TestCaller::Signed(good, "LTAInobody")).Code(),
            "InvalidAccessKeyId.NotFound");
  // A hash that is signed, but is not of what was sent.
  auto hashed = caller.Unsigned("DescribeEipAddresses", {{"RegionId", "cn-hangzhou"}});
  hashed.headers["x-acs-content-sha256"] = aliyun::Sha256("else");
  EXPECT_EQ(caller.Send(TestCaller::Signed(hashed)).Code(), "SignatureDoesNotMatch");
  // A token that no key of this kind has.
  auto token = caller.Unsigned("DescribeEipAddresses", {{"RegionId", "cn-hangzhou"}});
  token.headers["x-acs-security-token"] = "made up";
  EXPECT_EQ(caller.Send(TestCaller::Signed(token)).Code(), "InvalidSecurityToken.Malformed");
  // None of them has used the nonce up.
  EXPECT_EQ(caller.Send(request).Code(), "OK");
}

TEST_F(CloudTest, WhatIsMissingIsNamed) {
  const auto without = [&](const char* header) {
    http::Request request = TestCaller::Signed(caller.Unsigned("DescribeEipAddresses", {}));
    std::erase_if(request.headers, [&](const http::Header& h) { return h.name == header; });
    return caller.Send(request).Code();
  };
  EXPECT_EQ(without("Authorization"), "MissingAccessKeyId");  // a V1 call without anything
  EXPECT_EQ(without("x-acs-date"), "MissingTimestamp");
  EXPECT_EQ(without("x-acs-signature-nonce"), "MissingSignatureNonce");
  EXPECT_EQ(without("x-acs-content-sha256"), "MissingContentSha256");
  EXPECT_EQ(without("x-acs-version"), "MissingVersion");
  EXPECT_EQ(without("x-acs-action"), "MissingAction");
  EXPECT_EQ(caller.Send({.method = "DELETE", .url = "https://h/"}).Code(), "UnsupportedHTTPMethod");
}

TEST_F(CloudTest, ADateMayBeFifteenMinutesOff) {
  const auto dated = [&](std::string date) {
    auto call = caller.Unsigned("DescribeEipAddresses", {{"RegionId", "cn-hangzhou"}});
    call.headers["x-acs-date"] = std::move(date);
    return caller.Send(TestCaller::Signed(call)).Code();
  };
  EXPECT_EQ(dated("2026-01-02T02:49:05Z"), "OK");
  EXPECT_EQ(dated("2026-01-02T02:49:04Z"), "InvalidTimeStamp.Expired");
  EXPECT_EQ(dated("2026-01-02T03:19:05Z"), "OK");
  EXPECT_EQ(dated("2026-01-02T03:19:06Z"), "InvalidTimeStamp.Expired");
  EXPECT_EQ(dated("2026-01-02 03:04:05"), "InvalidTimeStamp.Format");
}

TEST_F(CloudTest, ANonceIsGoodOnce) {
  auto call = caller.Unsigned("DescribeEipAddresses", {{"RegionId", "cn-hangzhou"}});
  call.headers["x-acs-date"] = "2026-01-02T03:19:05Z";  // good for as long as can be
  const http::Request request = TestCaller::Signed(call);
  EXPECT_EQ(caller.Send(request).Code(), "OK");
  EXPECT_EQ(caller.Send(request).Code(), "SignatureNonceUsed");
  caller.now += 30min;
  EXPECT_EQ(caller.Send(request).Code(), "SignatureNonceUsed");
  caller.now += 1s;
  EXPECT_EQ(caller.Send(request).Code(), "InvalidTimeStamp.Expired");
}

TEST_F(CloudTest, KeysComeAndGo) {
  cloud.keys().Add({.id = "LTAInext", .secret = "next", .caller = "berth"});
  const auto ask = [&] {
    return caller
        .Send(
            TestCaller::Signed(caller.Unsigned("AllocateEipAddress", {{"RegionId", "cn-hangzhou"}}),
                               "LTAInext", "next"))
        .Code();
  };
  EXPECT_EQ(ask(), "OK");
  EXPECT_EQ(cloud.vpc().ledger().back().by, "berth");
  cloud.keys().Revoke("LTAInext");
  EXPECT_EQ(ask(), "InvalidAccessKeyId.NotFound");
}

TEST_F(CloudTest, StsGivesKeysForAWhile) {
  const std::string role = "acs:ram::1:role/berth";
  cloud.sts().Trust("eyJ.service.account", role);
  cloud.sts().Trust("eyJ.another", "acs:ram::1:role/another");
  const auto assume = [&](const std::string& token, const std::string& seconds) {
    const aliyun::Parameters query{{"OIDCProviderArn", "acs:ram::1:oidc-provider/ack"},
                                   {"RoleArn", role},
                                   {"OIDCToken", token},
                                   {"RoleSessionName", "berth"},
                                   {"DurationSeconds", seconds}};
    // Without a key: that is what is asked for.
    return caller.Send(
        {.url = "https://sts.aliyuncs.com/?" + aliyun::Query(query),
         .headers = {{"x-acs-action", "AssumeRoleWithOIDC"}, {"x-acs-version", "2015-04-01"}}});
  };
  EXPECT_EQ(assume("eyJ.forged", "900").Code(), "AuthenticationFail.OIDCToken.Invalid");
  EXPECT_EQ(assume("eyJ.another", "900").Code(), "NoPermission");
  EXPECT_EQ(assume("eyJ.service.account", "60").Code(), "InvalidParameter.DurationSeconds");
  const auto credentials = assume("eyJ.service.account", "900").body["Credentials"];
  EXPECT_EQ(credentials["Expiration"].as<std::string>(), "2026-01-02T03:19:05Z");

  const auto ask = [&](const std::string& security_token) {
    auto call = caller.Unsigned("AllocateEipAddress", {{"RegionId", "cn-hangzhou"}});
    if (!security_token.empty()) call.headers["x-acs-security-token"] = security_token;
    return caller
        .Send(TestCaller::Signed(call, credentials["AccessKeyId"].as<std::string>(),
                                 credentials["AccessKeySecret"].as<std::string>()))
        .Code();
  };
  const auto token = credentials["SecurityToken"].as<std::string>();
  EXPECT_EQ(ask(token), "OK");
  EXPECT_EQ(cloud.vpc().ledger().back().by, role);
  EXPECT_EQ(ask(""), "MissingSecurityToken");
  EXPECT_EQ(ask("other"), "InvalidSecurityToken.MismatchWithAccessKey");
  caller.now += 15min;
  EXPECT_EQ(ask(token), "InvalidSecurityToken.Expired");
}

TEST_F(CloudTest, ATooFrequentCallIsThrottledUntilTheMinuteIsOver) {
  cloud.throttle().SetLimit("AllocateEipAddress", 2);
  caller.Allocate();
  caller.Allocate();
  const auto answer = caller.Ask("AllocateEipAddress");
  EXPECT_EQ(answer.http_code, 400);
  EXPECT_EQ(answer.Code(), "Throttling.User");
  EXPECT_EQ(caller.Code("DescribeEipAddresses"), "OK");
  EXPECT_EQ(cloud.calls().at("AllocateEipAddress").carried_out, 2);
  EXPECT_EQ(cloud.calls().at("AllocateEipAddress").throttled, 1);
  EXPECT_EQ(cloud.vpc().Eips().size(), 2);
  caller.now += 55s;  // to 03:05:00
  EXPECT_EQ(caller.Code("AllocateEipAddress"), "OK");
}

TEST(ClientTokensTest, TheSameTokenIsTheSameAddress) {
  Cloud cloud({.client_tokens = {.memory = 10min, .processing = 1s}});
  TestCaller caller(cloud);
  const aliyun::Parameters parameters{{"ClientToken", "t"}, {"Bandwidth", "7"}};
  const auto first = caller.Ask("AllocateEipAddress", parameters);
  EXPECT_EQ(caller.Code("AllocateEipAddress", parameters), "LastTokenProcessing");
  caller.now += 1s;
  const auto second = caller.Ask("AllocateEipAddress", parameters);
  EXPECT_EQ(second["AllocationId"], first["AllocationId"]);
  EXPECT_EQ(second["EipAddress"], first["EipAddress"]);
  EXPECT_NE(second["RequestId"], first["RequestId"]);
  EXPECT_EQ(caller.Code("AllocateEipAddress", {{"ClientToken", "t"}, {"Bandwidth", "8"}}),
            "IdempotentParameterMismatch");
  EXPECT_NE(caller.Allocate({{"ClientToken", "T"}, {"Bandwidth", "7"}}), first["AllocationId"]);
  // The answer stays what it was, even if the address does not.
  EXPECT_EQ(caller.Code("ReleaseEipAddress", {{"AllocationId", first["AllocationId"]}}), "OK");
  EXPECT_EQ(caller.Allocate(parameters), first["AllocationId"]);
  caller.now += 10min - 1s;
  EXPECT_NE(caller.Allocate(parameters), first["AllocationId"]);
  EXPECT_EQ(caller.Code("AllocateEipAddress", {{"ClientToken", std::string(65, 'x')}}),
            "InvalidParameter");
}

TEST(ClientTokensTest, AFailureIsNotRemembered) {
  Cloud cloud({});
  TestCaller caller(cloud);
  cloud.vpc().SetQuota(0);
  EXPECT_EQ(caller.Code("AllocateEipAddress", {{"ClientToken", "t"}}), "QuotaExceeded.Eip");
  cloud.vpc().SetQuota(1);
  EXPECT_EQ(caller.Code("AllocateEipAddress", {{"ClientToken", "t"}}), "OK");
}

TEST(ClientTokensTest, NoTokenEverHasTwoAddresses) {
  EXPECT_TRUE(rc::check([](std::uint64_t seed) {
    Cloud cloud({.seed = seed, .client_tokens = {.processing = 2s}});
    TestCaller caller(cloud);
    std::map<std::string, std::string> known;  // token to ID, as far as answers got through
    const auto steps = *rc::gen::inRange(0, 40);
    for (int step = 0; step < steps; ++step) {
      caller.now += std::chrono::seconds(*rc::gen::inRange(0, 3));
      const std::string token = std::to_string(*rc::gen::inRange(0, 4));
      const auto answer = caller.Ask("AllocateEipAddress", {{"ClientToken", token}});
      if (answer.http_code != 200 || *rc::gen::arbitrary<bool>()) continue;  // the answer is lost
      const auto [entry, fresh] = known.emplace(token, answer["AllocationId"]);
      RC_ASSERT(fresh || entry->second == answer["AllocationId"]);
    }
    std::set<std::string> tokens;
    for (const LedgerEntry& entry : cloud.vpc().ledger()) {
      RC_ASSERT(tokens.insert(entry.client_token).second);
    }
  }));
}

TEST_F(CloudTest, AnAccountDoesNotSeeTheAddressesOfAnother) {
  cloud.keys().Add({.id = "LTAIother", .secret = "s", .caller = "other", .account = "42"});
  const std::string id = caller.Allocate();
  const auto others = [&](const std::string& action, aliyun::Parameters parameters) {
    parameters.emplace("RegionId", "cn-hangzhou");
    return caller.Send(
        TestCaller::Signed(caller.Unsigned(action, std::move(parameters)), "LTAIother", "s"));
  };
  EXPECT_EQ(others("DescribeEipAddresses", {{"AllocationId", id}}).body["TotalCount"], Json(0));
  EXPECT_EQ(others("ReleaseEipAddress", {{"AllocationId", id}}).Code(),
            "InvalidAllocationId.NotFound");
  EXPECT_EQ(caller.Status(id), "Available");
  const std::string own = others("AllocateEipAddress", {})["AllocationId"];
  EXPECT_EQ(caller.Status(own), "gone");
  EXPECT_TRUE(cloud.vpc("42", "cn-hangzhou").Find(own));
}

TEST_F(CloudTest, ARegionDoesNotSeeTheAddressesOfAnother) {
  cloud.vpc(kDefaultAccount, "cn-beijing");
  const std::string id = caller.Allocate();
  EXPECT_EQ(caller.Ask("DescribeEipAddresses", {{"AllocationId", id}, {"RegionId", "cn-beijing"}})
                .body["TotalCount"],
            Json(0));
  EXPECT_EQ(caller.Code("DescribeEipAddresses", {{"RegionId", "cn-nowhere"}}),
            "InvalidRegionId.NotFound");
}

TEST_F(CloudTest, AKeyIsToldItsAccount) {
  aliyun::Acs3 call = caller.Unsigned("GetCallerIdentity", {});
  call.headers["x-acs-version"] = "2015-04-01";
  EXPECT_EQ(caller.Send(TestCaller::Signed(call))["AccountId"], kDefaultAccount);
  EXPECT_EQ(caller.Send(TestCaller::Signed(call, "LTAInone")).Code(),
            "InvalidAccessKeyId.NotFound");
}

TEST(CloudSeedTest, OneSeedIsOneRun) {
  const auto run = [](std::uint64_t seed) {
    Cloud cloud({.seed = seed});
    TestCaller caller(cloud);
    caller.Allocate();
    return caller.Ask("DescribeEipAddresses").body.to_string();
  };
  EXPECT_EQ(run(3), run(3));
  EXPECT_NE(run(3), run(4));
}

}  // namespace
}  // namespace berth::cloud::simulator
