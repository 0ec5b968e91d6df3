#include <gmock/gmock.h>

#include <atomic>
#include <csignal>
#include <thread>

#include "server/serve_fixture_test.h"

// A rolling update drops nothing: what SIGTERM does to those who are connected.
namespace berth::server::test {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

class Shutdown : public ServeTest {
 protected:
  bool Ready() const {
    PlainClient client(berth_->port("health"));
    return Code(client.Exchange(Get("/readyz"))) == 200;
  }
};

TEST_F(Shutdown, IsNotReadyAtOnceButServesOnForTheDelay) {
  Start({{"shutdown-delay", "3s"}});
  TlsClient idle = Webhook();
  TlsClient half = Webhook();
  const std::string review = ReadTestData("admission/create.json");
  const std::string request = Post(kValidate, review);
  ExpectStatus(idle.Exchange(Post(kValidate, "{}")), 400);
  ASSERT_TRUE(half.Send(request.substr(0, request.size() / 2)));
  ASSERT_TRUE(Ready());

  berth_->Signal(SIGTERM);
  ASSERT_TRUE(WaitUntil([&] { return !Ready(); }, 1s));
  const auto why = Health().Exchange(Get("/readyz"));
  EXPECT_EQ(Code(why), 503);
  EXPECT_THAT(Body(why), HasSubstr("[-]not-shutting-down failed"));
  EXPECT_EQ(Code(Health().Exchange(Get("/livez"))), 200);
  // The connection that was idle, the request that was half there, and a new connection are all
  // served.
  EXPECT_EQ(Code(idle.Exchange(request)), 200);
  ASSERT_TRUE(half.Send(request.substr(request.size() / 2)));
  EXPECT_EQ(Code(half.ReadResponse()), 200);
  EXPECT_EQ(Code(Webhook().Exchange(request)), 200);
  EXPECT_TRUE(berth_->Running());
  EXPECT_EQ(berth_->Wait(), 0) << berth_->Log();
  EXPECT_TRUE(berth_->LogContains("\"stopped\""));
}

TEST_F(Shutdown, WatchEndsWithItsLastChunk) {
  Start();
  TlsClient client = FrontProxy();
  ASSERT_TRUE(client.Send(Get(kWorkQueues + "?watch=true", kAdmin)));
  EXPECT_EQ(Code(client.ReadHead()), 200);
  const auto first = client.ReadLine();
  ASSERT_TRUE(first) << client.error();
  EXPECT_EQ(Json::parse(*first)["type"].as<std::string>(), "ADDED");
  berth_->Signal(SIGTERM);
  while (const auto line = client.ReadLine()) EXPECT_TRUE(Json::parse(*line).contains("type"));
  EXPECT_TRUE(client.ended()) << "the stream broke off: " << client.error();
  EXPECT_TRUE(client.Closed());
  EXPECT_EQ(berth_->Wait(), 0) << berth_->Log();
}

TEST_F(Shutdown, IdleConnectionsDoNotHoldItUp) {
  Start({{"grace-period", "60s"}});
  std::vector<TlsClient> idle;
  for (int i = 0; i < 20; ++i) idle.push_back(Webhook());
  PlainClient silent(berth_->port("webhook"));
  TlsClient half = Webhook();
  ASSERT_TRUE(half.Send("POST / HTTP/1.1\r\n"));
  berth_->Signal(SIGTERM);
  EXPECT_EQ(berth_->Wait(10s), 0) << berth_->Log();
}

// Asks on several connections in turn, so that each is idle between two reviews; one that is told
// to close is replaced. Counts the answers that did not come on a connection that had given one
// before.
struct Reviewer {
  std::atomic<int> answered = 0;
  std::atomic<int> lost = 0;

  void Run(const std::function<TlsClient()>& connect, const std::string& request,
           std::size_t connections) {
    struct Connection {
      TlsClient client;
      bool is_kept = false;
    };
    std::vector<Connection> open;
    for (std::size_t turn = 0;; ++turn) {
      if (open.size() < connections) open.push_back({connect()});
      Connection& next = open[turn % open.size()];
      if (!next.client.connected()) return;
      const auto answer = next.client.Exchange(request);
      if (answer) ++answered;
      if (!answer && next.is_kept) ++lost;
      next.is_kept = answer && answer->Header("connection") != "close";
      if (!next.is_kept) next = {connect()};
    }
  }
};

TEST_F(Shutdown, NoReviewOnAConnectionThatIsKeptAliveIsLost) {
  Start();
  const std::string request = Post(kValidate, ReadTestData("admission/create.json"));
  Reviewer reviewer;
  std::vector<std::thread> threads;
  for (const std::size_t connections : {1, 2, 8, 32}) {
    threads.emplace_back(
        [&, connections] { reviewer.Run([this] { return Webhook(); }, request, connections); });
  }
  ASSERT_TRUE(WaitUntil([&] { return reviewer.answered > 200; }));
  berth_->Signal(SIGTERM);
  EXPECT_EQ(berth_->Wait(), 0) << berth_->Log();
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(reviewer.lost, 0);
}

TEST_F(Shutdown, InterruptEndsItToo) {
  Start();
  berth_->Signal(SIGINT);
  EXPECT_EQ(berth_->Wait(), 0) << berth_->Log();
}

TEST_F(Shutdown, SecondSignalDuringTheDelayIsHarmless) {
  Start({{"shutdown-delay", "1s"}});
  berth_->Signal(SIGTERM);
  ASSERT_TRUE(berth_->WaitForLog("shutting down"));
  berth_->Signal(SIGTERM);
  EXPECT_EQ(berth_->Wait(), 0) << berth_->Log();
}

}  // namespace
}  // namespace berth::server::test
