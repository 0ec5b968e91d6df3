#include "reconcile/difftracker/admission.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kube/object.h"
#include "log/format.h"

namespace berth::difftracker {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// `spec` are members of it beside type and ports.
Service Make(const std::string& spec = "", const std::string& annotations = "",
             const std::string& ports = R"({"port":80})") {
  const std::string json =
      Format(R"({{"metadata":{{"name":"web","namespace":"shop","annotations":{{{}}}}},)"
             R"("spec":{{"type":"LoadBalancer","ports":[{}]{}}}}})",
             annotations, ports, spec);
  return kube::Decode<Service>(json).value();
}

std::vector<std::string_view> Reasons(const Service& service) {
  std::vector<std::string_view> reasons;
  for (const Refusal& refusal : RefusalsOf(service)) reasons.push_back(refusal.reason);
  return reasons;
}

TEST(DiffTrackerAdmission, RefusesWhatAServiceGatewayCannotDo) {
  EXPECT_THAT(Reasons(Make()), IsEmpty());
  EXPECT_THAT(Reasons(Make(R"(,"externalTrafficPolicy":"Local")")), IsEmpty());
  EXPECT_THAT(
      Reasons(Make("", R"("service.beta.kubernetes.io/azure-load-balancer-internal":"TRUE")")),
      ElementsAre("UnsupportedInternalLoadBalancer"));
  EXPECT_THAT(Reasons(Make(R"(,"sessionAffinity":"ClientIP")")),
              ElementsAre("UnsupportedSessionAffinity"));
  EXPECT_THAT(Reasons(Make(R"(,"sessionAffinity":"None")")), IsEmpty());
  EXPECT_THAT(Reasons(Make(R"(,"loadBalancerIP":"1.2.3.4")")),
              ElementsAre("UnsupportedLoadBalancerIP"));
  EXPECT_THAT(Reasons(Make(R"(,"ipFamilies":["IPv4","IPv6"])")),
              ElementsAre("UnsupportedDualStack"));
  EXPECT_THAT(Reasons(Make(R"(,"ipFamilyPolicy":"RequireDualStack")")),
              ElementsAre("UnsupportedDualStack"));
  EXPECT_THAT(Reasons(Make("", "", R"({"port":80,"targetPort":"http"})")),
              ElementsAre("UnsupportedNamedTargetPort"));
  EXPECT_THAT(Reasons(Make("", "", R"({"port":80,"protocol":"SCTP"})")),
              ElementsAre("UnsupportedProtocol"));
  EXPECT_THAT(Reasons(Make("", "", R"({"port":65535,"targetPort":1})")),
              ElementsAre("UnsupportedPort"));
}

TEST(DiffTrackerAdmission, RefusesTwoPortsWithOneBackend) {
  EXPECT_THAT(Reasons(Make("", "", R"({"port":80,"targetPort":8080},{"port":8080})")),
              ElementsAre("UnsupportedBackendPortCollision"));
  EXPECT_THAT(Reasons(Make("", "",
                           R"({"port":80,"targetPort":8080},)"
                           R"({"port":80,"protocol":"UDP","targetPort":8080})")),
              IsEmpty());
}

TEST(DiffTrackerAdmission, TheIdleTimeoutIsFourToThirtyMinutes) {
  const auto with = [](const std::string& minutes) {
    return Make("", Format(R"("service.beta.kubernetes.io/azure-load-balancer-tcp-idle-timeout":)"
                           R"("{}")",
                           minutes));
  };
  for (const char* good : {"4", "30"}) EXPECT_THAT(Reasons(with(good)), IsEmpty()) << good;
  for (const char* bad : {"3", "31", "4m", "-4", "99999999999", "x"})
    EXPECT_THAT(Reasons(with(bad)), ElementsAre("InvalidIdleTimeout")) << bad;
  EXPECT_EQ(IdleTimeoutOf(with("15")), 15);
  EXPECT_EQ(IdleTimeoutOf(with("31")), 4);
}

TEST(DiffTrackerAdmission, ServicesOfOthersAreNotJudged) {
  EXPECT_THAT(
      Reasons(Make(R"(,"sessionAffinity":"ClientIP","loadBalancerClass":"example.com/lb")")),
      IsEmpty());
  EXPECT_THAT(
      Reasons(
          Make(R"(,"sessionAffinity":"ClientIP","loadBalancerClass":"berth.dev/service-gateway")")),
      ElementsAre("UnsupportedSessionAffinity"));
}

TEST(DiffTrackerAdmission, AMistakeThatWasThereBeforeIsAWarning) {
  const Service bad = Make(R"(,"sessionAffinity":"ClientIP")");
  const auto refused = JudgeService(bad, nullptr);
  ASSERT_FALSE(refused.allowed());
  EXPECT_EQ(refused.causes[0].field, "spec.sessionAffinity");
  EXPECT_THAT(refused.causes[0].message, HasSubstr("UnsupportedSessionAffinity"));
  const auto warned = JudgeService(bad, &bad);
  EXPECT_TRUE(warned.allowed());
  ASSERT_EQ(warned.warnings.size(), 1u);
  EXPECT_LE(warned.warnings[0].size(), 120u);
}

}  // namespace
}  // namespace berth::difftracker
