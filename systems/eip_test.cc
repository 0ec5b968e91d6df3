#include "systems/eip.h"

#include "http/base64.h"
#include "kube/yaml.h"
#include "systems/preflight_fixture_test.h"

namespace berth::systems {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::StartsWith;

class EipPreflightTest : public PreflightTest {
 protected:
  void CreateTwins() {
    for (const char* name : {"older", "younger"}) {
      Create("/apis/eip.alibabacloud.com/v1alpha1/eips",
             R"("apiVersion":"eip.alibabacloud.com/v1alpha1","kind":"EIP")", name,
             R"("allocationID":"eip-1","bandwidth":"5")");
    }
  }
};

TEST_F(EipPreflightTest, TellsOfTwoEipsWithOneAddress) {
  CreateTwins();
  EXPECT_THAT(Lines(kube::YamlToJson("eip: {enabled: true}").value()),
              ElementsAre("EIP younger: is not looked after (InvalidConfig): the EIP older has "
                          "eip-1, too"));
  EXPECT_THAT(Lines(), Contains("EIPs: the cluster has 2, and eip.enabled of the chart is false: "
                                "they are not looked after"));
}

TEST_F(EipPreflightTest, TellsOfAScopeThatHelmCannotChange) {
  EXPECT_THAT(Lines(kube::YamlToJson("eip: {crdScope: Namespaced}").value()),
              ElementsAre("CustomResourceDefinition eips.eip.alibabacloud.com: its scope is "
                          "Cluster, and eip.crdScope of the chart is Namespaced: Helm cannot "
                          "change it"));
}

TEST_F(EipPreflightTest, TellsOfASecretWithoutAnAccessKey) {
  const auto put = [this](const std::string& name, const std::string& data) {
    Send(kube::Method::kPost, "/api/v1/namespaces/berth-system/secrets",
         Format(R"({{"apiVersion":"v1","kind":"Secret","metadata":{{"name":"{}"}},"data":{{{}}}}})",
                name, data));
  };
  const auto named = [](const std::string& name) {
    return kube::YamlToJson("{eip: {enabled: true}, aliyun: {credentialsSecret: " + name + "}}")
        .value();
  };
  Send(kube::Method::kPost, "/api/v1/namespaces",
       R"({"apiVersion":"v1","kind":"Namespace","metadata":{"name":"berth-system"}})");
  EXPECT_THAT(Lines(named("aliyun")),
              ElementsAre(StartsWith("Secret berth-system/aliyun: does not exist")));
  EXPECT_THAT(
      Lines(
          kube::YamlToJson("{eni: {enabled: true}, aliyun: {credentialsSecret: aliyun}}").value()),
      ElementsAre(StartsWith("Secret berth-system/aliyun: does not exist")));
  EXPECT_THAT(Lines(kube::YamlToJson("aliyun: {credentialsSecret: aliyun}").value()), IsEmpty());
  put("half", Format(R"("accessKeyID":"{}")", EncodeBase64("LTAI5t")));
  EXPECT_THAT(Lines(named("half")), ElementsAre("Secret berth-system/half: has no access key"));
  put("whole", Format(R"("accessKeyID":"{}","accessKeySecret":"{}")", EncodeBase64("LTAI5t\n"),
                      EncodeBase64("secret\n")));
  EXPECT_THAT(Lines(named("whole")), IsEmpty());
  put("operators", Format(R"("ctrl-secret.yaml":"{}")",
                          EncodeBase64("accessKeyID: LTAI5t\naccessKeySecret: secret\n")));
  EXPECT_THAT(Lines(named("operators")), IsEmpty());
}

TEST_F(EipPreflightTest, WritesNothing) {
  CreateTwins();
  ExpectNoWrites();
}

}  // namespace
}  // namespace berth::systems
