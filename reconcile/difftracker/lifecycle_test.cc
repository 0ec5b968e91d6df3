#include <gmock/gmock.h>

#include "reconcile/difftracker/system_fixture_test.h"

// Changes of Services and pods by their users, and of the cloud's resources by others.
namespace berth::difftracker {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;

using LifecycleTest = DiffTrackerTest;

class DualStackTest : public DiffTrackerTest {
 protected:
  DualStackTest() : DiffTrackerTest(true) {}
};

cloud::LoadBalancerRule Rule(bool udp, int port, int target) {
  return {.udp = udp, .frontend_port = port, .backend_port = target, .idle_timeout_minutes = 4};
}

TEST_F(LifecycleTest, PortsOfAServiceAreRulesOfItsLoadBalancer) {
  const std::string uid =
      CreateService("web", "",
                    R"(,"annotations":{"service.beta.kubernetes.io/)"
                    R"(azure-load-balancer-tcp-idle-timeout":"15"})",
                    R"({"name":"a","port":80,"targetPort":8080},)"
                    R"({"name":"b","port":53,"protocol":"UDP","targetPort":8080})");
  Advance(30s);
  auto tcp = Rule(false, 80, 8080);
  auto udp = Rule(true, 53, 8080);
  tcp.idle_timeout_minutes = udp.idle_timeout_minutes = 15;
  EXPECT_THAT(gateway_.balancers.at(uid).rules, ElementsAre(tcp, udp));
}

TEST_F(LifecycleTest, AChangeOfTheProtocolChangesTheLoadBalancerAndKeepsItsAddress) {
  const std::string uid = CreateService("web");
  CreatePod("web-1", R"("app":"web")");
  Advance(30s);
  const std::string address = Ingress("web");
  Merge(ServicePath("web"),
        R"({"spec":{"ports":[{"port":80,"targetPort":8080,"protocol":"UDP"}]}})");
  Advance(10s);
  EXPECT_THAT(gateway_.balancers.at(uid).rules, ElementsAre(Rule(true, 80, 8080)));
  EXPECT_EQ(Ingress("web"), address);
  EXPECT_THAT(Condition("web"), StartsWith("True Provisioned"));
  EXPECT_EQ(gateway_.addresses(), 1u);
}

TEST_F(LifecycleTest, FlawAServiceThatIsNoLoadBalancerAnyMoreHasNeitherIngressNorFinalizer) {
  CreateService("web");
  CreatePod("web-1", R"("app":"web")");
  Advance(30s);
  Merge(ServicePath("web"), R"({"spec":{"type":"ClusterIP"}})");
  Advance(30s);
  EXPECT_EQ(Ingress("web"), "");
  EXPECT_EQ(Condition("web"), "");
  EXPECT_THAT(Finalizers(ServicePath("web")), IsEmpty());
  EXPECT_THAT(gateway_.balancers, IsEmpty());
  EXPECT_THAT(gateway_.ips, IsEmpty());
  Merge(ServicePath("web"), R"({"spec":{"type":"LoadBalancer"}})");
  Advance(30s);
  EXPECT_THAT(Ingress("web"), Not(IsEmpty()));
  EXPECT_THAT(Condition("web"), StartsWith("True Provisioned"));
  EXPECT_EQ(gateway_.addresses(), 1u);
}

TEST_F(LifecycleTest, AServiceOfAnotherClassIsNotTouched) {
  CreateService("web", R"(,"loadBalancerClass":"example.com/lb")");
  const Json before = GetService("web");
  Advance(30s);
  EXPECT_EQ(GetService("web"), before);
  EXPECT_THAT(gateway_.balancers, IsEmpty());
  const std::string uid =
      CreateService("ours", R"(,"loadBalancerClass":"berth.dev/service-gateway")");
  Advance(30s);
  EXPECT_TRUE(gateway_.balancers.contains(uid));
}

TEST_F(LifecycleTest, AServiceThatTheGatewayCannotServeIsToldSoAndNothingIsMade) {
  CreateService("web", R"(,"sessionAffinity":"ClientIP")");
  Advance(30s);
  EXPECT_THAT(Condition("web"), StartsWith("False UnsupportedSessionAffinity"));
  EXPECT_THAT(Events(), Contains("ServiceGatewayConfigurationRejected"));
  EXPECT_THAT(gateway_.ips, IsEmpty());
  EXPECT_THAT(Finalizers(ServicePath("web")), IsEmpty());
  Merge(ServicePath("web"), R"({"spec":{"sessionAffinity":"None"}})");
  Advance(30s);
  EXPECT_THAT(Condition("web"), StartsWith("True Provisioned"));
}

