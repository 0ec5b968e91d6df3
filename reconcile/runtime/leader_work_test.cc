#include "reconcile/runtime/leader_work.h"

#include <gmock/gmock.h>

#include "async/test_executor.h"
#include "kube/memory/local_transport.h"
#include "kube/memory/server.h"

namespace berth::runtime {
namespace {

using namespace std::chrono_literals;
using testing::IsEmpty;
using testing::SizeIs;

// One controller whose reconciles take `length`.
class LeaderWorkTest : public testing::Test {
 protected:
  struct Work {
    explicit Work(LeaderWorkTest& owner)
        : test(owner), controller(test.executor_, {.name = "test"}, [this](const std::string&) {
            return test.Reconcile();
          }) {}
    std::vector<Controller*> controllers() { return {&controller}; }
    void Resync() { controller.AddResync("a"); }

    LeaderWorkTest& test;
    Controller controller;
  };

  async::Task<kube::Result<Requeue>> Reconcile() {
    co_await async::Sleep(executor_, length_);
    ++reconciled_;
    co_return Requeue{};
  }

  // Leads, and the caches have been read since.
  void Begin() {
    leadership_.Start();
    executor_.Advance(1s);
    fresh_ = true;
    work_.BeginWhenFresh();
  }

  async::TestExecutor executor_;
  kube::memory::Server server_{{.now = [this] { return executor_.WallNow(); },
                                .random = [this] { return executor_.Random(); }}};
  kube::memory::LocalTransport transport_{executor_, server_};
  Leadership leadership_{
      executor_, transport_, {.ns = "default", .name = "berth", .identity = "one"}};
  async::Duration length_ = 1ms;
  int reconciled_ = 0;
  int refreshed_ = 0;
  bool fresh_ = true;
  LeaderWork<Work> work_{executor_,
                         leadership_,
                         {.system = "test",
                          .resync = 10min,
                          .refresh =
                              [this] {
                                ++refreshed_;
                                fresh_ = false;
                              },
                          .fresh = [this] { return fresh_; },
                          .make = [this] { return std::make_unique<Work>(*this); }}};
};

TEST_F(LeaderWorkTest, BeginsWhenTheCachesWereReadAfterTheElection) {
  work_.BeginWhenFresh();
  EXPECT_FALSE(work_);  // it does not lead
  leadership_.Start();
  executor_.Advance(1s);
  EXPECT_EQ(refreshed_, 1);
  work_.BeginWhenFresh();
  EXPECT_FALSE(work_);
  EXPECT_THAT(work_.controllers(), IsEmpty());
  fresh_ = true;
  work_.BeginWhenFresh();
  EXPECT_TRUE(work_);
  EXPECT_THAT(work_.controllers(), SizeIs(1));
  executor_.Advance(1s);
  EXPECT_EQ(reconciled_, 1);
  executor_.Advance(10min);
  EXPECT_EQ(reconciled_, 2);
}

TEST_F(LeaderWorkTest, LetsReconcilesEndAndDoesNotBeginAgainWhenItStops) {
  length_ = 500ms;
  Begin();
  executor_.RunUntilIdle();
  const auto stopping = async::Start(leadership_.Stop());
  executor_.Advance(1s);
  EXPECT_EQ(reconciled_, 1);
  EXPECT_FALSE(work_);
  work_.BeginWhenFresh();
  EXPECT_FALSE(work_);
}

TEST_F(LeaderWorkTest, DoesNotWaitLongForAReconcileWhenItStops) {
  length_ = 1min;
  Begin();
  executor_.RunUntilIdle();
  const auto stopping = async::Start(leadership_.Stop());
  executor_.Advance(3s);
  EXPECT_EQ(reconciled_, 0);
  EXPECT_FALSE(work_);
}

}  // namespace
}  // namespace berth::runtime
