#include "cloud/simulator/agent/agents.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "cloud/answer.h"
#include "cloud/simulator/agent/console.h"

// The traps of fast-sandbox's agent, and what ours adds.
namespace berth::cloud::simulator::agent {
namespace {

using namespace std::chrono_literals;

class AgentsTest : public testing::Test {
 protected:
  AgentsTest() { agents_.Put("10.0.0.1", {.name = "pod", .uid = "uid", .node = "n"}); }

  Agents::Arrival Post(const std::string& path, const std::string& body) {
    return agents_.Take({.url = "http://10.0.0.1:5758/api/v1/agent/" + path, .body = body}, now_);
  }
  Agents::Arrival Create(const std::string& id, const std::string& more = "") {
    return Post("create", R"({"sandbox": {"sandboxId": ")" + id +
                              R"(", "claimUid": "u", "image": "i")" + more + "}}");
  }
  Agents::Arrival Delete(const std::string& id) {
    return Post("delete", R"({"sandboxId": ")" + id + R"("})");
  }
  Agents::Arrival Status() {
    return agents_.Take({.method = "GET", .url = "http://10.0.0.1:5758/api/v1/agent/status"}, now_);
  }
  void Run(const std::string& id, const std::string& more = "") {
    const auto arrival = Create(id, more);
    ASSERT_FALSE(arrival.response);
    Pass(5s);
    ASSERT_EQ(Ended(arrival.call), 200);
  }
  void Pass(async::Duration time) {
    now_ += std::chrono::duration_cast<async::WallTime::duration>(time);
    agents_.Settle(now_);
  }
  // The HTTP code of a call that has ended; -1 for none.
  int Ended(CallId call) {
    for (auto& [id, response] : agents_.TakeEnded()) {
      if (id == call) return response.code;
    }
    return -1;
  }
  static int Code(const Agents::Arrival& arrival) {
    return arrival.response ? arrival.response->code : -1;
  }
  static std::string ReasonOf(const Agents::Arrival& arrival) {
    return arrival.response ? Text(Json::parse(arrival.response->body), "code") : "";
  }
  const Agent& agent() const { return *agents_.Find("10.0.0.1"); }
  http::Response Ask(const std::string& method, const std::string& path, const std::string& body) {
    agents_.Settle(now_);
    return Console(agents_, {.method = method, .url = "", .body = body}, path, now_);
  }

  async::WallTime now_{std::chrono::seconds(1'767'323'045)};
  Agents agents_{{}};
};

TEST_F(AgentsTest, ADeleteOfAnUnlistedIdDeadlocksTheAgent) {
  Run("u-1");
  EXPECT_EQ(Code(Delete("u-2")), -1);
  EXPECT_TRUE(agent().deadlocked());
  EXPECT_EQ(Code(Status()), -1);
  EXPECT_EQ(Code(Create("u-3")), -1);
  Pass(1h);
  EXPECT_TRUE(agents_.TakeEnded().empty());
  agents_.Restart("10.0.0.1");
  EXPECT_EQ(Code(Status()), 200);
}

TEST_F(AgentsTest, ACreateEndsWhenTheClientHangsUp) {
  const auto arrival = Create("u-1");
  Pass(1s);
  EXPECT_TRUE(agent().list().contains("u-1"));
  agents_.HangUp(arrival.call, now_);
  EXPECT_TRUE(agent().list().empty());
  Pass(1h);
  EXPECT_TRUE(agent().containers().empty());
}

TEST_F(AgentsTest, ACreatePullsAnImageOnce) {
  const auto first = Create("u-1");
  Pass(1s);
  EXPECT_EQ(Ended(first.call), -1);
  Pass(2s);
  EXPECT_EQ(Ended(first.call), 200);
  const auto second = Create("u-2");
  Pass(100ms);
  EXPECT_EQ(Ended(second.call), 200);
}

TEST_F(AgentsTest, TheListIsInMemoryOnly) {
  Run("u-1");
  ASSERT_TRUE(agents_.Restart("10.0.0.1"));
  EXPECT_TRUE(agent().list().empty());
  EXPECT_TRUE(agent().containers().at("u-1").running);
  EXPECT_EQ(Code(Create("u-1")), 500) << "the container is there already";
}

TEST_F(AgentsTest, AListedIdIsAnsweredSuccessEvenWhileItIsTerminating) {
  Run("u-1");
  EXPECT_EQ(Code(Delete("u-1")), 200);
  EXPECT_EQ(Code(Create("u-1")), 200);
  Pass(11s);
  EXPECT_TRUE(agent().list().empty());
  EXPECT_TRUE(agent().containers().empty());
}

TEST_F(AgentsTest, ThePhaseStaysRunningAfterAnExitAndTheMessageTellsTheState) {
  Run("u-1");
  ASSERT_TRUE(agents_.Exit("10.0.0.1", "u-1"));
  const Json entry = Json::parse(Status().response->body)["sandboxStatuses"][std::size_t{0}];
  EXPECT_EQ(Text(entry, "phase"), "running");
  EXPECT_EQ(Text(entry, "message"), "stopped");
}

TEST_F(AgentsTest, AStubbornContainerIsKilledAfterTheGrace) {
  Agents stubborn({.stubborn = 1});
  stubborn.Put("10.0.0.1", {.name = "pod", .uid = "uid", .node = "n"});
  stubborn.Take({.url = "http://10.0.0.1/api/v1/agent/create",
                 .body = R"({"sandbox": {"sandboxId": "u-1", "image": "i"}})"},
                now_);
  stubborn.Settle(now_ + 5s);
  stubborn.Take({.url = "http://10.0.0.1/api/v1/agent/delete", .body = R"({"sandboxId": "u-1"})"},
                now_ + 5s);
  stubborn.Settle(now_ + 14s);
  EXPECT_TRUE(stubborn.Find("10.0.0.1")->containers().contains("u-1"));
  stubborn.Settle(now_ + 16s);
  EXPECT_FALSE(stubborn.Find("10.0.0.1")->containers().contains("u-1"));
}

TEST_F(AgentsTest, TheFenceRefusesOtherPodsOldAttemptsAndTooMany) {
  Run("u-2", R"(, "podUID": "uid", "attempt": 2)");
  EXPECT_EQ(ReasonOf(Create("u-3", R"(, "podUID": "old", "attempt": 3)")), "StaleAssignment");
  EXPECT_EQ(ReasonOf(Create("u-1", R"(, "podUID": "uid", "attempt": 1)")), "StaleAssignment");
  EXPECT_EQ(Code(Create("u-2", R"(, "podUID": "uid", "attempt": 2)")), 200);
  for (const char* id : {"a-1", "b-1", "c-1", "d-1"}) Run(id);
  EXPECT_EQ(ReasonOf(Create("e-1")), "CapacityRejected");
  EXPECT_EQ(agent().containers().size(), 5u);
  // A late create of a deleted attempt would leak.
  EXPECT_EQ(Code(Delete("u-2")), 200);
  Pass(11s);
  EXPECT_EQ(ReasonOf(Create("u-2", R"(, "podUID": "uid", "attempt": 2)")), "StaleAssignment");
}

TEST_F(AgentsTest, AnAgentOfFastSandboxTakesWhatItIsTold) {
  EXPECT_EQ(Ask("PUT", "/fences", R"({"enabled": false})").code, 200);
  for (const char* id : {"a-1", "b-1", "c-1", "d-1", "e-1", "f-1"}) {
    Run(id, R"(, "podUID": "another", "attempt": 1)");
  }
  EXPECT_EQ(agent().list().size(), 6u);
}

TEST_F(AgentsTest, AHungAgentCarriesOutLaterWhatItWasSent) {
  Run("u-1");
  ASSERT_TRUE(agents_.Hang("10.0.0.1", now_ + 10s));
  const auto status = Status();
  const auto gone = Delete("u-1");
  const auto create = Create("u-2");
  agents_.HangUp(gone.call, now_);
  agents_.HangUp(create.call, now_);
  EXPECT_EQ(Code(status), -1);
  EXPECT_TRUE(agent().containers().contains("u-1"));
  Pass(10s);
  EXPECT_EQ(Ended(status.call), 200);
  Pass(1s);
  EXPECT_FALSE(agent().containers().contains("u-1"));
  EXPECT_FALSE(agent().list().contains("u-2"));
}

TEST_F(AgentsTest, APodThatIsReplacedTakesItsContainersAndCallsAlong) {
  Run("u-1");
  const auto under_way = Create("u-2");
  agents_.Put("10.0.0.1", {.name = "pod", .uid = "uid2", .node = "n"});
  EXPECT_EQ(Ended(under_way.call), 0);
  EXPECT_TRUE(agent().containers().empty());
  agents_.Remove("10.0.0.1");
  EXPECT_EQ(Code(Status()), 0);
}

TEST_F(AgentsTest, FaultsComeOnceEach) {
  ASSERT_EQ(Ask("PUT", "/faults",
                R"([{"action": "CreateSandbox", "code": "500"},
                    {"action": "CreateSandbox", "code": "CapacityRejected"},
                    {"action": "CreateSandbox", "sticks": true},
                    {"action": "CreateSandbox", "exits": true},
                    {"action": "CreateSandbox", "applied-then-timeout": true},
                    {"action": "GetAgentStatus", "delay": 3}])")
                .code,
            200);
  EXPECT_EQ(Code(Create("a-1")), 500);
  EXPECT_EQ(ReasonOf(Create("a-1")), "CapacityRejected");
  EXPECT_TRUE(agent().list().empty());
  const auto sticks = Create("a-1");
  Pass(29s);
  EXPECT_EQ(Ended(sticks.call), -1);
  Pass(2s);
  EXPECT_EQ(Ended(sticks.call), 500);
  EXPECT_TRUE(agent().list().empty());
  const auto exits = Create("b-1");
  Pass(5s);
  EXPECT_EQ(Ended(exits.call), 200);
  EXPECT_FALSE(agent().containers().at("b-1").running);
  const auto lost = Create("c-1");
  Pass(5s);
  EXPECT_EQ(Ended(lost.call), -1);
  agents_.HangUp(lost.call, now_);
  EXPECT_TRUE(agent().containers().contains("c-1"));
  const auto late = Status();
  Pass(2s);
  EXPECT_EQ(Ended(late.call), -1);
  Pass(1s);
  EXPECT_EQ(Ended(late.call), 200);
  EXPECT_EQ(Ask("GET", "/faults", "").body, "[]");
}

