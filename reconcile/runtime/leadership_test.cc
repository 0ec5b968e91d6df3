#include "reconcile/runtime/leadership.h"

#include <gtest/gtest.h>

#include "async/test_executor.h"
#include "json/json.h"
#include "kube/memory/local_transport.h"

namespace berth::runtime {
namespace {

using namespace std::chrono_literals;

class LeadershipTest : public testing::Test {
 protected:
  // A member whose work takes `drains` to end.
  void Join(async::Duration drains) {
    leadership_.Join({.on_elected = [this] { ++working_; },
                      .on_deposed = [this] { holder_when_deposed_ = Holder(); },
                      .drain = [this, drains] { return Drain(drains); }});
  }
  async::Task<void> Drain(async::Duration drains) {
    co_await async::Sleep(executor_, drains);
    --working_;
  }

  // How long it takes to stop.
  async::Duration Stop() {
    const auto began = executor_.Now();
    bool stopped = false;
    const auto running = async::Start(leadership_.Stop(), [&] { stopped = true; });
    while (!stopped && executor_.Now() - began < 60s) executor_.Advance(10ms);
    return executor_.Now() - began;
  }
  std::string Holder() {
    std::string body;
    server_.Handle({.method = kube::Method::kGet,
                    .path = "/apis/coordination.k8s.io/v1/namespaces/default/leases/berth"},
                   [&](kube::Response response) { body = response.body; });
    return Json::parse(body)["spec"].get_value_or<std::string>("holderIdentity", "");
  }

  async::TestExecutor executor_;
  kube::memory::Server server_{{.now = [this] { return executor_.WallNow(); },
                                .random = [this] { return executor_.Random(); }}};
  kube::memory::LocalTransport transport_{executor_, server_};
  Leadership leadership_{
      executor_, transport_, {.ns = "default", .name = "berth", .identity = "one"}};
  int working_ = 0;
  std::string holder_when_deposed_ = "(never)";
};

TEST_F(LeadershipTest, FiveSystemsGiveTheLeaseBackWithinThreeSeconds) {
  for (int i = 0; i < 5; ++i) Join(2s);
  leadership_.Start();
  executor_.Advance(1s);
  ASSERT_EQ(working_, 5);
  ASSERT_EQ(Holder(), "one");
  EXPECT_LT(Stop(), 3s);
  EXPECT_EQ(working_, 0);
  EXPECT_EQ(Holder(), "");
}

TEST_F(LeadershipTest, ASystemThatDoesNotEndInTimeIsEndedBeforeTheLeaseIsGivenBack) {
  Join(1s);
  Join(1h);
  leadership_.Start();
  executor_.Advance(1s);
  EXPECT_LT(Stop(), 3s);
  EXPECT_EQ(holder_when_deposed_, "one");
  EXPECT_EQ(Holder(), "");
}

}  // namespace
}  // namespace berth::runtime
