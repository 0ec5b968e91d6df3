#include "reconcile/crds.h"

#include <gmock/gmock.h>

#include <map>
#include <string>
#include <vector>

#include "kube/yaml.h"

namespace berth {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::IsSupersetOf;

// The spec of the definition of this name: PLURAL.GROUP.
Json DefinitionOf(std::string_view name) {
  for (const std::string_view yaml : CustomResourceDefinitions()) {
    const auto crd = kube::YamlToJson(yaml);
    if (crd && (*crd)["metadata"]["name"] == name) return (*crd)["spec"];
  }
  ADD_FAILURE() << "there is no definition of " << name;
  return {};
}

// The names of the columns that kubectl get shows, or those that -o wide adds.
std::vector<std::string> ColumnsOf(std::string_view definition, bool wide) {
  std::vector<std::string> names;
  const Json spec = DefinitionOf(definition);
  for (const Json& column : spec["versions"][0]["additionalPrinterColumns"].array_range()) {
    if ((column.get_value_or<int>("priority", 0) > 0) == wide)
      names.push_back(column["name"].as_string());
  }
  return names;
}

TEST(CustomResourceDefinitions, AreThoseOfTheChart) {
  ASSERT_FALSE(CustomResourceDefinitions().empty());
  for (const std::string_view yaml : CustomResourceDefinitions()) {
    const auto crd = kube::YamlToJson(yaml);
    ASSERT_TRUE(crd) << crd.error().message;
    EXPECT_EQ((*crd)["kind"], "CustomResourceDefinition");
    const Json& spec = (*crd)["spec"];
    EXPECT_EQ((*crd)["metadata"]["name"].as_string(),
              spec["names"]["plural"].as_string() + "." + spec["group"].as_string());
    EXPECT_TRUE(spec["versions"][0]["served"].as<bool>());
  }
}

// Scripts parse these columns.
TEST(CustomResourceDefinitions, KeepTheColumnsOfPlexaubnet) {
  EXPECT_THAT(ColumnsOf("subnetpools.plexaubnet.io", false),
              ElementsAre("CIDR", "Strategy", "Allocated", "Age"));
  EXPECT_THAT(ColumnsOf("subnetclaims.plexaubnet.io", false),
              ElementsAre("Phase", "ClusterID", "Pool", "Allocated", "Age"));
  EXPECT_THAT(ColumnsOf("subnets.plexaubnet.io", false),
              ElementsAre("CIDR", "ClusterID", "Pool", "Phase", "Age"));
  EXPECT_THAT(ColumnsOf("subnetpoolclaims.plexaubnet.io", false),
              ElementsAre("Phase", "Parent", "BoundPool", "Age"));
}

TEST(CustomResourceDefinitions, ShowTheReasonAndTheMessageOfReadyWhenWide) {
  for (const char* name :
       {"subnetpools.plexaubnet.io", "subnetclaims.plexaubnet.io", "subnetpoolclaims.plexaubnet.io",
        "eips.eip.alibabacloud.com", "nodes.network.alibabacloud.com"})
    EXPECT_THAT(ColumnsOf(name, true), IsSupersetOf({"Reason", "Message"})) << name;
  EXPECT_THAT(ColumnsOf("subnets.plexaubnet.io", true), Contains("Message"));
}

TEST(CustomResourceDefinitions, HaveShortNamesOfTheirOwn) {
  std::map<std::string, std::string> owners;
  for (const char* definition : {"subnetpools.plexaubnet.io", "subnetclaims.plexaubnet.io",
                                 "subnets.plexaubnet.io", "subnetpoolclaims.plexaubnet.io",
                                 "eips.eip.alibabacloud.com", "nodes.network.alibabacloud.com",
                                 "sandboxes.sandbox.fast.io", "sandboxpools.sandbox.fast.io"}) {
    const Json names = DefinitionOf(definition)["names"];
    ASSERT_FALSE(names.get_value_or<Json>("shortNames", Json::Array()).empty()) << definition;
    for (const Json& name : names["shortNames"].array_range())
      EXPECT_TRUE(owners.emplace(name.as_string(), definition).second) << name.as_string();
  }
  EXPECT_EQ(owners["subnetpc"], "subnetpoolclaims.plexaubnet.io");  // plexaubnet's
  // "nodes" are those of Kubernetes.
  EXPECT_EQ(owners["eninode"], "nodes.network.alibabacloud.com");
  EXPECT_EQ(owners["eninodes"], "nodes.network.alibabacloud.com");
}

TEST(CustomResourceDefinitions, ShowThePoolOfANode) {
  EXPECT_THAT(ColumnsOf("nodes.network.alibabacloud.com", false),
              ElementsAre("Instance", "ENIs", "IPs", "Idle", "Attaching", "Ready", "Age"));
}

TEST(CustomResourceDefinitions, ShowWhereSandboxesRunAndWhatPoolsHaveFree) {
  EXPECT_THAT(ColumnsOf("sandboxes.sandbox.fast.io", false),
              ElementsAre("Phase", "Pool", "Pod", "Node", "Ready", "Reason", "Expires", "Age"));
  EXPECT_THAT(ColumnsOf("sandboxpools.sandbox.fast.io", false),
              ElementsAre("Pods", "Ready", "Idle", "Busy", "Free", "Age"));
}

// terway-controlplane replaces a definition whose version is lower than its own, v0.10.0 for nodes.
TEST(CustomResourceDefinitions, OfTerwayAreNotReplacedByTerway) {
  for (const std::string_view yaml : CustomResourceDefinitions()) {
    const Json crd = kube::YamlToJson(yaml).value();
    if (crd["spec"]["group"] != "network.alibabacloud.com") continue;
    EXPECT_EQ(crd["metadata"]["annotations"]["crd.network.alibabacloud.com/version"], "v1.0.0")
        << crd["metadata"]["name"];
  }
}

}  // namespace
}  // namespace berth
