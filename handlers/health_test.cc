#include "handlers/health.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace berth::health {
namespace {

struct Answer {
  int code = 0;
  std::string body;
};

class HealthTest : public testing::Test {
 protected:
  Answer Ask(const std::string& path, bool verbose = false,
             drogon::HttpMethod method = drogon::Get) {
    const auto request = drogon::HttpRequest::newHttpRequest();
    request->setMethod(method);
    request->setPath(path);
    if (verbose) request->setParameter("verbose", "");
    Answer answer;
    health_.Serve(request, [&](const drogon::HttpResponsePtr& response) {
      answer = {response->statusCode(), std::string(response->body())};
    });
    return answer;
  }

  Health health_;
  Health::Condition& listening_ = health_.Require("listening", "the listeners are not open yet");
  Health::Condition& shutdown_ = health_.Require("shutdown", "the server is shutting down");
};

TEST_F(HealthTest, LivesWithoutBeingReady) {
  for (const char* path : {"/livez", "/healthz"}) {
    EXPECT_EQ(Ask(path).code, 200);
    EXPECT_EQ(Ask(path).body, "ok");
  }
  EXPECT_EQ(Ask("/livez", true).body, "[+]ping ok\nlivez check passed\n");
}

TEST_F(HealthTest, IsReadyWhenEveryConditionHolds) {
  EXPECT_FALSE(health_.ready());
  EXPECT_EQ(Ask("/readyz").code, 503);
  listening_.Set(true);
  EXPECT_EQ(Ask("/readyz").code, 503);
  shutdown_.Set(true);
  EXPECT_TRUE(health_.ready());
  EXPECT_EQ(Ask("/readyz").code, 200);
  EXPECT_EQ(Ask("/readyz").body, "ok");
  shutdown_.Set(false);
  EXPECT_EQ(Ask("/readyz").code, 503);
  EXPECT_EQ(Ask("/livez").code, 200);
}

TEST_F(HealthTest, SaysWhyItIsNotReady) {
  listening_.Set(true);
  const std::string expected =
      "[+]listening ok\n[-]shutdown failed: the server is shutting down\nreadyz check failed\n";
  EXPECT_EQ(Ask("/readyz").body, expected);
  EXPECT_EQ(Ask("/readyz", true).body, expected);
  shutdown_.Set(true);
  EXPECT_EQ(Ask("/readyz", true).body, "[+]listening ok\n[+]shutdown ok\nreadyz check passed\n");
}

TEST_F(HealthTest, WithoutConditionsItIsReady) { EXPECT_TRUE(Health().ready()); }

TEST_F(HealthTest, ServesNothingElse) {
  EXPECT_EQ(Ask("/").code, 404);
  EXPECT_EQ(Ask("/readyz/x").code, 404);
  EXPECT_EQ(Ask("/readyz", false, drogon::Post).code, 405);
}

}  // namespace
}  // namespace berth::health
