#include "kube/client.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <fstream>
#include <future>
#include <latch>
#include <thread>

#include "kube/client_fixture_test.h"
#include "kube/status.h"
#include "kube/test_server.h"

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
using testing::StartsWith;

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

TEST(ClientTest, LargeBodiesGoWithoutWaitingForLeave) {
  Server server([](const ServedRequest& request) {
    return Answer(201, std::to_string(request.body.size()));
  });
  Client client(To(server));
  const auto response = Ask(client, Post(std::string(3 << 20, 'x')));
  ASSERT_TRUE(response) << response.error().message;
  EXPECT_EQ(response->code, 201);
  EXPECT_EQ(response->body, std::to_string(3 << 20));
  EXPECT_THAT(server.requests()[0].head, Not(HasSubstr("Expect")));
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

TEST(ClientTest, RedirectsAreNotFollowed) {
  Server elsewhere([](const ServedRequest&) { return Answer(200, "{}"); });
  Server server([&](const ServedRequest&) {
    return Answer(307, "", std::format("Location: {}/x\r\n", elsewhere.url()));
  });
  Client client(To(server));
  const Error error = Failed(Ask(client, Get("/x")));
  EXPECT_EQ(error.error_class, ErrorClass::kTerminal);
  EXPECT_EQ(error.code, 307);
  EXPECT_THAT(elsewhere.requests(), SizeIs(0));
}

TEST(ClientTest, NobodyListeningIsRetriedEvenForWrites) {
  auto gone = std::make_unique<Server>([](const ServedRequest&) { return std::string(); });
  Client client(To(*gone));
  gone.reset();
  const Error error = Failed(Ask(client, Post("{}")));
  EXPECT_EQ(error.error_class, ErrorClass::kRetry);
  EXPECT_EQ(error.code, 0);
  EXPECT_THAT(error.message, AllOf(StartsWith("POST /things: "), HasSubstr("connect")));
}

TEST(ClientTest, ATimeoutAfterSendingIsAmbiguousForWritesOnly) {
  std::latch release(1);
  Server server([&](const ServedRequest&) {
    release.wait();
    return std::string();
  });
  Client client(To(server));
  const Error write = Failed(Ask(client, Post("{}", 50ms)));
  EXPECT_EQ(write.error_class, ErrorClass::kAmbiguous);
  EXPECT_THAT(write.message, HasSubstr("no answer within 50 ms"));
  EXPECT_EQ(Failed(Ask(client, Get("/x", 50ms))).error_class, ErrorClass::kRetry);
  release.count_down();
}

TEST(ClientTest, AWriteOnAKeptConnectionThatEndsIsNotSentTwice) {
  Server server([](const ServedRequest& request) {
    return request.body == "cut" ? std::string() : Answer(200, "{}");
  });
  Client client(To(server));
  ASSERT_TRUE(Ask(client, Post("first")));
  const Error error = Failed(Ask(client, Post("cut")));
  EXPECT_EQ(error.error_class, ErrorClass::kAmbiguous);
  EXPECT_THAT(server.requests(), SizeIs(2));
}

TEST(ClientTest, AReadOnAKeptConnectionThatEndsIsSentAgain) {
  std::atomic<int> calls = 0;
  Server server(
      [&](const ServedRequest&) { return ++calls == 2 ? std::string() : Answer(200, "{}"); });
  Client client(To(server));
  ASSERT_TRUE(Ask(client, Get("/a")));
  EXPECT_TRUE(Ask(client, Get("/b")));
  EXPECT_THAT(server.requests(), SizeIs(3));
}

TEST(ClientTest, AnAnswerCutShortIsAFailure) {
  Server server([](const ServedRequest&) {
    return std::string("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 100\r\n\r\nshort");
  });
  // The connection stays open: the client waits for the rest until its time is up.
  Client client(To(server));
  EXPECT_EQ(Failed(Ask(client, Get("/x", 50ms))).error_class, ErrorClass::kRetry);
  EXPECT_EQ(Failed(Ask(client, Post("{}", 50ms))).error_class, ErrorClass::kAmbiguous);
}

TEST(ClientTest, AnswersAreBounded) {
  const std::string exact(Client::kMaxAnswer, 'x');
  Server server([&](const ServedRequest& request) {
    return Answer(200, request.Line().contains("/exact") ? exact : exact + "y");
  });
  Client client(To(server));
  const auto fits = Ask(client, Get("/exact"));
  ASSERT_TRUE(fits) << fits.error().message;
  EXPECT_EQ(fits->body.size(), Client::kMaxAnswer);
  const Error error = Failed(Ask(client, Get("/more")));
  EXPECT_EQ(error.error_class, ErrorClass::kTerminal);
  EXPECT_THAT(error.message, HasSubstr("over 32 MiB"));
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

TEST(ClientTest, AProxyOfTheEnvironmentIsIgnored) {
  Server server([](const ServedRequest&) { return Answer(200, "{}"); });
  setenv("http_proxy", "http://127.0.0.1:1", 1);
  Client client(To(server));
  EXPECT_TRUE(Ask(client, Get("/x")));
  unsetenv("http_proxy");
}

TEST(ClientTest, ManyCallsFromManyThreadsEachEndOnce) {
  Server server([](const ServedRequest& request) { return Answer(200, request.Line()); });
  Client client(To(server), {.qps = 0});
  constexpr int kThreads = 4, kEach = 100;
  std::latch done(kThreads * kEach);
  std::atomic<int> right = 0;
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < kThreads; ++t) {
      threads.emplace_back([&, t] {
        for (int i = 0; i < kEach; ++i) {
          const std::string path = std::format("/{}/{}", t, i);
          client.Send(Get(path), [&, path](Result<Response> result) {
            if (result && result->body.contains(path + " ")) ++right;
            done.count_down();
          });
        }
      });
    }
  }
  done.wait();
  EXPECT_EQ(right, kThreads * kEach);
  EXPECT_LE(server.connections(), 8u);
}

