#include <gmock/gmock.h>

#include "cloud/test_azure_account.h"
#include "reconcile/difftracker/system_fixture_test.h"

// The system with its real client, on the wire of a simulated Azure whose operations take seconds.
namespace berth::difftracker {
namespace {

using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;

constexpr const char* kPublicIps = "publicipaddresses";
constexpr const char* kBalancers = "loadbalancers";
constexpr const char* kNats = "natgateways";
constexpr std::size_t kAll = 1'000;

class AzureTest : public DiffTrackerTest {
 protected:
  AzureTest() {
    used_gateway_ = &account_.client.gateway;
    Boot();
  }

  std::size_t Count(const char* type) {
    account_.cloud.Settle(executor_.WallNow());
    return account_.cloud.group().List(type, "", kAll).size();
  }
  // Beside Azure's own default service.
  std::size_t Services() { return account_.cloud.gateway().ListServices("", kAll).size() - 1; }
  std::size_t Locations() { return account_.cloud.gateway().ListLocations("", kAll).size(); }

  void CreateAll() {
    CreateService("web");
    CreatePod("a", R"("app":"web","kubernetes.azure.com/service-egress-gateway":"egress-a")");
  }
  void DeleteAll() {
    DeleteService("web");
    DeletePod("a");
  }
  void ExpectAll() {
    EXPECT_THAT(Condition("web"), StartsWith("True Provisioned"));
    EXPECT_THAT(Ingress("web"), Not(IsEmpty()));
    EXPECT_EQ(Count(kPublicIps), 2u);
    EXPECT_EQ(Count(kBalancers), 1u);
    EXPECT_EQ(Count(kNats), 1u);
    EXPECT_EQ(Services(), 2u);
    EXPECT_EQ(Locations(), 1u);
  }
  void ExpectNothing() {
    EXPECT_FALSE(Exists(ServicePath("web")));
    EXPECT_FALSE(Exists(PodPath("a")));
    EXPECT_EQ(Count(kPublicIps), 0u);
    EXPECT_EQ(Count(kBalancers), 0u);
    EXPECT_EQ(Count(kNats), 0u);
    EXPECT_EQ(Services(), 0u);
    EXPECT_EQ(Locations(), 0u);
  }

  cloud::simulator::Latency latency_{executor_, 1ms, 5ms};
  cloud::AzureTestAccount account_{
      executor_, latency_, {.least_operation = 1s, .most_operation = 5s}};
};

TEST_F(AzureTest, AServiceAndAnEgressLiveAndDie) {
  CreateAll();
  Advance(1min);
  ExpectAll();
  DeleteAll();
  Advance(2min);
  ExpectNothing();
}

TEST_F(AzureTest, ACrashAtAnyTimeLeavesNothingBehind) {
  for (int at = 0; at < 12; ++at) {
    CreateAll();
    Advance(at * 900ms);
    Boot();
    Advance(2min);
    ExpectAll();
    DeleteAll();
    Advance(at * 1300ms);
    Boot();
    Advance(3min);
    ExpectNothing();
    ASSERT_FALSE(HasFailure()) << at;
  }
}

}  // namespace
}  // namespace berth::difftracker
