#include "async/event_loop.h"

#include <gtest/gtest.h>

#include <chrono>
#include <future>
#include <thread>
#include <vector>

namespace berth::async {
namespace {

using namespace std::chrono_literals;

// Tries until the loop's thread sleeps.
void RunInPlace(EventLoop& loop, Work work) {
  while (!loop.RunIfIdle(work)) std::this_thread::yield();
}

TEST(EventLoop, TheCallerStandsInForAThreadThatSleeps) {
  EventLoop loop("test");
  std::thread::id ran_on;
  bool was_in_loop = false;
  RunInPlace(loop, [&] {
    ran_on = std::this_thread::get_id();
    was_in_loop = loop.InLoop();
  });
  EXPECT_EQ(ran_on, std::this_thread::get_id());
  EXPECT_TRUE(was_in_loop);
  EXPECT_FALSE(loop.InLoop());
}

TEST(EventLoop, NobodyStandsInForAThreadThatRunsOrIsStoppedOrForAnother) {
  EventLoop loop("test");
  std::promise<void> begun, go_on;
  loop.Post([&] {
    begun.set_value();
    go_on.get_future().wait();
  });
  begun.get_future().wait();
  bool ran = false;
  Work work = [&] { ran = true; };
  EXPECT_FALSE(loop.RunIfIdle(work));
  go_on.set_value();
  RunInPlace(loop, [&] { EXPECT_FALSE(loop.RunIfIdle(work)); });
  loop.Stop();
  EXPECT_FALSE(loop.RunIfIdle(work));
  EXPECT_FALSE(ran);
  work();
  EXPECT_TRUE(ran) << "work that was not run is as it was";
}

TEST(EventLoop, PostsAndTimersOfAStandInRunOnTheThread) {
  EventLoop loop("test");
  std::promise<std::thread::id> posted, timed;
  Handle later, sooner;
  loop.Run([&] { later = loop.RunAfter(1h, [] {}); });
  RunInPlace(loop, [&] {
    sooner = loop.RunAfter(1ms, [&] { timed.set_value(std::this_thread::get_id()); });
    loop.Post([&] { posted.set_value(std::this_thread::get_id()); });
  });
  const auto here = std::this_thread::get_id();
  auto ran_post = posted.get_future(), ran_timer = timed.get_future();
  ASSERT_EQ(ran_post.wait_for(60s), std::future_status::ready);
  ASSERT_EQ(ran_timer.wait_for(60s), std::future_status::ready);
  EXPECT_NE(ran_post.get(), here);
  EXPECT_NE(ran_timer.get(), here);
  loop.Run([&] {
    later = Handle();
    sooner = Handle();
  });
}

TEST(EventLoop, ATimerOfAStandInWakesTheThreadWithoutAPost) {
  EventLoop loop("test");
  std::promise<void> ran;
  Handle handle;
  RunInPlace(loop, [&] { handle = loop.RunAfter(1ms, [&] { ran.set_value(); }); });
  EXPECT_EQ(ran.get_future().wait_for(60s), std::future_status::ready);
  loop.Run([&] { handle = Handle(); });
}

// The count has no lock of its own: TSan tells if two threads run at once.
TEST(EventLoop, OnePieceRunsAtATimeWhoeverRunsIt) {
  constexpr int kThreads = 3, kPieces = 20'000;
  EventLoop loop("test");
  int count = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&] {
      for (int piece = 0; piece < kPieces; ++piece) {
        Work work = [&count] { ++count; };
        if (!loop.RunIfIdle(work)) loop.Post(std::move(work));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  loop.Run([&] { EXPECT_EQ(count, kThreads * kPieces); });
}

}  // namespace
}  // namespace berth::async
