#include "handlers/admission/sandbox.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <prometheus/registry.h>

#include <string>

#include "handlers/memory/webhook_calls.h"
#include "http/base64.h"
#include "json/json.h"
#include "log/format.h"
#include "reconcile/sandbox/system_fixture_test.h"

namespace berth::admission {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;
using testing::Not;

constexpr const char* kAnnotation = "sandbox.fast.io/allocation";

// Single reviews, with no system behind the desk.
class SandboxWebhook : public testing::Test {
 protected:
  // The answer's `response`.
  Json Review(const std::string& phase, const std::string& operation, const std::string& object,
              const std::string& old_object = "null", const std::string& user = "alice",
              const std::string& more = "") {
    const std::string review = Format(
        R"({{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{{"uid":"u",)"
        R"("kind":{{"group":"sandbox.fast.io","version":"v1alpha1","kind":"Sandbox"}},)"
        R"("resource":{{"group":"sandbox.fast.io","version":"v1alpha1","resource":"sandboxes"}},)"
        R"("namespace":"default","name":"s","userInfo":{{"username":"{}"}},)"
        R"("operation":"{}","object":{},"oldObject":{}{}}}}})",
        user, operation, object, old_object, more);
    Json response;
    webhooks_.Review(Format("/{}/sandbox.fast.io/sandboxes", phase), review, executor_,
                     [&](auto answer) {
                       ASSERT_TRUE(answer) << answer.error().message;
                       response = Json::parse(*answer)["response"];
                     });
    executor_.RunUntilIdle();
    return response;
  }
  static std::string Object(const std::string& metadata = "",
                            const std::string& spec = R"("poolRef":"p","image":"i")") {
    return Format(R"({{"metadata":{{"name":"s"{}}},"spec":{{{}}}}})", metadata, spec);
  }
  static std::string Annotated(const std::string& text) {
    return Object(Format(R"(,"annotations":{{"{}":"{}"}})", kAnnotation, text));
  }

