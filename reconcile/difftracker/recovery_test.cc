#include <gmock/gmock.h>

#include "reconcile/difftracker/system_fixture_test.h"

// Failures of the API server, of the cloud and of the process itself. Flaws are those of
// cloud-provider-azure.
namespace berth::difftracker {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;

constexpr const char* kServiceFinalizerText = "servicegateway.azure.com/service-cleanup";
constexpr const char* kPodFinalizerText = "servicegateway.azure.com/pod-cleanup";

TestGateway::Fate Fail(ErrorClass error_class, const std::string& reason, int code) {
  return {.error = Error{error_class, reason, "of the test: " + reason, code}};
}

class RecoveryTest : public DiffTrackerTest {
 protected:
  void ExpectNothingLeft() {
    EXPECT_THAT(gateway_.services, IsEmpty());
    EXPECT_THAT(gateway_.balancers, IsEmpty());
    EXPECT_THAT(gateway_.nats, IsEmpty());
    EXPECT_THAT(gateway_.ips, IsEmpty());
    EXPECT_THAT(gateway_.locations, IsEmpty());
    EXPECT_THAT(gateway_.broken, IsEmpty());
  }
  // Fails the first `times` calls of an action.
  void FailFirst(const std::string& action, int times, TestGateway::Fate fate) {
    gateway_.fate = [=, left = times](const std::string& called, const std::string&) mutable {
      return called == action && left-- > 0 ? fate : TestGateway::Fate{};
    };
  }
};

TEST_F(RecoveryTest, FlawAFinalizerThatCannotBeWrittenIsWrittenLaterAndHoldsUpNobodyElse) {
  transport_.refuses = [](const kube::Request& request) {
    return request.path.contains("/services/web") && !request.path.contains("/status");
  };
  const std::string uid = CreateService("web");
  CreateService("other");
  Advance(20s);
  EXPECT_THAT(Condition("other"), StartsWith("True Provisioned"));
  EXPECT_FALSE(gateway_.ips.contains(uid + "-pip")) << "made without the finalizer";
  EXPECT_THAT(Events(), Contains("ServiceGatewayFinalizerAddFailed"));
  transport_.refuses = nullptr;
  Advance(6min);
  EXPECT_THAT(Condition("web"), StartsWith("True Provisioned"));
  EXPECT_THAT(Finalizers(ServicePath("web")), ElementsAre(kServiceFinalizerText));
}

TEST_F(RecoveryTest, FlawAPodIsNotTrackedBeforeItsFinalizerIsWritten) {
  transport_.refuses = [](const kube::Request& request) {
    return request.path.contains("/pods/a");
  };
  CreateEgressPod("a", "egress-a");
  Advance(20s);
  EXPECT_THAT(gateway_.nats, IsEmpty());
  EXPECT_THAT(Events(), Contains("ServiceGatewayFinalizerAddFailed"));
  transport_.refuses = nullptr;
  Advance(2min);
  EXPECT_TRUE(gateway_.nats.contains("egress-a"));
  EXPECT_THAT(Finalizers(PodPath("a")), ElementsAre(kPodFinalizerText));
}

TEST_F(RecoveryTest, FlawFinalizersAndIngressAreRecoveredAtAnyTime) {
  CreateService("web");
  CreateEgressPod("a", "egress-a");
  Advance(30s);
  const std::string address = Ingress("web");
  ASSERT_THAT(address, Not(IsEmpty()));
  Merge(ServicePath("web"), R"({"metadata":{"finalizers":null}})");
  Merge(ServicePath("web") + "/status", R"({"status":{"loadBalancer":null}})");
  Merge(PodPath("a"), R"({"metadata":{"finalizers":null}})");
  Advance(5s);
  EXPECT_EQ(Ingress("web"), address);
  EXPECT_THAT(Finalizers(ServicePath("web")), ElementsAre(kServiceFinalizerText));
  EXPECT_THAT(Finalizers(PodPath("a")), ElementsAre(kPodFinalizerText));
  EXPECT_TRUE(gateway_.nats.contains("egress-a"));
}

TEST_F(RecoveryTest, ObjectsThatLostTheirFinalizersWhileBerthWasDownKeepTheirResources) {
  CreateService("web");
  CreateEgressPod("a", "egress-a");
  Advance(30s);
  const std::string address = Ingress("web");
  Crash();
  Merge(ServicePath("web"), R"({"metadata":{"finalizers":null}})");
  Merge(PodPath("a"), R"({"metadata":{"finalizers":null}})");
  gateway_.calls.clear();
  Boot();
  Advance(30s);
  EXPECT_EQ(Ingress("web"), address);
  EXPECT_THAT(Finalizers(ServicePath("web")), ElementsAre(kServiceFinalizerText));
  EXPECT_THAT(Finalizers(PodPath("a")), ElementsAre(kPodFinalizerText));
  EXPECT_EQ(gateway_.calls["DeleteLoadBalancer"] + gateway_.calls["DeleteNatGateway"], 0);
}

TEST_F(RecoveryTest, FlawTheStartDoesNotWaitForTheCloud) {
  Crash();
  gateway_.fate = [](const std::string&, const std::string&) {
    return Fail(ErrorClass::kRetry, "ServiceUnavailable", 503);
  };
  Boot();
  CreateService("web");
  Advance(30s);
  EXPECT_TRUE(system_->leading());
  EXPECT_FALSE(system_->started());
  gateway_.fate = nullptr;
  Advance(30s);
  EXPECT_THAT(Condition("web"), StartsWith("True Provisioned"));
}

TEST_F(RecoveryTest, AServiceOfAnUnknownTypeInTheGatewayStopsAllWork) {
  Crash();
  gateway_.services["strange"] = {.name = "strange", .type = cloud::ServiceType::kUnknown};
  Boot();
  const std::string uid = CreateService("web");
  Advance(2min);
  EXPECT_FALSE(system_->started());
  EXPECT_FALSE(gateway_.balancers.contains(uid));
  EXPECT_TRUE(gateway_.services.contains("strange"));
}

TEST_F(RecoveryTest, FlawStartAndDriftLeaveTheResourcesOfOthersAlone) {
  Crash();
  gateway_.nats["users-own"] = {.name = "users-own", .etag = "1", .public_ips = {"users-pip"}};
  gateway_.nats["of-another-cluster"] = {
      .name = "of-another-cluster", .etag = "2", .tags = {{"berth.dev/cluster", "another"}}};
  gateway_.ips["users-pip"] = {.name = "users-pip",
                               .etag = "3",
                               .address = "20.1.1.1",
                               .used_by = "/x/natGateways/users-own"};
  gateway_.balancers["kubernetes"] = {.name = "kubernetes", .etag = "4"};
  gateway_.services["default-natgw"] = {
      .name = "default-natgw", .type = cloud::ServiceType::kOutbound, .is_default = true};
  gateway_.locations["10.0.0.9"]["10.244.9.9"] = {"default-natgw"};
  const auto nats = gateway_.nats;
  const auto ips = gateway_.ips;
  const auto balancers = gateway_.balancers;
  const auto services = gateway_.services;
  const auto locations = gateway_.locations;
  Boot();
  CreateService("web");
  CreateEgressPod("a", "egress-a");
  Advance(1h);
  DeleteService("web");
  DeletePod("a");
  Advance(1h);
  EXPECT_EQ(gateway_.nats, nats);
  EXPECT_EQ(gateway_.ips, ips);
  EXPECT_EQ(gateway_.balancers, balancers);
  EXPECT_EQ(gateway_.services, services);
  EXPECT_EQ(gateway_.locations, locations);
}

TEST_F(RecoveryTest, ANatGatewayOfSomebodyElseWithTheEgressNameIsNotTaken) {
  gateway_.nats["egress-a"] = {.name = "egress-a", .etag = "1"};
  const auto nats = gateway_.nats;
  CreateEgressPod("a", "egress-a");
  Advance(10min);
  EXPECT_EQ(gateway_.nats, nats);
  EXPECT_THAT(View("egress-a")->error, HasSubstr("not Berth's"));
  DeletePod("a");
  Advance(10min);
  EXPECT_EQ(gateway_.nats, nats);
  EXPECT_FALSE(Exists(PodPath("a")));
  EXPECT_THAT(gateway_.ips, IsEmpty());
}

TEST_F(RecoveryTest, FlawALongRetryAfterIsHonoured) {
  gateway_.fate = [](const std::string& action, const std::string&) {
    if (action != "PutPublicIp") return TestGateway::Fate{};
    auto fate = Fail(ErrorClass::kThrottled, "TooManyRequests", 429);
    fate.error->retry_after = 90s;
    return fate;
  };
  CreateService("web");
  Advance(80s);
  EXPECT_EQ(gateway_.calls["PutPublicIp"], 1);
  EXPECT_THAT(Condition("web"), StartsWith("False Throttled"));
  gateway_.fate = nullptr;
  Advance(60s);
  EXPECT_THAT(Condition("web"), StartsWith("True Provisioned"));
}

TEST_F(RecoveryTest, FlawAQuotaIsToldApartParkedAndTriedAgain) {
  gateway_.fate = [](const std::string& action, const std::string&) {
    return action == "PutPublicIp" ? Fail(ErrorClass::kTerminal, "PublicIPCountLimitReached", 400)
                                   : TestGateway::Fate{};
  };
  CreateService("web");
  Advance(1min);
  EXPECT_THAT(Condition("web"), StartsWith("False QuotaExceeded"));
  EXPECT_EQ(gateway_.calls["PutPublicIp"], 1) << "a quota does not pass in seconds";
  EXPECT_THAT(Events(), Contains("ServiceGatewayParked"));
  gateway_.fate = nullptr;
  Advance(5min);
  EXPECT_THAT(Condition("web"), StartsWith("True Provisioned"));
  EXPECT_THAT(Events(), Contains("ServiceGatewayRecovered"));
}

TEST_F(RecoveryTest, FlawAFailedStepOfADeletionIsRepeated) {
  for (const char* action :
       {"UpdateServices", "DeleteLoadBalancer", "DeletePublicIp", "GetLoadBalancer"}) {
    CreateService("web");
    CreatePod("web-1", R"("app":"web")");
    Advance(30s);
    FailFirst(action, 2, Fail(ErrorClass::kRetry, "InternalServerError", 500));
    DeleteService("web");
    DeletePod("web-1");
    Advance(2min);
    EXPECT_FALSE(Exists(ServicePath("web"))) << action;
    ExpectNothingLeft();
  }
}

TEST_F(RecoveryTest, FlawAWriteThatWasAppliedAndTimedOutLeavesNothingBehind) {
  for (const char* action : {"UpdateServices", "UpdateLocations", "PutPublicIp", "PutLoadBalancer",
                             "PutNatGateway", "DeleteNatGateway", "DeleteLoadBalancer"}) {
    auto fate = Fail(ErrorClass::kAmbiguous, "Timeout", 0);
    fate.applied = true;
    FailFirst(action, 2, fate);
    CreateService("web");
    CreatePod("web-1", R"("app":"web","kubernetes.azure.com/service-egress-gateway":"egress-a")");
    Advance(2min);
    EXPECT_THAT(Condition("web"), StartsWith("True Provisioned")) << action;
    FailFirst(action, 2, fate);
    DeleteService("web");
    DeletePod("web-1");
    Advance(3min);
    EXPECT_FALSE(Exists(ServicePath("web"))) << action;
    EXPECT_FALSE(Exists(PodPath("web-1"))) << action;
    ExpectNothingLeft();
  }
}

TEST_F(RecoveryTest, FlawOneRefusedAddressDoesNotKeepTheOthersOut) {
  CreateService("web");
  for (int i = 0; i < 8; ++i) CreatePod(Format("web-{}", i), R"("app":"web")");
  Advance(100ms);
  const std::string bad = Get(PodPath("web-3"))["status"]["podIP"].as_string();
  gateway_.fate = [bad](const std::string& action, const std::string& what) {
    return action == "UpdateLocations" && what.contains(bad + " ")
               ? Fail(ErrorClass::kTerminal, "InvalidAddress", 400)
               : TestGateway::Fate{};
  };
  Advance(1min);
  EXPECT_EQ(gateway_.addresses(), 7u);
  gateway_.fate = nullptr;
  Advance(15min);
  EXPECT_EQ(gateway_.addresses(), 8u);
}

TEST_F(RecoveryTest, ACrashAtAnyStepOfCreationOrDeletionLeavesNothingBehind) {
  for (int at = 0; at < 24; ++at) {
    const std::string name = Format("web-{}", at);
    const std::string egress = Format("egress-{}", at);
    CreateService(name);
    CreatePod("a", Format(R"("app":"{}","kubernetes.azure.com/service-egress-gateway":"{}")", name,
                          egress));
    Advance(at * 40ms);
    Boot();
    Advance(1min);
    EXPECT_THAT(Condition(name), StartsWith("True Provisioned")) << at;
    EXPECT_EQ(gateway_.addresses(), 1u) << at;
    DeleteService(name);
    DeletePod("a");
    Advance(at * 60ms);
    Boot();
    Advance(1min);
    EXPECT_FALSE(Exists(ServicePath(name))) << at;
    EXPECT_FALSE(Exists(PodPath("a"))) << at;
    ExpectNothingLeft();
    if (HasFailure()) break;
  }
}

TEST_F(RecoveryTest, FlawAServiceDeletedByForceWhileItsCreationCrashedLeavesNoPublicIp) {
  gateway_.fate = [](const std::string& action, const std::string&) {
    return action == "PutLoadBalancer" ? Fail(ErrorClass::kRetry, "InternalServerError", 500)
                                       : TestGateway::Fate{};
  };
  const std::string uid = CreateService("web");
  Advance(5s);
  ASSERT_TRUE(gateway_.ips.contains(uid + "-pip"));
  Crash();
  Merge(ServicePath("web"), R"({"metadata":{"finalizers":null}})");
  DeleteService("web");
  gateway_.fate = nullptr;
  Boot();
  Advance(1min);
  ExpectNothingLeft();
}

TEST_F(RecoveryTest, ARestartWritesNothingThatIsAsItShouldBe) {
  CreateService("web");
  CreatePod("web-1", R"("app":"web","kubernetes.azure.com/service-egress-gateway":"egress-a")");
  Advance(1min);
  gateway_.calls.clear();
  transport_.patches = 0;
  Boot();
  Advance(25min);
  for (const auto& [action, times] : gateway_.calls) {
    EXPECT_TRUE(action.starts_with("Get") || !action.starts_with("P") || action == "PublicIps")
        << action;
    EXPECT_FALSE(action.starts_with("Delete") || action.starts_with("Update")) << action;
  }
}

TEST_F(RecoveryTest, ObjectsThatCameAndWentWhileBerthWasDownAreReconciled) {
  std::vector<std::string> old_uids;
  for (int i = 0; i < 4; ++i) old_uids.push_back(CreateService(Format("old-{}", i)));
  Advance(1min);
  Crash();
  for (int i = 0; i < 4; ++i) DeleteService(Format("old-{}", i));
  for (int i = 0; i < 5; ++i) CreateService(Format("new-{}", i));
  Advance(1min);
  Boot();
  Advance(1min);
  EXPECT_EQ(gateway_.balancers.size(), 5u);
  EXPECT_EQ(gateway_.ips.size(), 5u);
  for (int i = 0; i < 4; ++i) EXPECT_FALSE(Exists(ServicePath(Format("old-{}", i))));
  for (int i = 0; i < 5; ++i)
    EXPECT_THAT(Condition(Format("new-{}", i)), StartsWith("True Provisioned"));
}

}  // namespace
}  // namespace berth::difftracker
