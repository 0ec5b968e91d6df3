#include "reconcile/sandbox/phases.h"

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

namespace berth::sandbox {
namespace {

using namespace std::chrono_literals;

std::string ReadFile(const std::string& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

TEST(PhasesTest, TheDocumentHasTheTable) {
  const std::string document = ReadFile(BERTH_SOURCE_DIR "/docs/sandbox.md");
  const std::string begin = "<!-- phases: begin -->\n";
  const auto from = document.find(begin);
  const auto to = document.find("<!-- phases: end -->");
  ASSERT_TRUE(from != std::string::npos && to != std::string::npos);
  EXPECT_EQ(document.substr(from + begin.size(), to - from - begin.size()), RenderTable());
}

constexpr Sight kUnproven[] = {Sight::kSilent,  Sight::kForgot, Sight::kUnlisted, Sight::kCreating,
                               Sight::kRunning, Sight::kEnded,  Sight::kStopping};
constexpr Phase kAllPhases[] = {Phase::kPending, Phase::kBound,   Phase::kRunning,    Phase::kLost,
                                Phase::kFailed,  Phase::kExpired, Phase::kTerminating};

// The slot, and the finalizer, stay until absence is proven.
TEST(PhasesTest, NothingIsReleasedBeforeAbsenceIsProven) {
  for (const Wish wish : {Wish::kRun, Wish::kReset, Wish::kExpire, Wish::kDelete}) {
    for (const Phase phase : kAllPhases) {
      for (const Sight sight : kUnproven) {
        for (const bool flag : {false, true}) {
          const Action action =
              Decide(wish, phase, sight,
                     {.auto_recreate = flag, .recovery_over = flag, .tries_over = flag});
          EXPECT_NE(action, Action::kAgain);
          EXPECT_NE(action, Action::kFree);
          EXPECT_NE(action, Action::kExpire);
          EXPECT_NE(action, Action::kAccept);
          EXPECT_NE(action, Action::kFinish);
          EXPECT_NE(action, Action::kAssign);
        }
      }
    }
  }
}

// An agent deadlocks when it is told to delete what it does not list.
TEST(PhasesTest, OnlyWhatIsListedIsDeleted) {
  for (const Wish wish : {Wish::kRun, Wish::kReset, Wish::kExpire, Wish::kDelete}) {
    for (const Phase phase : kAllPhases) {
      for (const Sight sight : {Sight::kNone, Sight::kGone, Sight::kSilent, Sight::kForgot,
                                Sight::kUnlisted, Sight::kAbsent, Sight::kStopping}) {
        EXPECT_NE(Decide(wish, phase, sight, {}), Action::kDelete);
      }
    }
  }
}

// Flaw: fast-sandbox rescheduled a Lost sandbox whatever its policy, and used no timeout.
TEST(PhasesTest, ALostSandboxIsStartedAnewOnlyWithAutoRecreateAndAfterItsTimeout) {
  const auto decide = [](bool auto_recreate, bool over) {
    return Decide(Wish::kRun, Phase::kLost, Sight::kGone,
                  {.auto_recreate = auto_recreate, .recovery_over = over});
  };
  EXPECT_EQ(decide(false, true), Action::kRest);
  EXPECT_EQ(decide(true, false), Action::kWait);
  EXPECT_EQ(decide(true, true), Action::kAgain);
}

TEST(PhasesTest, ADeletionGoesBeforeAnExpiryAndThatBeforeAReset) {
  const async::WallTime now{1h};
  Sandbox sandbox;
  EXPECT_EQ(WishOf(sandbox, now), Wish::kRun);
  sandbox.spec.reset = now - 10min;
  EXPECT_EQ(WishOf(sandbox, now), Wish::kReset);
  sandbox.status.accepted_reset = sandbox.spec.reset;
  EXPECT_EQ(WishOf(sandbox, now), Wish::kRun);
  sandbox.spec.reset = now - 5min;
  sandbox.spec.expires = now + 1s;
  EXPECT_EQ(WishOf(sandbox, now), Wish::kReset);
  sandbox.spec.expires = now;
  EXPECT_EQ(WishOf(sandbox, now), Wish::kExpire);
  sandbox.id.deleting = 1;
  EXPECT_EQ(WishOf(sandbox, now), Wish::kDelete);
}

}  // namespace
}  // namespace berth::sandbox
