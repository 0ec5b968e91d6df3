#include "server/simulate_azure.h"

#include <gtest/gtest.h>

#include <functional>
#include <future>
#include <optional>

#include "async/event_loop.h"
#include "http/file.h"
#include "server/azure_account.h"
#include "server/serve_fixture_test.h"

// `berth simulate-azure` as the real client meets it: real sockets, real TLS, the real program.
namespace berth::server::test {
namespace {

using cloud::PublicIp;

class SimulateAzureTest : public testing::Test {
 protected:
  void Start(const BerthProcess::Flags& flags = {}) {
    azure_.emplace(BerthProcess::Azure{flags});
    if (!azure_->listening()) throw std::runtime_error("it does not start: " + azure_->Log());
    Open();
  }
  void Open() {
    loop_.Run([&] {
      auto account = AzureAccount::Open(loop_, client_, nullptr,
                                        {.service_gateway = true,
                                         .cloud_config = azure_->state_dir() / "cloud-config.json",
                                         .ca_file = CaFile()});
      if (!account) throw std::runtime_error(account.error().message);
      account_ = std::move(*account);
    });
  }
  void TearDown() override {
    loop_.Run([this] { account_.reset(); });
    if (!azure_) return;
    EXPECT_EQ(azure_->Stop(), 0) << azure_->Log();
    EXPECT_FALSE(azure_->LogContains(ReadFile(azure_->state_dir() / "client-secret").value()));
  }

  std::filesystem::path CaFile() const { return azure_->state_dir() / "certs" / "ca.crt"; }

  template <typename T>
  Result<T> Wait(std::function<async::Task<Result<T>>(cloud::ServiceGateway&)> call) {
    std::promise<Result<T>> answer;
    async::Running running;
    loop_.Run([&] {
      running = async::Start([](auto ask, cloud::ServiceGateway& gateway,
                                std::promise<Result<T>>* to) -> async::Task<void> {
        to->set_value(co_await ask(gateway));
      }(std::move(call), account_->service_gateway(), &answer));
    });
    auto result = answer.get_future().get();
    loop_.Run([&] { running = {}; });
    return result;
  }
  Result<PublicIp> PutIp(const std::string& name) {
    return Wait<PublicIp>(
        [name](cloud::ServiceGateway& gateway) { return gateway.Put(PublicIp{.name = name}, {}); });
  }
  // Makes a call to the console; the answer's JSON.
  Json Ask(const std::string& method, const std::string& path, const std::string& body = {}) {
    TlsClient client(azure_->port("console"), TlsOptions{.trust = ReadFile(CaFile()).value()});
    const auto response = client.Exchange(Request(method, path, {}, body));
    EXPECT_EQ(Code(response), 200) << Body(response);
    return response ? Json::parse(response->body) : Json::null();
  }

  std::optional<BerthProcess> azure_;
  http::Client client_;
  async::EventLoop loop_{"test"};
  std::unique_ptr<AzureAccount> account_;
};

TEST_F(SimulateAzureTest, TheRealClientFollowsItsOperations) {
  Start({{"operation", "100ms"}});
  const auto ip = PutIp("a");
  ASSERT_TRUE(ip) << ip.error().message;
  EXPECT_FALSE(ip->address.empty());
  const auto again = PutIp("a");
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().error_class, ErrorClass::kConflict);
  const auto gone =
      Wait<void>([ip](cloud::ServiceGateway& gateway) { return gateway.Delete(*ip, {}); });
  EXPECT_TRUE(gone) << gone.error().message;
  const Json ledger = Ask("GET", "/ledger");
  EXPECT_EQ(ledger["resources"]["publicIPAddresses"]["created"].as<int>(), 1);
  EXPECT_EQ(ledger["resources"]["publicIPAddresses"]["deleted"].as<int>(), 1);
  EXPECT_GE(ledger["calls"]["PollOperation"].as<int>(), 1);
  EXPECT_EQ(ledger["calls"]["GetToken"].as<int>(), 1);
}

TEST_F(SimulateAzureTest, TheConsoleMeddlesAndFails) {
  Start({{"operation", "0ms"}});
  Ask("PUT", "/faults", R"([{"action": "PutPublicIPAddress", "code": "QuotaExceeded"}])");
  const auto refused = PutIp("a");
  ASSERT_FALSE(refused);
  EXPECT_TRUE(cloud::IsQuota(refused.error())) << refused.error().message;
  Ask("PUT", "/resources/publicIPAddresses/theirs",
      R"({"location": "westeurope", "properties": {"publicIPAddressVersion": "IPv4"}})");
  const auto all = Wait<std::vector<PublicIp>>(
      [](cloud::ServiceGateway& gateway) { return gateway.PublicIps(); });
  ASSERT_TRUE(all) << all.error().message;
  ASSERT_EQ(all->size(), 1u);
  EXPECT_EQ(all->front().name, "theirs");
}

TEST_F(SimulateAzureTest, AnAccountNeedsAFileThatCanBeRead) {
  loop_.Run([&] {
    const auto none =
        AzureAccount::Open(loop_, client_, nullptr, {.cloud_config = "/nowhere/azure.json"});
    ASSERT_FALSE(none);
    EXPECT_TRUE(none.error().message.contains("/nowhere/azure.json")) << none.error().message;
  });
}

}  // namespace
}  // namespace berth::server::test
