#include "cloud/azure/gateway_client.h"

#include <gtest/gtest.h>

#include <memory>

#include "async/test_executor.h"
#include "cloud/simulator/azure/console.h"
#include "cloud/test_azure_account.h"
#include "cloud/test_transport.h"

// The client over the simulated cloud.
namespace berth::cloud::azure {
namespace {

using namespace std::chrono_literals;
namespace sim = simulator::azure;

class GatewayClientTest : public testing::Test {
 protected:
  static sim::Cloud::Options Options() {
    return {.least_operation = 1s, .most_operation = 5s, .page = 3};
  }

  template <typename T>
  Result<T> Wait(async::Task<Result<T>> task) {
    const Pending<Result<T>> call(std::move(task));
    for (int i = 0; i < 3'000 && !call.ended(); ++i) executor_.Advance(1s);
    return call.value();
  }
  PublicIp MakeIp(const std::string& name, bool ipv6 = false) {
    auto ip = Wait(gateway_.Put(PublicIp{.name = name, .tags = {{"k", "v"}}, .ipv6 = ipv6}, {}));
    EXPECT_TRUE(ip) << ip.error().message;
    return ip.value_or(PublicIp());
  }
  LoadBalancer MakeBalancer(const std::string& name) {
    auto made =
        Wait(gateway_.Put(LoadBalancer{.name = name,
                                       .public_ip = name + "-pip",
                                       .rules = {{.frontend_port = 80, .backend_port = 8080}}},
                          {}));
    EXPECT_TRUE(made) << made.error().message;
    return made.value_or(LoadBalancer());
  }
  void Fault(const char* json) {
    const auto set =
        sim::Console(account_.cloud, {.method = "PUT", .url = "", .body = json}, "/faults");
    ASSERT_EQ(set.code, 200) << set.body;
  }

  async::TestExecutor executor_;
  simulator::Latency fates_{executor_, 10ms, 50ms};
  TestObserver observer_;
  AzureTestAccount account_{executor_, fates_, Options(), {}, &observer_};
  ServiceGateway& gateway_ = account_.client.gateway;
};

TEST_F(GatewayClientTest, AnInboundServiceLivesItsLife) {
  const PublicIp ip = MakeIp("u1-pip");
  EXPECT_FALSE(ip.address.empty());
  EXPECT_TRUE(ip.succeeded);
  EXPECT_EQ(ip.tags, (Tags{{"k", "v"}}));
  LoadBalancer balancer = MakeBalancer("u1");
  EXPECT_EQ(balancer.public_ip, "u1-pip");
  ASSERT_EQ(balancer.rules.size(), 1u);
  EXPECT_EQ(Wait(gateway_.GetPublicIp("u1-pip"))->used_by.empty(), false);

  ASSERT_TRUE(Wait(gateway_.UpdateServices({{.name = "u1", .load_balancer = "u1"}})));
  ASSERT_TRUE(Wait(gateway_.UpdateLocations(
      {{.location = {"10.0.0.1", {{"10.1.0.1", {"u1"}}, {"10.1.0.2", {"u1"}}}}, .full = true}})));
  const auto services = Wait(gateway_.Services());
  ASSERT_EQ(services->size(), 2u);
  EXPECT_TRUE((*services)[0].is_default);
  EXPECT_EQ((*services)[0].name, "default-natgw");
  EXPECT_EQ((*services)[1].backend_pools.size(), 1u);
  EXPECT_EQ(Wait(gateway_.Locations()).value(),
            (std::vector<Location>{{"10.0.0.1", {{"10.1.0.1", {"u1"}}, {"10.1.0.2", {"u1"}}}}}));

  // Nothing goes before its users.
  auto early = Wait(gateway_.UpdateServices({{.name = "u1", .is_delete = true}}));
  EXPECT_TRUE(HasMappings(early.error())) << early.error().message;
  EXPECT_EQ(Wait(gateway_.Delete(balancer, {})).error().error_class, ErrorClass::kRetry);
  EXPECT_EQ(Wait(gateway_.Delete(Wait(gateway_.GetPublicIp("u1-pip")).value(), {})).error().reason,
            "PublicIPAddressCannotBeDeleted");

  ASSERT_TRUE(Wait(gateway_.UpdateLocations({{.location = {"10.0.0.1", {{"10.1.0.1", {}}}}}})));
  ASSERT_TRUE(Wait(gateway_.UpdateLocations({{.location = {"10.0.0.1", {}}, .full = true}})));
  EXPECT_TRUE(Wait(gateway_.Locations())->empty());
  ASSERT_TRUE(Wait(gateway_.UpdateServices({{.name = "u1", .load_balancer = ""}})));
  ASSERT_TRUE(Wait(gateway_.Delete(balancer, {})));
  ASSERT_TRUE(Wait(gateway_.UpdateServices({{.name = "u1", .is_delete = true}})));
  ASSERT_TRUE(Wait(gateway_.Delete(Wait(gateway_.GetPublicIp("u1-pip")).value(), {})));
  EXPECT_TRUE(account_.cloud.group().all().empty());
  EXPECT_EQ(Wait(gateway_.GetLoadBalancer("u1")).error().error_class, ErrorClass::kNotFound);
}

TEST_F(GatewayClientTest, AnOutboundServiceHasBothFamilies) {
  MakeIp("e-pip");
  const PublicIp v6 = MakeIp("e-pip-v6", true);
  EXPECT_TRUE(v6.ipv6);
  EXPECT_EQ(v6.address, "2603:1030:0:1::2");  // told in upper case
  auto nat = Wait(gateway_.Put(
      NatGateway{
          .name = "e", .in_gateway = true, .public_ips = {"e-pip"}, .public_ips_v6 = {"e-pip-v6"}},
      {}));
  ASSERT_TRUE(nat) << nat.error().message;
  EXPECT_TRUE(nat->in_gateway);
  EXPECT_EQ(nat->public_ips_v6, std::vector<std::string>{"e-pip-v6"});
  ASSERT_TRUE(Wait(gateway_.UpdateServices(
      {{.name = "e", .type = ServiceType::kOutbound, .nat_gateway = "e"}})));
  ASSERT_TRUE(Wait(
      gateway_.UpdateLocations({{.location = {"fd00::a", {{"fd00:1::a", {"e"}}}}, .full = true}})));
  EXPECT_EQ(Wait(gateway_.Locations())->front().addresses.front().address, "fd00:1::a");
  EXPECT_FALSE(Wait(gateway_.Delete(*nat, {})));
  ASSERT_TRUE(Wait(gateway_.UpdateLocations({{.location = {"fd00::a", {}}, .full = true}})));
  ASSERT_TRUE(Wait(
      gateway_.UpdateServices({{.name = "e", .type = ServiceType::kOutbound, .nat_gateway = ""}})));
  EXPECT_FALSE(Wait(gateway_.Delete(*nat, {})));  // it is in the gateway
  nat->in_gateway = false;
  nat = Wait(gateway_.Put(*nat, {}));
  ASSERT_TRUE(nat) << nat.error().message;
  EXPECT_TRUE(Wait(gateway_.Delete(*nat, {})));
}

TEST_F(GatewayClientTest, NobodyElsesResourceIsOverwritten) {
  const PublicIp ip = MakeIp("a");
  EXPECT_EQ(Wait(gateway_.Put(PublicIp{.name = "a"}, {})).error().error_class,
            ErrorClass::kConflict);
  PublicIp changed = ip;
  changed.tags = {{"x", "y"}};
  const auto replaced = Wait(gateway_.Put(changed, {}));
  ASSERT_TRUE(replaced) << replaced.error().message;
  EXPECT_EQ(replaced->address, ip.address);
  EXPECT_EQ(Wait(gateway_.Put(changed, {})).error().error_class, ErrorClass::kConflict);
  EXPECT_EQ(Wait(gateway_.Delete(ip, {})).error().error_class, ErrorClass::kConflict);
  EXPECT_TRUE(Wait(gateway_.Delete(*replaced, {})));
}

// Parentheses are good in names of resource groups, and percent-encoding belongs to addresses
// alone.
TEST_F(GatewayClientTest, ReferencesAreNotEncoded) {
  sim::Cloud::Options options = Options();
  options.resource_group = "my(group)";
  AzureTestAccount account(executor_, fates_, options);
  ServiceGateway& gateway = account.client.gateway;
  ASSERT_TRUE(Wait(gateway.Put(PublicIp{.name = "u1-pip"}, {})));
  const auto made = Wait(gateway.Put(LoadBalancer{.name = "u1", .public_ip = "u1-pip"}, {}));
  ASSERT_TRUE(made) << made.error().message;
  const auto registered = Wait(gateway.UpdateServices({{.name = "u1", .load_balancer = "u1"}}));
  EXPECT_TRUE(registered) << registered.error().message;
}

TEST_F(GatewayClientTest, ListsHaveAllPagesAndOthersResources) {
  for (int i = 0; i < 10; ++i) MakeIp("ip-" + std::to_string(i));
  EXPECT_EQ(Wait(gateway_.PublicIps())->size(), 10u);
  EXPECT_TRUE(Wait(gateway_.LoadBalancers())->empty());
  std::vector<LocationUpdate> updates;
  for (int i = 0; i < 10; ++i) {
    updates.push_back({.location = {"10.0.0." + std::to_string(i),
                                    {{"10.1.0." + std::to_string(i), {"default-natgw"}}}},
                       .full = true});
  }
  ASSERT_TRUE(Wait(gateway_.UpdateLocations(updates)));
  EXPECT_EQ(Wait(gateway_.Locations())->size(), 10u);
}

TEST_F(GatewayClientTest, FaultsOfTheConsoleAreErrorsOfTheirClass) {
  Fault(R"([{"action": "PutPublicIPAddress", "code": "QuotaExceeded"}])");
  EXPECT_TRUE(IsQuota(Wait(gateway_.Put(PublicIp{.name = "a"}, {})).error()));
  Fault(R"([{"action": "PutPublicIPAddress", "code": "AuthorizationFailed"}])");
  EXPECT_TRUE(IsForbidden(Wait(gateway_.Put(PublicIp{.name = "a"}, {})).error()));
  Fault(R"([{"action": "PutPublicIPAddress", "lro-failed": "QuotaExceeded"}])");
  EXPECT_TRUE(IsQuota(Wait(gateway_.Put(PublicIp{.name = "a"}, {})).error()));
  EXPECT_FALSE(Wait(gateway_.GetPublicIp("a"))->succeeded);
  Fault(R"([{"action": "PutPublicIPAddress", "applied-then-timeout": true}])");
  EXPECT_EQ(Wait(gateway_.Put(PublicIp{.name = "b"}, {})).error().error_class,
            ErrorClass::kAmbiguous);
  EXPECT_TRUE(Wait(gateway_.GetPublicIp("b")));
  Fault(R"([{"action": "UpdateAddressLocations", "applied-then-timeout": true}])");
  EXPECT_EQ(Wait(gateway_.UpdateLocations(
                     {{.location = {"10.0.0.1", {{"10.1.0.1", {"default-natgw"}}}}}}))
                .error()
                .error_class,
            ErrorClass::kAmbiguous);
  executor_.Advance(10s);
  EXPECT_EQ(Wait(gateway_.Locations())->size(), 1u);
  Fault(R"([{"action": "UpdateServices", "sticks": true}])");
  EXPECT_EQ(Wait(gateway_.UpdateServices({{.name = "x"}})).error().error_class,
            ErrorClass::kAmbiguous);
}

TEST_F(GatewayClientTest, TokensThatAreRevokedAreReplaced) {
  MakeIp("a");
  account_.cloud.login().RevokeTokens();
  executor_.Advance(10s);
  EXPECT_TRUE(Wait(gateway_.GetPublicIp("a")));
}

TEST_F(GatewayClientTest, AWellBehavedClientIsNeverThrottled) {
  std::vector<std::unique_ptr<Pending<Result<PublicIp>>>> puts;
  const auto begin = executor_.Now();
  std::size_t made = 0;
  for (int i = 0; i < 1'300; ++i) {
    puts.push_back(std::make_unique<Pending<Result<PublicIp>>>(
        gateway_.Put(PublicIp{.name = "ip-" + std::to_string(i)}, {})));
  }
  std::vector<bool> counted(puts.size());
  while (made < puts.size() && executor_.Now() - begin < 30min) {
    executor_.Advance(1s);
    for (std::size_t i = 0; i < puts.size(); ++i) {
      if (counted[i] || !puts[i]->ended()) continue;
      if (puts[i]->value()) {
        counted[i] = true;
        ++made;
      } else {  // it had no turn
        ASSERT_EQ(puts[i]->value().error().reason, kNotSent);
        puts[i] = std::make_unique<Pending<Result<PublicIp>>>(
            gateway_.Put(PublicIp{.name = "ip-" + std::to_string(i)}, {}));
      }
    }
  }
  EXPECT_EQ(made, puts.size());
  for (const auto& [action, calls] : account_.cloud.calls()) {
    EXPECT_EQ(calls.throttled, 0u) << action;
  }
}

TEST_F(GatewayClientTest, NoSecretIsInARecordOrAnError) {
  Fault(R"([{"action": "PutPublicIPAddress", "code": "QuotaExceeded"}])");
  const auto refused = Wait(gateway_.Put(PublicIp{.name = "a"}, {}));
  EXPECT_FALSE(refused.error().message.contains(AzureTestClient::kSecret));
  ASSERT_FALSE(observer_.calls.empty());
  for (const CallRecord& call : observer_.calls) {
    EXPECT_FALSE(call.message.contains(AzureTestClient::kSecret)) << call.action;
    EXPECT_FALSE(call.resource.contains(AzureTestClient::kSecret)) << call.action;
  }
}

}  // namespace
}  // namespace berth::cloud::azure