  async::TestExecutor executor_;
  sandbox::Desk desk_{executor_, kStampWithin};
  OwnAccount account_;
  prometheus::Registry registry_;
  Webhooks webhooks_{registry_};
};

TEST_F(SandboxWebhook, AUsersAnnotationIsStrippedAndTheFinalizerAdded) {
  RegisterSandbox(webhooks_, desk_, account_, true);
  const Json answer = Review("mutate", "CREATE", Annotated("mine"));
  EXPECT_TRUE(answer["allowed"].as<bool>());
  const std::string patch = DecodeBase64(answer["patch"].as_string()).value_or("");
  EXPECT_THAT(patch, HasSubstr(R"("op":"remove","path":"/metadata/annotations/sandbox.fast.io~1)"));
  EXPECT_THAT(patch, HasSubstr("sandbox.fast.io/cleanup"));
}

TEST_F(SandboxWebhook, TheAnnotationOfAnObjectIsBerthsAlone) {
  RegisterSandbox(webhooks_, desk_, account_, true);
  account_.Set("system:serviceaccount:berth-system:berth");
  const auto update = [&](const std::string& user) {
    return Review("validate", "UPDATE", Object(), Annotated("ours"), user);
  };
  const Json refused = update("alice");
  EXPECT_FALSE(refused["allowed"].as<bool>());
  EXPECT_THAT(refused.to_string(), HasSubstr(kAnnotation));
  EXPECT_TRUE(update("system:serviceaccount:berth-system:berth")["allowed"].as<bool>());
  EXPECT_FALSE(Review("validate", "UPDATE", Annotated("mine"), Object())["allowed"].as<bool>());
}

TEST_F(SandboxWebhook, NobodyIsBerthWhileItsNameIsNotKnown) {
  RegisterSandbox(webhooks_, desk_, account_, true);
  EXPECT_FALSE(Review("validate", "UPDATE", Annotated("mine"), Object(), "")["allowed"].as<bool>());
}

TEST_F(SandboxWebhook, RefusesPortsThatAreNone) {
  RegisterSandbox(webhooks_, desk_, account_, true);
  for (const char* port : {"0", "65536"}) {
    const Json refused =
        Review("validate", "CREATE",
               Object("", Format(R"("poolRef":"p","image":"i","exposedPorts":[{}])", port)));
    EXPECT_FALSE(refused["allowed"].as<bool>()) << port;
    EXPECT_THAT(refused.to_string(), HasSubstr("spec.exposedPorts[0]"));
  }
}

TEST_F(SandboxWebhook, FlawValueFromIsRefusedAndNotDropped) {
  RegisterSandbox(webhooks_, desk_, account_, true);
  const Json refused =
      Review("validate", "CREATE",
             Object("", R"("poolRef":"p","image":"i","envs":[{"name":"A","valueFrom":{}}])"));
  EXPECT_FALSE(refused["allowed"].as<bool>());
  EXPECT_THAT(refused.to_string(), HasSubstr("spec.envs[0].valueFrom"));
}

TEST_F(SandboxWebhook, LeavesEveryObjectAsItIsWhileTheSystemIsOff) {
  RegisterSandbox(webhooks_, desk_, account_, false);
  const Json answer = Review("mutate", "CREATE", Annotated("fast-sandbox's"));
  EXPECT_TRUE(answer["allowed"].as<bool>());
  EXPECT_FALSE(answer.contains("patch"));
  EXPECT_TRUE(Review("validate", "UPDATE", Annotated("mine"), Object())["allowed"].as<bool>());
}

// The webhooks in front of the API server, and the system that they ask.
class SandboxInCluster : public sandbox::SandboxTest {
 protected:
  SandboxInCluster() {
    account_.Set("kubernetes-admin");  // the one user of the API server in memory
    RegisterSandbox(webhooks_, desk_, account_, true);
    memory::InstallWebhooks(server_, webhooks_, executor_);
    desk_.Open(system_.get());
    CreatePool("p", 1, 2);
    Until([this] { return FreeSlots() == 2; });
  }
  ~SandboxInCluster() override { desk_.Open(nullptr); }

  std::size_t FreeSlots() { return system_->slots()->registry().CountsOf("default", "p").free; }
  std::size_t Reservations() { return system_->slots()->registry().reservations(); }
  kube::Response Post(const std::string& name, const std::string& more = "",
                      const std::string& query = "") {
    return Send(kube::Method::kPost, SandboxPath() + query,
                Format(R"({{"apiVersion":"sandbox.fast.io/v1alpha1","kind":"Sandbox",)"
                       R"("metadata":{{"name":"{}"{}}},"spec":{{"poolRef":"p","image":"i"}}}})",
                       name, more));
  }

  sandbox::Desk desk_{executor_, kStampWithin};
  OwnAccount account_;
  prometheus::Registry webhook_registry_;
  Webhooks webhooks_{webhook_registry_};
};

TEST_F(SandboxInCluster, TheWriteThatCreatesItCarriesTheAllocation) {
  const auto created = Post("s");
  ASSERT_EQ(created.code, 201) << created.body;
  const Json object = Json::parse(created.body);
  const Json stamp = Json::parse(object["metadata"]["annotations"][kAnnotation].as_string());
  EXPECT_THAT(stamp["assignedPod"].as_string(), testing::StartsWith("p-agent-"));
  EXPECT_EQ(FreeSlots(), 1u);
  ASSERT_TRUE(Until([this] { return Get(SandboxPath("s"))["status"]["phase"] == "Running"; }));
  const Json running = Get(SandboxPath("s"));
  EXPECT_EQ(running["status"]["assignedPod"], stamp["assignedPod"]);
  EXPECT_EQ(running["status"]["allocationID"], stamp["allocationID"]);
  EXPECT_THAT(running["metadata"].to_string(), Not(HasSubstr(kAnnotation)));
  EXPECT_EQ(FreeSlots(), 1u);
}

TEST_F(SandboxInCluster, ADryRunTakesNoSlot) {
  ASSERT_EQ(Post("s", "", "?dryRun=All").code, 201);
  EXPECT_EQ(Reservations(), 0u);
}

TEST_F(SandboxInCluster, FlawAForgedAllocationGivesNothing) {
  const auto created =
      Post("s", Format(R"(,"annotations":{{"{}":"{{\"assignedPod\":\"mine\"}}"}})", kAnnotation));
  ASSERT_EQ(created.code, 201) << created.body;
  EXPECT_THAT(created.body, Not(HasSubstr("mine")));
}

TEST_F(SandboxInCluster, ACreateIsNeverRefusedForWantOfASlot) {
  for (const char* name : {"a", "b", "c"}) ASSERT_EQ(Post(name).code, 201);
  ASSERT_TRUE(
      Until([this] { return Get(SandboxPath("c"))["status"].to_string().contains("NoCapacity"); }));
  EXPECT_EQ(Get(SandboxPath("c"))["status"]["phase"], "Pending");
}

TEST_F(SandboxInCluster, TheReservationOfACreateThatFailedEnds) {
  ASSERT_EQ(Post("s").code, 201);
  ASSERT_TRUE(Until([this] { return Get(SandboxPath("s"))["status"]["phase"] == "Running"; }));
  EXPECT_EQ(Post("s").code, 409);
  EXPECT_EQ(Reservations(), 1u);
  Advance(sandbox::Registry::kReservationTtl + 1s);
  EXPECT_EQ(Reservations(), 0u);
  EXPECT_EQ(FreeSlots(), 1u);
}

}  // namespace
}  // namespace berth::admission
