#include "handlers/apis/sandboxrequests.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>

#include "reconcile/sandbox/system_fixture_test.h"

namespace berth::apis {
namespace {

using namespace std::chrono_literals;
using sandbox::SandboxTest;
using Answered = std::expected<Action::Outcome, kube::Status>;

// Admits Sandboxes as the webhook does: with the finalizer and a stamp.
class StampingApi : public kube::Transport {
 public:
  explicit StampingApi(kube::Transport& inner) : inner_(inner) {}

  async::Handle Send(kube::Request request, Done done) override {
    if (request.method == kube::Method::kPost && request.path.contains("/sandboxes") && system) {
      kube::JsonDocument document;
      const auto read = sandbox::Sandbox::From(*document.Parse(request.body));
      Json object = Json::parse(request.body);
      object["metadata"]["finalizers"] = std::vector<std::string>{std::string(sandbox::kFinalizer)};
      if (const auto stamp = system->Stamp(*read)) {
        object["metadata"]["annotations"][std::string(sandbox::kAllocationAnnotation)] = *stamp;
      }
      request.body = object.to_string();
    }
    return inner_.Send(std::move(request), std::move(done));
  }
  async::Handle Watch(kube::Request request, Stream stream) override {
    return inner_.Watch(std::move(request), std::move(stream));
  }

  sandbox::System* system = nullptr;  // none: admitted without a stamp

 private:
  kube::Transport& inner_;
};

class SandboxRequestsTest : public SandboxTest {
 protected:
  SandboxRequestsTest() {
    api_.system = system_.get();
    requests_.Open(*system_, api_, &registry_);
    CreatePool("pool", 2);
  }
  ~SandboxRequestsTest() override { requests_.Close(); }

  // `spec` beside image and poolRef, after a comma.
  static std::string Body(const std::string& spec) {
    return R"({"metadata":{"name":"request"},"spec":{"image":"nginx","poolRef":"pool")" + spec +
           "}}";
  }
  void Begin(const std::string& body, bool dry_run = false) {
    kube::JsonDocument document;
    answer_.reset();
    requests_.Create({.ns = "default", .object = *document.Parse(body), .dry_run = dry_run},
                     executor_, [this](Answered answer) {
                       ASSERT_FALSE(answer_);
                       answer_ = std::move(answer);
                     });
  }
  // The answer, as soon as there is one.
  Answered Ask(const std::string& body, async::Duration within = 60s, bool dry_run = false) {
    Begin(body, dry_run);
    EXPECT_TRUE(Until([this] { return answer_.has_value(); }, within));
    return answer_.value_or(std::unexpected(kube::Status{.code = -1}));
  }
  static std::string Told(const Answered& answer, const std::string& member) {
    if (!answer) return Format("{}: {}", answer.error().code, answer.error().message);
    const Json* value = answer->content["status"].find(member);
    return value ? value->as<std::string>() : "";
  }
  static int Code(const Answered& answer) { return answer ? 201 : answer.error().code; }

