#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "cloud/eni.h"
#include "http/error.h"
#include "reconcile/eni/task.h"

namespace berth::eni {

struct TaskRequest {
  std::string eni;
  Operation operation = Operation::kAttach;
  std::string node;
  std::string instance;
  std::string trunk;  // the trunk ENI that a member goes to; empty for none
  Backend backend = Backend::kEcs;
  async::TimePoint born{};  // when the ENI was made, or earlier
  // What it was made with, for who counts addresses that are on their way.
  int ipv4_addresses = 0;
  int ipv6_addresses = 0;
  int ipv4_prefixes = 0;
  int ipv6_prefixes = 0;
};

// A task's name: a later task of the same ENI has another generation.
struct TaskId {
  std::string eni;
  std::uint64_t generation = 0;
  friend bool operator==(const TaskId&, const TaskId&) = default;
};

struct Task : TaskRequest {
  std::uint64_t generation = 0;
  State state = State::kPending;
  std::string cloud_status;  // as last seen; empty before the first look, or when it is not listed
  int attempt = 0;           // requests that the cloud accepted
  async::TimePoint created_at{};
  std::optional<async::TimePoint> started_at;  // the first accepted request
  std::optional<async::TimePoint> completed_at;
  async::TimePoint next_look_at{};
  std::optional<async::TimePoint> deadline;
  std::optional<cloud::Eni> result;  // of a task that completed, unless the ENI is gone
  std::string error;                 // the last one; empty once it is over

  bool ended() const { return state != State::kPending && state != State::kRunning; }
};

// The attaches, detaches and deletions of ENIs that are under way, one an ENI. Plain: whoever has
// it looks, sends requests and tells it what came of them. Every request follows a look that was
// made for it. An answer about a task of another generation counts for nothing, so a task that was
// cancelled has no more effect.
class TaskQueue {
 public:
  static constexpr std::size_t kMostLooks = 100;  // ENIs of one look

  struct Options {
    std::function<double()> random;                         // in [0, 1)
    std::function<void(const std::string& node)> on_ended;  // a task of it has ended
    std::size_t attaches_of_node = 5;  // that the cloud has accepted and not ended
    std::size_t eflo_attaches_of_node = 2;
  };

  explicit TaskQueue(Options options) : options_(std::move(options)) {}

  // The generation of the new task; of the present one if that has not ended. O(log n).
  std::uint64_t Submit(TaskRequest request, async::TimePoint now);
  // Forgets tasks, without a state: nobody is told of their end. O(log n) each.
  void Cancel(const std::string& eni);
  void CancelNode(const std::string& node);
  // Forgets an ended task, once its end is written down.
  void Remove(const TaskId& id);

  const Task* Find(const std::string& eni) const;  // O(log n)
  std::vector<const Task*> OfNode(const std::string& node) const;
  std::size_t size() const { return tasks_.size(); }
  void ForEach(const std::function<void(const Task&)>& visit) const;  // by ENI

  // ENIs of one backend that are to be looked at in one call.
  struct Look {
    Backend backend = Backend::kEcs;
    bool alone = false;  // a single one, which the last look did not list
    std::vector<TaskId> tasks;
  };
  std::optional<async::TimePoint> next_look() const;
  // All that are due. Each is answered by Seen or NotSeen. O(k log n) for k of them.
  std::vector<Look> TakeLooks(async::TimePoint now);
  // Whether the task's request is to be sent now; Answered follows. `eni` is none if it was not
  // listed. O(log n).
  bool Seen(const TaskId& id, const cloud::Eni* eni, async::TimePoint now);
  void NotSeen(const TaskId& id, const Error& error, async::TimePoint now);
  void Answered(const TaskId& id, const Result<void>& answer, async::TimePoint now);
  // Whether its request is still wanted: asked when its turn has come.
  bool IsWanted(const TaskId& id) const;

 private:
  struct Entry : Task {
    std::optional<async::TimePoint> asked_at;  // when the last request was accepted
    bool moved = false;                        // the cloud was seen to be at it since
    bool alone = false;
    int looks = 0;  // since the last request
  };
  // The attaches of a node.
  struct Node {
    std::set<std::string> enis;    // of all its tasks
    std::set<std::string> busy;    // whose attach was sent, or will be after the next look
    std::deque<std::string> line;  // that wait for one of them to end
  };

  Entry* FindEntry(const TaskId& id);
  const Entry* FindEntry(const TaskId& id) const;
  void Schedule(Entry& entry, async::TimePoint at);
  void Poll(Entry& entry, async::TimePoint now);
  bool IsOver(const Entry& entry, Sight sight, async::TimePoint now) const;
  bool Ask(Entry& entry, async::TimePoint now);
  bool EnterNode(Entry& entry);
  void LeaveNode(const Entry& entry);
  void End(Entry& entry, State state, std::string error, async::TimePoint now);
  void Forget(const std::string& eni);

  const Options options_;
  std::map<std::string, Entry> tasks_;
  std::map<std::string, Node> nodes_;
  std::set<std::pair<async::TimePoint, std::string>> due_;  // the tasks that wait for a look
  std::uint64_t last_generation_ = 0;
};

}  // namespace berth::eni
