#pragma once

#include <prometheus/gauge.h>
#include <prometheus/registry.h>

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "async/executor.h"
#include "async/task.h"
#include "kube/leader_election.h"
#include "kube/transport.h"

namespace berth::runtime {

// One lease for all systems of a replica: while it is held they work, and write through fenced().
// When no replica is known to lead for kLeaderless, which is so when leases are forbidden or their
// namespace is missing, there is a warning, again every kWarnEach, and the metric
// berth_leaderless_seconds. On the executor's thread.
class Leadership {
 public:
  static constexpr async::Duration kLeaderless = std::chrono::seconds(30);
  static constexpr async::Duration kWarnEach = std::chrono::minutes(5);
  static constexpr async::Duration kLookEach = std::chrono::seconds(5);

  struct Member {
    std::function<void()> on_elected;
    // The member's work must have ended when it returns.
    std::function<void()> on_deposed;
    // Ends the work in good order, within a few seconds.
    std::function<async::Task<void>()> drain;
  };

  // Without a registry there is no metric.
  Leadership(async::Executor& executor, kube::Transport& transport,
             kube::LeaderElector::Options options, prometheus::Registry* registry = nullptr);
  Leadership(const Leadership&) = delete;
  Leadership& operator=(const Leadership&) = delete;

  // Before Start; a member lives until the executor runs nothing of this any more.
  void Join(Member member) { members_.push_back(std::move(member)); }
  void Start();
  // Drains all members at once, for 2.5 s at most, deposes them, and gives the lease back.
  async::Task<void> Stop();

  bool leading() const { return elector_.leading(); }
  const std::string& identity() const { return elector_.options().identity; }
  kube::Transport& fenced() { return fence_; }

 private:
  async::Task<void> Drain();
  void LookForLeader();

  async::Executor& executor_;
  kube::LeaderElector elector_;
  kube::FencedTransport fence_;
  std::vector<Member> members_;
  prometheus::Gauge* leaderless_ = nullptr;
  std::optional<async::TimePoint> leaderless_since_;
  std::optional<async::TimePoint> warned_;
  async::Handle look_;
};

}  // namespace berth::runtime
