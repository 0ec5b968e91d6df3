#pragma once

#include <chrono>
#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "async/executor.h"
#include "async/task.h"
#include "cloud/vpc.h"

namespace berth::eip {

// Asks the cloud for addresses, many at once: what is asked for within a moment goes out as one
// call, of at most Vpc::kMostIds. While there is more to ask, a call that is not full goes out a
// second after the last one. So a resync of n addresses costs n / kMostIds calls, and what comes
// one by one, such as addresses as they are allocated, no more than one call a second. On the
// executor's thread.
class Lookout {
 public:
  using Seen = Result<std::optional<cloud::Eip>>;
  static constexpr async::Duration kMoment = std::chrono::milliseconds(50);
  static constexpr async::Duration kPause = std::chrono::seconds(1);
  // Halvings of one call's batch: two refused IDs of fifty are found.
  static constexpr int kMostSplits = 12;

  // `vpc` outlives the lookout, and that the tasks it gave.
  Lookout(async::Executor& executor, cloud::Vpc& vpc) : executor_(executor), vpc_(vpc) {}

  // The address as the cloud has it now; none when it does not tell of it.
  async::Task<Seen> See(std::string id);

  std::size_t waiting() const { return waiting_.size(); }

 private:
  struct Waiter {
    std::string id;
    std::function<void(Seen)> done;  // gone when nobody waits any more
  };
  using Waiters = std::vector<std::shared_ptr<Waiter>>;

  void Send();
  // Of a batch that the cloud refuses the halves are asked for, so that only a refused ID suffers.
  // `splits` is how often it may be halved yet.
  async::Task<void> Ask(Waiters waiters, std::shared_ptr<int> splits);

  async::Executor& executor_;
  cloud::Vpc& vpc_;
  Waiters waiting_;
  async::Handle timer_;
  async::TimePoint next_{};  // when a call that is not full may go
  std::list<async::Running> calls_;
};

}  // namespace berth::eip
