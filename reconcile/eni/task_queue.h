#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "http/error.h"
#include "reconcile/eni/ended_tasks.h"
#include "reconcile/eni/gate.h"
#include "reconcile/eni/task_record.h"

namespace berth::eni {

// The answer to a user who does not want a task any more.
enum class Withdrawal : std::uint8_t {
  kNoTask,
  kWithdrawn,   // an attach that was never sent is dropped, or a task that ended is no longer shown
  kAccepted,    // the cloud has accepted the attach, or may have: it goes on
  kReleasing,   // a Detach or Delete: its Node would submit it again
  kNeeded,      // an attach of an ENI that pods have addresses of: its Node would, too
  kUnrecorded,  // it ended, which its Node does not say yet
};

// A task that changed, or, without a task, is gone.
struct TaskChange {
  std::string eni;
  const Task* task = nullptr;
  bool replaced = false;  // it was told of another task of this ENI before
};

// The attaches, detaches and deletions of ENIs that are under way, one an ENI. Plain: whoever has
// it looks, sends requests and tells it what came of them. Every request follows a look that was
// made for it. An answer about a task of another generation counts for nothing, so a task that was
// cancelled has no more effect.
//
// A task that ended is kept until its end is noted, and shown for kShown after that.
class TaskQueue {
 public:
  static constexpr std::size_t kMostLooks = 100;  // ENIs of one look
  static constexpr async::Duration kShown = std::chrono::minutes(10);
  static constexpr std::size_t kMostShown = 10'000;     // of those that are noted; the latest
  static constexpr std::size_t kMostWithdrawn = 1'000;  // that are remembered; the latest

  struct Options {
    std::function<double()> random;                  // in [0, 1)
    std::function<void(const Task& task)> on_ended;  // must not call the queue
    // Whether the ENI that a look has shown is the task's to change; without it, each is.
    std::function<bool(const Task& task, const cloud::Eni& eni)> may_change = {};
    std::size_t attaches_of_node = 5;  // that the cloud has accepted and not ended
    std::size_t eflo_attaches_of_node = 2;
    std::size_t requests_at_once = 16;  // of each operation and backend, that are not answered
  };

  explicit TaskQueue(Options options);

  // The generation of the new task; of the present one if that has not ended. O(log n).
  std::uint64_t Submit(TaskRequest request, async::TimePoint now);
  // Forgets tasks, without a state: nobody is told of their end. O(log n) each.
  void Cancel(const std::string& eni, async::TimePoint now);
  void CancelNode(const std::string& node, async::TimePoint now);
  // Cancels for a user, as far as it can be done.
  Withdrawal Withdraw(const std::string& eni, async::TimePoint now);
  // The answer that Withdraw would give.
  Withdrawal MayWithdraw(const std::string& eni) const;
  // The attach of this ENI was withdrawn and nothing submitted for it since: it is to be given up,
  // not attached after all.
  bool IsWithdrawn(const std::string& eni) const;  // O(kMostWithdrawn)
  // The end of the task is written down: it is only shown from now on.
  void Noted(const TaskId& id, async::TimePoint now);
  // Forgets those that were noted kShown ago. O(log n) each.
  void Expire(async::TimePoint now);

  // Tasks whose end is not noted.
  const Task* Find(const std::string& eni) const;  // O(log n)
  std::vector<const Task*> OfNode(const std::string& node) const;
  std::size_t size() const { return tasks_.size(); }
  void ForEach(const std::function<void(const Task&)>& visit) const;  // by ENI
  // How many there are in each state, by State. O(1).
  const std::array<std::size_t, kStates>& counts() const { return counts_; }
  // When the oldest task that has not ended was submitted. O(1).
  std::optional<async::TimePoint> oldest() const;
  // Tasks that changed since the last time, in no order, shown ones included.
  std::vector<TaskChange> TakeChanges();

