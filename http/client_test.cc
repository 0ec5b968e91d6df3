#include "http/client.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <future>
#include <latch>
#include <map>
#include <thread>

#include "http/call.h"
#include "http/client_fixture_test.h"
#include "http/test_server.h"
#include "log/format.h"

namespace berth::http {
namespace {

using test::Answer;
using test::MakeCertificate;
using test::ServedRequest;
using test::Server;
using testing::AllOf;
using testing::Contains;
using testing::HasSubstr;
using testing::Not;
using testing::SizeIs;
using testing::StartsWith;

TEST(ClientTest, SendsWhatItIsGivenAndLittleElse) {
  Server server([](const ServedRequest&) { return Answer(200, "{}"); });
  Client client;
  ASSERT_TRUE(Ask(client, {.method = "PUT",
                           .url = server.url() + "/a/../b?c=%20d",
                           .headers = {{"Content-Type", "text/x"}, {"x-acs-empty", ""}},
                           .body = "[1]"}));
  ASSERT_TRUE(Ask(client, Post(server, "{}")));
  const auto requests = server.requests();
  ASSERT_THAT(requests, SizeIs(2));
  EXPECT_EQ(requests[0].Line(), "PUT /a/../b?c=%20d HTTP/1.1");
  EXPECT_TRUE(requests[0].Has("Content-Type: text/x"));
  EXPECT_TRUE(requests[0].Has("x-acs-empty:"));
  EXPECT_TRUE(requests[0].Has("User-Agent: berth/" BERTH_VERSION));
  EXPECT_EQ(requests[0].body, "[1]");
  EXPECT_THAT(requests[1].head, Not(HasSubstr("Content-Type"))) << "none is made up";
  EXPECT_EQ(server.connections(), 1u) << "connections are kept";
}

TEST(ClientTest, EveryAnswerIsAResponseWithItsHeaders) {
  Server server([](const ServedRequest&) {
    return "HTTP/1.1 100 Continue\r\nX-Early: 1\r\n\r\n" +
           Answer(503, "busy", "X-Acs-Request-Id: 7\r\nRetry-After: 5\r\n");
  });
  Client client;
  const auto response = Ask(client, Post(server, "{}"));
  ASSERT_TRUE(response) << response.error().message;
  EXPECT_EQ(response->code, 503);
  EXPECT_EQ(response->body, "busy");
  EXPECT_EQ(response->retry_after, 5s);
  EXPECT_THAT(response->headers, Contains(Header{"x-acs-request-id", "7"}));
  EXPECT_THAT(response->headers, Contains(Header{"content-type", "application/json"}));
  EXPECT_THAT(response->headers, Not(Contains(Header{"x-early", "1"})));
}

TEST(ClientTest, HeadersAreBounded) {
  auto with = [](std::size_t size) {
    return [size](const ServedRequest&) {
      std::string fields;
      for (; fields.size() < size;) fields += "X-Filler: " + std::string(1000, 'x') + "\r\n";
      return Answer(200, "{}", fields);
    };
  };
  Server fits(with(Client::kMaxHeaders - 2000)), large(with(Client::kMaxHeaders + 2000));
  Client client;
  EXPECT_TRUE(Ask(client, Get(fits, "/x")));
  const Error read = Failed(Ask(client, Get(large, "/x")));
  EXPECT_EQ(read.error_class, ErrorClass::kTerminal);
  EXPECT_THAT(read.message, HasSubstr("headers are over 64 KiB"));
  EXPECT_EQ(Failed(Ask(client, Post(large, "{}"))).error_class, ErrorClass::kAmbiguous);
}

TEST(ClientTest, MalformedRequestsNeverLeave) {
  Server server([](const ServedRequest&) { return Answer(200, "{}"); });
  Client client;
  auto refused = [&](Request request) {
    return Failed(Ask(client, std::move(request))).error_class == ErrorClass::kTerminal;
  };
  for (const char* url : {"", "/x", "file:///etc/passwd"}) {
    EXPECT_TRUE(refused({.method = "GET", .url = url})) << url;
  }
  for (const char* path : {"/a b", "/a\r\nX: y", "/a#b"}) {
    EXPECT_TRUE(refused(Get(server, path))) << path;
  }
  EXPECT_TRUE(refused(Get(server, "/x", 0ms)));
  for (const char* method : {"", "HEAD", "GET /y HTTP/1.1\r\nX:"}) {
    Request request = Get(server, "/x");
    request.method = method;
    EXPECT_TRUE(refused(request)) << method;
  }
  for (const Header& header : {Header{"", "x"}, Header{"a:", "x"}, Header{"a", "x\r\nX: y"}}) {
    Request request = Get(server, "/x");
    request.headers = {header};
    EXPECT_TRUE(refused(request)) << header.name;
  }
  EXPECT_THAT(server.requests(), SizeIs(0));
}

TEST(ClientTest, AQueryStaysOutOfErrors) {
  Server server([](const ServedRequest&) { return std::string(); });
  Client client;
  const Error error =
      Failed(Ask(client, {.url = server.url() + "/things?Signature=hunter2", .body = "{}"}));
  EXPECT_THAT(error.message, AllOf(StartsWith("POST /things: "), Not(HasSubstr("hunter2"))));
}

TEST(ClientTest, LargeBodiesGoWithoutWaitingForLeave) {
  Server server([](const ServedRequest& request) {
    return Answer(201, std::to_string(request.body.size()));
  });
  Client client;
  const auto response = Ask(client, Post(server, std::string(3 << 20, 'x')));
  ASSERT_TRUE(response) << response.error().message;
  EXPECT_EQ(response->code, 201);
  EXPECT_EQ(response->body, std::to_string(3 << 20));
  EXPECT_THAT(server.requests()[0].head, Not(HasSubstr("Expect")));
}

TEST(ClientTest, RedirectsAreNotFollowed) {
  Server elsewhere([](const ServedRequest&) { return Answer(200, "{}"); });
  Server server([&](const ServedRequest&) {
    return Answer(307, "", Format("Location: {}/x\r\n", elsewhere.url()));
  });
  Client client;
  const auto response = Ask(client, Get(server, "/x"));
  ASSERT_TRUE(response) << response.error().message;
  EXPECT_EQ(response->code, 307);
  EXPECT_THAT(elsewhere.requests(), SizeIs(0));
}

TEST(ClientTest, NobodyListeningIsRetriedEvenForWrites) {
  auto gone = std::make_unique<Server>([](const ServedRequest&) { return std::string(); });
  const Request request = Post(*gone, "{}");
  gone.reset();
  Client client;
  const Error error = Failed(Ask(client, request));
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
  Client client;
  const Error write = Failed(Ask(client, Post(server, "{}", 50ms)));
  EXPECT_EQ(write.error_class, ErrorClass::kAmbiguous);
  EXPECT_THAT(write.message, HasSubstr("no answer within 50 ms"));
  EXPECT_EQ(Failed(Ask(client, Get(server, "/x", 50ms))).error_class, ErrorClass::kRetry);
  release.count_down();
}

TEST(ClientTest, AWriteOnAKeptConnectionThatEndsIsNotSentTwice) {
  Server server([](const ServedRequest& request) {
    return request.body == "cut" ? std::string() : Answer(200, "{}");
  });
  Client client;
  ASSERT_TRUE(Ask(client, Post(server, "first")));
  const Error error = Failed(Ask(client, Post(server, "cut")));
  EXPECT_EQ(error.error_class, ErrorClass::kAmbiguous);
  EXPECT_THAT(server.requests(), SizeIs(2));
}

TEST(ClientTest, AReadOnAKeptConnectionThatEndsIsSentAgain) {
  std::atomic<int> calls = 0;
  Server server(
      [&](const ServedRequest&) { return ++calls == 2 ? std::string() : Answer(200, "{}"); });
  Client client;
  ASSERT_TRUE(Ask(client, Get(server, "/a")));
  EXPECT_TRUE(Ask(client, Get(server, "/b")));
  EXPECT_THAT(server.requests(), SizeIs(3));
}

TEST(ClientTest, AnAnswerCutShortIsAFailure) {
  Server server([](const ServedRequest&) {
    return std::string("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 100\r\n\r\nshort");
  });
  // The connection stays open: the client waits for the rest until its time is up.
  Client client;
  EXPECT_EQ(Failed(Ask(client, Get(server, "/x", 50ms))).error_class, ErrorClass::kRetry);
  EXPECT_EQ(Failed(Ask(client, Post(server, "{}", 50ms))).error_class, ErrorClass::kAmbiguous);
}

TEST(ClientTest, AnswersAreBounded) {
  const std::string exact(Client::kMaxAnswer, 'x');
  Server server([&](const ServedRequest& request) {
    return Answer(200, request.Line().contains("/exact") ? exact : exact + "y");
  });
  Client client;
  const auto fits = Ask(client, Get(server, "/exact"));
  ASSERT_TRUE(fits) << fits.error().message;
  EXPECT_EQ(fits->body.size(), Client::kMaxAnswer);
  const Error error = Failed(Ask(client, Get(server, "/more")));
  EXPECT_EQ(error.error_class, ErrorClass::kTerminal);
  EXPECT_THAT(error.message, HasSubstr("over 32 MiB"));
}

TEST(ClientTest, AProxyOfTheEnvironmentIsIgnored) {
  Server server([](const ServedRequest&) { return Answer(200, "{}"); });
  setenv("http_proxy", "http://127.0.0.1:1", 1);
  Client client;
  EXPECT_TRUE(Ask(client, Get(server, "/x")));
  unsetenv("http_proxy");
}

TEST(ClientTest, ManyCallsFromManyThreadsEachEndOnce) {
  Server server([](const ServedRequest& request) { return Answer(200, request.Line()); });
  Client client;
  constexpr int kThreads = 4, kEach = 100;
  std::latch done(kThreads * kEach);
  std::atomic<int> right = 0;
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < kThreads; ++t) {
      threads.emplace_back([&, t] {
        for (int i = 0; i < kEach; ++i) {
          const std::string path = Format("/{}/{}", t, i);
          client.Send(AnyPeer(), Get(server, path), [&, path](Result<Response> result) {
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
  Client client;
  std::promise<bool> second;
  client.Send(AnyPeer(), Get(server, "/a"), [&](Result<Response>) {
    client.Send(AnyPeer(), Get(server, "/b"),
                [&](Result<Response> result) { second.set_value(result.has_value()); });
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
  Client client;
  std::atomic<bool> called = false;
  auto held = std::make_shared<int>();
  const CallId id = client.Send(AnyPeer(), Post(server, "{}"),
                                [&called, held](Result<Response>) { called = true; });
  asked.wait();
  client.Cancel(id);
  EXPECT_TRUE(closed.get_future().get());
  EXPECT_TRUE(Eventually([&] { return held.use_count() == 1; })) << "what it held is let go";
  EXPECT_FALSE(called);
}

TEST(ClientTest, ACallIsCancelledBeforeTheThreadHasSeenIt) {
  Server server([](const ServedRequest&) { return Answer(200, "{}"); });
  Client client;
  std::atomic<int> called = 0;
  std::promise<void> done;
  // All of it in one turn of the client's thread, which is busy with this callback.
  client.Send(AnyPeer(), Get(server, "/first"), [&](Result<Response>) {
    for (int i = 0; i < 10; ++i) {
      client.Cancel(
          client.Send(AnyPeer(), Get(server, "/unwanted"), [&](Result<Response>) { ++called; }));
    }
    client.Send(AnyPeer(), Get(server, "/last"), [&](Result<Response>) { done.set_value(); });
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
  Client client;
  const PeerPtr peer = AnyPeer();
  CallId ids[2];
  int called = 0;
  for (int i = 0; i < 2; ++i) {
    ids[i] = client.Send(peer, Get(server, "/x"), [&, i](Result<Response>) {
      ++called;
      client.Cancel(ids[i]);  // its own: no harm
      client.Cancel(ids[1 - i]);
    });
  }
  // Holds the client's thread until both answers are there, so that both end in its next turn.
  client.Send(peer, Get(server, "/hold"), [&](Result<Response>) {
    go.count_down();
    written.wait();
  });
  written.wait();
  ASSERT_TRUE(Ask(client, Get(server, "/hold")));
  client.Close(*peer);
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
    Client client;
    for (int i = 0; i < 300; ++i) {
      auto watched = std::make_shared<Watched>();
      const CallId id = client.Send(AnyPeer(), Get(server, "/x"), [&, watched](Result<Response>) {
        if (watched->cancelled) ++late;
        if (++watched->calls > 1) ++twice;
      });
      if (i % 2 == 0) {
        ASSERT_TRUE(Ask(client, Get(server, "/y")));
      }
      client.Cancel(id);
      // A callback that had begun is over when the thread has answered another call.
      if (i % 3 == 0) {
        ASSERT_TRUE(Ask(client, Get(server, "/z")));
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
  auto client = std::make_unique<Client>();
  auto read = Begin(*client, Get(server, "/x"));
  auto write = Begin(*client, Post(server, "{}"));
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
    Client client;
    const PeerPtr peer = AnyPeer();
    for (std::size_t i = 0; i < Client::kMaxCalls; ++i) {
      client.Send(peer, Get(server, "/x", 10min), [&](Result<Response>) { ++ended; });
    }
    EXPECT_EQ(ended, 0u);
    const Error error = Failed(Ask(client, Get(server, "/one-more"), peer));
    EXPECT_EQ(error.error_class, ErrorClass::kThrottled);
    EXPECT_GT(error.retry_after, 0s);
    auto other = Begin(client, Get(server, "/x"));
    EXPECT_EQ(other.wait_for(0s), std::future_status::timeout)
        << "another peer's are counted apart";
  }
  EXPECT_EQ(ended, Client::kMaxCalls);
  release.count_down();
}

TEST(ClientTest, ClosingAPeerEndsItsCallsAndNoOthers) {
  std::latch both(2), release(1);
  Server server([&](const ServedRequest& request) {
    if (request.Line().contains("/quick")) return Answer(200, "{}");
    both.count_down();
    release.wait();
    return Answer(200, "{}");
  });
  Client client;
  const PeerPtr one = AnyPeer(), two = AnyPeer();
  auto ends = Begin(client, Post(server, "{}"), one);
  auto stays = Begin(client, Get(server, "/x"), two);
  both.wait();
  client.Close(*one);
  client.Close(*one);  // no harm
  ASSERT_EQ(ends.wait_for(0s), std::future_status::ready);
  EXPECT_EQ(Failed(ends.get()).error_class, ErrorClass::kAmbiguous);
  const Error late = Failed(Ask(client, Post(server, "{}"), one));
  EXPECT_EQ(late.error_class, ErrorClass::kRetry);
  EXPECT_THAT(late.message, HasSubstr("the client is shutting down"));
  EXPECT_EQ(one.use_count(), 1) << "nothing points at it any more";
  EXPECT_TRUE(Ask(client, Get(server, "/quick"), two));
  release.count_down();
  EXPECT_TRUE(stays.get());
}

// A peer whose gate the test opens.
class GatedPeer : public Peer {
 public:
  Admission Admit(const Call& call, async::TimePoint) override {
    ++asked;
    if (!call.options.ahead && !open) return async::TimePoint::max();
    if (call.request.url.ends_with("/never")) return Error{ErrorClass::kConflict, {}, "never"};
    return std::make_shared<Credential>(Credential{.token = std::to_string(token)});
  }
  bool Refused(const CredentialPtr& credential) override {
    return credential->token != std::to_string(token);
  }
  void Answered(const Call& call) override { ++answered[call.HttpCode()]; }

  std::atomic<bool> open = false;
  std::atomic<int> asked = 0;
  std::atomic<int> token = 1;
  std::map<int, int> answered;
};

TEST(ClientTest, ACallWaitsUntilItsPeerAdmitsItAndHoldsUpNoOthers) {
  Server server([](const ServedRequest&) { return Answer(200, "{}"); });
  Client client;
  const auto peer = std::make_shared<GatedPeer>();
  auto waits = Begin(client, Get(server, "/waits"), peer);
  auto never = Begin(client, Get(server, "/never"), peer);
  auto hasty = Begin(client, Post(server, "{}", 50ms), peer);
  EXPECT_TRUE(Eventually([&] { return peer->asked > 0; }));
  ASSERT_TRUE(Ask(client, Get(server, "/other")));
  std::promise<void> ahead;
  client.Send(peer, Get(server, "/ahead"), [&](Result<Response>) { ahead.set_value(); },
              {.ahead = true});
  ahead.get_future().wait();
  const Error late = Failed(hasty.get());
  EXPECT_EQ(late.error_class, ErrorClass::kRetry) << "a write, but it never left";
  EXPECT_THAT(late.message, HasSubstr("not sent within 50 ms"));
  peer->open = true;
  client.Wake();
  EXPECT_TRUE(waits.get());
  EXPECT_EQ(Failed(never.get()).message, "never");
  client.Close(*peer);
  EXPECT_EQ(peer->answered, (std::map<int, int>{{200, 2}}));
  EXPECT_THAT(server.requests(), SizeIs(3));
}

TEST(ClientTest, A401IsTriedOnceMoreWhereThePeerSaysSo) {
  const auto peer = std::make_shared<GatedPeer>();
  peer->open = true;
  // The token changes while the request is under way.
  Server server([&](const ServedRequest& request) {
    peer->token = 2;
    return Answer(request.Has("Authorization: Bearer 2") ? 201 : 401, "");
  });
  Client client;
  auto response = Ask(client, Post(server, "{}"), peer);
  ASSERT_TRUE(response) << response.error().message;
  EXPECT_EQ(response->code, 201);
  client.Close(*peer);
  EXPECT_EQ(peer->answered, (std::map<int, int>{{201, 1}, {401, 1}}));
}

class ClientTlsTest : public testing::Test {
 protected:
  static PeerPtr Trusting(const std::string& ca_pem) {
    return std::make_shared<Peer>(Peer::Options{.ca_pem = ca_pem});
  }
  PeerPtr Showing(const std::pair<std::string, std::string>& pair) {
    return std::make_shared<Peer>(
        Peer::Options{.ca_pem = certificate_.first,
                      .credential = std::make_shared<Credential>(Credential{
                          .client_cert_pem = pair.first, .client_key_pem = pair.second})});
  }

  static std::string Fine(const ServedRequest& request) { return Answer(200, request.peer_name); }

  const std::pair<std::string, std::string> certificate_ = MakeCertificate("http.test");
};

TEST_F(ClientTlsTest, TalksToTheServerItTrustsAndOffersHttp2) {
  Server server(Fine, certificate_.first, certificate_.second);
  Client client;
  const PeerPtr peer = Trusting(certificate_.first);
  const auto response = Ask(client, Get(server, "/x"), peer);
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
  Client client;
  const PeerPtr peer = Trusting(certificate_.first);
  auto slow = Begin(client, Get(server, "/slow"), peer);
  auto quick = Begin(client, Get(server, "/quick"), peer);
  EXPECT_TRUE(quick.get());
  EXPECT_TRUE(slow.get());
}

TEST_F(ClientTlsTest, AnotherAuthorityIsRefused) {
  Server server(Fine, certificate_.first, certificate_.second);
  Client client;
  const PeerPtr peer = Trusting(MakeCertificate("http.test").first);
  const Error error = Failed(Ask(client, Post(server, "{}"), peer));
  EXPECT_EQ(error.error_class, ErrorClass::kTerminal);
  EXPECT_THAT(error.message, HasSubstr("certificate"));
  EXPECT_THAT(server.requests(), SizeIs(0));
}

TEST_F(ClientTlsTest, AnotherNameIsRefusedUnlessItIsTheUrls) {
  Server server(Fine, certificate_.first, certificate_.second);
  Client client;
  const std::string port = std::to_string(server.port());
  const Request by_address{.method = "GET", .url = "https://localhost:" + port + "/x"};
  const Error error = Failed(Ask(client, by_address, Trusting(certificate_.first)));
  EXPECT_EQ(error.error_class, ErrorClass::kTerminal);
  const auto peer = std::make_shared<Peer>(
      Peer::Options{.ca_pem = certificate_.first, .connect_to = "localhost:" + port});
  const auto response = Ask(client, {.method = "GET", .url = "https://http.test/x"}, peer);
  ASSERT_TRUE(response) << response.error().message;
  EXPECT_TRUE(server.requests()[0].Has("Host: http.test"));
}

TEST_F(ClientTlsTest, ShowsItsOwnCertificate) {
  const auto own = MakeCertificate("berth");
  Server server(Fine, certificate_.first, certificate_.second, own.first);
  Client client;
  const auto response = Ask(client, Get(server, "/x"), Showing(own));
  ASSERT_TRUE(response) << response.error().message;
  EXPECT_EQ(response->body, "berth");
}

TEST_F(ClientTlsTest, APeerWithoutTheCertificateDoesNotGetTheConnectionOfOneThatHasIt) {
  const auto own = MakeCertificate("berth");
  Server server(Fine, certificate_.first, certificate_.second, own.first);
  Client client;
  ASSERT_TRUE(Ask(client, Get(server, "/x"), Showing(own)));
  EXPECT_FALSE(Ask(client, Get(server, "/x"), Trusting(certificate_.first)));
}

TEST_F(ClientTlsTest, AKeyThatDoesNotFitIsNamedNotShown) {
  Server server(Fine, certificate_.first, certificate_.second);
  Client client;
  const Error error = Failed(Ask(client, Get(server, "/x"),
                                 Showing({certificate_.first, MakeCertificate("berth").second})));
  EXPECT_EQ(error.error_class, ErrorClass::kTerminal);
  EXPECT_THAT(error.message, Not(HasSubstr("BEGIN")));
}

}  // namespace
}  // namespace berth::http