TEST_F(AgentsTest, TheConsoleShowsWhatAnAgentForgets) {
  Run("u-1");
  ASSERT_EQ(Ask("PUT", "/agents/10.0.0.1/restart", "{}").code, 200);
  const Json box = Json::parse(Ask("GET", "/sandboxes", "").body)[std::size_t{0}];
  EXPECT_EQ(Text(box, "sandboxId"), "u-1");
  EXPECT_EQ(Text(box, "listed"), "none");
  EXPECT_EQ(Text(box, "container"), "running");
  EXPECT_EQ(Ask("DELETE", "/sandboxes/u-1", "").code, 200);
  EXPECT_EQ(Ask("DELETE", "/sandboxes/u-1", "").code, 404);
  EXPECT_EQ(Ask("PUT", "/agents/10.0.0.2", R"({"name": "two", "capacity": 1})").code, 200);
  EXPECT_EQ(agents_.Find("10.0.0.2")->pod().capacity, 1u);
  EXPECT_EQ(Ask("PUT", "/agents/10.0.0.2/hang", R"({"seconds": 5})").code, 200);
  EXPECT_TRUE(agents_.IsHung("10.0.0.2"));
  EXPECT_EQ(Ask("PUT", "/agents/10.0.0.2/hang", "{}").code, 400);
  EXPECT_EQ(Ask("DELETE", "/agents/10.0.0.2", "").code, 200);
  EXPECT_EQ(Ask("DELETE", "/agents/10.0.0.2", "").code, 404);
}

TEST_F(AgentsTest, AnyOtherRequestIsAnswered404) {
  EXPECT_EQ(Code(Post("destroy", "{}")), 404);
  EXPECT_EQ(Code(Post("status", "{}")), 404);
  EXPECT_EQ(Code(Post("create", "no json")), 400);
  EXPECT_EQ(Code(Post("create", "{}")), 500);
}

}  // namespace
}  // namespace berth::cloud::simulator::agent
