#include "cloud/agent/agent_client.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>

#include "async/test_executor.h"
#include "cloud/simulator/agent/agents.h"
#include "cloud/simulator/agent/transport.h"
#include "cloud/test_transport.h"

namespace berth::cloud::agent {
namespace {

using namespace std::chrono_literals;
namespace sim = simulator::agent;

SandboxRequest Wanted(const std::string& uid, int attempt = 1) {
  return {.sandbox_id = uid + "-" + std::to_string(attempt),
          .claim_uid = uid,
          .claim_name = "box",
          .image = "python",
          .command = {"sleep"},
          .args = {"60"},
          .env = {{"A", "b"}},
          .working_dir = "/srv",
          .pod_uid = "pod-uid",
          .attempt = attempt};
}

// Answers of an agent, byte by byte.
class AgentAnswersTest : public testing::Test {
 protected:
  template <typename T>
  Result<T> Answered(async::Task<Result<T>> task, int code, const std::string& body) {
    const Pending<Result<T>> call(std::move(task));
    transport_.last().Answer(code, body);
    executor_.RunUntilIdle();
    return call.value();
  }
  Result<AgentStatus> Status(const std::string& body) {
    return Answered(client_.Status(agent_), 200, body);
  }
  Result<void> Create(int code, const std::string& body) {
    return Answered(client_.Create(agent_, Wanted("u")), code, body);
  }

