#include "kube/leader_election.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "async/test_executor.h"
#include "json/json.h"
#include "kube/scripted_transport.h"
#include "log/format.h"

// Named cases; that no two ever write at once is shown by the simulation (simulate/leadership).
namespace berth::kube {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

std::string Lease(int version, const std::string& holder, int seconds = 30) {
  return Format(
      R"({{"metadata":{{"name":"l","resourceVersion":"{}"}},"spec":{{"holderIdentity":"{}","leaseDurationSeconds":{},"leaseTransitions":3}}}})",
      version, holder, seconds);
}

class LeaderElectionTest : public testing::Test {
 protected:
  void Stand() {
    elector_.Start({.on_elected = [this] { ++elected_; }, .on_deposed = [this] { ++deposed_; }});
  }

  void Lead() {
    Stand();
    transport_.last().Answer(404, "");
    transport_.last().Answer(201, Lease(1, "me"));
    ASSERT_TRUE(elector_.leading());
  }

  // The next request after the time between two tries.
  ScriptedTransport::Exchange& Next() {
    const auto seen = transport_.size();
    for (int i = 0; i < 50 && transport_.size() == seen; ++i) executor_.Advance(100ms);
    return transport_.last();
  }

  async::TestExecutor executor_;
  ScriptedTransport transport_;
  LeaderElector elector_{executor_, transport_, {.ns = "n", .name = "l", .identity = "me"}};
  FencedTransport fence_{executor_, transport_, elector_};
  int elected_ = 0;
  int deposed_ = 0;
};

TEST_F(LeaderElectionTest, AMissingLeaseIsMade) {
  Stand();
  EXPECT_EQ(transport_.last().request.path, "/apis/coordination.k8s.io/v1/namespaces/n/leases/l");
  transport_.last().Answer(404, "");
  EXPECT_EQ(transport_.last().request.method, Method::kPost);
  EXPECT_TRUE(transport_.last().request.ahead);
  EXPECT_FALSE(elector_.leading());
  transport_.last().Answer(201, Lease(1, "me"));
  EXPECT_TRUE(elector_.leading());
  EXPECT_EQ(elected_, 1);
}

TEST_F(LeaderElectionTest, AnothersLeaseIsTakenOnlyWhenItHasNotChangedForItsWholeDuration) {
  Stand();
  transport_.last().Answer(200, Lease(5, "other"));
  const auto seen = executor_.Now();
  while (transport_.last().request.method == Method::kGet) {
    // A renewal half-way begins the wait anew.
    const int version = executor_.Now() - seen < 15s ? 5 : 6;
    Next();
    if (transport_.last().request.method == Method::kGet) {
      transport_.last().Answer(200, Lease(version, "other"));
    }
  }
  EXPECT_GE(executor_.Now() - seen, 45s);
  const Json claim = Json::parse(transport_.last().request.body);
  EXPECT_EQ(claim["metadata"]["resourceVersion"].as<std::string>(), "6");
  EXPECT_EQ(claim["spec"]["leaseTransitions"].as<int>(), 4);
}

TEST_F(LeaderElectionTest, WhoLosesTheRaceForALeaseDoesNotLead) {
  Stand();
  transport_.last().Answer(200, Lease(5, ""));
  transport_.last().Answer(409, "");
  EXPECT_FALSE(elector_.leading());
  EXPECT_EQ(elected_, 0);
}

TEST_F(LeaderElectionTest, ALeaderThatCannotRenewResignsInTime) {
  Lead();
  const auto began = executor_.Now();
  while (elector_.leading() && executor_.Now() - began < 1min) {
    executor_.Advance(100ms);
    if (transport_.last().done && !transport_.last().abandoned) {
      auto done = std::exchange(transport_.last().done, nullptr);
      done(std::unexpected(Error{ErrorClass::kAmbiguous, {}, "no answer"}));
    }
  }
  EXPECT_EQ(deposed_, 1);
  EXPECT_LE(executor_.Now() - began, 20s + 200ms);
}

TEST_F(LeaderElectionTest, ALeaseThatSomebodyElseHoldsEndsTheLeadershipAtOnce) {
  Lead();
  Next().Answer(409, "");
  transport_.last().Answer(200, Lease(9, "other"));
  EXPECT_FALSE(elector_.leading());
  EXPECT_EQ(deposed_, 1);
}

// A renewal whose answer was lost: the lease has our name and a version that we don't know.
TEST_F(LeaderElectionTest, ALostAnswerDoesNotEndTheLeadership) {
  Lead();
  Next().Fail({ErrorClass::kAmbiguous, {}, "no answer"});
  transport_.last().Answer(200, Lease(2, "me"));
  auto& renewal = Next();
  EXPECT_THAT(renewal.request.body, HasSubstr("\"resourceVersion\":\"2\""));
  renewal.Answer(200, Lease(3, "me"));
  EXPECT_TRUE(elector_.leading());
  EXPECT_EQ(deposed_, 0);
}

TEST_F(LeaderElectionTest, AReleaseWaitsForWritesWithoutAnOutcome) {
  Lead();
  auto write = fence_.Send({.method = Method::kPost, .path = "/x", .timeout = 1s}, [](auto) {});
  write.Cancel();  // abandoned: it may still be carried out
  const auto quiet = fence_.QuietAt();
  EXPECT_EQ(quiet - executor_.Now(), 7s);
  auto releasing = async::Start(elector_.Release(quiet));
  EXPECT_EQ(deposed_, 1);
  executor_.Advance(6s);
  EXPECT_EQ(transport_.last().request.path, "/x?timeout=1000ms");
  executor_.Advance(2s);
  EXPECT_THAT(transport_.last().request.body, HasSubstr("\"holderIdentity\":\"\""));
  EXPECT_THAT(transport_.last().request.body, HasSubstr("\"resourceVersion\":\"1\""));
}

TEST_F(LeaderElectionTest, AWriteThatCouldOutliveTheLeadershipIsNotSent) {
  Lead();
  executor_.Advance(2s);  // the first renewal comes after 3 s; none is answered
  const auto before = transport_.size();
  auto fine = fence_.Send({.method = Method::kPatch, .path = "/x?a=b"}, [](auto) {});
  EXPECT_EQ(transport_.size(), before + 1);
  EXPECT_EQ(transport_.last().request.path, "/x?a=b&timeout=8000ms");
  executor_.Advance(8s);
  const auto later = transport_.size();
  std::optional<ErrorClass> refused;
  auto late = fence_.Send({.method = Method::kPatch, .path = "/x"},
                          [&](auto outcome) { refused = outcome.error().error_class; });
  auto read = fence_.Send({.path = "/y"}, [](auto) {});
  executor_.RunUntilIdle();
  EXPECT_EQ(refused, ErrorClass::kRetry);
  EXPECT_EQ(transport_.size(), later + 1);
  EXPECT_EQ(transport_.last().request.path, "/y");
}

TEST_F(LeaderElectionTest, WhoDoesNotLeadDoesNotWrite) {
  std::optional<ErrorClass> refused;
  auto write = fence_.Send({.method = Method::kDelete, .path = "/x"},
                           [&](auto outcome) { refused = outcome.error().error_class; });
  executor_.RunUntilIdle();
  EXPECT_EQ(refused, ErrorClass::kRetry);
  EXPECT_EQ(transport_.size(), 0u);
}

}  // namespace
}  // namespace berth::kube
