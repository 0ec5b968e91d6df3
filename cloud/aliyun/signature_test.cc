#include "cloud/aliyun/signature.h"

#include <gtest/gtest.h>

namespace berth::cloud::aliyun {
namespace {

// The two vectors are those that Alibaba Cloud publishes with its descriptions of the signatures.
TEST(SignatureTest, Acs3IsAsPublished) {
  const Acs3 call{.query = {{"ImageId", "win2019_1809_x64_dtc_zh-cn_40G_alibase_20230811.vhd"},
                            {"RegionId", "cn-shanghai"}},
                  .headers = {{"host", "ecs.cn-shanghai.aliyuncs.com"},
                              {"x-acs-action", "RunInstances"},
                              {"x-acs-content-sha256", Sha256("")},
                              {"x-acs-date", "2023-10-26T10:22:32Z"},
                              {"x-acs-signature-nonce", "3156853299f313e23d1673dc12e1703d"},
                              {"x-acs-version", "2014-05-26"}},
                  .payload_hash = Sha256("")};
  EXPECT_EQ(Sha256(call.Canonical()),
            "7ea06492da5221eba5297e897ce16e55f964061054b7695beedaac1145b1e259");
  EXPECT_EQ(call.Authorization("YourAccessKeyId", "YourAccessKeySecret"),
            "ACS3-HMAC-SHA256 Credential=YourAccessKeyId,SignedHeaders=host;x-acs-action;"
            "x-acs-content-sha256;x-acs-date;x-acs-signature-nonce;x-acs-version,Signature="
            "06563a9e1b43f5dfe96b81484da74bceab24a1d853912eee15083a6f0f3283c0");
}

TEST(SignatureTest, V1IsAsPublished) {
  const Parameters call{{"AccessKeyId", "testid"},
                        {"Action", "DescribeRegions"},
                        {"Format", "XML"},
                        {"SignatureMethod", "HMAC-SHA1"},
                        {"SignatureNonce", "3ee8c1b8-83d3-44af-a94f-4e0ad82fd6cf"},
                        {"SignatureVersion", "1.0"},
                        {"Timestamp", "2016-02-23T12:46:24Z"},
                        {"Version", "2014-05-26"}};
  EXPECT_EQ(SignatureV1("GET", call, "testsecret"), "OLeaidS1JvxuMvnyHOwuJ+uX5qY=");
}

TEST(SignatureTest, AQueryIsEncodedAsTheSignatureWantsIt) {
  const Parameters parameters{{"Tag.1.Key", "a b"}, {"Name", "*~-_.é/"}, {"Empty", ""}};
  const std::string query = Query(parameters);
  EXPECT_EQ(query, "Empty=&Name=%2A~-_.%C3%A9%2F&Tag.1.Key=a%20b");
  EXPECT_EQ(ParseQuery(query), parameters);
}

TEST(SignatureTest, AQueryFromElsewhereIsReadAsABrowserMeansIt) {
  EXPECT_EQ(ParseQuery("a=x+y&flag&&b=%zz%4"),
            (Parameters{{"a", "x y"}, {"flag", ""}, {"b", "%zz%4"}}));
}

}  // namespace
}  // namespace berth::cloud::aliyun