TEST(ClientTest, DoneMaySendAgain) {
  Server server([](const ServedRequest&) { return Answer(200, "{}"); });
  Client client(To(server));
  std::promise<bool> second;
  client.Send(Get("/a"), [&](Result<Response>) {
    client.Send(Get("/b"), [&](Result<Response> result) { second.set_value(result.has_value()); });
  });
  EXPECT_TRUE(second.get_future().get());
}

TEST(ClientTest, ACancelledCallEndsItsConnectionAndCallsNobody) {
  std::latch asked(1);
  std::promise<bool> closed;
  Server server([&](const ServedRequest& request) {
    asked.count_down();
    closed.set_value(request.connection->WaitUntilClosed(20s));
    return Answer(200, "{}");
  });
  Client client(To(server));
  std::atomic<bool> called = false;
  auto held = std::make_shared<int>();
  const CallId id = client.Send(Post("{}"), [&called, held](Result<Response>) { called = true; });
  asked.wait();
  client.Cancel(id);
  EXPECT_TRUE(closed.get_future().get());
  EXPECT_TRUE(Eventually([&] { return held.use_count() == 1; })) << "what it held is let go";
  EXPECT_FALSE(called);
}

TEST(ClientTest, ACallIsCancelledBeforeTheThreadHasSeenIt) {
  Server server([](const ServedRequest&) { return Answer(200, "{}"); });
  Client client(To(server));
  std::atomic<int> called = 0;
  std::promise<void> done;
  // All of it in one turn of the client's thread, which is busy with this callback.
  client.Send(Get("/first"), [&](Result<Response>) {
    for (int i = 0; i < 10; ++i) {
      client.Cancel(client.Send(Get("/unwanted"), [&](Result<Response>) { ++called; }));
    }
    client.Send(Get("/last"), [&](Result<Response>) { done.set_value(); });
  });
  done.get_future().wait();
  EXPECT_EQ(called, 0);
  EXPECT_THAT(server.requests(), SizeIs(2));
}

TEST(ClientTest, CancellingOnTheClientsThreadHoldsAtOnce) {
  std::latch asked(2), go(1), written(2);
  Server server([&](const ServedRequest& request) {
    if (request.Line().contains("/hold")) {
      asked.wait();
      return Answer(200, "{}");
    }
    asked.count_down();
    go.wait();
    request.connection->Write(Answer(200, "{}"));
    written.count_down();
    return std::string();
  });
  Client client(To(server));
  CallId ids[2];
  int called = 0;
  for (int i = 0; i < 2; ++i) {
    ids[i] = client.Send(Get("/x"), [&, i](Result<Response>) {
      ++called;
      client.Cancel(ids[i]);  // its own: no harm
      client.Cancel(ids[1 - i]);
    });
  }
  // Holds the client's thread until both answers are there, so that both end in its next turn.
  client.Send(Get("/hold"), [&](Result<Response>) {
    go.count_down();
    written.wait();
  });
  written.wait();
  ASSERT_TRUE(Ask(client, Get("/hold")));
  client.Shutdown();
  EXPECT_EQ(called, 1);
}

