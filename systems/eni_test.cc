#include "systems/eni.h"

#include "kube/yaml.h"
#include "systems/preflight_fixture_test.h"

namespace berth::systems {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class EniPreflightTest : public PreflightTest {
 protected:
  void CreateNode(const std::string& name) {
    Create("/apis/network.alibabacloud.com/v1beta1/nodes",
           R"("apiVersion":"network.alibabacloud.com/v1beta1","kind":"Node")", name,
           R"("nodeMetadata":{"regionID":"cn-hangzhou","zoneID":"z","instanceType":"t",)"
           R"("instanceID":"i-1"},"nodeCap":{"adapters":4},"eni":{"vSwitchOptions":["v"],)"
           R"("securityGroupIDs":["s"],"vSwitchSelectPolicy":"most"},"pool":{})");
  }
};

TEST_F(EniPreflightTest, TellsOfTwoNodesWithOneInstanceAndOfAnotherRegion) {
  CreateNode("older");
  EXPECT_THAT(
      Lines(kube::YamlToJson("eni: {enabled: true}\naliyun: {region: cn-hangzhou}").value()),
      IsEmpty());
  CreateNode("younger");
  EXPECT_THAT(
      Lines(kube::YamlToJson("eni: {enabled: true}\naliyun: {region: cn-hangzhou}").value()),
      ElementsAre("Node younger: has the instance i-1 of Node older, which is older"));
  EXPECT_THAT(
      Lines(kube::YamlToJson("eni: {enabled: true}\naliyun: {region: cn-beijing}").value()),
      testing::Contains("Node older: is in region cn-hangzhou, and aliyun.region of the chart is "
                        "\"cn-beijing\""));
  EXPECT_THAT(Lines(), IsEmpty()) << "Terway looks after them";
}

}  // namespace
}  // namespace berth::systems
