#include <gmock/gmock.h>

#include "reconcile/difftracker/system_fixture_test.h"

// Resources that Berth did not make: adopted ones, those of other clusters and of other people.
namespace berth::difftracker {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

class OwnershipTest : public DiffTrackerTest {
 protected:
  // The whole resource group and gateway.
  struct Snapshot {
    explicit Snapshot(const TestGateway& gateway)
        : services(gateway.services),
          locations(gateway.locations),
          ips(gateway.ips),
          balancers(gateway.balancers),
          nats(gateway.nats) {}
    bool operator==(const Snapshot&) const = default;

    decltype(TestGateway::services) services;
    decltype(TestGateway::locations) locations;
    decltype(TestGateway::ips) ips;
    decltype(TestGateway::balancers) balancers;
    decltype(TestGateway::nats) nats;
  };

  std::string Cluster() {
    return Get("/api/v1/namespaces/kube-system")["metadata"]["uid"].as_string();
  }
  static cloud::LoadBalancerRule WebRule() {
    return {.udp = false, .frontend_port = 80, .backend_port = 8080, .idle_timeout_minutes = 4};
  }
  // A Service with all that cloud-provider-azure made for it. Its UID.
  std::string MakeMigratedService() {
    Crash();
    const std::string uid = CreateService("web");
    gateway_.ips[uid + "-pip"] = {.name = uid + "-pip",
                                  .etag = "1",
                                  .address = "20.9.9.9",
                                  .used_by = Format("/x/loadBalancers/{}/frontend", uid)};
    gateway_.balancers[uid] = {
        .name = uid, .etag = "2", .public_ip = uid + "-pip", .rules = {WebRule()}};
    gateway_.services[uid] = {
        .name = uid,
        .backend_pools = {Format("/x/loadBalancers/{}/backendAddressPools/{}", uid, uid)}};
    return uid;
  }
  void MakeMigratedEgress(const std::string& name) {
    const std::string used_by = "/x/natGateways/" + name;
    gateway_.ips[name + "-pip"] = {
        .name = name + "-pip", .etag = "1", .address = "20.9.9.1", .used_by = used_by};
    gateway_.ips[name + "-pip-v6"] = {.name = name + "-pip-v6",
                                      .etag = "2",
                                      .ipv6 = true,
                                      .address = "2001:db8::9",
                                      .used_by = used_by};
    gateway_.nats[name] = {.name = name,
                           .etag = "3",
                           .in_gateway = true,
                           .public_ips = {name + "-pip"},
                           .public_ips_v6 = {name + "-pip-v6"}};
    gateway_.services[name] = {
        .name = name, .type = cloud::ServiceType::kOutbound, .nat_gateway_id = used_by};
  }
};

TEST_F(OwnershipTest, ANatGatewayInTheGatewayThatIsNotRegisteredIsNotTaken) {
  gateway_.ips["corp-ip"] = {
      .name = "corp-ip", .etag = "1", .address = "20.1.1.1", .used_by = "/x/natGateways/corp-nat"};
  gateway_.nats["corp-nat"] = {
      .name = "corp-nat", .etag = "2", .in_gateway = true, .public_ips = {"corp-ip"}};
  const Snapshot before(gateway_);
  CreateEgressPod("a", "corp-nat");
  Advance(20min);
  EXPECT_EQ(gateway_.nats, before.nats);
  EXPECT_THAT(SeenOf("corp-nat").error, HasSubstr("not Berth's"));
  DeletePod("a");
  Advance(20min);
  EXPECT_FALSE(Exists(PodPath("a")));
  EXPECT_EQ(Snapshot(gateway_), before);
}

TEST_F(OwnershipTest, AMigratedServiceIsTaggedAndLeavesNothingBehind) {
  const std::string uid = MakeMigratedService();
  Boot();
  Advance(1min);
  const cloud::Tags tags{{"berth.dev/cluster", Cluster()}};
  EXPECT_EQ(gateway_.balancers.at(uid).tags, tags);
  EXPECT_EQ(gateway_.ips.at(uid + "-pip").tags, tags);
  EXPECT_EQ(gateway_.ips.at(uid + "-pip").address, "20.9.9.9");
  EXPECT_EQ(Ingress("web"), "20.9.9.9");
  Merge(ServicePath("web"), R"({"spec":{"ports":[{"port":81,"targetPort":8080}]}})");
  Advance(30s);
  DeleteService("web");
  Advance(1min);
  EXPECT_FALSE(Exists(ServicePath("web")));
  EXPECT_THAT(gateway_.balancers, IsEmpty());
  EXPECT_THAT(gateway_.ips, IsEmpty());
}

TEST_F(OwnershipTest, ATagThatSomebodyRemovesComesBack) {
  const std::string uid = CreateService("web");
  CreateEgressPod("a", "egress-a");
  Advance(30s);
  gateway_.ips.at(uid + "-pip").tags.clear();
  gateway_.balancers.at(uid).tags.clear();
  gateway_.nats.at("egress-a").tags.clear();
  Advance(11min);
  const cloud::Tags tags{{"berth.dev/cluster", Cluster()}};
  EXPECT_EQ(gateway_.ips.at(uid + "-pip").tags, tags);
  EXPECT_EQ(gateway_.balancers.at(uid).tags, tags);
  EXPECT_EQ(gateway_.nats.at("egress-a").tags, tags);
}

TEST_F(OwnershipTest, ALoadBalancerThatWasAdoptedAndDeletedByOthersIsMadeAgain) {
  const std::string uid = MakeMigratedService();
  gateway_.balancers.clear();
  gateway_.ips.at(uid + "-pip").used_by.clear();
  Boot();
  Advance(1min);
  EXPECT_THAT(Condition("web"), StartsWith("True Provisioned"));
  EXPECT_EQ(Ingress("web"), "20.9.9.9");
  EXPECT_TRUE(gateway_.balancers.contains(uid));
}

TEST_F(OwnershipTest, AnAdoptedEgressLosesThePublicIpOfAFamilyThatNoPodHas) {
  Crash();
  MakeMigratedEgress("egress-a");
  CreateEgressPod("a", "egress-a");
  Boot();
  Advance(1min);
  EXPECT_THAT(gateway_.nats.at("egress-a").public_ips_v6, IsEmpty());
  EXPECT_FALSE(gateway_.ips.contains("egress-a-pip-v6"));
  EXPECT_EQ(gateway_.ips.at("egress-a-pip").address, "20.9.9.1");
  DeletePod("a");
  Advance(1min);
  EXPECT_THAT(gateway_.ips, IsEmpty());
  EXPECT_THAT(gateway_.nats, IsEmpty());
}

TEST_F(OwnershipTest, AnEgressIsInSyncBesideAPublicIpOfSomebodyElse) {
  gateway_.ips["egress-a-pip-v6"] = {
      .name = "egress-a-pip-v6", .etag = "1", .ipv6 = true, .address = "2001:db8::1"};
  const auto theirs = gateway_.ips.at("egress-a-pip-v6");
  CreateEgressPod("a", "egress-a");
  Advance(1min);
  ASSERT_EQ(SeenOf("egress-a").state, State::kCreated);
  gateway_.calls.clear();
  Advance(25min);
  EXPECT_EQ(gateway_.calls["GetNatGateway"], 0) << "updated without a cause";
  EXPECT_EQ(system_->tracker()->AddressesOf("egress-a").size(), 1u);
  EXPECT_EQ(gateway_.ips.at("egress-a-pip-v6"), theirs);
}

class OtherClusterTest : public OwnershipTest {
 protected:
  void MakeTheirs(const std::string& name, bool inbound) {
    const cloud::Tags tags{{"berth.dev/cluster", "another"}};
    gateway_.ips[name + "-pip"] = {.name = name + "-pip",
                                   .etag = "1",
                                   .tags = tags,
                                   .address = "20.9.9.9",
                                   .used_by = inbound ? Format("/x/loadBalancers/{}/frontend", name)
                                                      : "/x/natGateways/" + name};
    if (inbound) {
      gateway_.balancers[name] = {.name = name,
                                  .etag = "2",
                                  .tags = tags,
                                  .public_ip = name + "-pip",
                                  .rules = {WebRule()}};
      gateway_.services[name] = {
          .name = name,
          .backend_pools = {Format("/x/loadBalancers/{}/backendAddressPools/{}", name, name)}};
    } else {
      gateway_.nats[name] = {.name = name,
                             .etag = "3",
                             .tags = tags,
                             .in_gateway = true,
                             .public_ips = {name + "-pip"}};
      gateway_.services[name] = {.name = name,
                                 .type = cloud::ServiceType::kOutbound,
                                 .nat_gateway_id = "/x/natGateways/" + name};
    }
    gateway_.locations["10.77.0.1"]["10.78.0.1"].push_back(name);
  }
};

constexpr const char* kTheirUid = "00000000-0000-4000-8000-0000000000aa";

TEST_F(OtherClusterTest, ItsRegistrationsAndLocationsStayAsTheyAreFromTheStart) {
  Crash();
  MakeTheirs(kTheirUid, true);
  MakeTheirs("egress-z", false);
  const Snapshot before(gateway_);
  Boot();
  Advance(1h);
  EXPECT_EQ(Snapshot(gateway_), before);
}

TEST_F(OtherClusterTest, ItsRegistrationsAndLocationsStayAsTheyAreWhenTheyComeLater) {
  const std::string uid = CreateService("web");
  CreatePod("web-1", R"("app":"web")");
  Advance(30s);
  MakeTheirs(kTheirUid, true);
  MakeTheirs("egress-z", false);
  const Snapshot before(gateway_);
  // Deletions and drift read the locations.
  CreateService("other");
  CreatePod("other-1", R"("app":"other")");
  Advance(30s);
  DeleteService("other");
  DeletePod("other-1");
  Advance(1h);
  EXPECT_EQ(Snapshot(gateway_), before);
  EXPECT_TRUE(gateway_.services.contains(uid));
}

TEST_F(OtherClusterTest, ItsEgressIsNotTakenByAPodOfItsName) {
  MakeTheirs("egress-z", false);
  const Snapshot before(gateway_);
  CreateEgressPod("a", "egress-z");
  Advance(20min);
  EXPECT_THAT(SeenOf("egress-z").error, HasSubstr("not Berth's"));
  EXPECT_EQ(Snapshot(gateway_), before);
  DeletePod("a");
  Advance(20min);
  EXPECT_FALSE(Exists(PodPath("a")));
  EXPECT_EQ(Snapshot(gateway_), before);
}

TEST_F(OtherClusterTest, AnEgressThatItHasLetGoOfIsTaken) {
  MakeTheirs("egress-z", false);
  CreateEgressPod("a", "egress-z");
  Advance(11min);
  gateway_.ips.clear();
  gateway_.nats.clear();
  gateway_.services.clear();
  gateway_.locations.clear();
  Advance(20min);
  EXPECT_EQ(SeenOf("egress-z").state, State::kCreated);
  EXPECT_EQ(SeenOf("egress-z").synced, 1u);
  DeletePod("a");
  Advance(1min);
  EXPECT_THAT(gateway_.services, IsEmpty());
  EXPECT_THAT(gateway_.locations, IsEmpty());
}

}  // namespace
}  // namespace berth::difftracker
