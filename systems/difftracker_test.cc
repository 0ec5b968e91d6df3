#include "systems/difftracker.h"

#include "kube/yaml.h"
#include "systems/preflight_fixture_test.h"

namespace berth::systems {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class DiffTrackerPreflightTest : public PreflightTest {
 protected:
  void CreateService(const std::string& name, const std::string& spec,
                     const std::string& metadata = "") {
    Create("/api/v1/namespaces/default/services", R"("apiVersion":"v1","kind":"Service")", name,
           R"("type":"LoadBalancer","ports":[{"port":80}])" + spec, metadata);
  }
};

TEST_F(DiffTrackerPreflightTest, TellsOfServicesThatCannotBeServedAndOfThoseThatGetAnotherAddress) {
  const Json on = kube::YamlToJson("difftracker: {enabled: true}").value();
  CreateService("good", "");
  EXPECT_THAT(Lines(on), IsEmpty());
  CreateService("sticky", R"(,"sessionAffinity":"ClientIP")");
  CreateService("old", "", R"(,"finalizers":["service.kubernetes.io/load-balancer-cleanup"])");
  CreateService("others", R"(,"sessionAffinity":"ClientIP","loadBalancerClass":"example.com/lb")");
  EXPECT_THAT(
      Lines(on),
      ElementsAre("Service default/old: cloud-provider-azure has a load balancer for it, and Berth "
                  "makes another one",
                  "Service default/sticky: spec.sessionAffinity is ClientIP: a gateway has no "
                  "affinity (UnsupportedSessionAffinity)"));
  EXPECT_THAT(Lines(), IsEmpty()) << "another controller looks after them";
}

}  // namespace
}  // namespace berth::systems
