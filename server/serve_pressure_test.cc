#include <gmock/gmock.h>

#include <fstream>
#include <thread>

#include "async/sanitized.h"
#include "server/serve_fixture_test.h"

// Clients that take all the memory they can get. The bounds are those of a process that nothing
// instruments.
namespace berth::server::test {
namespace {

using namespace std::chrono_literals;

constexpr double kMostMib = 200;
constexpr double kMostMibAfterwards = 100;
// With a sanitizer the clients are endured and nothing is measured.
constexpr bool kMeasuresMemory = !kSanitized;

class Pressure : public ServeTest {
 protected:
  void SetUp() override { Start(); }

  // A line of /proc/PID/status: VmHWM, the most that was resident so far, or VmRSS.
  double Mib(const std::string& field) const {
    std::ifstream status("/proc/" + std::to_string(berth_->pid()) + "/status");
    for (std::string line; std::getline(status, line);) {
      if (line.starts_with(field + ":")) return std::stod(line.substr(field.size() + 1)) / 1024;
    }
    return 0;
  }

  // `count` clients at once, while others go on asking for an ordinary review.
  void Endure(int count, const std::function<void()>& client) {
    std::atomic<int> left = count;
    std::vector<std::thread> threads;
    for (int i = 0; i < count; ++i) {
      threads.emplace_back([&] {
        client();
        --left;
      });
    }
    const std::string request = Post(kValidate, ReadTestData("admission/create.json"));
    do {
      EXPECT_EQ(Code(Webhook().Exchange(request)), 200);
    } while (left > 0);
    for (auto& thread : threads) thread.join();
    if (!kMeasuresMemory) return;
    EXPECT_LT(Mib("VmHWM"), kMostMib);
    EXPECT_TRUE(WaitUntil([&] { return Mib("VmRSS") < kMostMibAfterwards; })) << Mib("VmRSS");
  }

  // Sends without reading for as long as the server takes it, and stays a while.
  static void SendWithoutReading(Client client, const std::string& bytes, int times) {
    for (int i = 0; i < times && client.Send(bytes); ++i) {
    }
    client.Readable(1s);
  }
};

TEST_F(Pressure, ClientsThatPostMuchAndDoNotReadAreEndured) {
  Json review = Json::parse(ReadTestData("admission/create.json"));
  review["request"]["object"]["spec"]["cidr"] = std::string(6'900'000, '1');
  const std::string request = Post(kValidate, review.to_string());
  Endure(60, [&] { SendWithoutReading(Webhook(3s), request, 1); });
}

TEST_F(Pressure, ClientsThatAskForMetricsAndDoNotReadAreEndured) {
  std::string requests;
  for (int i = 0; i < 32; ++i) requests += Get("/metrics");
  Endure(30, [&] { SendWithoutReading(PlainClient(berth_->port("metrics"), 3s), requests, 400); });
}

TEST_F(Pressure, ClientsThatAreRefusedAndDoNotReadAreEndured) {
  std::string requests;
  for (int i = 0; i < 200; ++i) requests += Post("/no/such/webhook", "");
  for (int i = 0; i < 20; ++i)
    requests += Post(kValidate, "{\"kind\":\"" + std::string(900, 'x') + "\"}");
  Endure(24, [&] { SendWithoutReading(Webhook(3s), requests, 800); });
}

TEST_F(Pressure, DocumentsOfMillionsOfValuesAreEndured) {
  std::string numbers = "[1";
  while (numbers.size() < 7'000'000) numbers += ",1";
  const std::string request = Post(kValidate, numbers + "]");
  Endure(8, [&] { SendWithoutReading(Webhook(3s), request, 1); });
}

TEST_F(Pressure, ALargeReviewIsStillJudged) {
  Json review = Json::parse(ReadTestData("admission/create.json"));
  review["request"]["object"]["spec"]["cidr"] = std::string(6'900'000, '1');
  const auto answer = Webhook().Exchange(Post(kValidate, review.to_string()));
  ASSERT_EQ(Code(answer), 200);
  const Json response = Json::parse(answer->body)["response"];
  EXPECT_EQ(response["allowed"], false);
  // A value is told with its first 256 bytes.
  EXPECT_LT(answer->body.size(), 4096u);
  EXPECT_THAT(response["status"]["message"].as_string(), testing::HasSubstr("1111..."));
}

class Connections : public ServeTest {
 protected:
  double Refused() const {
    const std::string metrics =
        Body(PlainClient(berth_->port("metrics")).Exchange(Get("/metrics")));
    const std::string name = "\nberth_http_connections_refused_total ";
    const std::size_t at = metrics.find(name);
    return at == std::string::npos ? 0 : std::stod(metrics.substr(at + name.size()));
  }
};

TEST_F(Connections, HandshakesThatAreUnderWayCountAgainstTheLimit) {
  Start({{"max-connections", "40"}});
  std::vector<PlainClient> half_open;
  EXPECT_TRUE(WaitUntil([&] {
    half_open.emplace_back(berth_->port("webhook")).Send("\x16\x03\x01");
    return half_open.size() > 40 && Refused() > 0;
  }));
  EXPECT_TRUE(half_open.back().Closed());
  // Probes come through, and when the others have gone everybody does.
  EXPECT_EQ(Code(Health().Exchange(Get("/livez"))), 200);
  half_open.clear();
  const std::string review = Post(kValidate, ReadTestData("admission/create.json"));
  EXPECT_TRUE(WaitUntil([&] { return Code(Webhook().Exchange(review)) == 200; }));
}

// A client that sends ahead is answered in order, however many requests it sends at once.
TEST_F(Pressure, RequestsThatAreSentAheadAreAnsweredInOrder) {
  // The queue is published shortly after the listeners open.
  ASSERT_TRUE(WaitUntil([&] {
    return Code(FrontProxy().Exchange(Get(kWorkQueues + "/housekeeping", kAdmin))) == 200;
  }));
  TlsClient client = FrontProxy();
  std::string requests;
  for (int i = 0; i < 100; ++i)
    requests += Get(kWorkQueues + (i % 2 ? "/housekeeping" : "/none"), kAdmin);
  ASSERT_TRUE(client.Send(requests));
  for (int i = 0; i < 100; ++i)
    ASSERT_EQ(Code(client.ReadResponse()), i % 2 ? 200 : 404) << i << " " << client.error();
}

}  // namespace
}  // namespace berth::server::test