  async::TestExecutor executor_;
  ScriptedTransport transport_;
  TestObserver observer_;
  const AgentAddress agent_{.ip = "10.0.0.1"};
  AgentClient client_{executor_, transport_, &observer_, {}};
};

TEST_F(AgentAnswersTest, ACreateSaysAllThatTheAgentNeeds) {
  ASSERT_TRUE(Create(200, R"({"success": true, "sandboxId": "u-1", "createdAt": 5})"));
  const http::Request& request = transport_.last().request;
  EXPECT_EQ(request.url, "http://10.0.0.1:5758/api/v1/agent/create");
  EXPECT_EQ(request.timeout, 35s);
  const Json sandbox = Json::parse(request.body)["sandbox"];
  EXPECT_EQ(sandbox.to_string(),
            R"({"sandboxId":"u-1","claimUid":"u","claimName":"box","image":"python",)"
            R"("command":["sleep"],"args":["60"],"env":{"A":"b"},"workingDir":"/srv",)"
            R"("podUID":"pod-uid","attempt":1})");
  ASSERT_EQ(observer_.calls.size(), 1u);
  EXPECT_EQ(observer_.calls[0].action, "CreateSandbox");
  EXPECT_EQ(observer_.calls[0].resource, "u-1");
}

TEST_F(AgentAnswersTest, AddressesAndSchemesAreTold) {
  AgentClient tls(executor_, transport_, nullptr, {.tls = true});
  const Pending<Result<AgentStatus>> call(tls.Status({.ip = "fd00::1", .port = 1}));
  EXPECT_EQ(transport_.last().request.url, "https://[fd00::1]:1/api/v1/agent/status");
  EXPECT_EQ(transport_.last().request.timeout, 5s);
}

TEST_F(AgentAnswersTest, ARefusalBeforeSideEffectsIsAConflict) {
  for (const auto reason : {kCapacityRejected, kStaleAssignment}) {
    const auto refused =
        Create(409, R"({"success": false, "code": ")" + std::string(reason) + R"("})");
    ASSERT_FALSE(refused);
    EXPECT_TRUE(IsRejected(refused.error()));
    EXPECT_EQ(refused.error().reason, reason);
  }
}

TEST_F(AgentAnswersTest, AFailedCreateMayHaveLeftAContainer) {
  for (const auto& [code, body] :
       {std::pair(500, R"({"success": false, "message": "no image"})"),
        std::pair(200, R"({"success": false, "message": "no image"})")}) {
    const auto failed = Create(code, body);
    ASSERT_FALSE(failed);
    EXPECT_EQ(failed.error().error_class, ErrorClass::kAmbiguous);
    EXPECT_EQ(failed.error().reason, kCreateFailed);
    EXPECT_EQ(failed.error().message, "CreateSandbox 10.0.0.1:5758: CreateFailed: no image");
  }
}

TEST_F(AgentAnswersTest, AnAnswerThatSaysLessThanItShouldIsAmbiguousForACreate) {
  for (const auto& [code, body] :
       {std::pair(200, "<html>"), std::pair(200, "[]"),
        std::pair(200, R"({"success": true, "sandboxId": "another-1"})"),
        std::pair(409, R"({"code": "Else"})"), std::pair(502, "bad gateway")}) {
    const auto failed = Create(code, body);
    ASSERT_FALSE(failed) << body;
    EXPECT_EQ(failed.error().error_class, ErrorClass::kAmbiguous) << body;
    EXPECT_EQ(failed.error().reason, kUnreadable) << body;
  }
}

TEST_F(AgentAnswersTest, AServerThatIsNoAgentIsTerminal) {
  for (const int code : {301, 401, 403, 404}) {
    const auto failed = Create(code, "nothing here");
    ASSERT_FALSE(failed);
    EXPECT_EQ(failed.error().error_class, ErrorClass::kTerminal) << code;
  }
}

TEST_F(AgentAnswersTest, AStatusIsReadWhole) {
  const auto status = Status(R"({"agentId": "pod-1", "nodeName": "n", "capacity": 5,
      "allocated": 2, "images": ["a", 7, "b"], "more": {}, "sandboxStatuses": [
      {"sandboxId": "x-1", "claimUid": "x", "phase": "creating", "createdAt": 1700000000},
      {"sandboxId": "y-2", "phase": "terminating", "message": "stopped"}]})");
  ASSERT_TRUE(status) << status.error().message;
  EXPECT_EQ(status->agent_id, "pod-1");
  EXPECT_EQ(status->node_name, "n");
  EXPECT_EQ(status->capacity, 5u);
  EXPECT_EQ(status->allocated, 2u);
  EXPECT_EQ(status->images, (std::vector<std::string>{"a", "b"}));
  ASSERT_EQ(status->sandboxes.size(), 2u);
  const AgentSandbox* first = status->Find("x-1");
  ASSERT_NE(first, nullptr);
  EXPECT_EQ(first->phase, AgentPhase::kCreating);
  EXPECT_EQ(first->claim_uid, "x");
  EXPECT_EQ(first->created_at, async::WallTime(1'700'000'000s));
  ASSERT_NE(status->Find("y-2"), nullptr);
  EXPECT_EQ(status->Find("y-2")->phase, AgentPhase::kTerminating);
  EXPECT_EQ(status->Find("z-1"), nullptr);
}

// Flaw 19: an agent of fast-sandbox says "running" of an exited container for ever.
TEST_F(AgentAnswersTest, TheContainersOwnStateCounts) {
  const auto phase_of = [&](const char* phase, const char* message) {
    Json entry;
    entry["sandboxId"] = "x-1";
    entry["phase"] = phase;
    entry["message"] = message;
    Json body;
    body["sandboxStatuses"] = Json::Array({entry});
    const auto status = Status(body.to_string());
    return status ? status->sandboxes.at(0).phase : AgentPhase::kUnknown;
  };
  EXPECT_EQ(phase_of("running", "running"), AgentPhase::kRunning);
  EXPECT_EQ(phase_of("running", "stopped"), AgentPhase::kStopped);
  EXPECT_EQ(phase_of("running", "terminated"), AgentPhase::kTerminated);
  EXPECT_EQ(phase_of("running", "all is well"), AgentPhase::kRunning);
  EXPECT_EQ(phase_of("terminating", "stopped"), AgentPhase::kTerminating);
  EXPECT_EQ(phase_of("failed", ""), AgentPhase::kFailed);
  EXPECT_EQ(phase_of("\x1b[31mred", ""), AgentPhase::kUnknown);  // flaw 16
}

// Go writes an empty list as null.
TEST_F(AgentAnswersTest, AnEmptyListIsNoMissingList) {
  const auto none = Status(R"({"agentId": "a", "images": null, "sandboxStatuses": null})");
  ASSERT_TRUE(none);
  EXPECT_TRUE(none->sandboxes.empty());
  EXPECT_EQ(none->capacity, 0u);
  for (const std::string body : {R"({"agentId": "a"})", R"({"sandboxStatuses": {}})",
                                 R"({"sandboxStatuses": [{"phase": "running"}]})",
                                 R"({"sandboxStatuses": ["x"]})", R"([])", R"({)"}) {
    const auto status = Status(body);
    ASSERT_FALSE(status) << body;
    EXPECT_EQ(status.error().error_class, ErrorClass::kRetry) << body;
    EXPECT_EQ(status.error().reason, kUnreadable) << body;
  }
}

TEST_F(AgentAnswersTest, AnAnswerIsBounded) {
  const auto status = Status(R"({"sandboxStatuses": [], "more": ")" +
                             std::string(std::size_t{1} << 20, 'x') + R"("})");
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().error_class, ErrorClass::kRetry);
  EXPECT_TRUE(status.error().message.contains("over 1 MiB")) << status.error().message;
  const auto failed =
      Create(500, R"({"success": false, "message": ")" + std::string(5'000, 'x') + R"("})");
  ASSERT_FALSE(failed);
  EXPECT_LE(failed.error().message.size(), kMaxMessage);
}

