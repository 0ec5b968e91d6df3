#include "reconcile/eni/objects.h"

#include <gmock/gmock.h>

#include "kube/object.h"
#include "log/format.h"

namespace berth::eni {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;
using testing::SizeIs;

// As Terway's daemon writes it.
constexpr const char* kSpec = R"({
  "nodeMetadata": {"regionID": "cn-hangzhou", "instanceType": "ecs.g7.xlarge",
                   "instanceID": "i-1", "zoneID": "cn-hangzhou-h"},
  "nodeCap": {"adapters": 3, "totalAdapters": 4, "ipv4PerAdapter": 15, "ipv6PerAdapter": 14,
              "memberAdapterLimit": 10, "eriQuantity": 1, "networkCards": [{"index": 0}]},
  "datapath": {"type": "veth"},
  "eni": {"vSwitchOptions": ["vsw-1", "", "vsw-2"], "securityGroupIDs": ["sg-1"],
          "vSwitchSelectPolicy": "most", "tag": {"a": "b"}, "tagFilter": {"c": "d"},
          "tagBlockList": [{"key": "e", "value": "f"}], "resourceGroupID": "rg-1",
          "enableIPv4": true, "enableIPv6": true, "enableERDMA": true, "enableTrunk": true,
          "enableIPPrefix": true, "ipv4PrefixCount": 5, "ipv6PrefixCount": 1},
  "pool": {"maxPoolSize": 5, "minPoolSize": 2, "warmUpSize": 8, "poolSyncPeriod": "3m",
           "reclaim": {"after": "10m30s", "interval": "1m", "batchSize": 3, "jitterFactor": "0.2"}},
  "flavor": [{"networkInterfaceType": "Trunk", "networkInterfaceTrafficMode": "Standard",
              "count": 1}]})";

Node Read(const std::string& json) { return kube::Decode<Node>(json).value(); }

Node WithMetadata(const std::string& metadata) {
  return Read(Format(R"({{"metadata":{{"name":"n","uid":"u",{}}},"spec":{}}})", metadata, kSpec));
}

Node WithSpec(const std::string& change) {
  Json object;
  object["spec"] = Json::parse(kSpec);
  const Json changed = Json::parse(change);
  for (const auto& section : changed.object_range()) {
    if (!section.value().is_object()) {
      object["spec"].insert_or_assign(section.key(), section.value());
      continue;
    }
    for (const auto& member : section.value().object_range())
      object["spec"][section.key()].insert_or_assign(member.key(), member.value());
  }
  return Read(object.to_string());
}

TEST(Node, HasTheSpecThatTheDaemonWrote) {
  const NodeSpec spec = WithSpec("{}").spec;
  EXPECT_EQ(spec.region, "cn-hangzhou");
  EXPECT_EQ(spec.instance_type, "ecs.g7.xlarge");
  EXPECT_EQ(spec.instance, "i-1");
  EXPECT_EQ(spec.zone, "cn-hangzhou-h");
  EXPECT_EQ(spec.adapters, 3);
  EXPECT_EQ(spec.total_adapters, 4);
  EXPECT_EQ(spec.ipv4_per_adapter, 15);
  EXPECT_EQ(spec.ipv6_per_adapter, 14);
  EXPECT_EQ(spec.eri_quantity, 1);
  EXPECT_TRUE(spec.has_eni);
  EXPECT_THAT(spec.vswitches, ElementsAre("vsw-1", "vsw-2"));
  EXPECT_THAT(spec.security_groups, ElementsAre("sg-1"));
  EXPECT_EQ(spec.vswitch_policy, "most");
  EXPECT_THAT(spec.tags, ElementsAre(Pair("a", "b")));
  EXPECT_THAT(spec.tag_filter, ElementsAre(Pair("c", "d")));
  EXPECT_THAT(spec.tag_block_list, ElementsAre(Pair("e", "f")));
  EXPECT_EQ(spec.resource_group, "rg-1");
  EXPECT_TRUE(spec.ipv4 && spec.ipv6 && spec.erdma && spec.trunk && spec.prefixes);
  EXPECT_EQ(spec.ipv4_prefixes, 5);
  EXPECT_EQ(spec.ipv6_prefixes, 1);
  EXPECT_TRUE(spec.has_pool);
  EXPECT_EQ(spec.max_pool, 5);
  EXPECT_EQ(spec.min_pool, 2);
  EXPECT_EQ(spec.warm_up, 8);
  EXPECT_EQ(spec.pool_sync_period, 3min);
  EXPECT_TRUE(spec.has_reclaim);
  EXPECT_EQ(spec.reclaim_after, 10min + 30s);
  EXPECT_EQ(spec.reclaim_interval, 1min);
  EXPECT_DOUBLE_EQ(spec.reclaim_jitter, 0.2);
  EXPECT_EQ(spec.reclaim_batch, 3);
  EXPECT_THAT(spec.flavors, ElementsAre(Flavor{"Trunk", "Standard", 1}));
  EXPECT_THAT(spec.mistakes, IsEmpty());
}