  StampingApi api_{transport_};
  SandboxRequests requests_{executor_};
  std::optional<Answered> answer_;
};

TEST_F(SandboxRequestsTest, FastAnswersWithTheSlotBeforeAnythingRuns) {
  agents_.create_time = 10s;
  const auto answer = Ask(Body(R"(,"name":"box","exposedPorts":[80],"envs":{"A":"b"})"), 1s);
  ASSERT_TRUE(answer) << answer.error().message;
  EXPECT_TRUE(agents_.Running().empty());
  EXPECT_EQ(Told(answer, "sandboxName"), "box");
  EXPECT_NE(Told(answer, "agentPod"), "");
  EXPECT_TRUE(
      answer->content["status"]["endpoints"].array_range()[0].as<std::string>().ends_with(":80"));
  EXPECT_EQ(answer->cells.size(), requests_.type().columns.size());
  ASSERT_TRUE(WaitFor("box", "Running"));
  const auto box = Read("box");
  EXPECT_EQ(box.status.assigned_pod, Told(answer, "agentPod"));
  EXPECT_EQ(box.status.sandbox_id, Told(answer, "sandboxID"));
  EXPECT_EQ(box.id.uid, Told(answer, "sandboxUID"));
  ASSERT_EQ(box.spec.envs.size(), 1u);
  EXPECT_EQ(box.spec.envs[0].value, "b");
}

TEST_F(SandboxRequestsTest, StrongAnswersOnceItRuns) {
  const auto answer = Ask(Body(R"(,"consistencyMode":"Strong","name":"box")"));
  ASSERT_TRUE(answer) << answer.error().message;
  EXPECT_EQ(Told(answer, "phase"), "Running");
  EXPECT_EQ(Phase("box"), "Running");
  EXPECT_EQ(agents_.Running().size(), 1u);
  const auto families = registry_.Collect();
  const auto found = std::ranges::find(families, "fastpath_create_sandbox_duration_seconds",
                                       &prometheus::MetricFamily::name);
  ASSERT_NE(found, families.end());
  EXPECT_EQ(found->metric.at(0).histogram.sample_count, 1u);
}

TEST_F(SandboxRequestsTest, StrongGivesUpInTimeAndTheSandboxStays) {
  Begin(
      R"({"spec":{"image":"nginx","poolRef":"nowhere","name":"box","consistencyMode":"Strong"}})");
  Advance(40s);
  EXPECT_FALSE(answer_);
  Advance(10s);
  ASSERT_TRUE(answer_);
  EXPECT_EQ(Code(*answer_), 504);
  EXPECT_TRUE(answer_->error().message.contains("PoolNotFound")) << answer_->error().message;
  EXPECT_EQ(Phase("box"), "Pending");
}

TEST_F(SandboxRequestsTest, TheSameIdAndSpecGetTheSameSandbox) {
  const auto first = Ask(Body(R"(,"requestID":"r1")"));
  ASSERT_TRUE(first) << first.error().message;
  const auto again = Ask(Body(R"(,"requestID":"r1","consistencyMode":"Strong")"));
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(Told(first, "sandboxUID"), Told(again, "sandboxUID"));
  EXPECT_EQ(agents_.creates, 1);
  EXPECT_EQ(Counts().reserved, 0u) << "a repeated request takes a slot";
  const auto other = Ask(Body(R"(,"requestID":"r1","args":["x"])"));
  EXPECT_EQ(Code(other), 409);
  const auto renamed = Ask(Body(R"(,"requestID":"r1","name":"another")"));
  EXPECT_EQ(Code(renamed), 409);
  const auto next = Ask(Body(R"(,"requestID":"r2")"));
  EXPECT_NE(Told(next, "sandboxUID"), Told(first, "sandboxUID"));
}

TEST_F(SandboxRequestsTest, AnIdIsKnownToTheNextReplica) {
  const auto first = Ask(Body(R"(,"requestID":"r1")"));
  std::vector<Answered> answers;
  for (const char* spec : {R"(,"requestID":"r1")", R"(,"requestID":"r1","workingDir":"/x")"}) {
    SandboxRequests next(executor_);
    next.Open(*system_, api_, &registry_);
    kube::JsonDocument document;
    next.Create({.ns = "default", .object = *document.Parse(Body(spec))}, executor_,
                [&](Answered answer) { answers.push_back(std::move(answer)); });
    Advance(1s);
    next.Close();
  }
  ASSERT_EQ(answers.size(), 2u);
  EXPECT_EQ(Told(answers[0], "sandboxUID"), Told(first, "sandboxUID"));
  EXPECT_EQ(Code(answers[1]), 409);
}

TEST_F(SandboxRequestsTest, ANameThatIsTakenIsAlreadyThere) {
  CreateSandbox("box");
  const auto taken = Ask(Body(R"(,"name":"box")"));
  EXPECT_EQ(Code(taken), 409);
  EXPECT_TRUE(taken.error().message.contains("already exists")) << taken.error().message;
}

TEST_F(SandboxRequestsTest, ALostAnswerIsLookedUp) {
  int lost = 0;
  transport_.fault = [&](const kube::Request& request) {
    const bool is_create =
        request.method == kube::Method::kPost && request.path.ends_with("/sandboxes");
    return is_create && ++lost == 1 ? sandbox::WatchedApi::Fault::kAnswerLost
                                    : sandbox::WatchedApi::Fault::kNone;
  };
  const auto answer = Ask(Body(""));
  ASSERT_TRUE(answer) << answer.error().message;
  EXPECT_TRUE(Exists(SandboxPath(Told(answer, "sandboxName"))));
  transport_.fault = [](const kube::Request& request) {
    return request.path.ends_with("/sandboxes") ? sandbox::WatchedApi::Fault::kRefused
                                                : sandbox::WatchedApi::Fault::kNone;
  };
  EXPECT_EQ(Code(Ask(Body(""))), 503);
}

TEST_F(SandboxRequestsTest, WithoutASlotFastSaysPending) {
  api_.system = nullptr;
  const auto answer = Ask(Body(R"(,"name":"box")"));
  ASSERT_TRUE(answer) << answer.error().message;
  EXPECT_EQ(Told(answer, "phase"), "Pending");
  EXPECT_EQ(Told(answer, "agentPod"), "");
}

TEST_F(SandboxRequestsTest, ADryRunStoresNothing) {
  api_.system = nullptr;  // as the webhook, which reserves nothing in a dry run
  const auto answer = Ask(Body(R"(,"name":"box","requestID":"r1")"), 60s, true);
  ASSERT_TRUE(answer) << answer.error().message;
  EXPECT_FALSE(Exists(SandboxPath("box")));
  EXPECT_EQ(Code(Ask(Body(R"(,"name":"box","requestID":"r1","args":["x"])"))), 201);
}

TEST_F(SandboxRequestsTest, AWrongSpecIsRefusedByItsField) {
  for (const auto& [spec, field] :
       {std::pair(R"({"poolRef":"pool"})", "spec.image"),
        std::pair(R"({"image":"nginx"})", "spec.poolRef"),
        std::pair(R"({"image":"nginx","poolRef":"pool","consistencyMode":"x"})",
                  "spec.consistencyMode")}) {
    const auto answer = Ask(Format(R"({{"spec":{}}})", spec));
    ASSERT_EQ(Code(answer), 422) << spec;
    EXPECT_EQ(answer.error().details.causes.at(0).field, field);
  }
  const auto port = Ask(Body(R"(,"exposedPorts":[65536])"));
  EXPECT_EQ(Code(port), 422) << Told(port, "phase");
}

TEST_F(SandboxRequestsTest, AClosedOneAnswersThoseThatWait) {
  Begin(R"({"spec":{"image":"nginx","poolRef":"nowhere","consistencyMode":"Strong"}})");
  Advance(2s);
  requests_.Close();
  Advance(1s);
  ASSERT_TRUE(answer_);
  EXPECT_EQ(Code(*answer_), 503);
  EXPECT_EQ(Code(Ask(Body(""))), 503);
}

}  // namespace
}  // namespace berth::apis
