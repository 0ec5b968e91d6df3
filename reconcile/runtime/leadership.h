#pragma once

#include <functional>
#include <string>
#include <vector>

#include "async/executor.h"
#include "async/task.h"
#include "kube/leader_election.h"
#include "kube/transport.h"

namespace berth::runtime {

// One lease for all systems of a replica: while it is held they work, and write through fenced().
// On the executor's thread.
class Leadership {
 public:
  struct Member {
    std::function<void()> on_elected;
    // The member's work must have ended when it returns.
    std::function<void()> on_deposed;
    // Ends the work in good order, within a few seconds.
    std::function<async::Task<void>()> drain;
  };

  Leadership(async::Executor& executor, kube::Transport& transport,
             kube::LeaderElector::Options options);
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

  async::Executor& executor_;
  kube::LeaderElector elector_;
  kube::FencedTransport fence_;
  std::vector<Member> members_;
};

}  // namespace berth::runtime