TEST_F(LifecycleTest, AServiceChangedToWhatCannotBeServedKeepsWhatItHas) {
  const std::string uid = CreateService("web");
  CreatePod("web-1", R"("app":"web")");
  Advance(30s);
  Merge(ServicePath("web"), R"({"spec":{"sessionAffinity":"ClientIP"}})");
  CreatePod("web-2", R"("app":"web")");
  Advance(1min);
  EXPECT_THAT(Condition("web"), StartsWith("False UnsupportedSessionAffinity"));
  EXPECT_TRUE(gateway_.balancers.contains(uid));
  EXPECT_EQ(gateway_.addresses(), 2u);
  Boot();
  Advance(15min);
  EXPECT_TRUE(gateway_.balancers.contains(uid));
  EXPECT_EQ(gateway_.addresses(), 2u);
}

TEST_F(LifecycleTest, FlawAServiceThatIsNotTrackedLosesItsFinalizersWhenItIsDeleted) {
  CreateService("web", R"(,"sessionAffinity":"ClientIP")",
                R"(,"finalizers":["servicegateway.azure.com/service-cleanup",)"
                R"("service.kubernetes.io/load-balancer-cleanup","example.com/other"])");
  Advance(10s);
  DeleteService("web");
  Advance(30s);
  EXPECT_THAT(Finalizers(ServicePath("web")), ElementsAre("example.com/other"));
}

TEST_F(LifecycleTest, APodThatGetsAnotherEgressLabelMovesAndLeavesTheOldEgress) {
  CreateEgressPod("a", "egress-a");
  Advance(30s);
  Merge(PodPath("a"),
        R"({"metadata":{"labels":{"kubernetes.azure.com/service-egress-gateway":"egress-b"}}})");
  Advance(1min);
  EXPECT_FALSE(gateway_.nats.contains("egress-a"));
  EXPECT_TRUE(gateway_.nats.contains("egress-b"));
  EXPECT_EQ(gateway_.addresses(), 1u);
  Merge(PodPath("a"),
        R"({"metadata":{"labels":{"kubernetes.azure.com/service-egress-gateway":null}}})");
  Advance(1min);
  EXPECT_THAT(gateway_.nats, IsEmpty());
  EXPECT_THAT(gateway_.locations, IsEmpty());
  EXPECT_THAT(Finalizers(PodPath("a")), IsEmpty());
  EXPECT_TRUE(Exists(PodPath("a")));
}

TEST_F(LifecycleTest, LabelsThatCannotBeUsedAreToldOf) {
  CreateEgressPod("a", "default-natgw");
  CreateEgressPod("b", "5edfffb0-a118-4e13-89d7-152814d89685");
  Advance(10s);
  EXPECT_THAT(Events(), Contains("ServiceGatewayReservedEgressLabel"));
  EXPECT_THAT(Events(), Contains("ServiceGatewayInvalidEgressLabel"));
  EXPECT_THAT(gateway_.nats, IsEmpty());
}

TEST_F(DualStackTest, AnEgressHasAPublicIpOfEachFamilyAndAFinalizerUntilBothDrain) {
  CreateEgressPod("a", "egress-a");
  Advance(30s);
  ASSERT_TRUE(gateway_.nats.contains("egress-a"));
  EXPECT_THAT(gateway_.nats.at("egress-a").public_ips, ElementsAre("egress-a-pip"));
  EXPECT_THAT(gateway_.nats.at("egress-a").public_ips_v6, ElementsAre("egress-a-pip-v6"));
  EXPECT_EQ(gateway_.addresses(), 2u);
  EXPECT_EQ(gateway_.locations.size(), 2u) << "a location has one family";
  gateway_.fate = [](const std::string& action, const std::string& what) {
    if (action != "UpdateLocations" || !what.contains(":")) return TestGateway::Fate{};
    return TestGateway::Fate{.error = Error{ErrorClass::kRetry, "Busy", "busy", 409}};
  };
  DeletePod("a");
  Advance(20s);
  EXPECT_TRUE(Exists(PodPath("a"))) << "IPv6 is still in the gateway";
  gateway_.fate = nullptr;
  Advance(2min);
  EXPECT_FALSE(Exists(PodPath("a")));
  EXPECT_THAT(gateway_.nats, IsEmpty());
  EXPECT_THAT(gateway_.ips, IsEmpty());
}

TEST_F(LifecycleTest, ANodesNewAddressMovesItsPods) {
  CreateService("web");
  CreatePod("web-1", R"("app":"web")");
  Advance(30s);
  ASSERT_EQ(gateway_.locations.size(), 1u);
  const std::string node = Get(PodPath("web-1"))["spec"]["nodeName"].as_string();
  Merge("/api/v1/nodes/" + node + "/status",
        R"({"status":{"addresses":[{"type":"InternalIP","address":"10.9.9.10"},)"
        R"({"type":"InternalIP","address":"10.9.9.9"}]}})");
  Advance(30s);
  ASSERT_EQ(gateway_.locations.size(), 1u);
  EXPECT_EQ(gateway_.locations.begin()->first, "10.9.9.9");
}

