#include "reconcile/runtime/controller.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <prometheus/text_serializer.h>
#include <rapidcheck.h>

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "async/test_executor.h"
#include "log/log.h"

namespace berth::runtime {
namespace {

using kube::ErrorClass;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using namespace std::chrono_literals;
using Result = kube::Result<Requeue>;

Result Failure(ErrorClass error_class, std::chrono::milliseconds retry_after = {}) {
  return std::unexpected(kube::Error{.error_class = error_class, .retry_after = retry_after});
}

// Reconciles that wait until the test says how they end.
class Work {
 public:
  async::Task<Result> Reconcile(std::string key) {
    EXPECT_FALSE(under_way.contains(key)) << key << " is reconciled twice at a time";
    begun.push_back(key);
    Mark mark{*this, key};
    Result result = co_await async::Callback<Result>([&](auto done) {
      under_way[key] = done;
      return async::Handle();
    });
    mark.ended = true;
    co_return result;
  }

  void End(const std::string& key, Result result = Requeue{}) {
    const auto done = under_way.at(key);
    under_way.erase(key);
    done(std::move(result));
  }

  std::vector<std::string> begun;
  std::vector<std::string> destroyed;
  std::map<std::string, std::function<void(Result)>> under_way;

 private:
  struct Mark {
    Work& work;
    std::string key;
    bool ended = false;
    ~Mark() {
      if (ended) return;
      work.destroyed.push_back(key);
      work.under_way.erase(key);
    }
  };
};

class ControllerTest : public testing::Test {
 protected:
  ControllerTest() {
    log::SetLevel("error");
    Make({.name = "test"});
  }

  void Make(Controller::Options options) {
    controller_ = std::make_unique<Controller>(
        executor_, std::move(options),
        [this](std::string key) { return work_.Reconcile(std::move(key)); });
    controller_->Start();
  }
  void End(const std::string& key, Result result = Requeue{}) {
    work_.End(key, std::move(result));
    executor_.RunUntilIdle();
  }
  void Add(const std::string& key) {
    controller_->Add(key);
    executor_.RunUntilIdle();
  }
  // How long it takes until a key is reconciled for the nth time.
  Duration UntilBegun(std::size_t count) {
    const TimePoint before = executor_.Now();
    while (work_.begun.size() < count && executor_.Now() < before + 1h) executor_.Advance(1ms);
    return executor_.Now() - before;
  }

