#include "handlers/apis/agents.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "async/test_executor.h"
#include "handlers/apis/reservations.h"

namespace berth::apis {
namespace {

using namespace std::chrono_literals;
using sandbox::SlotState;
using testing::ElementsAre;
using testing::IsEmpty;

// Slots without the objects around them.
class TestSlots : public sandbox::Slots {
 public:
  sandbox::Registry& registry() override { return registry_; }
  std::optional<async::WallTime> SeenAt(const std::string&) const override { return seen; }
  std::weak_ptr<const void> alive() const override { return alive_; }

  std::optional<async::WallTime> seen;

 private:
  sandbox::Registry registry_;
  std::shared_ptr<const int> alive_ = std::make_shared<const int>(0);
};

class AgentsTest : public testing::Test {
 protected:
  AgentsTest() {
    Put("u1", "pod-1");
    Put("u2", "pod-2");
  }

  void Put(const std::string& uid, const std::string& pod, const std::string& ns = "default") {
    registry().PutAgent({.pod_uid = uid,
                         .pod = pod,
                         .ns = ns,
                         .pool = "pool",
                         .node = "node",
                         .ip = "10.0.0.1",
                         .capacity = 5,
                         .open = true,
                         .images = {}});
  }
  sandbox::Registry& registry() { return slots_->registry(); }
  void Publish(sandbox::Slots* slots) {
    agents_.Publish(slots);
    reservations_.Publish(slots);
  }
  void Publish() { Publish(slots_.get()); }
  std::string Reserve(const std::string& id, const std::string& name) {
    const auto made =
        registry().Reserve(id, {.ns = "default", .pool = "pool", .image = "i", .ports = {80}}, name,
                           "hash", executor_.WallNow());
    return made ? made->agent.pod : "";
  }
  static std::vector<std::string> Names(ResourceStore& store) {
    std::vector<std::string> names;
    const auto page = store.List("", [](const Object&) { return true; }, std::nullopt, 0);
    for (const auto& object : page.objects) names.push_back(object->ns + "/" + object->name);
    return names;
  }
  static std::vector<std::string> CellsOf(const ObjectPtr& object) {
    std::vector<std::string> cells;
    if (!object) return cells;
    for (const Cell& cell : object->cells) cells.push_back(cell.since ? "age" : cell.json);
    return cells;
  }

  async::TestExecutor executor_;
  std::unique_ptr<TestSlots> slots_ = std::make_unique<TestSlots>();
  Agents agents_{executor_};
  Reservations reservations_;
};

TEST_F(AgentsTest, AnAgentShowsItsSlots) {
  slots_->seen = executor_.WallNow();
  ASSERT_TRUE(registry().Restore("s1", "u1", {}, SlotState::kBound));
  ASSERT_TRUE(registry().Restore("s2", "u1", {}, SlotState::kDraining));
  Publish();
  EXPECT_THAT(Names(agents_.store()), ElementsAre("default/pod-1", "default/pod-2"));
  const auto agent = agents_.store().Get("default", "pod-1");
  EXPECT_THAT(CellsOf(agent), ElementsAre("\"pool\"", "\"node\"", "5", "1", "0", "1", "age",
                                          "\"true\"", "\"10.0.0.1\""));
  EXPECT_EQ(AgentType().columns.size(), CellsOf(agent).size());
  const Json json = Json::parse(agent->json);
  EXPECT_EQ(json["status"]["free"], Json(3));
  EXPECT_EQ(json["spec"]["podUID"], Json("u1"));
}

TEST_F(AgentsTest, AReservationIsShownUntilItIsASlotOrItsTimeIsOver) {
  Publish();
  const std::string pod = Reserve("r1", "box");
  Reserve("r2", "");
  Publish();
  EXPECT_THAT(Names(reservations_.store()), ElementsAre("default/r1", "default/r2"));
  const auto shown = CellsOf(reservations_.store().Get("default", "r1"));
  EXPECT_THAT(shown, ElementsAre("\"box\"", "\"pool\"", "\"" + pod + "\"", "\"03:04:20Z\""));
  EXPECT_EQ(ReservationType().columns.size(), shown.size());
  EXPECT_EQ(CellsOf(reservations_.store().Get("default", "r2")).at(0), "\"<none>\"");
  EXPECT_THAT(CellsOf(agents_.store().Get("default", pod)).at(4), "1");

  registry().Bind("r1", "s1", pod == "pod-1" ? "u1" : "u2", {}, {}, executor_.WallNow());
  Publish();
  EXPECT_THAT(Names(reservations_.store()), ElementsAre("default/r2"));
  EXPECT_THAT(CellsOf(agents_.store().Get("default", pod)).at(3), "1");
  registry().Expire(executor_.WallNow() + 16s);
  Publish();
  EXPECT_THAT(Names(reservations_.store()), IsEmpty());
}

TEST_F(AgentsTest, WithoutALeaderThereIsNothing) {
  Reserve("r1", "box");
  Publish();
  Publish(nullptr);
  EXPECT_THAT(Names(agents_.store()), IsEmpty());
  EXPECT_THAT(Names(reservations_.store()), IsEmpty());
  Publish();
  EXPECT_EQ(Names(agents_.store()).size(), 2u);
  EXPECT_EQ(Names(reservations_.store()).size(), 1u);
}

TEST_F(AgentsTest, TheNextLeadersSlotsReplaceTheLastOnes) {
  Reserve("r1", "box");
  Publish();
  slots_ = std::make_unique<TestSlots>();
  Put("u3", "pod-3");
  Publish();
  EXPECT_THAT(Names(agents_.store()), ElementsAre("default/pod-3"));
  EXPECT_THAT(Names(reservations_.store()), IsEmpty());
}

TEST_F(AgentsTest, ALaterPodOfTheSameNameTakesThePlaceOfTheFirst) {
  Publish();
  registry().RemoveAgent("u1");
  Put("a-later-uid", "pod-1");
  Put("u4", "pod-1", "other");
  Publish();
  EXPECT_THAT(Names(agents_.store()), ElementsAre("default/pod-1", "default/pod-2", "other/pod-1"));
  EXPECT_EQ(Json::parse(agents_.store().Get("default", "pod-1")->json)["spec"]["podUID"],
            Json("a-later-uid"));
  registry().RemoveAgent("a-later-uid");
  Publish();
  EXPECT_THAT(Names(agents_.store()), ElementsAre("default/pod-2", "other/pod-1"));
}

// An event for each probe of each agent would drown the watchers.
TEST_F(AgentsTest, AProbeAloneIsShownNowAndThenOnly) {
  Publish();
  const auto version = agents_.store().version();
  for (int probe = 0; probe < 4; ++probe) {
    executor_.Advance(2s);
    slots_->seen = executor_.WallNow();
    Publish();
  }
  EXPECT_EQ(agents_.store().version(), version);
  executor_.Advance(2s);
  Publish();
  EXPECT_EQ(agents_.store().version(), version + 2);
}

}  // namespace
}  // namespace berth::apis