TEST(Node, IsOursOnceIdsSectionsAndAdaptersAreThere) {
  EXPECT_TRUE(WithSpec("{}").IsOurs());
  for (const char* change :
       {R"({"nodeMetadata":{"regionID":""}})", R"({"nodeMetadata":{"instanceType":""}})",
        R"({"nodeMetadata":{"instanceID":""}})", R"({"nodeMetadata":{"zoneID":""}})",
        R"({"nodeCap":{"adapters":0}})", R"({"nodeCap":{"adapters":-1}})", R"({"eni":null})",
        R"({"pool":null})"})
    EXPECT_FALSE(WithSpec(change).IsOurs()) << change;
  EXPECT_FALSE(Read("{}").IsOurs());
}

TEST(Node, WhosePodsHaveWholeEnisIsNotOurs) {
  for (const char* mode : {"eniOnly", "ENIONLY", "enionly"}) {
    const Node node =
        WithMetadata(Format(R"("labels":{{"k8s.aliyun.com/exclusive-mode-eni-type":"{}"}})", mode));
    EXPECT_TRUE(node.exclusive) << mode;
    EXPECT_FALSE(node.IsOurs()) << mode;
  }
  for (const char* mode : {"default", "", "eniOnly2"})
    EXPECT_TRUE(
        WithMetadata(Format(R"("labels":{{"k8s.aliyun.com/exclusive-mode-eni-type":"{}"}})", mode))
            .IsOurs())
        << mode;
}

TEST(Node, OfLingjunIsServedByEfloUnlessItsAnnotationSaysEcs) {
  const auto lingjun = [](const char* label, const char* api) {
    return WithMetadata(Format(R"("labels":{{"alibabacloud.com/lingjun-worker":"{}"}},)"
                               R"("annotations":{{"k8s.aliyun.com/eno-api":"{}"}})",
                               label, api));
  };
  EXPECT_EQ(lingjun("true", "").backend, Backend::kEflo);
  EXPECT_EQ(lingjun("true", "ecs").backend, Backend::kEcs);
  EXPECT_FALSE(lingjun("true", "ecs").unsupported);
  EXPECT_TRUE(lingjun("true", "hdeni").unsupported);
  EXPECT_TRUE(lingjun("true", "ecs-hdeni").unsupported);
  EXPECT_TRUE(lingjun("true", "hdeni").IsOurs()) << "its condition says Unsupported";
  // As in Terway, the annotation means nothing for other nodes.
  EXPECT_EQ(lingjun("false", "").backend, Backend::kEcs);
  EXPECT_FALSE(lingjun("false", "hdeni").unsupported);
}

TEST(Node, TellsOfTextsThatCannotBeReadAndUsesDefaults) {
  const Node node = WithSpec(
      R"({"pool":{"poolSyncPeriod":"soon","reclaim":{"after":"-5m","interval":"5","jitterFactor":"x"}}})");
  EXPECT_EQ(node.spec.pool_sync_period, std::nullopt);
  EXPECT_EQ(node.spec.reclaim_after, std::nullopt);
  EXPECT_EQ(node.spec.reclaim_interval, std::nullopt);
  EXPECT_DOUBLE_EQ(node.spec.reclaim_jitter, 0.1);
  EXPECT_THAT(node.spec.mistakes, SizeIs(4));
  EXPECT_THAT(node.spec.mistakes[0],
              HasSubstr(R"(spec.pool.poolSyncPeriod: "soon" is not a duration)"));
  EXPECT_TRUE(node.IsOurs());
}

TEST(Node, KeepsCountsAndDurationsInBounds) {
  const NodeSpec spec = WithSpec(R"({"nodeCap":{"adapters":9000000000000000000,"ipv4PerAdapter":-3},
                   "pool":{"poolSyncPeriod":"2000000h","reclaim":{"jitterFactor":"1e300"}}})")
                            .spec;
  EXPECT_EQ(spec.adapters, NodeSpec::kMostCount);
  EXPECT_EQ(spec.ipv4_per_adapter, 0);
  EXPECT_EQ(spec.pool_sync_period, std::chrono::days(365));
  EXPECT_LE(spec.reclaim_jitter, 10);
  for (const char* none : {"0", "nan", "inf", "-1"})
    EXPECT_LE(WithSpec(Format(R"({{"pool":{{"reclaim":{{"jitterFactor":"{}"}}}}}})", none))
                  .spec.reclaim_jitter,
              10)
        << none;
}

TEST(Node, IsReadWhateverItsMembersAre) {
  const Node node = Read(R"({"metadata":{"name":"n","deletionTimestamp":"2026-01-01T00:00:00Z"},
      "spec":{"nodeMetadata":7,"nodeCap":[],"eni":"x","pool":1,"flavor":{}},
      "status":{"networkInterfaces":{"eni-1":null},"attempts":3,"conditions":"x","pool":[]}})");
  EXPECT_NE(node.id.deleting, 0);
  EXPECT_FALSE(node.IsOurs());
  EXPECT_EQ(StatusPatch(node, node.status), std::nullopt);
}

