#include "kube/client.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <latch>

#include "http/temp_folder_test.h"
#include "http/test_server.h"
#include "kube/client_fixture_test.h"
#include "kube/status.h"
#include "log/format.h"

namespace berth::kube {
namespace {

using test::Answer;
using test::MakeCertificate;
using test::ServedRequest;
using test::Server;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::SizeIs;

TEST(ClientTest, SendsMethodPathHeadersAndBody) {
  Server server([](const ServedRequest&) { return Answer(200, R"({"a":1})"); });
  Client client(To(server));
  const auto response = Ask(client, Get("/api/v1/namespaces/x/../y?limit=1"));
  ASSERT_TRUE(response) << response.error().message;
  EXPECT_EQ(response->code, 200);
  EXPECT_EQ(response->body, R"({"a":1})");
  ASSERT_TRUE(Ask(client, {.method = Method::kPatch,
                           .path = "/p",
                           .body = "{}",
                           .content_type = "application/merge-patch+json",
                           .accept = "application/json;as=Table"}));
  ASSERT_TRUE(Ask(client, {.method = Method::kDelete, .path = "/d"}));
  ASSERT_TRUE(Ask(client, {.method = Method::kPut, .path = "/u", .body = "[1]"}));
  ASSERT_TRUE(Ask(client, Post("")));

  const auto requests = server.requests();
  ASSERT_THAT(requests, SizeIs(5));
  EXPECT_EQ(requests[0].Line(), "GET /api/v1/namespaces/x/../y?limit=1 HTTP/1.1");
  EXPECT_TRUE(requests[0].Has("User-Agent: berth/" BERTH_VERSION));
  EXPECT_TRUE(requests[0].Has("Accept: application/json"));
  EXPECT_TRUE(requests[1].Has("Accept: application/json;as=Table"));
  EXPECT_THAT(requests[0].head, Not(HasSubstr("Authorization")));
  EXPECT_THAT(requests[0].head, Not(HasSubstr("Content-")));
  EXPECT_EQ(requests[1].Line(), "PATCH /p HTTP/1.1");
  EXPECT_TRUE(requests[1].Has("Content-Type: application/merge-patch+json"));
  EXPECT_EQ(requests[1].body, "{}");
  EXPECT_EQ(requests[2].Line(), "DELETE /d HTTP/1.1");
  EXPECT_EQ(requests[3].Line(), "PUT /u HTTP/1.1");
  EXPECT_EQ(requests[3].body, "[1]");
  EXPECT_EQ(requests[4].Line(), "POST /things HTTP/1.1");
  EXPECT_TRUE(requests[4].Has("Content-Length: 0"));
  EXPECT_EQ(server.connections(), 1u) << "connections are kept";
}

TEST(ClientTest, AStatusBecomesAnError) {
  Server server([](const ServedRequest& request) {
    if (request.Line().contains("/busy")) {
      return Answer(429, ToJson(TooManyRequests(1)), "Retry-After: 7\r\n");
    }
    return Answer(404, ToJson(NotFound("g", "things", "x")));
  });
  Client client(To(server));
  const Error missing = Failed(Ask(client, Get("/x")));
  EXPECT_EQ(missing.error_class, ErrorClass::kNotFound);
  EXPECT_EQ(missing.code, 404);
  EXPECT_EQ(missing.reason, "NotFound");
  const Error busy = Failed(Ask(client, Get("/busy")));
  EXPECT_EQ(busy.error_class, ErrorClass::kThrottled);
  EXPECT_EQ(busy.retry_after, 7s);
}

TEST(ClientTest, GatewayTimeoutOnAWriteIsAmbiguous) {
  Server server([](const ServedRequest&) { return Answer(504, ""); });
  Client client(To(server));
  EXPECT_EQ(Failed(Ask(client, Post("{}"))).error_class, ErrorClass::kAmbiguous);
  EXPECT_EQ(Failed(Ask(client, Get("/x"))).error_class, ErrorClass::kRetry);
}

TEST(ClientTest, MalformedRequestsNeverLeave) {
  Server server([](const ServedRequest&) { return Answer(200, "{}"); });
  Client client(To(server));
  for (const char* path : {"", "no-slash", "@evil.example/", "/a b", "/a\r\nX: y", "/a#b"}) {
    EXPECT_EQ(Failed(Ask(client, Get(path))).error_class, ErrorClass::kTerminal) << path;
  }
  EXPECT_EQ(Failed(Ask(client, Get("/x", 0ms))).error_class, ErrorClass::kTerminal);
  Request split = Post("{}");
  split.content_type = "a\r\nX: y";
  EXPECT_EQ(Failed(Ask(client, split)).error_class, ErrorClass::kTerminal);
  split = Get("/x");
  split.accept = "a\r\nX: y";
  EXPECT_EQ(Failed(Ask(client, split)).error_class, ErrorClass::kTerminal);
  EXPECT_THAT(server.requests(), SizeIs(0));
}

TEST(ClientTest, AStreamsLinesComeAsTheyAre) {
  Server server([](const ServedRequest&) { return Answer(200, "one\ntwo\n"); });
  Client client(To(server));
  std::string text;
  std::promise<Result<void>> end;
  Request request = Get("/things?watch=true");
  request.accept = "application/json;as=Table";
  client.Stream(request, {[&](std::string lines) { text += lines; },
                          [&](Result<void> result) { end.set_value(std::move(result)); }});
  EXPECT_TRUE(end.get_future().get());
  EXPECT_EQ(text, "one\ntwo\n");
  EXPECT_EQ(server.requests()[0].Line(), "GET /things?watch=true HTTP/1.1");
  EXPECT_TRUE(server.requests()[0].Has("Accept: application/json;as=Table"));
}

TEST(ClientTest, AStreamsErrorIsACalls) {
  Server server([](const ServedRequest& request) {
    if (request.Line().contains("/busy")) {
      return Answer(429, ToJson(TooManyRequests(1)) + "\n", "Retry-After: 7\r\n");
    }
    return Answer(410, ToJson(Expired("too old resource version")) + "\n");
  });
  Client client(To(server));
  auto error = [&](const char* path) {
    std::promise<Result<void>> end;
    client.Stream(Get(path), {[](std::string) { ADD_FAILURE() << "an error's body is no line"; },
                              [&](Result<void> result) { end.set_value(std::move(result)); }});
    const auto result = end.get_future().get();
    EXPECT_FALSE(result);
    return result ? Error{} : result.error();
  };
  const Error expired = error("/gone");
  EXPECT_EQ(expired.code, 410);
  EXPECT_EQ(expired.reason, "Expired");
  EXPECT_EQ(expired.message, "too old resource version");
  const Error throttled = error("/busy");
  EXPECT_EQ(throttled.error_class, ErrorClass::kThrottled);
  EXPECT_EQ(throttled.retry_after, 7s);
}

TEST(ClientTest, TwoShareAThreadAndEndApart) {
  std::latch both(2), release(1);
  Server server([&](const ServedRequest&) {
    both.count_down();
    release.wait();
    return Answer(200, "{}");
  });
  http::Client http;
  Client one(To(server), {.http = &http}), two(To(server), {.http = &http});
  auto ends = Begin(one, Post("{}"));
  auto stays = Begin(two, Post("{}"));
  both.wait();
  one.Shutdown();
  EXPECT_EQ(Failed(ends.get()).error_class, ErrorClass::kAmbiguous);
  EXPECT_THAT(Failed(Ask(one, Get("/x"))).message, HasSubstr("the client is shutting down"));
  release.count_down();
  EXPECT_TRUE(stays.get());
}

TEST(ClientTest, ShuttingDownEndsEveryCall) {
  std::latch both(2), release(1);
  Server server([&](const ServedRequest&) {
    both.count_down();
    release.wait();
    return std::string();
  });
  auto client = std::make_unique<Client>(To(server));
  auto read = Begin(*client, Get("/x"));
  auto write = Begin(*client, Post("{}"));
  both.wait();
  client.reset();
  const Error read_error = Failed(read.get());
  EXPECT_EQ(read_error.error_class, ErrorClass::kRetry);
  EXPECT_THAT(read_error.message, HasSubstr("the client is shutting down"));
  EXPECT_EQ(Failed(write.get()).error_class, ErrorClass::kAmbiguous);
  release.count_down();
}

class ClientTokenTest : public testing::Test {
 protected:
  // As the kubelet does it: a new file in the old one's place.
  void Replace(std::string_view content) { folder_.Write("token", content); }

