#include "cloud/azure/token_source.h"

#include <gtest/gtest.h>

#include <fstream>
#include <memory>

#include "async/test_executor.h"
#include "cloud/test_transport.h"
#include "http/temp_folder_test.h"

namespace berth::cloud::azure {
namespace {

using namespace std::chrono_literals;
using PendingToken = Pending<Result<std::string>>;

class TokenSourceTest : public testing::Test {
 protected:
  Identity Client() {
    return {.authority = "https://login",
            .tenant = "t",
            .client_id = "c",
            .scope = "https://arm/.default",
            .secret = [this] { return secret_; },
            .federated_token_file = {}};
  }
  void Give(const std::string& token, int seconds = 3600) {
    transport_.last().Answer(
        200, R"({"access_token":")" + token + R"(","expires_in":)" + std::to_string(seconds) + "}");
  }

  std::string secret_ = "sec&ret";
  async::TestExecutor executor_;
  ScriptedTransport transport_;
  TestObserver observer_;
  TokenSource tokens_{executor_, transport_, &observer_, Client()};
};

TEST_F(TokenSourceTest, ASecretIsProofAndTravelsInTheBody) {
  const PendingToken token(tokens_.Get());
  const auto& asked = transport_.last();
  EXPECT_EQ(asked.request.url, "https://login/t/oauth2/v2.0/token");
  EXPECT_EQ(asked.form(), (Parameters{{"grant_type", "client_credentials"},
                                      {"client_id", "c"},
                                      {"client_secret", "sec&ret"},
                                      {"scope", "https://arm/.default"}}));
  Give("one");
  ASSERT_TRUE(token.ended());
  EXPECT_EQ(token.value().value(), "one");
  ASSERT_EQ(observer_.calls.size(), 1u);
  EXPECT_EQ(observer_.calls[0].action, "GetToken");
  EXPECT_EQ(observer_.calls[0].code, "OK");
}

TEST_F(TokenSourceTest, OneRequestServesAllWhoWait) {
  const PendingToken first(tokens_.Get());
  const PendingToken second(tokens_.Get());
  EXPECT_EQ(transport_.size(), 1u);
  Give("one");
  EXPECT_EQ(first.value().value(), "one");
  EXPECT_EQ(second.value().value(), "one");
}

TEST_F(TokenSourceTest, ANewTokenIsFetchedBeforeTheOldOneEnds) {
  const PendingToken first(tokens_.Get());
  Give("one");
  executor_.Advance(51min);
  const PendingToken second(tokens_.Get());
  EXPECT_EQ(second.value().value(), "one");  // good for a while
  EXPECT_EQ(transport_.size(), 2u);
  Give("two");
  const PendingToken third(tokens_.Get());
  EXPECT_EQ(third.value().value(), "two");
  EXPECT_EQ(transport_.size(), 2u);
}

TEST_F(TokenSourceTest, AnExpiredTokenIsNotGivenOut) {
  const PendingToken first(tokens_.Get());
  Give("one", 600);
  executor_.Advance(10min);
  const PendingToken second(tokens_.Get());
  EXPECT_FALSE(second.ended());
  transport_.last().Fail(ErrorClass::kRetry);
  ASSERT_TRUE(second.ended());
  EXPECT_EQ(second.value().error().error_class, ErrorClass::kRetry);
}

TEST_F(TokenSourceTest, ARefusedTokenIsReplaced) {
  const PendingToken first(tokens_.Get());
  Give("one");
  tokens_.Refused("another");
  executor_.Advance(10s);
  EXPECT_EQ(PendingToken(tokens_.Get()).value().value(), "one");
  tokens_.Refused("one");
  const PendingToken second(tokens_.Get());
  EXPECT_FALSE(second.ended());
  Give("two");
  EXPECT_EQ(second.value().value(), "two");
}

TEST_F(TokenSourceTest, ARotatedSecretIsUsed) {
  const PendingToken first(tokens_.Get());
  Give("one", 300);
  secret_ = "new";
  executor_.Advance(5min);
  const PendingToken second(tokens_.Get());
  EXPECT_EQ(transport_.last().form().at("client_secret"), "new");
}

TEST_F(TokenSourceTest, ARefusedIdentityIsAs401AndSaysNoSecret) {
  const PendingToken token(tokens_.Get());
  transport_.last().Answer(401, R"({"error":"invalid_client",
      "error_description":"AADSTS7000215: wrong: sec&ret sec%26ret"})");
  ASSERT_TRUE(token.ended());
  const Error& error = token.value().error();
  EXPECT_EQ(error.error_class, ErrorClass::kTerminal);
  EXPECT_EQ(error.code, 401);
  EXPECT_TRUE(error.message.contains("AADSTS7000215"));
  EXPECT_FALSE(error.message.contains("sec&ret"));
  EXPECT_FALSE(error.message.contains("sec%26ret"));
  EXPECT_FALSE(observer_.calls[0].message.contains("sec&ret"));
}

TEST_F(TokenSourceTest, AThrottledAuthorityIsThrottled) {
  const PendingToken token(tokens_.Get());
  transport_.last().Answer(429, R"({"error":"throttled"})", {{"retry-after", "7"}});
  EXPECT_EQ(token.value().error().error_class, ErrorClass::kThrottled);
  EXPECT_EQ(token.value().error().retry_after, 7s);
}

TEST_F(TokenSourceTest, AFederatedTokenIsReadAnewForEveryToken) {
  const TempFolder folder;
  const auto file = folder.path() / "token";
  Identity identity = Client();
  identity.secret = nullptr;
  identity.federated_token_file = file;
  TokenSource tokens(executor_, transport_, nullptr, std::move(identity));
  {
    const PendingToken none(tokens.Get());
    ASSERT_TRUE(none.ended());
    EXPECT_TRUE(none.value().error().message.contains(file.string()));
  }
  executor_.Advance(5s);
  std::ofstream(file) << "jwt-1\n";
  const PendingToken first(tokens.Get());
  EXPECT_EQ(transport_.last().form().at("client_assertion"), "jwt-1");
  EXPECT_EQ(transport_.last().form().at("client_assertion_type"),
            "urn:ietf:params:oauth:client-assertion-type:jwt-bearer");
  EXPECT_FALSE(transport_.last().form().contains("client_secret"));
  Give("one", 300);
  std::ofstream(file) << "jwt-2\n";
  executor_.Advance(5min);
  const PendingToken second(tokens.Get());
  EXPECT_EQ(transport_.last().form().at("client_assertion"), "jwt-2");
}

}  // namespace
}  // namespace berth::cloud::azure