TEST_F(AgentAnswersTest, ACallWithoutAnAnswerIsClassedByWhatItMayHaveDone) {
  const auto failed = [&](auto task, ErrorClass error_class) {
    const Pending call(std::move(task));
    transport_.last().Fail(error_class);
    executor_.RunUntilIdle();
    return call.value().error().error_class;
  };
  EXPECT_EQ(failed(client_.Create(agent_, Wanted("u")), ErrorClass::kAmbiguous),
            ErrorClass::kAmbiguous);
  EXPECT_EQ(failed(client_.Create(agent_, Wanted("u")), ErrorClass::kRetry), ErrorClass::kRetry);
  EXPECT_EQ(failed(client_.Create(agent_, Wanted("u")), ErrorClass::kTerminal),
            ErrorClass::kTerminal);
  EXPECT_EQ(failed(client_.Status(agent_), ErrorClass::kRetry), ErrorClass::kRetry);
}

// Flaw 17.
TEST_F(AgentAnswersTest, ADeleteOfAnUnlistedIdIsNeverSent) {
  const auto gone = Answered(client_.Delete(agent_, "x-1"), 200, R"({"sandboxStatuses": []})");
  ASSERT_FALSE(gone);
  EXPECT_EQ(gone.error().error_class, ErrorClass::kNotFound);
  EXPECT_EQ(gone.error().reason, kNotListed);
  const auto unread = Answered(client_.Delete(agent_, "x-1"), 200, "{}");
  ASSERT_FALSE(unread);
  EXPECT_EQ(unread.error().error_class, ErrorClass::kRetry);
  const auto begun =
      Answered(client_.Delete(agent_, "x-1"), 200,
               R"({"sandboxStatuses": [{"sandboxId": "x-1", "phase": "terminating"}]})");
  EXPECT_TRUE(begun);
  for (std::size_t i = 0; i < transport_.size(); ++i) {
    EXPECT_EQ(transport_.at(i).request.method, "GET");
  }
}

// The client over simulated agents.
class SimulatedAgentsTest : public testing::Test {
 protected:
  explicit SimulatedAgentsTest(sim::Agents::Options options = {}) : agents_(options) {
    agents_.Put(agent_.ip, {.name = "pod", .uid = "pod-uid", .node = "node", .capacity = 2});
  }