  const TempFolder folder_;
};

TEST_F(ClientTokenTest, AFixedTokenIsSent) {
  Server server([](const ServedRequest&) { return Answer(200, "{}"); });
  Config config = To(server);
  config.token = "hunter2";
  Client client(config);
  ASSERT_TRUE(Ask(client, Get("/x")));
  EXPECT_TRUE(server.requests()[0].Has("Authorization: Bearer hunter2"));
}

TEST_F(ClientTokenTest, ATokenFileIsReadAgainWhenItChanges) {
  Server server([](const ServedRequest&) { return Answer(200, "{}"); });
  Config config = To(server);
  config.token_file = folder_ / "token";
  Client client(config);
  EXPECT_EQ(Failed(Ask(client, Get("/x"))).error_class, ErrorClass::kRetry);
  Replace("one\n");
  ASSERT_TRUE(Ask(client, Get("/x")));
  Replace("two\n");
  ASSERT_TRUE(Ask(client, Get("/x")));
  Replace("bad\r\nX-Injected: yes\n");
  ASSERT_TRUE(Ask(client, Get("/x")));
  std::filesystem::remove(folder_ / "token");
  ASSERT_TRUE(Ask(client, Get("/x")));

  const auto requests = server.requests();
  ASSERT_THAT(requests, SizeIs(4));
  EXPECT_TRUE(requests[0].Has("Authorization: Bearer one"));
  EXPECT_TRUE(requests[1].Has("Authorization: Bearer two"));
  EXPECT_TRUE(requests[2].Has("Authorization: Bearer two")) << "the last good one stands";
  EXPECT_TRUE(requests[3].Has("Authorization: Bearer two"));
}

TEST_F(ClientTokenTest, SecretsStayOutOfErrors) {
  std::atomic<int> mode = 0;
  Server server([&](const ServedRequest&) { return mode == 0 ? Answer(500, "") : std::string(); });
  Config config = To(server);
  config.token = "hunter2";
  Client client(config);
  for (; mode < 2; ++mode) {
    const Error error = Failed(Ask(client, Post(R"({"password":"swordfish"})")));
    EXPECT_THAT(error.message, AllOf(Not(HasSubstr("hunter2")), Not(HasSubstr("swordfish"))));
  }
}

class ClientTlsTest : public testing::Test {
 protected:
  Config Trusting(const Server& server, const std::string& ca_pem) {
    Config config = To(server);
    config.ca_pem = ca_pem;
    return config;
  }

