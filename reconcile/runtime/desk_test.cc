#include "reconcile/runtime/desk.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "async/event_loop.h"
#include "async/test_executor.h"

namespace berth::runtime {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

struct Register {
  std::vector<int> asked;
};

// Two threads that the test runs by hand.
class DeskTest : public testing::Test {
 protected:
  DeskTest() { desk_.Open(&register_); }

  // The answer is the number, or -number where there was no System.
  void Ask(int number) {
    desk_.AskWithDeadline(
        home_,
        [number](Register* asked) {
          if (!asked) return -number;
          asked->asked.push_back(number);
          return number;
        },
        [this](int answer) { answers_.push_back(answer); });
  }

  async::TestExecutor home_;
  async::TestExecutor control_;
  Register register_;
  Desk<Register> desk_{control_};
  std::vector<int> answers_;
};

TEST_F(DeskTest, TheQuestionsOfOneTurnTravelTogetherAndKeepTheirOrder) {
  for (const int number : {1, 2, 3}) Ask(number);
  EXPECT_EQ(control_.pending(), 0);
  home_.RunUntilIdle();
  EXPECT_EQ(control_.pending(), 1);
  control_.RunUntilIdle();
  EXPECT_THAT(register_.asked, ElementsAre(1, 2, 3));
  EXPECT_THAT(answers_, IsEmpty());
  EXPECT_EQ(home_.pending(), 2);  // the answers and the deadline
  home_.RunUntilIdle();
  EXPECT_THAT(answers_, ElementsAre(1, 2, 3));
  EXPECT_EQ(home_.pending(), 0);
}

TEST_F(DeskTest, AQuestionThatFollowsFromAnAnswerIsAsked) {
  desk_.AskWithDeadline(home_, [](Register*) { return true; }, [this](bool) { Ask(7); });
  for (int turn = 0; turn < 2; ++turn) {
    home_.RunUntilIdle();
    control_.RunUntilIdle();
  }
  home_.RunUntilIdle();
  EXPECT_THAT(answers_, ElementsAre(7));
}

TEST_F(DeskTest, WithoutAnAnswerInTimeEachQuestionIsAnsweredAtHomeOnce) {
  Ask(1);
  Ask(2);
  home_.RunUntilIdle();
  home_.Advance(kAnswerWithin - std::chrono::milliseconds(1));
  EXPECT_THAT(answers_, IsEmpty());
  home_.Advance(std::chrono::milliseconds(1));
  EXPECT_THAT(answers_, ElementsAre(-1, -2));
  control_.RunUntilIdle();
  home_.RunUntilIdle();
  EXPECT_THAT(register_.asked, IsEmpty());
  EXPECT_THAT(answers_, ElementsAre(-1, -2));
}

TEST_F(DeskTest, EachThreadGetsItsOwnAnswers) {
  async::TestExecutor other;
  std::vector<int> others;
  Ask(1);
  desk_.AskWithDeadline(
      other, [](Register*) { return 2; }, [&](int answer) { others.push_back(answer); });
  Ask(3);
  home_.RunUntilIdle();
  other.RunUntilIdle();
  control_.RunUntilIdle();
  other.RunUntilIdle();
  EXPECT_THAT(others, ElementsAre(2));
  EXPECT_THAT(answers_, IsEmpty());
  home_.RunUntilIdle();
  EXPECT_THAT(answers_, ElementsAre(1, 3));
}

// Lends its place at once.
struct IdleExecutor : async::TestExecutor {
  bool RunIfIdle(async::Work& work) override {
    work();
    return true;
  }
};

TEST_F(DeskTest, WhileTheControlThreadSleepsATurnIsAnsweredInPlace) {
  IdleExecutor idle;
  Desk<Register> desk(idle);
  desk.Open(&register_);
  for (const int number : {1, 2}) {
    desk.AskWithDeadline(
        home_, [number](Register* asked) { return asked ? number : -number; },
        [this](int answer) { answers_.push_back(answer); });
  }
  EXPECT_THAT(answers_, IsEmpty());
  home_.RunUntilIdle();
  EXPECT_THAT(answers_, ElementsAre(1, 2));
  EXPECT_EQ(idle.pending(), 0);
  EXPECT_EQ(home_.pending(), 0);
}

TEST_F(DeskTest, AClosedDeskAnswersWithoutASystem) {
  desk_.Open(nullptr);
  Ask(1);
  home_.RunUntilIdle();
  control_.RunUntilIdle();
  home_.RunUntilIdle();
  EXPECT_THAT(answers_, ElementsAre(-1));
}

// Between real threads, over many turns.
TEST(Desk, EveryQuestionSentBeforeTheControlThreadStopsIsAnswered) {
  constexpr int kTurns = 100;
  constexpr int kQuestions = 10;
  async::EventLoop home("home");
  async::EventLoop control("control");
  Register asked;
  Desk<Register> desk(control);
  control.Run([&] { desk.Open(&asked); });
  std::vector<int> answers;
  std::vector<int> wanted;
  for (int number = 0; number < kTurns * kQuestions; ++number) wanted.push_back(number);
  for (int turn = 0; turn < kTurns; ++turn) {
    home.Post([&, turn] {
      for (int i = 0; i < kQuestions; ++i) {
        desk.AskWithDeadline(
            home,
            [number = turn * kQuestions + i](Register* there) {
              if (there) there->asked.push_back(number);
              return number;
            },
            [&](int answer) { answers.push_back(answer); });
      }
    });
  }
  home.Run([] {});  // the last turn has begun
  home.Run([] {});  // and has been sent
  control.Stop();
  home.Run([] {});
  home.Stop();
  EXPECT_EQ(asked.asked, wanted);
  std::ranges::sort(answers);  // an answer given in place overtakes one that travels
  EXPECT_EQ(answers, wanted);
}

}  // namespace
}  // namespace berth::runtime
