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

// The spec of the definition of this resource.
Json DefinitionOf(std::string_view plural) {
  for (const std::string_view yaml : CustomResourceDefinitions()) {
    const auto crd = kube::YamlToJson(yaml);
    if (crd && (*crd)["spec"]["names"]["plural"] == plural) return (*crd)["spec"];
  }
  ADD_FAILURE() << "there is no definition of " << plural;
  return {};
}

// The names of the columns that kubectl get shows, or those that -o wide adds.
std::vector<std::string> ColumnsOf(std::string_view plural, bool wide) {
  std::vector<std::string> names;
  const Json spec = DefinitionOf(plural);
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
  EXPECT_THAT(ColumnsOf("subnetpools", false), ElementsAre("CIDR", "Strategy", "Allocated", "Age"));
  EXPECT_THAT(ColumnsOf("subnetclaims", false),
              ElementsAre("Phase", "ClusterID", "Pool", "Allocated", "Age"));
  EXPECT_THAT(ColumnsOf("subnets", false),
              ElementsAre("CIDR", "ClusterID", "Pool", "Phase", "Age"));
  EXPECT_THAT(ColumnsOf("subnetpoolclaims", false),
              ElementsAre("Phase", "Parent", "BoundPool", "Age"));
}

TEST(CustomResourceDefinitions, ShowTheReasonAndTheMessageOfReadyWhenWide) {
  for (const char* plural : {"subnetpools", "subnetclaims", "subnetpoolclaims", "eips"})
    EXPECT_THAT(ColumnsOf(plural, true), IsSupersetOf({"Reason", "Message"})) << plural;
  EXPECT_THAT(ColumnsOf("subnets", true), Contains("Message"));
}

TEST(CustomResourceDefinitions, HaveShortNamesOfTheirOwn) {
  std::map<std::string, std::string> owners;
  for (const char* plural :
       {"subnetpools", "subnetclaims", "subnets", "subnetpoolclaims", "eips"}) {
    const Json names = DefinitionOf(plural)["names"];
    ASSERT_FALSE(names.get_value_or<Json>("shortNames", Json::Array()).empty()) << plural;
    for (const Json& name : names["shortNames"].array_range())
      EXPECT_TRUE(owners.emplace(name.as_string(), plural).second) << name.as_string();
  }
  EXPECT_EQ(owners["subnetpc"], "subnetpoolclaims");  // plexaubnet's
}

}  // namespace
}  // namespace berth
