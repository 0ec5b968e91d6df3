#include "systems/sandbox.h"

#include "kube/yaml.h"
#include "systems/preflight_fixture_test.h"

namespace berth::systems {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class SandboxPreflightTest : public PreflightTest {
 protected:
  void CreateSandbox(const std::string& name, const std::string& spec = "") {
    Create(kPath, R"("apiVersion":"sandbox.fast.io/v1alpha1","kind":"Sandbox")", name,
           R"("image":"i","poolRef":"p")" + spec);
  }

  static constexpr const char* kPath =
      "/apis/sandbox.fast.io/v1alpha1/namespaces/default/sandboxes";
};

TEST_F(SandboxPreflightTest, TellsOfSandboxesThatAreStartedAnew) {
  const Json on = kube::YamlToJson("sandbox: {enabled: true}").value();
  CreateSandbox("waits");
  EXPECT_THAT(Lines(on), IsEmpty());
  CreateSandbox("runs");
  Send(kube::Method::kPatch, Format("{}/runs/status", kPath),
       R"({"status":{"phase":"Running","assignedPod":"p-agent-1"}})");
  CreateSandbox("secret", R"(,"envs":[{"name":"A","valueFrom":{}}])");
  EXPECT_THAT(Lines(on), ElementsAre(HasSubstr("default/runs: fast-sandbox runs it on p-agent-1"),
                                     HasSubstr("default/secret: its variable A has a valueFrom")));
  EXPECT_THAT(Lines(), IsEmpty()) << "fast-sandbox looks after them";
}

}  // namespace
}  // namespace berth::systems
