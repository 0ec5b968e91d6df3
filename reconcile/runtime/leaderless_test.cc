// When no replica leads, somebody is told.
#include "reconcile/runtime/leadership.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "async/test_executor.h"
#include "kube/memory/local_transport.h"
#include "log/log.h"

namespace berth::runtime {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;
using testing::Not;

// An API server that forbids leases, until it is told otherwise.
class LeaseGate : public kube::Transport {
 public:
  explicit LeaseGate(kube::Transport& inner, async::Executor& executor)
      : inner_(inner), executor_(executor) {}

  async::Handle Send(kube::Request request, Done done) override {
    if (open) return inner_.Send(std::move(request), std::move(done));
    return executor_.RunAfter(1ms, [done = std::move(done)] {
      done(std::unexpected(
          kube::Error{ErrorClass::kTerminal, "Forbidden", "leases is forbidden: no Role", 403}));
    });
  }
  async::Handle Watch(kube::Request request, Stream stream) override {
    return inner_.Watch(std::move(request), std::move(stream));
  }

  bool open = false;

 private:
  kube::Transport& inner_;
  async::Executor& executor_;
};

class LeaderlessTest : public testing::Test {
 protected:
  LeaderlessTest() { log::SetLevel("info"); }  // other tests of the program want less

  double Leaderless() const {
    for (const auto& family : registry_.Collect()) {
      if (family.name == "berth_leaderless_seconds") return family.metric.front().gauge.value;
    }
    return -1;
  }
  // The lines that are logged meanwhile.
  std::string Logged(async::Duration time) {
    testing::internal::CaptureStderr();
    executor_.Advance(time);
    return testing::internal::GetCapturedStderr();
  }

  async::TestExecutor executor_;
  kube::memory::Server server_{{.now = [this] { return executor_.WallNow(); },
                                .random = [this] { return executor_.Random(); }}};
  kube::memory::LocalTransport local_{executor_, server_};
  LeaseGate gate_{local_, executor_};
  prometheus::Registry registry_;
  Leadership leadership_{
      executor_, gate_, {.ns = "default", .name = "berth", .identity = "one"}, &registry_};
};

TEST_F(LeaderlessTest, WithoutALeaderForHalfAMinuteThereIsAWarningAndAMetric) {
  leadership_.Start();
  EXPECT_THAT(Logged(25s), Not(HasSubstr("nobody leads")));
  const std::string log = Logged(10s);
  EXPECT_THAT(log, HasSubstr("nobody leads"));
  EXPECT_THAT(log, HasSubstr("default/berth"));
  EXPECT_THAT(log, HasSubstr("leases is forbidden"));
  EXPECT_GE(Leaderless(), 30);
  EXPECT_THAT(Logged(1min), Not(HasSubstr("nobody leads"))) << "not again and again";
  gate_.open = true;
  executor_.Advance(15s);
  EXPECT_TRUE(leadership_.leading());
  EXPECT_EQ(Leaderless(), 0);
}

TEST_F(LeaderlessTest, WhileAnotherReplicaLeadsThereIsNoWarning) {
  gate_.open = true;
  Leadership other(executor_, local_, {.ns = "default", .name = "berth", .identity = "two"});
  other.Start();
  executor_.Advance(5s);
  ASSERT_TRUE(other.leading());
  leadership_.Start();
  EXPECT_THAT(Logged(5min), Not(HasSubstr("nobody leads")));
  EXPECT_EQ(Leaderless(), 0);
}

}  // namespace
}  // namespace berth::runtime