  // ENIs of one account and backend that are to be looked at in one call.
  struct Look {
    std::string account;
    Backend backend = Backend::kEcs;
    bool alone = false;  // a single one, which the last look did not list
    std::vector<TaskId> tasks;
  };
  std::optional<async::TimePoint> next_look() const;
  // Looks that are due, at most `most` of them; those that waited longest. Each task is answered by
  // Seen or NotSeen. O(k log n) for k tasks.
  std::vector<Look> TakeLooks(async::TimePoint now, std::size_t most);
  // Whether the task's request is to be sent now; Answered follows, whatever becomes of the task.
  // `eni` is none if it was not listed. O(log n).
  bool Seen(const TaskId& id, const cloud::Eni* eni, async::TimePoint now);
  void NotSeen(const TaskId& id, const Error& error, async::TimePoint now);
  void Answered(const TaskId& id, const Result<void>& answer, async::TimePoint now);
  // Whether its request is still wanted: asked when its turn has come.
  bool IsWanted(const TaskId& id) const;

 private:
  static constexpr std::size_t kOperations = 3;
  static constexpr std::size_t kBackends = 2;

  struct Entry : Task {
    std::optional<async::TimePoint> asked_at;  // when the last request was accepted
    bool bound = false;    // by the create, which is the request that was accepted
    bool moved = false;    // the cloud was seen to be at it since
    bool alone = false;    // for the next look
    bool sending = false;  // its request is under way
    bool unsure = false;   // a request had no answer, and may have been accepted
    int looks = 0;         // since the last request
  };
  struct ByEni {
    bool operator()(const Entry* a, const Entry* b) const { return a->eni < b->eni; }
  };
  struct Node {
    std::set<const Entry*, ByEni> tasks;
    Gate attaches;  // those that were sent, or will be after the next look
  };

  Entry* FindEntry(const TaskId& id);
  const Entry* FindEntry(const TaskId& id) const;
  void Touch(const std::string& eni);
  void SetState(Entry& entry, State state);
  void SetError(Entry& entry, const Error& error);
  void Schedule(Entry& entry, async::TimePoint at);
  // Looks again after the pause that the number of looks says, and no sooner than `least` from now.
  void Poll(Entry& entry, async::TimePoint now, async::Duration least = {});
  // An attach that another process asked for, perhaps the leader before this one, has a deadline
  // and a place at the node, too.
  void FollowOthers(Entry& entry, Sight sight, async::TimePoint now);
  bool IsOver(const Entry& entry, Sight sight, async::TimePoint now) const;
  // Whether the request may be sent now: else the task waits in line, or has ended.
  bool Ask(Entry& entry, async::TimePoint now);
  void Accepted(Entry& entry, async::TimePoint now);
  void Refused(Entry& entry, const Error& error, async::TimePoint now);
  Gate& RequestsLike(const Entry& entry);
  // Has the task that takes the place looked at: its last look may be long ago.
  void Leave(Gate& gate, std::uint64_t generation, async::TimePoint now);
  void LeaveGates(const Entry& entry, async::TimePoint now);
  void Complete(Entry& entry, const cloud::Eni* eni, async::TimePoint now);
  void End(Entry& entry, State state, std::string_view reason, std::string error,
           async::TimePoint now);
  void Forget(const std::string& eni, async::TimePoint now);

  const Options options_;
  std::map<std::string, Entry> tasks_;
  std::map<std::string, Node> nodes_;
  std::map<std::uint64_t, Entry*> running_;                   // not ended, by generation
  std::set<std::pair<async::TimePoint, std::uint64_t>> due_;  // waiting for a look, by generation
  std::vector<Gate> requests_;                                // by backend and operation
  std::array<std::size_t, kStates> counts_{};
  EndedTasks shown_;
  std::deque<std::string> withdrawn_;
  std::unordered_map<std::string, std::uint64_t> published_;  // generations; TakeChanges told of
  std::unordered_set<std::string> changed_;  // of those and of tasks that there are
  std::uint64_t last_generation_ = 0;
};

}  // namespace berth::eni
