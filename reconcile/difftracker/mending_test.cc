#include <gmock/gmock.h>

#include <algorithm>
#include <set>

#include "reconcile/difftracker/system_fixture_test.h"

// Forced deletions, refusals whose causes go, and looks at the cloud that are too old.
namespace berth::difftracker {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

TestGateway::Fate Refuse(const std::string& reason, int code) {
  return {.error = Error{ErrorClass::kTerminal, reason, "of the test: " + reason, code}};
}

class MendingTest : public DiffTrackerTest {
 protected:
  // The cloud fails this action from now on.
  void FailAlways(const std::string& action, TestGateway::Fate fate) {
    gateway_.fate = [=](const std::string& called, const std::string&) {
      return called == action ? fate : TestGateway::Fate{};
    };
  }
  // "reason kind/name" of each event.
  std::vector<std::string> EventsWithSubjects() {
    std::vector<std::string> told;
    const Json list = Get("/apis/events.k8s.io/v1/events");
    for (const Json& event : list["items"].array_range()) {
      told.push_back(Format("{} {}/{}", event["reason"].as_string(),
                            event["regarding"]["kind"].as_string(),
                            event["regarding"]["name"].as_string()));
    }
    return told;
  }
};

TEST_F(MendingTest, AForcedDeletionLetsThePodsOfTheEgressGoAndTellsThem) {
  CreateEgressPod("foo", "egress-f");
  Advance(30s);
  FailAlways("UpdateLocations", Refuse("AuthorizationFailed", 403));
  DeletePod("foo");
  Advance(20s);
  ASSERT_TRUE(Exists(PodPath("foo")));
  EXPECT_EQ(system_->tracker()->ForceDelete("egress-f"), Forced::kForgotten);
  Advance(5s);
  EXPECT_FALSE(Exists(PodPath("foo")));
  EXPECT_THAT(EventsWithSubjects(), Contains("ServiceGatewayDeletionForced Pod/foo"));
  gateway_.fate = nullptr;
  Advance(20min);
  EXPECT_THAT(gateway_.nats, IsEmpty());
  EXPECT_THAT(gateway_.ips, IsEmpty());
  EXPECT_THAT(gateway_.locations, IsEmpty());
}

TEST_F(MendingTest, APodIsToldThatTheDeletionOfItsEgressIsParked) {
  CreateEgressPod("foo", "egress-f");
  Advance(30s);
  FailAlways("DeleteNatGateway", Refuse("AuthorizationFailed", 403));
  DeletePod("foo");
  Advance(20s);
  EXPECT_THAT(EventsWithSubjects(), Contains("ServiceGatewayParked Pod/foo"));
}

TEST_F(MendingTest, ARefusedCreationIsTriedAgainWhenItsCauseIsGone) {
  gateway_.ips["egress-g-pip"] = {.name = "egress-g-pip", .etag = "1", .address = "20.1.1.1"};
  CreateEgressPod("a", "egress-g");
  Advance(20s);
  ASSERT_THAT(SeenOf("egress-g").error, HasSubstr("not Berth's"));
  gateway_.ips.clear();
  Advance(6min);
  EXPECT_EQ(SeenOf("egress-g").state, State::kCreated);
}

TEST_F(MendingTest, ARefusedChangeIsTriedAgainWhenItsCauseIsGone) {
  const std::string uid = CreateService("web");
  Advance(20s);
  FailAlways("PutLoadBalancer", Refuse("PolicyViolation", 400));
  Merge(ServicePath("web"), R"({"spec":{"ports":[{"port":81,"targetPort":8080}]}})");
  Advance(10s);
  EXPECT_THAT(Condition("web"), StartsWith("False Parked"));
  gateway_.fate = nullptr;
  Advance(6min);
  EXPECT_THAT(Condition("web"), StartsWith("True Provisioned"));
  EXPECT_EQ(gateway_.balancers.at(uid).rules.at(0).frontend_port, 81);
}

TEST_F(MendingTest, AServiceThatBerthRefusesIsNotTriedAgainAndAgain) {
  CreateService("web");
  CreatePod("web-1", R"("app":"web")");
  Advance(30s);
  Merge(ServicePath("web"), R"({"spec":{"sessionAffinity":"ClientIP"}})");
  Advance(30s);
  const std::size_t retries =
      SeenOf(Get(ServicePath("web"))["metadata"]["uid"].as_string()).retries;
  Advance(1h);
  EXPECT_EQ(SeenOf(Get(ServicePath("web"))["metadata"]["uid"].as_string()).retries, retries);
}

TEST_F(MendingTest, AServiceWithSourceRangesIsRefused) {
  CreateService("web", R"(,"loadBalancerSourceRanges":["10.0.0.0/8"])");
  CreateService("open", R"(,"loadBalancerSourceRanges":["0.0.0.0/0"])");
  Advance(30s);
  EXPECT_THAT(Condition("web"), StartsWith("False UnsupportedSourceRanges"));
  EXPECT_EQ(Ingress("web"), "");
  EXPECT_THAT(Condition("open"), StartsWith("True Provisioned"));
}

TEST_F(MendingTest, AServiceThatWaitsForASlotIsToldSo) {
  gateway_.latency = 10s;
  for (int i = 0; i < 12; ++i) CreateService(Format("web-{}", i));
  Advance(8s);
  int waiting = 0;
  for (int i = 0; i < 12; ++i)
    waiting += Condition(Format("web-{}", i)).contains("waits for its turn") ? 1 : 0;
  EXPECT_EQ(waiting, 2);
}

TEST_F(MendingTest, TheFinalizerOfAnotherClassStays) {
  CreateService("web", R"(,"loadBalancerClass":"example.com/other")",
                R"(,"finalizers":["servicegateway.azure.com/service-cleanup",)"
                R"("service.kubernetes.io/load-balancer-cleanup"])");
  Advance(30s);
  EXPECT_THAT(Finalizers(ServicePath("web")),
              ElementsAre("service.kubernetes.io/load-balancer-cleanup"));
}

TEST_F(MendingTest, AGatewayThatCannotBeReadIsTold) {
  CreateService("old");
  CreateService("gone");
  Advance(30s);
  Crash();
  FailAlways("NatGateways", Refuse("AuthorizationFailed", 403));
  Boot();
  CreateService("web");
  DeleteService("gone");
  Advance(30s);
  EXPECT_THAT(Condition("web"), StartsWith("False GatewayUnreadable"));
  EXPECT_THAT(Condition("web"), HasSubstr("AuthorizationFailed"));
  EXPECT_THAT(Condition("gone"), StartsWith("False GatewayUnreadable"));
  EXPECT_THAT(Condition("old"), StartsWith("True Provisioned"));
  gateway_.fate = nullptr;
  Advance(1min);
  EXPECT_THAT(Condition("web"), StartsWith("True Provisioned"));
  EXPECT_FALSE(Exists(ServicePath("gone")));
}

TEST_F(MendingTest, AListThatLacksARegistrationOnceWithdrawsNothing) {
  const std::string uid = CreateService("web");
  CreatePod("web-1", R"("app":"web")");
  Advance(30s);
  const auto services = gateway_.services;
  int lists = 0;
  gateway_.fate = [&](const std::string& action, const std::string&) {
    // The list is an old one.
    if (action == "Services") gateway_.services = lists++ == 0 ? decltype(services)() : services;
    if (action == "PublicIps") gateway_.services = services;
    return TestGateway::Fate{};
  };
  bool withdrawn = false;
  for (int i = 0; i < 120; ++i) {
    Advance(10s);
    withdrawn = withdrawn || gateway_.addresses() == 0;
    EXPECT_THAT(Condition("web"), StartsWith("True Provisioned"));
  }
  EXPECT_GE(lists, 2);
  EXPECT_FALSE(withdrawn);
  EXPECT_TRUE(gateway_.services.contains(uid));
}

TEST_F(MendingTest, ALostRegistrationIsMadeAgain) {
  const std::string uid = CreateService("web");
  CreatePod("web-1", R"("app":"web")");
  Advance(30s);
  gateway_.locations.clear();
  gateway_.services.clear();
  Advance(12min);
  EXPECT_TRUE(gateway_.services.contains(uid));
  EXPECT_EQ(gateway_.addresses(), 1u);
}

TEST_F(MendingTest, AnAddressOfAListThatIsTooOldIsNotWritten) {
  const std::string uid = CreateService("web");
  Advance(30s);
  const std::string old = Ingress("web");
  // The look for drift takes long: between its lists of public IPs and of NAT gateways the Service
  // gives its address up and gets another one.
  bool done = false;
  std::set<std::string> seen;
  gateway_.fate = [&](const std::string& action, const std::string&) {
    if (action == "PublicIps") gateway_.latency = 30s;
    if (action == "LoadBalancers" && !done) {
      done = true;
      gateway_.latency = 20ms;
    }
    return TestGateway::Fate{};
  };
  for (int i = 0; i < 6200 && gateway_.latency == 20ms; ++i) Advance(100ms);
  ASSERT_EQ(gateway_.latency, 30s);
  gateway_.latency = 20ms;
  gateway_.fate = nullptr;
  Merge(ServicePath("web"), R"({"spec":{"type":"ClusterIP"}})");
  Advance(10s);
  ASSERT_THAT(gateway_.ips, IsEmpty());
  Merge(ServicePath("web"), R"({"spec":{"type":"LoadBalancer"}})");
  for (int i = 0; i < 1200; ++i) {
    Advance(100ms);
    seen.insert(Ingress("web"));
  }
  ASSERT_NE(gateway_.ips.at(uid + "-pip").address, old);
  EXPECT_FALSE(seen.contains(old));
}

TEST_F(MendingTest, AServiceThatChangesItsFamilyKeepsNoPublicIpOfTheOther) {
  const std::string uid = CreateService("web");
  Advance(30s);
  ASSERT_TRUE(gateway_.ips.contains(uid + "-pip"));
  // ExternalName and back: the family may be another one.
  Merge(ServicePath("web"), R"({"spec":{"ipFamilies":["IPv6"],"ipFamilyPolicy":"SingleStack"}})");
  Advance(30s);
  EXPECT_TRUE(gateway_.ips.contains(uid + "-pip-v6"));
  EXPECT_FALSE(gateway_.ips.contains(uid + "-pip"));
  EXPECT_EQ(Ingress("web"), gateway_.ips.at(uid + "-pip-v6").address);
}

TEST_F(MendingTest, ANodeWithManyRefusedAddressesDoesNotStarveTheOthers) {
  CreateService("web");
  for (int i = 0; i < 40; ++i) CreatePod(Format("web-{}", i), R"("app":"web")");
  Advance(100ms);
  std::set<std::string> bad;
  std::size_t good = 0;
  for (int i = 0; i < 40; ++i) {
    const Json pod = Get(PodPath(Format("web-{}", i)));
    if (pod["spec"]["nodeName"] == "worker-1") {
      bad.insert(pod["status"]["podIP"].as_string());
    } else {
      ++good;
    }
  }
  ASSERT_GT(bad.size(), 10u);
  gateway_.fate = [&](const std::string& action, const std::string& what) {
    const bool is_bad = std::ranges::any_of(
        bad, [&](const std::string& ip) { return what.contains(" " + ip + " "); });
    return action == "UpdateLocations" && is_bad ? Refuse("InvalidAddress", 400)
                                                 : TestGateway::Fate{};
  };
  Advance(30min);
  EXPECT_EQ(gateway_.addresses(), good);
  gateway_.fate = nullptr;
  Advance(20min);
  EXPECT_EQ(gateway_.addresses(), 40u);
}

}  // namespace
}  // namespace berth::difftracker
