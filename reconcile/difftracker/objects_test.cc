#include "reconcile/difftracker/objects.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kube/object.h"
#include "reconcile/difftracker/feed.h"

namespace berth::difftracker {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(DiffTrackerObjects, AddressesHaveOneForm) {
  EXPECT_EQ(CanonicalIp("2001:DB8:0:0::1"), "2001:db8::1");
  EXPECT_EQ(CanonicalIp("10.0.0.1"), "10.0.0.1");
  for (const char* bad : {"", "10.0.0", "010.0.0.1", "example.com", "10.0.0.1/24", "fe80::1%eth0"})
    EXPECT_EQ(CanonicalIp(bad), std::nullopt) << bad;
}

TEST(DiffTrackerObjects, AnEndpointWithoutConditionIsReady) {
  const auto slice = kube::Decode<Slice>(
      R"({"metadata":{"name":"web-1","namespace":"shop","labels":)"
      R"({"kubernetes.io/service-name":"web"}},"addressType":"IPv4","endpoints":[)"
      R"({"addresses":["10.0.0.3"],"nodeName":"n1"},)"
      R"({"addresses":["10.0.0.2"],"nodeName":"n2","conditions":{"ready":true}},)"
      R"({"addresses":["10.0.0.1"],"nodeName":"n1","conditions":{"ready":false}},)"
      R"({"addresses":["10.0.0.3"],"nodeName":"n1"},{"addresses":["nonsense"]}]})");
  ASSERT_TRUE(slice);
  EXPECT_EQ(slice->service, "shop/web");
  EXPECT_THAT(slice->endpoints,
              ElementsAre(Endpoint{"10.0.0.2", "n2"}, Endpoint{"10.0.0.3", "n1"}));
}

TEST(DiffTrackerObjects, ASliceOfNamesHasNoEndpoints) {
  const auto slice = kube::Decode<Slice>(
      R"({"metadata":{"name":"a","namespace":"b","labels":{"kubernetes.io/service-name":"web"}},)"
      R"("addressType":"FQDN","endpoints":[{"addresses":["example.com"]}]})");
  ASSERT_TRUE(slice);
  EXPECT_THAT(slice->endpoints, IsEmpty());
}

TEST(DiffTrackerObjects, ANodeHasItsSmallestAddressOfEachFamily) {
  const auto node = kube::Decode<Node>(
      R"({"metadata":{"name":"n1"},"status":{"addresses":[)"
      R"({"type":"InternalIP","address":"10.0.0.10"},{"type":"InternalIP","address":"10.0.0.9"},)"
      R"({"type":"ExternalIP","address":"1.1.1.1"},{"type":"Hostname","address":"n1"},)"
      R"({"type":"InternalIP","address":"fd00::A"}]}})");
  ASSERT_TRUE(node);
  EXPECT_EQ(node->IpLike("10.244.0.1"), "10.0.0.9");
  EXPECT_EQ(node->IpLike("fd01::1"), "fd00::a");
}

Pod PodOf(const std::string& metadata, const std::string& status) {
  return kube::Decode<Pod>(R"({"metadata":{"name":"a","uid":"u","namespace":"shop")" + metadata +
                           R"(},"status":{)" + status + "}}")
      .value();
}

TEST(DiffTrackerObjects, APodHasAPlaceForEachFamilyThatItsNodeHas) {
  const Pod pod = PodOf(R"(,"labels":{"kubernetes.azure.com/service-egress-gateway":"Egress-A"})",
                        R"("phase":"Running","podIPs":[{"ip":"10.244.0.1"},{"ip":"FD01::1"}],)"
                        R"("hostIPs":[{"ip":"10.0.0.1"}])");
  ASSERT_TRUE(pod.egress);
  EXPECT_TRUE(pod.egress->live);
  EXPECT_EQ(pod.egress->Egress(), "egress-a");
  EXPECT_THAT(pod.egress->addresses, ElementsAre("10.244.0.1", "fd01::1"));
  EXPECT_THAT(PlacementsOf(*pod.egress), ElementsAre(Placement{"10.0.0.1", "10.244.0.1"}));
}

TEST(DiffTrackerObjects, PodsWithoutLabelAndFinalizerAreNotKept) {
  EXPECT_FALSE(PodOf("", R"("podIP":"10.244.0.1")").egress);
  const Pod pod = PodOf(R"(,"finalizers":["servicegateway.azure.com/pod-cleanup"])",
                        R"("phase":"Succeeded","podIP":"10.244.0.1","hostIP":"10.0.0.1")");
  ASSERT_TRUE(pod.egress);
  EXPECT_FALSE(pod.egress->live);
  EXPECT_TRUE(pod.egress->id.finalizer);
}

}  // namespace
}  // namespace berth::difftracker