  static std::string Fine(const ServedRequest& request) { return Answer(200, request.peer_name); }

  const std::pair<std::string, std::string> certificate_ = MakeCertificate("kube.test");
};

TEST_F(ClientTlsTest, AnotherNameIsRefusedUnlessItIsTheExpectedOne) {
  Server server(Fine, certificate_.first, certificate_.second);
  Config config = Trusting(server, certificate_.first);
  config.server = Format("https://localhost:{}", server.port());
  {
    Client client(config);
    EXPECT_EQ(Failed(Ask(client, Get("/x"))).error_class, ErrorClass::kTerminal);
  }
  config.tls_server_name = "kube.test";
  Client client(config);
  const auto response = Ask(client, Get("/x?y=1"));
  ASSERT_TRUE(response) << response.error().message;
  EXPECT_EQ(server.requests()[0].Line(), "GET /x?y=1 HTTP/1.1");
  EXPECT_TRUE(server.requests()[0].Has(Format("Host: localhost:{}", server.port())));
}

TEST_F(ClientTlsTest, ShowsItsOwnCertificate) {
  const auto own = MakeCertificate("berth");
  Server server(Fine, certificate_.first, certificate_.second, own.first);
  Config config = Trusting(server, certificate_.first);
  config.client_cert_pem = own.first;
  config.client_key_pem = own.second;
  Client client(config);
  const auto response = Ask(client, Get("/x"));
  ASSERT_TRUE(response) << response.error().message;
  EXPECT_EQ(response->body, "berth");
}

}  // namespace
}  // namespace berth::kube