  template <typename T>
  Result<T> Wait(async::Task<Result<T>> task) {
    const Pending<Result<T>> call(std::move(task));
    for (int i = 0; i < 1'000 && !call.ended(); ++i) executor_.Advance(100ms);
    return call.value();
  }
  AgentPhase PhaseOf(const std::string& id) {
    const auto status = Wait(client_.Status(agent_));
    EXPECT_TRUE(status);
    const AgentSandbox* found = status ? status->Find(id) : nullptr;
    return found ? found->phase : AgentPhase::kUnknown;
  }

  async::TestExecutor executor_;
  simulator::Latency fates_{executor_, 1ms, 5ms};
  sim::Agents agents_;
  sim::Network network_{agents_, executor_, fates_};
  sim::Transport transport_{network_, executor_};
  const AgentAddress agent_{.ip = "10.0.0.1"};
  AgentClient client_{executor_, transport_, nullptr, {}};
};

TEST_F(SimulatedAgentsTest, ASandboxLivesItsLife) {
  ASSERT_TRUE(Wait(client_.Create(agent_, Wanted("u"))));
  EXPECT_EQ(PhaseOf("u-1"), AgentPhase::kRunning);
  ASSERT_TRUE(Wait(client_.Delete(agent_, "u-1")));
  executor_.Advance(11s);
  const auto again = Wait(client_.Delete(agent_, "u-1"));
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().error_class, ErrorClass::kNotFound);
  EXPECT_TRUE(Wait(client_.Status(agent_))) << "the agent is deadlocked";
}

TEST_F(SimulatedAgentsTest, TheFenceHoldsBeforeAnySideEffect) {
  SandboxRequest other = Wanted("u");
  other.pod_uid = "another";
  const auto stale = Wait(client_.Create(agent_, other));
  ASSERT_FALSE(stale);
  EXPECT_EQ(stale.error().reason, kStaleAssignment);
  ASSERT_TRUE(Wait(client_.Create(agent_, Wanted("a"))));
  ASSERT_TRUE(Wait(client_.Create(agent_, Wanted("b"))));
  const auto full = Wait(client_.Create(agent_, Wanted("c")));
  ASSERT_FALSE(full);
  EXPECT_EQ(full.error().reason, kCapacityRejected);
  EXPECT_EQ(agents_.Find(agent_.ip)->containers().size(), 2u);
}

TEST_F(SimulatedAgentsTest, AnExitIsSeen) {
  ASSERT_TRUE(Wait(client_.Create(agent_, Wanted("u"))));
  ASSERT_TRUE(agents_.Exit(agent_.ip, "u-1"));
  EXPECT_EQ(PhaseOf("u-1"), AgentPhase::kStopped);
}

TEST_F(SimulatedAgentsTest, NobodyAtAnAddressIsARetry) {
  const auto none = Wait(client_.Create({.ip = "10.0.0.9"}, Wanted("u")));
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().error_class, ErrorClass::kRetry);
}

TEST_F(SimulatedAgentsTest, ALetGoCreateHangsUp) {
  {
    const Pending<Result<void>> call(client_.Create(agent_, Wanted("u")));
    executor_.Advance(100ms);
    EXPECT_EQ(PhaseOf("u-1"), AgentPhase::kCreating);
  }
  executor_.Advance(10s);
  EXPECT_TRUE(agents_.Find(agent_.ip)->list().empty());
  EXPECT_TRUE(agents_.Find(agent_.ip)->containers().empty());
}

// Flaw 18's second half: with fast-sandbox's limit of 5 s this image would never be pulled.
class SlowPullTest : public SimulatedAgentsTest {
 protected:
  SlowPullTest() : SimulatedAgentsTest({.pull = 25s}) {}
};

TEST_F(SlowPullTest, ACreateWaitsForTheImage) {
  EXPECT_TRUE(Wait(client_.Create(agent_, Wanted("u"))));
  AgentClient hasty(executor_, transport_, nullptr, {.create_timeout = 5s});
  SandboxRequest other = Wanted("v");
  other.image = "another";
  const auto failed = Wait(hasty.Create(agent_, other));
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().error_class, ErrorClass::kAmbiguous);
  executor_.Advance(60s);
  EXPECT_FALSE(agents_.Find(agent_.ip)->list().contains("v-1"));
}

TEST_F(SimulatedAgentsTest, AHungAgentIsAStatusThatTimesOut) {
  agents_.Hang(agent_.ip, executor_.WallNow() + 60s);
  network_.Settle();
  const auto before = executor_.Now();
  const auto status = Wait(client_.Status(agent_));
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().error_class, ErrorClass::kRetry);
  EXPECT_LT(executor_.Now() - before, 6s);
  executor_.Advance(60s);
  EXPECT_TRUE(Wait(client_.Status(agent_)));
}

}  // namespace
}  // namespace berth::cloud::agent