TEST(Nic, HasAPodWhenAnAddressIsBound) {
  Nic nic;
  nic.ipv4["10.0.0.1"] = {.address = "10.0.0.1", .primary = true, .status = "Valid"};
  EXPECT_FALSE(nic.HasPod());
  nic.ipv6["fd00::1"] = {.address = "fd00::1", .status = "Valid", .pod = "default/a"};
  EXPECT_TRUE(nic.HasPod());
}

TEST(NodeRuntime, KnowsPodsByTheLatestOfTheirStatuses) {
  const auto runtime = kube::Decode<NodeRuntime>(R"({"metadata":{"name":"n"},"status":{"pods":{
    "u-1":{"podID":"default/a","status":{"initial":{"lastUpdateTime":"2026-01-01T00:00:00Z"}}},
    "u-2":{"podID":"default/b","status":{"deleted":{"lastUpdateTime":"2026-01-01T00:00:05Z"},
                                         "initial":{"lastUpdateTime":"2026-01-01T00:00:00Z"}}},
    "u-3":{"podID":"default/c","status":{"deleted":{"lastUpdateTime":"2026-01-01T00:00:00Z"},
                                         "initial":{"lastUpdateTime":"2026-01-01T00:00:05Z"}}},
    "u-4":{"podID":"default/d","status":{"deleted":{"lastUpdateTime":"2026-01-01T00:00:00Z"},
                                         "initial":{"lastUpdateTime":"2026-01-01T00:00:00Z"}}},
    "u-5":{"podID":"default/e","status":{"deleted":null,"initial":null}}}}})");
  ASSERT_TRUE(runtime);
  EXPECT_EQ(runtime->id.name, "n");
  EXPECT_EQ(runtime->pods.at("u-1").pod, "default/a");
  EXPECT_FALSE(runtime->pods.at("u-1").deleted);
  EXPECT_TRUE(runtime->pods.at("u-2").deleted);
  EXPECT_FALSE(runtime->pods.at("u-3").deleted);
  EXPECT_TRUE(runtime->pods.at("u-4").deleted) << "set up and torn down within a second";
  EXPECT_FALSE(runtime->pods.at("u-5").deleted);
}

Pod PodOf(const std::string& annotations, const std::string& spec, const std::string& status) {
  return kube::Decode<Pod>(Format(R"({{"metadata":{{"name":"p","namespace":"default",)"
                                  R"("annotations":{{{}}}}},"spec":{{{}}},"status":{{{}}}}})",
                                  annotations, spec, status))
      .value();
}

TEST(Pod, NeedsAnAddressUnlessItHasTheHostsOrAnEniOfItsOwnOrHasEnded) {
  EXPECT_TRUE(PodOf("", "", "").needs_ip);
  EXPECT_TRUE(PodOf("", R"("hostNetwork":false)", R"("phase":"Running")").needs_ip);
  EXPECT_FALSE(PodOf("", R"("hostNetwork":true)", "").needs_ip);
  EXPECT_FALSE(PodOf("", "", R"("phase":"Succeeded")").needs_ip);
  EXPECT_FALSE(PodOf("", "", R"("phase":"Failed")").needs_ip);
  for (const char* yes : {"true", "True", "1"})
    EXPECT_FALSE(PodOf(Format(R"("k8s.aliyun.com/pod-eni":"{}")", yes), "", "").needs_ip) << yes;
  for (const char* no : {"false", "", "yes"})
    EXPECT_TRUE(PodOf(Format(R"("k8s.aliyun.com/pod-eni":"{}")", no), "", "").needs_ip) << no;
}

TEST(Pod, HasItsNodeAndAddresses) {
  const Pod pod = PodOf("", R"("nodeName":"worker-1")",
                        R"("podIP":"10.0.0.1","podIPs":[{"ip":"10.0.0.1"},{"ip":"fd00::1"}])");
  EXPECT_EQ(pod.id.Key(), "default/p");
  EXPECT_EQ(pod.node, "worker-1");
  EXPECT_THAT(pod.addresses, ElementsAre("10.0.0.1", "fd00::1"));
  EXPECT_THAT(PodOf("", "", R"("podIP":"10.0.0.1")").addresses, ElementsAre("10.0.0.1"));
  EXPECT_THAT(PodOf("", "", "").addresses, IsEmpty());
}

TEST(CoreNode, HasItsSufficientIpCondition) {
  const auto read = [](const char* conditions) {
    return kube::Decode<CoreNode>(Format(R"({{"status":{{"conditions":[{}]}}}})", conditions))
        .value();
  };
  const CoreNode node = read(
      R"({"type":"Ready","status":"True"},{"type":"SufficientIP","status":"False","message":"m"})");
  EXPECT_EQ(node.sufficient, false);
  EXPECT_EQ(node.sufficient_message, "m");
  EXPECT_EQ(read(R"({"type":"SufficientIP","status":"True"})").sufficient, true);
  EXPECT_EQ(read(R"({"type":"Ready","status":"True"})").sufficient, std::nullopt);
  EXPECT_EQ(kube::Decode<CoreNode>("{}")->sufficient, std::nullopt);
}

}  // namespace
}  // namespace berth::eni
