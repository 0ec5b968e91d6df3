#include <gmock/gmock.h>
#include <openssl/ssl.h>

#include "log/format.h"
#include "server/serve_fixture_test.h"

// The server as its clients meet it: real sockets, real TLS, the real program.
namespace berth::server::test {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

constexpr std::size_t kMaxBody = 7 * 1024 * 1024;

class DrogonDefect : public ServeTest {};
class Wire : public ServeTest {};
class SlowClient : public ServeTest {};
class Bodies : public ServeTest {};
class Observability : public ServeTest {};

std::string Chunked(const std::string& target, const std::string& chunks) {
  return Request("POST", target, {kJsonBody[0], "Transfer-Encoding: chunked"}) + chunks;
}

TEST_F(DrogonDefect, NegativeChunkSizeIsRefusedNotACrash) {
  Start();
  for (const char* chunks :
       {"2\r\nhi\r\n-2\r\n\r\n", "-1\r\n\r\n0\r\n\r\n", "ffffffffffffffff\r\nx\r\n"}) {
    TlsClient client = Webhook();
    ExpectStatus(client.Exchange(Chunked(kValidate, chunks)), 400);
    EXPECT_TRUE(client.Closed());
  }
  EXPECT_TRUE(berth_->Running());
  ExpectStatus(Webhook().Exchange(Post(kValidate, "{}")), 400);
}

// Everything is on one I/O thread, whose OpenSSL error queue trantor never clears. Each failure is
// followed by traffic at once, because the next handshake would clear the queue.
TEST_F(DrogonDefect, FailedHandshakesDoNotDisturbOtherConnections) {
  Start({{"io-threads", "1"}});
  std::vector<TlsClient> busy;
  for (int i = 0; i < 8; ++i) busy.push_back(FrontProxy());
  const auto all_are_served = [&](const char* after) {
    for (TlsClient& client : busy) client.Send(Get("/apis", kAdmin));
    for (TlsClient& client : busy) {
      ASSERT_EQ(Code(client.ReadResponse()), 200) << "after " << after << ": " << client.error();
    }
  };
  all_are_served("nothing yet");
  for (int round = 0; round < 10 && !HasFailure(); ++round) {
    PlainClient garbage(berth_->port("webhook"));
    garbage.Send("GET / HTTP/1.1\r\nHost: this is not TLS\r\n\r\n");
    EXPECT_TRUE(garbage.Closed());
    all_are_served("garbage");
    TlsClient stranger = Api(&pki_.foreign);
    EXPECT_TRUE(stranger.Closed());
    all_are_served("a foreign certificate");
    TlsClient old(berth_->port("api"), TlsOptions{.most_version = TLS1_1_VERSION});
    EXPECT_FALSE(old.connected());
    all_are_served("an old protocol");
  }
}

TEST_F(DrogonDefect, EveryRemoteGroupSurvives) {
  Start();
  TlsClient client = FrontProxy();
  const std::string user = "X-Remote-User: alice";
  const std::string masters = "X-Remote-Group: system:masters";
  const std::string dev = "X-Remote-Group: dev";
  const std::string ops = "x-remote-group: ops";
  for (const HeaderLines& headers : {HeaderLines{user, masters}, HeaderLines{user, dev, masters},
                                     HeaderLines{user, dev, "Accept: */*", ops, masters}}) {
    EXPECT_EQ(Code(client.Exchange(Get(kWorkQueues, headers))), 200);
  }
  ExpectStatus(client.Exchange(Get(kWorkQueues, {user, dev, ops})), 403);
  ExpectStatus(client.Exchange(Get(kWorkQueues, {user, "X-Remote-Group: dev,system:masters"})),
               403);
}

TEST_F(SlowClient, DrippedHeaderIsAnswered408AndClosed) {
  Start({{"request-timeout", "1s"}});
  TlsClient client = Webhook();
  const std::string request = Post(kValidate, std::string(4096, ' '));
  std::size_t sent = 0;
  // Each byte would start Drogon's idle timeout anew.
  EXPECT_TRUE(WaitUntil([&] {
    client.Send(request.substr(sent++, 1));
    return sent == request.size() || client.Readable(50ms);
  }));
  EXPECT_LT(sent, request.size());
  ExpectStatus(client.ReadResponse(), 408);
  EXPECT_TRUE(client.Closed());
}

TEST_F(SlowClient, DrippedBodyIsAnswered408AndClosed) {
  Start({{"request-timeout", "1s"}});
  TlsClient client = Webhook();
  ASSERT_TRUE(
      client.Send(Request("POST", kValidate, {kJsonBody[0], "Content-Length: 1000"}) + "{"));
  ExpectStatus(client.ReadResponse(), 408);
  EXPECT_TRUE(client.Closed());
}

TEST_F(SlowClient, UnfinishedHandshakeIsCutOff) {
  Start({{"request-timeout", "1s"}});
  PlainClient silent(berth_->port("webhook"), 8s);
  PlainClient begun(berth_->port("api"), 8s);
  begun.Send(std::string("\x16\x03\x01", 3));
  EXPECT_TRUE(silent.Closed());
  EXPECT_TRUE(begun.Closed());
}

TEST_F(SlowClient, IdleKeepAliveConnectionOutlivesTheRequestTimeout) {
  Start({{"request-timeout", "1s"}});
  TlsClient client = Webhook();
  ExpectStatus(client.Exchange(Post(kValidate, "{}")), 400);
  EXPECT_FALSE(client.Readable(2s)) << "closed while idle";
  ExpectStatus(client.Exchange(Post(kValidate, "{}")), 400);
}

TEST_F(SlowClient, EachRequestOfAConnectionHasItsOwnDeadline) {
  Start({{"request-timeout", "1s"}});
  TlsClient client = Webhook();
  const std::string request = Post(kValidate, "{}", {kJsonBody[0], "Expect: 100-continue"});
  const std::string head = request.substr(0, request.size() - 2);
  ASSERT_TRUE(client.Send(head));
  EXPECT_EQ(Code(client.ReadResponse()), 100);
  ASSERT_TRUE(client.Send("{}"));
  ExpectStatus(client.ReadResponse(), 400);
  EXPECT_FALSE(client.Readable(2s)) << "the first request's deadline is over with it";
  ASSERT_TRUE(client.Send(head));
  EXPECT_EQ(Code(client.ReadResponse()), 100);
  ExpectStatus(client.ReadResponse(), 408);
  EXPECT_TRUE(client.Closed());
}

TEST_F(Wire, UpgradeIsRefused) {
  Start();
  for (const char* protocol : {"websocket", "SPDY/3.1", "h2c"}) {
    TlsClient client = FrontProxy();
    HeaderLines headers = kAdmin;
    headers.insert(headers.end(), {"Connection: Upgrade", std::string("Upgrade: ") + protocol});
    ExpectStatus(client.Exchange(Get(kWorkQueues, headers)), 400);
    EXPECT_TRUE(client.Closed());
  }
}

TEST_F(Wire, OddPathsGetNoRedirectAndNoServerHeader) {
  Start();
  const std::vector<std::string> paths = {"/",
                                          "//apis",
                                          "/../",
                                          "/%2e%2e",
                                          "/apis/../apis",
                                          "/./apis",
                                          "/apis//",
                                          "/apis/%00",
                                          "/%",
                                          "/index.html",
                                          "/..%2f..%2fetc/passwd",
                                          "//localhost/%2f..",
                                          "/apis?continue=%ff",
                                          "/" + std::string(9000, 'a'),
                                          "/" + std::string(20'000, 'a')};
  for (const std::string& path : paths) {
    SCOPED_TRACE(path.substr(0, 40));
    for (const char* listener : {"webhook", "api", "metrics", "health"}) {
      const bool plain = listener == std::string("metrics") || listener == std::string("health");
      const auto response =
          plain ? PlainClient(berth_->port(listener)).Exchange(Get(path))
                : TlsClient(berth_->port(listener), TlsOptions{.identity = &pki_.front_proxy})
                      .Exchange(Get(path, kAdmin));
      ASSERT_TRUE(response) << listener;
      EXPECT_TRUE(response->code < 300 || response->code >= 400)
          << listener << " " << response->code;
      EXPECT_EQ(response->Header("server"), "") << listener;
      EXPECT_EQ(response->Header("location"), "") << listener;
    }
  }
}

TEST_F(Wire, PipelinedRequestsAreAnsweredInOrder) {
  Start();
  TlsClient client = FrontProxy();
  ASSERT_TRUE(
      client.Send(Get("/apis", kAdmin) + Get("/nothing", kAdmin) + Get(kWorkQueues, kAdmin)));
  EXPECT_THAT(Body(client.ReadResponse()), HasSubstr("APIGroupList"));
  ExpectStatus(client.ReadResponse(), 404);
  EXPECT_THAT(Body(client.ReadResponse()), HasSubstr("WorkQueueList"));
}

TEST_F(Wire, OneConnectionServesManyRequests) {
  Start();
  TlsClient client = Webhook();
  for (int i = 0; i < 200; ++i) ASSERT_EQ(Code(client.Exchange(Post(kValidate, "{}"))), 400) << i;
}

TEST_F(Wire, ConnectionCloseIsHonoured) {
  Start();
  TlsClient client = Webhook();
  ExpectStatus(client.Exchange(Post(kValidate, "{}", {kJsonBody[0], "Connection: close"})), 400);
  EXPECT_TRUE(client.Closed());
}

TEST_F(Bodies, SevenMebibytesAreTaken) {
  Start();
  const std::string body = "{\"kind\":\"" + std::string(kMaxBody - 11, 'x') + "\"}";
  ASSERT_EQ(body.size(), kMaxBody);
  TlsClient client = Webhook();
  ExpectStatus(client.Exchange(Post(kValidate, body)), 400);
  ExpectStatus(client.Exchange(Post(kValidate, "{}")), 400);
}

TEST_F(Bodies, MoreThanSevenMebibytesAre413) {
  Start();
  const std::string length = "Content-Length: " + std::to_string(kMaxBody + 1);
  TlsClient announced = Webhook();
  ExpectStatus(announced.Exchange(Request("POST", kValidate, {kJsonBody[0], length})), 413);
  EXPECT_TRUE(announced.Closed());
  TlsClient chunked = Webhook();
  ExpectStatus(chunked.Exchange(Chunked(kValidate, "700001\r\n")), 413);
  EXPECT_TRUE(chunked.Closed());
}

TEST_F(Bodies, ChunkedBodyIsReadAsAWhole) {
  Start();
  const std::string review = ReadTestData("admission/create.json");
  std::string chunks;
  for (std::size_t at = 0; at < review.size(); at += 0x100) {
    const std::string piece = review.substr(at, 0x100);
    chunks += Format("{:x}\r\n{}\r\n", piece.size(), piece);
  }
  const auto response = Webhook().Exchange(Chunked(kValidate, chunks + "0\r\n\r\n"));
  EXPECT_EQ(Code(response), 200);
  EXPECT_THAT(Body(response), HasSubstr(R"("allowed":true)"));
}

TEST_F(Bodies, ExpectContinueIsAnsweredBeforeTheBodyComes) {
  Start();
  const std::string review = ReadTestData("admission/create.json");
  TlsClient client = Webhook();
  const std::string request = Post(kValidate, review, {kJsonBody[0], "Expect: 100-continue"});
  const std::size_t head = request.size() - review.size();
  ASSERT_TRUE(client.Send(request.substr(0, head)));
  EXPECT_EQ(Code(client.ReadResponse()), 100);
  ASSERT_TRUE(client.Send(request.substr(head)));
  EXPECT_EQ(Code(client.ReadResponse()), 200);
  ExpectStatus(client.Exchange(Post(kValidate, "{}")), 400);
}

TEST_F(Observability, MetricsCountReviewsByWebhookAndResult) {
  Start();
  TlsClient webhook = Webhook();
  const std::string good = ReadTestData("admission/create.json");
  std::string bad = good;
  bad.replace(bad.find("10.0.0.0/16"), 11, "10.0.0.1/16");
  for (const std::string& review : {good, good, bad, std::string("{")}) {
    ASSERT_TRUE(webhook.Exchange(Post(kValidate, review)));
  }
  const auto response = PlainClient(berth_->port("metrics")).Exchange(Get("/metrics"));
  ASSERT_EQ(Code(response), 200);
  EXPECT_THAT(response->Header("content-type"), HasSubstr("text/plain"));
  for (const char* series :
       {R"(result="allowed",webhook="/validate/plexaubnet.io/subnetpools"} 2)",
        R"(result="denied",webhook="/validate/plexaubnet.io/subnetpools"} 1)",
        R"(result="malformed",webhook="/validate/plexaubnet.io/subnetpools"} 1)"}) {
    EXPECT_THAT(response->body,
                HasSubstr(std::string("\nberth_admission_reviews_total{") + series + "\n"));
  }
  EXPECT_THAT(response->body, HasSubstr("\nberth_build_info{version=\"" BERTH_VERSION "\"} 1\n"));
  EXPECT_THAT(response->body, HasSubstr("\nprocess_resident_memory_bytes "));
  const std::string labels = R"({webhook="/validate/plexaubnet.io/subnetpools")";
  const std::string latency = "\ncontroller_runtime_webhook_latency_seconds";
  EXPECT_THAT(response->body, HasSubstr(latency + "_bucket" + labels + R"(,le="10"} 3)"));
  EXPECT_THAT(response->body, HasSubstr(latency + "_count" + labels + "} 3"));
}

TEST_F(Observability, HealthTellsLifeAndReadiness) {
  Start();
  PlainClient client = Health();
  for (const char* path : {"/livez", "/healthz", "/readyz"}) {
    const auto response = client.Exchange(Get(path));
    EXPECT_EQ(Code(response), 200) << path;
    EXPECT_EQ(Body(response), "ok") << path;
  }
  EXPECT_EQ(Body(client.Exchange(Get("/livez?verbose"))), "[+]ping ok\nlivez check passed\n");
  EXPECT_EQ(Body(client.Exchange(Get("/readyz?verbose"))),
            "[+]listening ok\n[+]front-proxy ok\n[+]not-shutting-down ok\nreadyz check passed\n");
  ExpectStatus(client.Exchange(Get("/metrics")), 404);
  ExpectStatus(client.Exchange(Post("/readyz", "x")), 405);
}

}  // namespace
}  // namespace berth::server::test
