#include "reconcile/difftracker/system_fixture_test.h"

namespace berth::difftracker {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;
using testing::StartsWith;

TEST_F(DiffTrackerTest, AServiceGetsALoadBalancerItsAddressAndItsEndpoints) {
  const std::string uid = CreateService("web");
  for (const char* pod : {"web-1", "web-2", "web-3"}) CreatePod(pod, R"("app":"web")");
  Advance(30s);
  EXPECT_THAT(Condition("web"), StartsWith("True Provisioned"));
  ASSERT_TRUE(gateway_.ips.contains(uid + "-pip"));
  EXPECT_EQ(Ingress("web"), gateway_.ips.at(uid + "-pip").address);
  EXPECT_THAT(Finalizers(ServicePath("web")),
              ElementsAre("servicegateway.azure.com/service-cleanup"));
  EXPECT_TRUE(gateway_.balancers.contains(uid));
  EXPECT_TRUE(gateway_.services.contains(uid));
  EXPECT_EQ(gateway_.addresses(), 3u);
  EXPECT_EQ(View(uid)->synced, 3u);
  EXPECT_THAT(gateway_.broken, IsEmpty());
}

TEST_F(DiffTrackerTest, ADeletedServiceTakesItsResourcesWithItAndThenItsFinalizer) {
  const std::string uid = CreateService("web");
  CreatePod("web-1", R"("app":"web")");
  Advance(30s);
  DeleteService("web");
  Advance(100ms);
  EXPECT_TRUE(Exists(ServicePath("web")));
  Advance(30s);
  EXPECT_FALSE(Exists(ServicePath("web")));
  EXPECT_THAT(gateway_.services, IsEmpty());
  EXPECT_THAT(gateway_.balancers, IsEmpty());
  EXPECT_THAT(gateway_.ips, IsEmpty());
  EXPECT_THAT(gateway_.locations, IsEmpty());
  EXPECT_THAT(gateway_.broken, IsEmpty());
  Advance(10min);
  EXPECT_EQ(system_->Remembered(), 0u);
}

TEST_F(DiffTrackerTest, AnEgressLivesAsLongAsItsPods) {
  CreateEgressPod("a", "egress-a");
  CreateEgressPod("b", "Egress-A");
  Advance(30s);
  ASSERT_TRUE(gateway_.nats.contains("egress-a"));
  EXPECT_TRUE(gateway_.nats.at("egress-a").in_gateway);
  EXPECT_EQ(gateway_.addresses(), 2u);
  EXPECT_THAT(Finalizers(PodPath("a")), ElementsAre("servicegateway.azure.com/pod-cleanup"));
  DeletePod("a");
  Advance(30s);
  EXPECT_FALSE(Exists(PodPath("a")));
  EXPECT_EQ(gateway_.addresses(), 1u);
  DeletePod("b");
  Advance(60s);
  EXPECT_FALSE(Exists(PodPath("b")));
  EXPECT_THAT(gateway_.nats, IsEmpty());
  EXPECT_THAT(gateway_.ips, IsEmpty());
  EXPECT_THAT(gateway_.services, IsEmpty());
  EXPECT_THAT(gateway_.broken, IsEmpty());
}

}  // namespace
}  // namespace berth::difftracker