TEST(ClientTest, CallsCancelledInARaceEndOnceOrNotAtAll) {
  struct Watched {
    std::atomic<bool> cancelled = false;
    std::atomic<int> calls = 0;
  };
  Server server([](const ServedRequest&) { return Answer(200, "{}"); });
  std::atomic<int> late = 0, twice = 0;
  {
    Client client(To(server), {.qps = 0});
    for (int i = 0; i < 300; ++i) {
      auto watched = std::make_shared<Watched>();
      const CallId id = client.Send(Get("/x"), [&, watched](Result<Response>) {
        if (watched->cancelled) ++late;
        if (++watched->calls > 1) ++twice;
      });
      if (i % 2 == 0) {
        ASSERT_TRUE(Ask(client, Get("/y")));
      }
      client.Cancel(id);
      // A callback that had begun is over when the thread has answered another call.
      if (i % 3 == 0) {
        ASSERT_TRUE(Ask(client, Get("/z")));
        watched->cancelled = true;
      }
    }
  }
  EXPECT_EQ(late, 0);
  EXPECT_EQ(twice, 0);
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

TEST(ClientTest, WaitingCallsAreBounded) {
  std::latch release(1);
  Server server([&](const ServedRequest&) {
    release.wait();
    return std::string();
  });
  std::atomic<std::size_t> ended = 0;
  {
    Client client(To(server));
    for (std::size_t i = 0; i < Client::kMaxCalls; ++i) {
      client.Send(Get("/x", 10min), [&](Result<Response>) { ++ended; });
    }
    EXPECT_EQ(ended, 0u);
    const Error error = Failed(Ask(client, Get("/one-more")));
    EXPECT_EQ(error.error_class, ErrorClass::kThrottled);
    EXPECT_GT(error.retry_after, 0s);
  }
  EXPECT_EQ(ended, Client::kMaxCalls);
  release.count_down();
}

class ClientTokenTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (std::filesystem::temp_directory_path() / "berth-client-XXXXXX").string();
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  // As the kubelet does it: a new file in the old one's place.
  void Replace(std::string_view content) {
    std::ofstream(folder_ / "next", std::ios::binary) << content;
    std::filesystem::rename(folder_ / "next", folder_ / "token");
  }

  std::filesystem::path folder_;
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

TEST_F(ClientTlsTest, TalksToTheServerItTrustsAndOffersHttp2) {
  Server server(Fine, certificate_.first, certificate_.second);
  Client client(Trusting(server, certificate_.first));
  const auto response = Ask(client, Get("/x"));
  ASSERT_TRUE(response) << response.error().message;
  EXPECT_THAT(server.alpn_offered(), StartsWith("\x02h2"));
}

TEST_F(ClientTlsTest, ASlowCallHoldsUpNoOtherWithoutHttp2) {
  std::latch second(1);
  Server server(
      [&](const ServedRequest& request) {
        if (request.Line().contains("/slow")) second.wait();
        if (request.Line().contains("/quick")) second.count_down();
        return Answer(200, "{}");
      },
      certificate_.first, certificate_.second);
  Client client(Trusting(server, certificate_.first));
  auto slow = Begin(client, Get("/slow"));
  auto quick = Begin(client, Get("/quick"));
  EXPECT_TRUE(quick.get());
  EXPECT_TRUE(slow.get());
}

TEST_F(ClientTlsTest, AnotherAuthorityIsRefused) {
  Server server(Fine, certificate_.first, certificate_.second);
  Client client(Trusting(server, MakeCertificate("kube.test").first));
  const Error error = Failed(Ask(client, Post("{}")));
  EXPECT_EQ(error.error_class, ErrorClass::kTerminal);
  EXPECT_THAT(error.message, HasSubstr("certificate"));
  EXPECT_THAT(server.requests(), SizeIs(0));
}

TEST_F(ClientTlsTest, AnotherNameIsRefusedUnlessItIsTheExpectedOne) {
  Server server(Fine, certificate_.first, certificate_.second);
  Config config = Trusting(server, certificate_.first);
  config.server = std::format("https://localhost:{}", server.port());
  {
    Client client(config);
    EXPECT_EQ(Failed(Ask(client, Get("/x"))).error_class, ErrorClass::kTerminal);
  }
  config.tls_server_name = "kube.test";
  Client client(config);
  const auto response = Ask(client, Get("/x?y=1"));
  ASSERT_TRUE(response) << response.error().message;
  EXPECT_EQ(server.requests()[0].Line(), "GET /x?y=1 HTTP/1.1");
  EXPECT_TRUE(server.requests()[0].Has(std::format("Host: localhost:{}", server.port())));
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

TEST_F(ClientTlsTest, AKeyThatDoesNotFitIsNamedNotShown) {
  Server server(Fine, certificate_.first, certificate_.second);
  Config config = Trusting(server, certificate_.first);
  config.client_cert_pem = certificate_.first;
  config.client_key_pem = MakeCertificate("berth").second;
  Client client(config);
  const Error error = Failed(Ask(client, Get("/x")));
  EXPECT_EQ(error.error_class, ErrorClass::kTerminal);
  EXPECT_THAT(error.message, Not(HasSubstr("BEGIN")));
}

}  // namespace
}  // namespace berth::kube
