#include "server/simulate_cloud.h"

#include <gtest/gtest.h>

#include <future>

#include "async/event_loop.h"
#include "cloud/simulator/aliyun/gate.h"
#include "cloud/simulator/aliyun/out_of_band.h"
#include "http/file.h"
#include "server/aliyun_account.h"
#include "server/serve_fixture_test.h"
#include "server/tls_settings.h"

// `berth simulate-cloud` as the real client meets it: real sockets, real TLS, the real program.
namespace berth::server::test {
namespace {

class SimulateCloudTest : public testing::Test {
 protected:
  void Start(const BerthProcess::Flags& flags = {}) {
    cloud_.emplace(BerthProcess::Cloud{flags});
    if (!cloud_->listening()) throw std::runtime_error("it does not start: " + cloud_->Log());
    Open(cloud_->state_dir() / "credentials");
  }
  void Open(const std::filesystem::path& credentials) {
    loop_.Run([&] {
      const std::string endpoint = "https://localhost:" + std::to_string(cloud_->port("cloud"));
      auto account = AliyunAccount::Open(loop_, client_, nullptr,
                                         {.region = "cn-hangzhou",
                                          .credentials_dir = credentials,
                                          .vpc_endpoint = endpoint,
                                          .sts_endpoint = endpoint,
                                          .ca_file = CaFile()});
      if (!account) throw std::runtime_error(account.error().message);
      account_ = std::move(*account);
    });
  }
  void TearDown() override {
    loop_.Run([this] { account_.reset(); });
    if (!cloud_) return;
    EXPECT_EQ(cloud_->Stop(), 0) << cloud_->Log();
  }

  std::filesystem::path CaFile() const { return cloud_->state_dir() / "certs" / "ca.crt"; }

  template <typename T>
  Result<T> Wait(std::function<async::Task<Result<T>>(cloud::Vpc&)> call) {
    std::promise<Result<T>> answer;
    async::Running running;
    loop_.Run([&] {
      running = async::Start(
          [](auto ask, cloud::Vpc& vpc, std::promise<Result<T>>* to) -> async::Task<void> {
            to->set_value(co_await ask(vpc));
          }(std::move(call), account_->vpcs().In(cloud::simulator::kDefaultAccount), &answer));
    });
    auto result = answer.get_future().get();
    loop_.Run([&] { running = {}; });
    return result;
  }
  Result<cloud::AllocatedEip> Allocate(const std::string& token) {
    return Wait<cloud::AllocatedEip>([token](cloud::Vpc& vpc) {
      return vpc.AllocateEip({.client_token = token, .bandwidth = "5", .name = "web & more"}, {});
    });
  }
  // Makes a call out of band; the answer's JSON.
  Json Ask(int code, const std::string& method, const std::string& path,
           const std::string& body = {}) {
    TlsClient client(cloud_->port("cloud"), TlsOptions{.trust = ReadFile(CaFile()).value()});
    const auto response = client.Exchange(Request(method, path, {}, body));
    EXPECT_EQ(Code(response), code) << Body(response);
    return response ? Json::parse(response->body) : Json::null();
  }

  std::optional<BerthProcess> cloud_;
  http::Client client_;
  async::EventLoop loop_{"test"};
  std::unique_ptr<AliyunAccount> account_;
};

TEST_F(SimulateCloudTest, TheRealClientGetsOneAddressForOneToken) {
  Start();
  const auto first = Allocate("token");
  ASSERT_TRUE(first) << first.error().message;
  const auto again = Allocate("token");
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(first->allocation_id, again->allocation_id);
  const Json ledger = Ask(200, "GET", "/ledger");
  EXPECT_EQ(ledger["allocated"].as<int>(), 1);
  EXPECT_EQ(ledger["calls"]["AllocateEipAddress"].as<int>(), 2);
  EXPECT_EQ(Ask(200, "GET", std::string(cloud::simulator::kEipsPath) + first->allocation_id)["name"]
                .as<std::string>(),
            "web & more");
}

TEST_F(SimulateCloudTest, OnlyAKeyThatIsKnownIsLetIn) {
  Start();
  const TempDir other;
  WriteFile(other.path() / "accessKeyID", "LTAIother");
  WriteFile(other.path() / "accessKeySecret", "another-secret");
  Open(other.path());
  EXPECT_FALSE(Allocate("one"));
  Ask(200, "PUT", "/keys/LTAIother", "another-secret");
  // Which account a key belongs to is asked again after a pause.
  EXPECT_TRUE(WaitUntil([&] { return Allocate("two").has_value(); }));
  Ask(200, "DELETE", "/keys/LTAIother");
  EXPECT_FALSE(Allocate("three"));
}

TEST_F(SimulateCloudTest, OthersChangeAndDeleteAddresses) {
  Start({{"until-visible", "0ms"}});
  const auto made = Allocate("token");
  ASSERT_TRUE(made) << made.error().message;
  const std::string path = std::string(cloud::simulator::kEipsPath) + made->allocation_id;
  Ask(200, "PATCH", path, R"({"instanceID":"i-1","name":"meddled"})");
  const auto seen = Wait<std::vector<cloud::Eip>>(
      [&](cloud::Vpc& vpc) { return vpc.DescribeEips({made->allocation_id}); });
  ASSERT_TRUE(seen && seen->size() == 1);
  EXPECT_EQ(seen->front().status, "InUse");
  EXPECT_EQ(seen->front().name, "meddled");
  EXPECT_EQ(
      Ask(200, "PATCH", path, R"({"lockReason":"financial"})")["lockReason"].as<std::string>(),
      "financial");
  Ask(400, "PATCH", path, R"({"allocationID":"another"})");
  Ask(400, "PATCH", path, "no JSON");
  Ask(200, "DELETE", path);
  Ask(404, "GET", path);
}

TEST_F(SimulateCloudTest, ItThrottlesAsTold) {
  Start({{"limit", "AllocateEipAddress=1"}});
  int throttled = 0;
  // A new minute may begin once in between.
  for (const char* token : {"one", "two", "three"}) {
    const auto made = Allocate(token);
    if (!made) throttled += made.error().error_class == ErrorClass::kThrottled ? 1 : 100;
  }
  EXPECT_GE(throttled, 1);
  EXPECT_LE(throttled, 2);
}

TEST_F(SimulateCloudTest, ItIsInTroubleAsTold) {
  Start({{"refused", "1"}});
  const auto made = Allocate("one");
  ASSERT_FALSE(made);
  EXPECT_TRUE(made.error().message.contains("ServiceUnavailable")) << made.error().message;
}

TEST_F(SimulateCloudTest, ItRefusesAllCallsWithACodeUntilToldOtherwise) {
  Start();
  ASSERT_TRUE(Allocate("one"));
  Ask(200, "PUT", "/refusal/OrderError.EIP");
  const auto refused = Allocate("two");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().reason, "OrderError.EIP");
  Ask(200, "DELETE", "/refusal");
  EXPECT_TRUE(Allocate("two"));
}

TEST_F(SimulateCloudTest, AKeyOfAnotherAccountDoesNotReachTheFirstOnesAddresses) {
  Start();
  const TempDir other;
  WriteFile(other.path() / "accessKeyID", "LTAIother");
  WriteFile(other.path() / "accessKeySecret", "another-secret");
  Ask(200, "PUT", "/keys/LTAIother/42", "another-secret");
  Open(other.path());
  const auto made = Allocate("one");
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().reason, cloud::kNotSent);
  EXPECT_TRUE(made.error().message.contains("account 42")) << made.error().message;
}

}  // namespace
}  // namespace berth::server::test
