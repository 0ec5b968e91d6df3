#include "reconcile/crds.h"

#include <gtest/gtest.h>

#include "kube/yaml.h"

namespace berth {
namespace {

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

}  // namespace
}  // namespace berth
