#include "handlers/loop_executor.h"

#include <gtest/gtest.h>
#include <trantor/net/EventLoopThread.h>

#include <future>
#include <memory>
#include <thread>
#include <vector>

#include "async/event_loop.h"
#include "reconcile/ipam/desk.h"

namespace berth {
namespace {

using namespace std::chrono_literals;

class LoopExecutorTest : public testing::Test {
 protected:
  LoopExecutorTest() { thread_.run(); }

  // Gives what `work` gives on the loop's thread.
  template <typename Callable>
  auto OnLoop(Callable work) {
    std::promise<decltype(work())> done;
    thread_.getLoop()->queueInLoop([&] { done.set_value(work()); });
    return done.get_future().get();
  }

  trantor::EventLoopThread thread_{"home"};
};

TEST_F(LoopExecutorTest, WorkFindsBack) {
  auto* executor = OnLoop([] { return &LoopExecutor::OfThisThread(); });
  EXPECT_EQ(OnLoop([] { return &LoopExecutor::OfThisThread(); }), executor);
  std::promise<std::thread::id> ran;
  executor->Post([&] { ran.set_value(std::this_thread::get_id()); });
  EXPECT_EQ(ran.get_future().get(), OnLoop([] { return std::this_thread::get_id(); }));
}

TEST_F(LoopExecutorTest, ATimerRunsUnlessItsHandleIsGone) {
  std::vector<int> ran;
  std::promise<void> last;
  std::vector<async::Handle> handles;
  OnLoop([&] {
    auto& executor = LoopExecutor::OfThisThread();
    handles.push_back(executor.RunAfter(1ms, [&] { ran.push_back(1); }));
    const auto gone = executor.RunAfter(2ms, [&] { ran.push_back(2); });
    handles.push_back(executor.RunAfter(50ms, [&] {
      ran.push_back(3);
      last.set_value();
    }));
    return 0;
  });
  last.get_future().wait();
  OnLoop([&] {
    handles.clear();
    return 0;
  });
  EXPECT_EQ(ran, (std::vector{1, 3}));
}

TEST_F(LoopExecutorTest, ACancelledTimerKeepsNothing) {
  const auto kept = std::make_shared<int>();
  OnLoop([&] {
    const auto handle = LoopExecutor::OfThisThread().RunAfter(1h, [kept] {});
    EXPECT_EQ(kept.use_count(), 2);
    return 0;
  });
  EXPECT_EQ(kept.use_count(), 1);
}

TEST_F(LoopExecutorTest, ASoonerTimerDoesNotWaitForALaterOne) {
  std::promise<void> ran;
  std::vector<async::Handle> handles;
  OnLoop([&] {
    auto& executor = LoopExecutor::OfThisThread();
    handles.push_back(executor.RunAfter(1h, [] {}));
    handles.push_back(executor.RunAfter(
        1ms, [&] { handles.push_back(executor.RunAfter(1ms, [&] { ran.set_value(); })); }));
    return 0;
  });
  EXPECT_EQ(ran.get_future().wait_for(20s), std::future_status::ready);
  OnLoop([&] {
    handles.clear();
    return 0;
  });
}

// Between real threads, many at once; each is answered once and where it was asked.
TEST_F(LoopExecutorTest, AnInquiryIsAnsweredAtHome) {
  constexpr int kInquiries = 1000;
  async::EventLoop control("control");
  ipam::Desk desk(control);
  const auto home = OnLoop([] { return std::this_thread::get_id(); });
  std::promise<void> all;
  int answered = 0;
  OnLoop([&] {
    for (int i = 0; i < kInquiries; ++i) {
      desk.AskWithDeadline(
          LoopExecutor::OfThisThread(), [&](ipam::System*) { return control.InLoop(); },
          [&](bool was_in_loop) {
            EXPECT_TRUE(was_in_loop);
            EXPECT_EQ(std::this_thread::get_id(), home);
            if (++answered == kInquiries) all.set_value();
          });
    }
    return 0;
  });
  all.get_future().wait();
  control.Stop();
}

}  // namespace
}  // namespace berth