TEST_F(LifecycleTest, DriftOfResourcesAndLocationsIsRepaired) {
  const std::string uid = CreateService("web");
  CreatePod("web-1", R"("app":"web","kubernetes.azure.com/service-egress-gateway":"egress-a")");
  Advance(30s);
  const auto locations = gateway_.locations;
  gateway_.balancers.at(uid).rules.clear();
  gateway_.balancers.at(uid).etag = "changed";
  gateway_.nats.erase("egress-a");
  gateway_.locations.begin()->second.begin()->second = {uid};
  Advance(11min);
  EXPECT_THAT(gateway_.balancers.at(uid).rules, ElementsAre(Rule(false, 80, 8080)));
  EXPECT_TRUE(gateway_.nats.contains("egress-a"));
  EXPECT_EQ(gateway_.locations, locations);
}

TEST_F(LifecycleTest, OrphansOfThisClusterAreDeleted) {
  const std::string cluster = Get("/api/v1/namespaces/kube-system")["metadata"]["uid"].as_string();
  Crash();
  const std::string uid = "5edfffb0-a118-4e13-89d7-152814d89685";
  gateway_.ips[uid + "-pip"] = {
      .name = uid + "-pip", .etag = "1", .tags = {{"berth.dev/cluster", cluster}}};
  gateway_.balancers[uid] = {.name = uid,
                             .etag = "2",
                             .tags = {{"berth.dev/cluster", cluster}},
                             .public_ip = uid + "-pip"};
  gateway_.services["egress-z"] = {.name = "egress-z", .type = cloud::ServiceType::kOutbound};
  gateway_.locations["10.0.0.9"]["10.244.9.9"] = {"egress-z"};
  Boot();
  Advance(2min);
  EXPECT_THAT(gateway_.ips, IsEmpty());
  EXPECT_THAT(gateway_.balancers, IsEmpty());
  EXPECT_THAT(gateway_.services, IsEmpty());
  EXPECT_THAT(gateway_.locations, IsEmpty());
}

TEST_F(LifecycleTest, AForcedDeletionLetsTheServiceGoAndItsOrphansAreFoundLater) {
  const std::string uid = CreateService("web");
  Advance(30s);
  gateway_.fate = [](const std::string& action, const std::string&) {
    if (action != "DeleteLoadBalancer") return TestGateway::Fate{};
    return TestGateway::Fate{.error = Error{ErrorClass::kRetry, "Busy", "busy", 409}};
  };
  EXPECT_EQ(system_->tracker()->ForceDelete(uid), Forced::kWanted);
  DeleteService("web");
  Advance(30s);
  ASSERT_TRUE(Exists(ServicePath("web")));
  EXPECT_EQ(system_->tracker()->ForceDelete(uid), Forced::kForgotten);
  Advance(5s);
  EXPECT_FALSE(Exists(ServicePath("web")));
  EXPECT_THAT(Events(), Contains("ServiceGatewayDeletionForced"));
  EXPECT_TRUE(gateway_.balancers.contains(uid));
  gateway_.fate = nullptr;
  Advance(15min);
  EXPECT_THAT(gateway_.balancers, IsEmpty());
  EXPECT_THAT(gateway_.ips, IsEmpty());
}

// cloud-provider-azure made them, without Berth's tag.
TEST_F(LifecycleTest, ResourcesWithoutATagThatAreInOurGatewayAreTakenOverAndRemoved) {
  Crash();
  const std::string uid = CreateService("web");
  gateway_.ips[uid + "-pip"] = {.name = uid + "-pip",
                                .etag = "1",
                                .address = "20.9.9.9",
                                .used_by = Format("/x/loadBalancers/{}/frontend", uid)};
  gateway_.balancers[uid] = {
      .name = uid, .etag = "2", .public_ip = uid + "-pip", .rules = {Rule(false, 80, 8080)}};
  gateway_.services[uid] = {
      .name = uid,
      .backend_pools = {Format("/x/loadBalancers/{}/backendAddressPools/{}", uid, uid)}};
  Boot();
  Advance(30s);
  EXPECT_EQ(Ingress("web"), "20.9.9.9");
  EXPECT_EQ(gateway_.calls["PutLoadBalancer"], 1) << "the tag";
  EXPECT_EQ(gateway_.calls["PutPublicIp"], 1) << "the tag";
  EXPECT_THAT(gateway_.balancers.at(uid).rules, ElementsAre(Rule(false, 80, 8080)));
  Boot();
  Advance(30s);
  EXPECT_EQ(gateway_.calls["PutLoadBalancer"] + gateway_.calls["PutPublicIp"], 2);
  DeleteService("web");
  Advance(30s);
  EXPECT_FALSE(Exists(ServicePath("web")));
  EXPECT_THAT(gateway_.balancers, IsEmpty());
  EXPECT_THAT(gateway_.ips, IsEmpty());
}

TEST_F(LifecycleTest, FlawRegistrationsOfManyServicesShareRequests) {
  for (int i = 0; i < 60; ++i) CreateService(Format("web-{}", i));
  Advance(1min);
  EXPECT_EQ(gateway_.services.size(), 60u);
  EXPECT_LT(gateway_.calls["UpdateServices"], 20);
}

}  // namespace
}  // namespace berth::difftracker
