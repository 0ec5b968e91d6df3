#include "handlers/apis/authenticator.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "json/json.h"

namespace berth::apis {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

kube::Result<RequestHeaderConfig> Read(const std::string& config_map) {
  kube::JsonDocument document;
  const auto parsed = document.Parse(config_map);
  EXPECT_TRUE(parsed);
  return RequestHeaderConfig::FromConfigMap(*parsed);
}

// As kube-apiserver writes it: the lists are JSON inside of text.
constexpr const char* kConfigMap = R"({"apiVersion":"v1","kind":"ConfigMap",
  "metadata":{"name":"extension-apiserver-authentication","namespace":"kube-system"},
  "data":{"client-ca-file":"CLIENT CA","requestheader-client-ca-file":"FRONT PROXY CA\n",
          "requestheader-allowed-names":"[\"front-proxy-client\",\"other\"]",
          "requestheader-username-headers":"[\"X-Remote-User\"]",
          "requestheader-uid-headers":"[\"X-Remote-Uid\"]",
          "requestheader-group-headers":"[\"X-Remote-Group\",\"X-Group\"]",
          "requestheader-extra-headers-prefix":"[\"X-Remote-Extra-\"]"}})";

TEST(RequestHeaderConfig, IsReadFromTheConfigMap) {
  const auto config = Read(kConfigMap);
  ASSERT_TRUE(config) << config.error().message;
  EXPECT_EQ(config->client_ca_pem, "FRONT PROXY CA\n");
  EXPECT_THAT(config->allowed_names, ElementsAre("front-proxy-client", "other"));
  EXPECT_THAT(config->username_headers, ElementsAre("X-Remote-User"));
  EXPECT_THAT(config->uid_headers, ElementsAre("X-Remote-Uid"));
  EXPECT_THAT(config->group_headers, ElementsAre("X-Remote-Group", "X-Group"));
  EXPECT_THAT(config->extra_prefixes, ElementsAre("X-Remote-Extra-"));
}

TEST(RequestHeaderConfig, AnOlderClusterHasNoUidHeaders) {
  Json config_map = Json::parse(kConfigMap);
  config_map["data"].erase("requestheader-uid-headers");
  const auto config = Read(config_map.to_string());
  ASSERT_TRUE(config);
  EXPECT_THAT(config->uid_headers, IsEmpty());
  EXPECT_THAT(config->username_headers, ElementsAre("X-Remote-User"));
}

TEST(RequestHeaderConfig, WithoutAFrontProxyThereIsNoCa) {
  const auto config = Read(R"({"data":{"client-ca-file":"CLIENT CA"}})");
  ASSERT_TRUE(config);
  EXPECT_THAT(config->client_ca_pem, IsEmpty());
  EXPECT_THAT(config->username_headers, IsEmpty());
}

TEST(RequestHeaderConfig, NeedsData) {
  EXPECT_EQ(Read("{}").error().message, "the ConfigMap has no data");
  EXPECT_EQ(Read(R"({"data":null})").error().message, "the ConfigMap has no data");
}

TEST(RequestHeaderConfig, AnEmptyListOfNamesAllowsAnyButAMalformedOneIsAnError) {
  const auto with_names = [](const std::string& names) {
    Json config_map = Json::parse(kConfigMap);
    config_map["data"]["requestheader-allowed-names"] = names;
    return Read(config_map.to_string());
  };
  ASSERT_TRUE(with_names("[]"));
  EXPECT_THAT(with_names("[]")->allowed_names, IsEmpty());
  for (const char* malformed :
       {"[\"front-proxy-client\"", "front-proxy-client", "{}", "\"x\"", "[1]"}) {
    EXPECT_FALSE(with_names(malformed)) << malformed;
  }
}

TEST(RequestHeaderConfig, UsualNames) {
  const auto config = RequestHeaderConfig::Usual("CA", {"front-proxy-client"});
  EXPECT_EQ(config.client_ca_pem, "CA");
  EXPECT_THAT(config.username_headers, ElementsAre("X-Remote-User"));
  EXPECT_THAT(config.group_headers, ElementsAre("X-Remote-Group"));
}

// Without a client certificate and without somebody to review tokens nobody is anybody.
TEST(Authenticator, RefusesWhoShowsNoCertificate) {
  Authenticator authenticator(
      nullptr, [](const auto&, const auto&) { return std::optional("front-proxy-client"); });
  authenticator.SetRequestHeader(std::make_shared<const RequestHeaderConfig>(
      RequestHeaderConfig::Usual("CA", {"front-proxy-client"})));
  for (const char* authorization : {"", "Bearer token", "Basic eDp5"}) {
    const auto request = drogon::HttpRequest::newHttpRequest();
    request->addHeader("x-remote-user", "root");
    request->addHeader("x-remote-group", "system:masters");
    if (*authorization) request->addHeader("authorization", authorization);
    int code = 0;
    authenticator.Authenticate(request,
                               [&](const auto& user) { code = user ? 200 : user.error().code; });
    EXPECT_EQ(code, 401) << authorization;
  }
}

}  // namespace
}  // namespace berth::apis
