#include "async/task.h"

#include <gtest/gtest.h>

#include <future>
#include <string>

#include "async/event_loop.h"
#include "async/sanitized.h"

namespace berth::async {
namespace {

using namespace std::chrono_literals;

Task<int> Number(int number) { co_return number; }

Task<int> Sum(int depth) {
  if (depth == 0) co_return 0;
  co_return co_await Number(1) + co_await Sum(depth - 1);
}

struct Flag {
  explicit Flag(bool& flag) : ended(flag) {}
  ~Flag() { ended = true; }
  bool& ended;
};

TEST(Task, ReturnsTheValuesOfWhatItAwaits) {
  int sum = 0;
  bool ended = false;
  auto running =
      Start([](int& into) -> Task<void> { into = co_await Sum(1000); }(sum), [&] { ended = true; });
  EXPECT_EQ(sum, 1000);
  EXPECT_TRUE(ended);
  EXPECT_FALSE(running);
}

// Symmetric transfer: a loop over tasks that never wait must not use up the stack.
constexpr int kMany = kSanitized ? 1'000 : 1'000'000;

TEST(Task, AMillionTasksInALoopNeedNoStack) {
  int sum = 0;
  auto running = Start([](int& into) -> Task<void> {
    for (int i = 0; i < kMany; ++i) into += co_await Number(1);
  }(sum));
  EXPECT_EQ(sum, kMany);
}

TEST(Task, DestroyingARunningTaskEndsItAndWhatItWaitsFor) {
  bool outer = false;
  bool inner = false;
  bool cancelled = false;
  Callback<int>::Done late;
  auto wait = [](bool& ended, bool& gone, Callback<int>::Done& done) -> Task<int> {
    const Flag flag(ended);
    co_return co_await Callback<int>([&](auto given) {
      done = given;
      return Handle([&gone] { gone = true; });
    });
  };
  {
    auto running = Start([](auto& fn, bool& o, bool& i, bool& c, auto& done) -> Task<void> {
      const Flag flag(o);
      co_await fn(i, c, done);
    }(wait, outer, inner, cancelled, late));
    EXPECT_TRUE(running);
    EXPECT_FALSE(outer || inner || cancelled);
  }
  EXPECT_TRUE(outer && inner && cancelled);
}

TEST(Task, ACallbackMayComeAtOnce) {
  int got = 0;
  auto running = Start([](int& into) -> Task<void> {
    into = co_await Callback<int>([](auto done) {
      done(7);
      return Handle();
    });
  }(got));
  EXPECT_EQ(got, 7);
}

TEST(Task, TheCallbackAtItsEndMayDestroyIt) {
  auto holder = std::make_unique<Running>();
  Callback<int>::Done finish;
  *holder = Start(
      [](auto& done) -> Task<void> {
        co_await Callback<int>([&](auto given) {
          done = given;
          return Handle();
        });
      }(finish),
      [&] { holder.reset(); });
  finish(1);
  EXPECT_EQ(holder, nullptr);
}

class OnLoop : public testing::Test {
 protected:
  // Runs a task on the loop to its end.
  template <typename Make>
  void Finish(Make make) {
    std::promise<void> ended;
    Running running;
    loop_.Post([&] { running = Start(make(), [&] { ended.set_value(); }); });
    ASSERT_EQ(ended.get_future().wait_for(30s), std::future_status::ready);
    loop_.Run([&] { running = {}; });
  }

  EventLoop loop_{"test"};
};

TEST_F(OnLoop, WorkPostedFromManyThreadsRunsInEachThreadsOrder) {
  std::vector<std::vector<int>> seen(4);
  {
    std::vector<std::jthread> threads;
    for (auto& list : seen) {
      threads.emplace_back([&] {
        for (int i = 0; i < 1000; ++i) loop_.Post([&list, i] { list.push_back(i); });
      });
    }
  }
  loop_.Run([] {});
  for (const auto& list : seen) {
    ASSERT_EQ(list.size(), 1000u);
    EXPECT_TRUE(std::ranges::is_sorted(list));
  }
}

TEST_F(OnLoop, TimersRunInTheOrderOfTheirTimes) {
  std::string order;
  Finish([&]() -> Task<void> {
    auto late = loop_.RunAfter(20ms, [&] { order += "c"; });
    auto soon = loop_.RunAfter(1ms, [&] { order += "a"; });
    auto next = loop_.RunAfter(10ms, [&] { order += "b"; });
    auto never = loop_.RunAfter(5ms, [&] { order += "x"; });
    never.Cancel();
    co_await Sleep(loop_, 40ms);
  });
  EXPECT_EQ(order, "abc");
}

TEST_F(OnLoop, WithinGivesUpOnWhatTakesTooLong) {
  bool ended = false;
  bool none = false;
  std::optional<int> quick;
  Finish([&]() -> Task<void> {
    auto slow = [](EventLoop& loop, bool& flag) -> Task<int> {
      const Flag mark(flag);
      co_await Sleep(loop, 1h);
      co_return 1;
    };
    none = !(co_await Within(loop_, 5ms, slow(loop_, ended))).has_value();
    quick = co_await Within(loop_, 1h, Number(3));
  });
  EXPECT_TRUE(none && ended);
  EXPECT_EQ(quick, 3);
}

TEST_F(OnLoop, ASignalRemembersOneNotificationAndWakesItsWaiter) {
  int woken = 0;
  Finish([&]() -> Task<void> {
    Signal signal(loop_);
    signal.Notify();
    signal.Notify();
    co_await signal.Wait();
    ++woken;
    auto timer = loop_.RunAfter(1ms, [&] { signal.Notify(); });
    co_await signal.Wait();
    ++woken;
  });
  EXPECT_EQ(woken, 2);
}

TEST_F(OnLoop, StopRunsWhatWasPostedAndDropsWhatComesAfter) {
  int ran = 0;
  loop_.Post([&] { ++ran; });
  loop_.Stop();
  loop_.Post([&] { ++ran; });
  EXPECT_EQ(ran, 1);
}

}  // namespace
}  // namespace berth::async
