#include "reconcile/difftracker/service_machine.h"

#include <gmock/gmock.h>

#include <fstream>
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

}  // namespace
}  // namespace berth::difftracker
