#include "reconcile/sandbox/admission.h"

#include <gmock/gmock.h>

#include "log/format.h"

namespace berth::sandbox {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

Sandbox Parse(const std::string& spec, const std::string& metadata = "",
              const std::string& status = "") {
  kube::JsonDocument document;
  return *Sandbox::From(*document.Parse(
      Format(R"({{"metadata":{{"name":"a","namespace":"ns"{}}},"spec":{{"image":"nginx",)"
             R"("poolRef":"pool"{}}},"status":{{{}}}}})",
             metadata, spec, status)));
}

std::vector<std::string> FieldsOf(const runtime::Verdict& verdict) {
  std::vector<std::string> fields;
  fields.reserve(verdict.causes.size());
  for (const kube::StatusCause& cause : verdict.causes) fields.push_back(cause.field);
  return fields;
}

std::vector<std::string> Judged(const Sandbox& now, const Sandbox* before = nullptr,
                                bool by_berth = false) {
  return FieldsOf(JudgeSandbox(now, before, by_berth));
}

TEST(SandboxAdmissionTest, APlainSandboxIsAllowed) {
  EXPECT_THAT(Judged(Parse(R"(,"exposedPorts":[1,65535],"envs":[{"name":"A","value":""}])")),
              IsEmpty());
}

// fast-sandbox's e2e test of port validation.
TEST(SandboxAdmissionTest, APortIsOneTo65535AndGivenOnce) {
  EXPECT_THAT(Judged(Parse(R"(,"exposedPorts":[0,65536,80,80])")),
              ElementsAre("spec.exposedPorts[0]", "spec.exposedPorts[1]", "spec.exposedPorts[3]"));
}

// Flaw 23: valueFrom was dropped.
TEST(SandboxAdmissionTest, ValueFromIsRefusedNotDropped) {
  EXPECT_THAT(Judged(Parse(R"(,"envs":[{"name":"A","valueFrom":{}}])")),
              ElementsAre("spec.envs[0].valueFrom"));
}

TEST(SandboxAdmissionTest, PoolAndPortsAreImmutableWhileAssigned) {
  Sandbox now = Parse(R"(,"exposedPorts":[80])");
  now.spec.pool = "other";
  const Sandbox pending = Parse("");
  EXPECT_THAT(Judged(now, &pending), IsEmpty());
  const Sandbox bound = Parse("", "", R"("assignedPodUID":"u","phase":"Bound")");
  EXPECT_THAT(Judged(now, &bound), ElementsAre("spec.poolRef", "spec.exposedPorts"));
  Sandbox image = bound;
  image.spec.image = "redis";
  EXPECT_THAT(Judged(image, &bound), IsEmpty());
}

TEST(SandboxAdmissionTest, OnlyBerthChangesTheAnnotationOfAnObjectThatExists) {
  const std::string annotation = R"(,"annotations":{"sandbox.fast.io/allocation":"{}"})";
  const Sandbox with = Parse("", annotation);
  const Sandbox without = Parse("");
  const std::string field = "metadata.annotations[sandbox.fast.io/allocation]";
  EXPECT_THAT(Judged(with, &without), ElementsAre(field));
  EXPECT_THAT(Judged(without, &with), ElementsAre(field));
  EXPECT_THAT(Judged(without, &with, true), IsEmpty());
  EXPECT_THAT(Judged(with, &with), IsEmpty());
  EXPECT_THAT(Judged(with), IsEmpty());  // stripped by the mutating webhook
}

TEST(SandboxAdmissionTest, APoolsLimitsAreInOrder) {
  kube::JsonDocument document;
  const auto pool = Pool::From(
      *document.Parse(R"({"metadata":{"name":"p"},"spec":{"capacity":{"poolMin":3,"poolMax":2,)"
                      R"("bufferMin":5,"bufferMax":1}}})"));
  const runtime::Verdict verdict = JudgePool(*pool, nullptr);
  EXPECT_THAT(FieldsOf(verdict), ElementsAre("spec.capacity.poolMin", "spec.capacity.bufferMin"));
  EXPECT_THAT(verdict.warnings, testing::SizeIs(1));
}

}  // namespace
}  // namespace berth::sandbox
