#include "reconcile/difftracker/service_machine.h"

#include <gmock/gmock.h>

#include <cstdio>
#include <fstream>
#include <set>
#include <sstream>

namespace berth::difftracker {
namespace {

std::string ReadFile(const std::string& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

Machine After(Machine machine, const std::vector<Event>& events) {
  for (const Event event : events) machine = Step(machine, event).machine;
  return machine;
}

TEST(ServiceMachineTest, TheDocumentHasTheTable) {
  const std::string document = ReadFile(BERTH_SOURCE_DIR "/docs/difftracker.md");
  const std::string begin = "<!-- states: begin -->\n";
  const auto from = document.find(begin);
  const auto to = document.find("<!-- states: end -->");
  ASSERT_TRUE(from != std::string::npos && to != std::string::npos);
  EXPECT_EQ(document.substr(from + begin.size(), to - from - begin.size()), RenderTable());
}

TEST(ServiceMachineTest, AnEventThatCannotHappenIsAnAssertion) {
  EXPECT_DEATH(Step({}, Event::kOk), "possible");
  EXPECT_DEATH(Step({.state = State::kCreated, .wanted = true}, Event::kDrained), "possible");
}

TEST(ServiceMachineTest, ACreationThatNobodyWantsAnyMoreIsDrainedWhateverItsOutcome) {
  const Machine machine = After({}, {Event::kWanted, Event::kSlot, Event::kNotWanted});
  EXPECT_EQ(machine.state, State::kCreationInProgress);
  for (const Event event : {Event::kOk, Event::kFailed, Event::kRejected, Event::kForbidden}) {
    EXPECT_EQ(Step(machine, event).machine.state, State::kDeletionPending);
    EXPECT_FALSE(Step(machine, event).effects.forget);
  }
}

TEST(ServiceMachineTest, ASpecThatChangesWhileItsCreationRunsIsAppliedAfterIt) {
  const Machine machine =
      After({}, {Event::kWanted, Event::kSlot, Event::kSpecChanged, Event::kOk});
  EXPECT_EQ(machine.state, State::kUpdateInProgress);
  EXPECT_TRUE(AsksForSlot(machine));
}

TEST(ServiceMachineTest, AServiceThatWasNeverMadeIsNotRevivedAsIfItWere) {
  const Machine machine =
      After({}, {Event::kWanted, Event::kSlot, Event::kFailed, Event::kNotWanted, Event::kWanted});
  EXPECT_EQ(machine.state, State::kNotStarted);
}

TEST(ServiceMachineTest, ADeletionThatIsRejectedIsTriedAgain) {
  const Machine machine = After({}, {Event::kWanted, Event::kSlot, Event::kOk, Event::kNotWanted,
                                     Event::kDrained, Event::kSlot});
  const Transition to = Step(machine, Event::kRejected);
  EXPECT_TRUE(to.effects.park);
  EXPECT_TRUE(to.effects.tell_parked);
  EXPECT_TRUE(AsksForSlot(Step(to.machine, Event::kDue).machine));
}

// A machine with the cloud that its operations change.
struct Pair {
  Machine machine;
  bool resources = false;   // a public IP, a load balancer, …
  bool registered = false;  // in the gateway
  bool mapped = false;      // a location names the service

  friend auto operator<=>(const Pair&, const Pair&) = default;
};

// The pairs that an event leads to: an operation that fails has done any part of its steps.
std::vector<Pair> Follow(const Pair& from, Event event) {
  const Transition to = Step(from.machine, event);
  Pair next = from;
  next.machine = to.machine;
  const bool deletes = from.machine.state == State::kDeletionInProgress;
  if (event == Event::kOk) {
    next.resources = next.registered = !deletes;
    return {next};
  }
  const bool ends = event > Event::kOk && event <= Event::kMappings;
  if (!ends) return {next};
  Pair half = next;
  Pair whole = next;
  (deletes ? half.registered : half.resources) = !deletes;
  whole.resources = whole.registered = !deletes;
  return {next, half, whole};
}

TEST(ServiceMachineTest, NoOrderOfEventsForgetsWhatTheCloudHoldsOrUnregistersWhatIsMapped) {
  std::set<Pair> seen = {{.machine = {.wanted = true}}};
  std::vector<Pair> todo(seen.begin(), seen.end());
  std::size_t transitions = 0;
  const auto add = [&](const Pair& pair) {
    ++transitions;
    if (seen.insert(pair).second) todo.push_back(pair);
  };
  while (!todo.empty()) {
    const Pair from = todo.back();
    todo.pop_back();
    if (IsServing(from.machine.state)) {
      ASSERT_TRUE(from.registered);
      Pair mapped = from;  // a sync
      mapped.mapped = true;
      add(mapped);
    } else if (from.mapped) {
      Pair removed = from;
      removed.mapped = false;
      add(removed);
    }
    ASSERT_TRUE(!from.mapped || from.registered);
    for (std::size_t i = 0; i < kEvents; ++i) {
      const auto event = static_cast<Event>(i);
      const Transition to = TryStep(from.machine, event);
      // Others do not unregister here, and a read that shows a mapping drains nothing.
      const bool excluded = event == Event::kLost || event == Event::kForced ||
                            (event == Event::kDrained && from.mapped) ||
                            (event == Event::kMappings && !from.mapped);
      if (!to.possible || excluded) continue;
      for (const Pair& next : Follow(from, event)) {
        if (!to.effects.forget) {
          add(next);
        } else {
          ASSERT_FALSE(next.resources || next.registered || next.mapped);
        }
      }
    }
  }
  std::printf("%zu states, %zu transitions, all that there are\n", seen.size(), transitions);
}

}  // namespace
}  // namespace berth::difftracker