  async::TestExecutor executor_;
  Work work_;
  std::unique_ptr<Controller> controller_;
};

TEST_F(ControllerTest, ReconcilesAKeyInATurnOfItsOwn) {
  controller_->Add("a");
  EXPECT_THAT(work_.begun, IsEmpty());
  executor_.RunUntilIdle();
  EXPECT_THAT(work_.begun, ElementsAre("a"));
  End("a");
  EXPECT_EQ(controller_->Stats().succeeded, 1U);
}

TEST_F(ControllerTest, NothingIsReconciledBeforeStart) {
  Controller idle(executor_, {.name = "idle"},
                  [this](std::string key) { return work_.Reconcile(std::move(key)); });
  idle.Add("a");
  executor_.Advance(1h);
  EXPECT_THAT(work_.begun, IsEmpty());
  idle.Start();
  executor_.RunUntilIdle();
  EXPECT_THAT(work_.begun, ElementsAre("a"));
}

TEST_F(ControllerTest, AKeyIsNeverReconciledTwiceAtATime) {
  Add("a");
  Add("a");
  EXPECT_THAT(work_.begun, ElementsAre("a"));
  End("a");
  EXPECT_THAT(work_.begun, ElementsAre("a", "a"));
}

TEST_F(ControllerTest, OnlySoManyKeysAreReconciledAtATime) {
  for (const auto* key : {"1", "2", "3", "4", "5", "6", "7"}) Add(key);
  EXPECT_THAT(work_.begun, ElementsAre("1", "2", "3", "4", "5"));
  End("3");
  EXPECT_THAT(work_.begun, ElementsAre("1", "2", "3", "4", "5", "6"));
  EXPECT_EQ(controller_->Stats().queue.processing, 5U);
}

TEST_F(ControllerTest, FreshKeysGoBeforeResync) {
  for (const auto* key : {"1", "2", "3", "4", "5"}) Add(key);
  controller_->AddResync("old");
  controller_->Add("new");
  executor_.RunUntilIdle();
  End("1");
  End("2");
  EXPECT_THAT(work_.begun, ElementsAre("1", "2", "3", "4", "5", "new", "old"));
}

TEST_F(ControllerTest, ADelayedKeyIsReconciledAtItsTime) {
  controller_->AddAfter("a", 10s);
  executor_.Advance(10s - 1ms);
  EXPECT_THAT(work_.begun, IsEmpty());
  executor_.Advance(1ms);
  EXPECT_THAT(work_.begun, ElementsAre("a"));
}

TEST_F(ControllerTest, AnIdleControllerHasNothingScheduled) {
  Add("a");
  End("a");
  EXPECT_EQ(executor_.pending(), 0U);
}

TEST_F(ControllerTest, ASuccessMayAskToBeCalledAgainLater) {
  Add("a");
  End("a", Requeue{.after = 3min});
  EXPECT_EQ(UntilBegun(2), 3min);
}

TEST_F(ControllerTest, FailuresAreTriedAgainEachAfterALongerTime) {
  Add("a");
  std::size_t begun = 1;
  for (const auto error_class : {ErrorClass::kConflict, ErrorClass::kRetry, ErrorClass::kAmbiguous,
                                 ErrorClass::kNotFound, ErrorClass::kThrottled}) {
    End("a", Failure(error_class));
    const Duration expected = std::chrono::duration_cast<Duration>(50ms * std::pow(1.5, begun - 1));
    EXPECT_EQ(UntilBegun(++begun), std::chrono::ceil<std::chrono::milliseconds>(expected));
  }
  EXPECT_EQ(controller_->Stats().failed, 5U);
}

TEST_F(ControllerTest, ASuccessEndsTheBackOff) {
  Add("a");
  End("a", Failure(ErrorClass::kRetry));
  UntilBegun(2);
  End("a", Requeue{.after = 1s});
  UntilBegun(3);
  End("a", Failure(ErrorClass::kRetry));
  EXPECT_EQ(UntilBegun(4), 50ms);
}

TEST_F(ControllerTest, WhoIsToldToWaitWaitsAtLeastThatLong) {
  Add("a");
  End("a", Failure(ErrorClass::kThrottled, 7s));
  EXPECT_EQ(UntilBegun(2), 7s);
  End("a", Failure(ErrorClass::kThrottled, 1ms));
  EXPECT_EQ(UntilBegun(3), 75ms);
  End("a", Failure(ErrorClass::kThrottled, 24h));
  EXPECT_EQ(UntilBegun(4), Controller::kLongestRetryAfter);
}

// A permission that was missing may be given without an event of the object.
TEST_F(ControllerTest, ATerminalErrorIsTriedAgainAfterAMinuteOrAtTheNextEvent) {
  Add("a");
  End("a", Failure(ErrorClass::kTerminal));
  EXPECT_EQ(UntilBegun(2), Controller::kRetryTerminal);
  EXPECT_EQ(controller_->Stats().terminal, 1U);
  End("a", Failure(ErrorClass::kTerminal));
  Add("a");
  EXPECT_THAT(work_.begun, ElementsAre("a", "a", "a"));
}

TEST_F(ControllerTest, AnEventDuringAFailureIsServedAtOnce) {
  Add("a");
  Add("a");
  End("a", Failure(ErrorClass::kTerminal));
  EXPECT_THAT(work_.begun, ElementsAre("a", "a"));
}

TEST_F(ControllerTest, PastItsDeadlineAReconcileIsDestroyedAndTriedAgain) {
  Add("a");
  executor_.Advance(90s - 1ms);
  EXPECT_THAT(work_.destroyed, IsEmpty());
  executor_.Advance(1ms);
  EXPECT_THAT(work_.destroyed, ElementsAre("a"));
  EXPECT_EQ(controller_->Stats().timed_out, 1U);
  EXPECT_EQ(UntilBegun(2), 50ms);
}

TEST_F(ControllerTest, StopDestroysWhatIsUnderWayAndStartTakesItUpAgain) {
  Add("a");
  Add("b");
  controller_->Stop();
  EXPECT_THAT(work_.destroyed, ElementsAre("a", "b"));
  Add("c");
  EXPECT_THAT(work_.begun, ElementsAre("a", "b"));
  controller_->Start();
  executor_.RunUntilIdle();
  EXPECT_THAT(work_.begun, ElementsAre("a", "b", "a", "b", "c"));
}

TEST_F(ControllerTest, DestructionDestroysWhatIsUnderWay) {
  Add("a");
  controller_->AddAfter("b", 1s);
  controller_.reset();
  EXPECT_THAT(work_.destroyed, ElementsAre("a"));
  EXPECT_EQ(executor_.pending(), 0U);
}

TEST_F(ControllerTest, AReconcileThatNeverWaitsIsFine) {
  int calls = 0;
  Controller quick(executor_, {.name = "quick"}, [&](std::string) -> async::Task<Result> {
    ++calls;
    co_return Requeue{};
  });
  quick.Start();
  for (int i = 0; i < 100; ++i) quick.Add(std::to_string(i));
  executor_.RunUntilIdle();
  EXPECT_EQ(calls, 100);
  EXPECT_EQ(quick.Stats().queue.processing, 0U);
}

TEST_F(ControllerTest, AReconcileMayAddItsOwnKey) {
  int calls = 0;
  Controller* self = nullptr;
  Controller again(executor_, {.name = "again"}, [&](std::string key) -> async::Task<Result> {
    if (++calls < 3) self->Add(key);
    co_return Requeue{};
  });
  self = &again;
  again.Start();
  again.Add("a");
  executor_.RunUntilIdle();
  EXPECT_EQ(calls, 3);
}

TEST_F(ControllerTest, ShowsMetricsAlsoWhileAReconcileTakesItsTime) {
  prometheus::Registry registry;
  Make({.name = "eip", .registry = &registry});
  const auto text = [&] { return prometheus::TextSerializer().Serialize(registry.Collect()); };
  Add("a");
  executor_.Advance(10s);
  EXPECT_THAT(text(), HasSubstr("workqueue_unfinished_work_seconds{controller=\"eip\","
                                "name=\"eip\"} 10\n"));
  EXPECT_THAT(text(), HasSubstr("controller_runtime_active_workers{controller=\"eip\"} 1\n"));
  End("a");
  EXPECT_THAT(text(), HasSubstr("result=\"success\"} 1\n"));
  EXPECT_THAT(text(), HasSubstr("controller_runtime_active_workers{controller=\"eip\"} 0\n"));
  EXPECT_EQ(executor_.pending(), 0U);
}

// Whatever happens to reconciles, one begins after every add and after every stop; Work sees to it
// that no key is reconciled twice at a time.
TEST(Controller, EveryAddIsFollowedByAReconcile) {
  log::SetLevel("error");
  EXPECT_TRUE(rc::check([](const std::vector<std::pair<std::uint8_t, std::uint8_t>>& steps) {
    async::TestExecutor executor;
    Work work;
    Controller controller(executor, {.name = "test", .concurrency = 2, .deadline = 1s},
                          [&](std::string key) { return work.Reconcile(std::move(key)); });
    std::set<std::string> owed;
    const auto settle = [&] {
      executor.RunUntilIdle();
      for (const std::string& key : std::exchange(work.begun, {})) owed.erase(key);
    };
    for (const auto& [what, which] : steps) {
      const std::string key(1, static_cast<char>('a' + which % 5));
      switch (what % 8) {
        case 0:
          controller.Start();
          break;
        case 1:
          settle();
          for (const auto& [stopped, unused] : work.under_way) owed.insert(stopped);
          controller.Stop();
          break;
        case 2:
        case 3:
          settle();
          what % 2 ? controller.Add(key) : controller.AddResync(key);
          owed.insert(key);
          break;
        case 4:
          executor.Advance(std::chrono::milliseconds(which));
          break;
        default:
          if (work.under_way.contains(key)) {
            what % 2 ? work.End(key) : work.End(key, Failure(ErrorClass::kRetry));
          }
      }
    }
    controller.Start();
    for (int i = 0; i < 100 && !owed.empty(); ++i) {
      settle();
      executor.Advance(1s);  // past the deadline of whatever hangs
    }
    RC_ASSERT(owed.empty());
  }));
}

}  // namespace
}  // namespace berth::runtime
