#include <gmock/gmock.h>

#include <array>
#include <map>
#include <random>
#include <set>

#include "log/format.h"
#include "reconcile/eni/task_queue.h"

// The queue on a naive cloud that is slow, refuses, gives attaches up and shows new ENIs late.
namespace berth::eni {
namespace {

using namespace std::chrono_literals;
using Seconds = std::chrono::seconds;

constexpr std::size_t kRequestsAtOnce = 3;

class Model {
 public:
  explicit Model(std::uint64_t seed) : dice_(seed) {}

  void Run() {
    for (int turn = 0; turn < 3000 && (turn < 300 || queue_.size() > 0); ++turn) {
      calm_ = turn >= 300;
      if (!calm_) Act();
      Settle();
      for (const auto& look : queue_.TakeLooks(now_, 1 + Below(3))) Answer(look);
      CarryOut();
      Check();
      now_ += 1s;
    }
    EXPECT_EQ(queue_.size(), 0u) << "a task never ends";
    EXPECT_THAT(queue_.counts(), testing::Each(0u));
    queue_.Expire(now_ + TaskQueue::kShown);
    for (const TaskChange& change : queue_.TakeChanges()) Publish(change);
    EXPECT_THAT(published_, testing::IsEmpty());
  }

 private:
  struct Thing {
    std::string status = "Available";
    std::string instance;
    async::TimePoint born{};
    async::TimePoint moves_at{};
  };

  bool Chance(double part) { return std::uniform_real_distribution<>(0, 1)(dice_) < part; }
  int Below(int n) { return std::uniform_int_distribution<>(0, n - 1)(dice_); }

  void Act() {
    const std::string eni = Format("eni-{}", Below(30));
    const std::string node = Format("n{}", Below(2));
    if (Chance(0.1)) return queue_.Cancel(eni, now_);
    if (Chance(0.02)) return queue_.CancelNode(node, now_);
    if (Chance(0.3)) {
      if (!things_.contains(eni)) things_[eni] = {.born = now_};
      return;
    }
    const auto operation = static_cast<Operation>(Below(3));
    const auto thing = things_.find(eni);
    queue_.Submit({.eni = eni,
                   .operation = operation,
                   .node = node,
                   .instance = "i-" + node,
                   .born = thing == things_.end() ? async::TimePoint() : thing->second.born},
                  now_);
  }

  void Settle() {
    std::erase_if(things_, [this](const auto& item) {
      return item.second.status == "Deleting" && item.second.moves_at <= now_;
    });
    for (auto& [id, thing] : things_) {
      if (thing.moves_at > now_) continue;
      if (thing.status == "Attaching") {
        thing.status = !calm_ && Chance(0.2) ? "Available" : "InUse";
        if (thing.status == "Available") thing.instance.clear();
      } else if (thing.status == "Detaching") {
        thing.status = "Available";
        thing.instance.clear();
      }
    }
  }

  void Answer(const TaskQueue::Look& look) {
    EXPECT_LE(look.tasks.size(), look.alone ? 1 : TaskQueue::kMostLooks);
    const bool fails = !calm_ && Chance(0.1);
    for (const TaskId& id : look.tasks) {
      if (fails) {
        queue_.NotSeen(id, {.error_class = ErrorClass::kRetry, .message = "lost"}, now_);
        continue;
      }
      const auto thing = things_.find(id.eni);
      const bool listed =
          thing != things_.end() && (look.alone || now_ - thing->second.born > 20s || Chance(0.5));
      cloud::Eni eni;
      if (listed) {
        eni.id = id.eni;
        eni.status = thing->second.status;
        eni.instance_id = thing->second.status == "Available" ? "" : thing->second.instance;
        looked_.insert(id.eni);
      }
      if (queue_.Seen(id, listed ? &eni : nullptr, now_)) {
        ASSERT_TRUE(queue_.IsWanted(id));
        sent_.push_back({id, queue_.Find(id.eni)->operation, now_ + Seconds(Below(4))});
      }
    }
  }

  // Requests arrive in any order, also those of tasks that are gone.
  void CarryOut() {
    std::map<Operation, std::size_t> under_way;
    for (const Sent& sent : sent_) ++under_way[sent.operation];
    for (const auto& [operation, count] : under_way) EXPECT_LE(count, kRequestsAtOnce);
    for (auto sent = sent_.begin(); sent != sent_.end();) {
      if (sent->arrives > now_) {
        ++sent;
        continue;
      }
      const TaskId id = sent->id;
      sent = sent_.erase(sent);
      if (queue_.IsWanted(id)) {
        Request(id);
      } else {
        queue_.Answered(id, std::unexpected(Error{.error_class = ErrorClass::kConflict}), now_);
      }
    }
  }

  void Publish(const TaskChange& change) {
    if (change.task) {
      published_[change.eni] = {change.task->state, change.task->attempt};
    } else {
      EXPECT_EQ(published_.erase(change.eni), 1u) << change.eni << " was never told of";
    }
  }

  void Request(const TaskId& id) {
    const Task task = *queue_.Find(id.eni);
    const auto refuse = [&](ErrorClass error_class) {
      queue_.Answered(id, std::unexpected(Error{.error_class = error_class, .message = "no"}),
                      now_);
    };
    if (!calm_ && Chance(0.2))
      return refuse(Chance(0.5) ? ErrorClass::kThrottled : ErrorClass::kRetry);
    const auto found = things_.find(id.eni);
    if (found == things_.end()) return refuse(ErrorClass::kNotFound);
    Thing& thing = found->second;
    EXPECT_EQ(looked_.erase(id.eni), 1u) << "a request without a look";
    thing.moves_at = now_ + Seconds(1 + Below(8));
    switch (task.operation) {
      case Operation::kAttach:
        if (thing.status != "Available") return refuse(ErrorClass::kConflict);
        thing.status = "Attaching";
        thing.instance = task.instance;
        break;
      case Operation::kDetach:
        if (thing.status != "InUse") return refuse(ErrorClass::kConflict);
        thing.status = "Detaching";
        break;
      case Operation::kDelete:
        if (thing.status != "Available") return refuse(ErrorClass::kConflict);
        thing.status = "Deleting";
        break;
    }
    if (!calm_ && Chance(0.1)) return refuse(ErrorClass::kAmbiguous);
    queue_.Answered(id, {}, now_);
  }

  // Ended tasks are what the cloud shows; nodes have few attaches under way.
  void Check() {
    if (Chance(0.5)) {
      for (const TaskChange& change : queue_.TakeChanges()) Publish(change);
      queue_.ForEach([&](const Task& task) {
        EXPECT_EQ(published_[task.eni], std::pair(task.state, task.attempt)) << task.eni;
      });
    }
    std::vector<TaskId> ended;
    std::array<std::size_t, kStates> counts{};
    std::map<std::string, int> running;
    queue_.ForEach([&](const Task& task) {
      ++counts[static_cast<std::size_t>(task.state)];
      if (task.ended()) ended.push_back({task.eni, task.generation});
      if (task.attempt > 0 && !task.ended() && task.operation == Operation::kAttach)
        ++running[task.node];
      EXPECT_EQ(task.ended(), task.completed_at.has_value());
      if (task.state != State::kCompleted || task.completed_at != now_) return;
      const auto thing = things_.find(task.eni);
      if (task.operation == Operation::kAttach) {
        EXPECT_TRUE(thing != things_.end() && thing->second.instance == task.instance);
      } else if (task.operation == Operation::kDelete) {
        EXPECT_TRUE(thing == things_.end());
      }
    });
    EXPECT_EQ(queue_.counts(), counts);
    for (const auto& [node, count] : running) EXPECT_LE(count, 5) << node;
    for (const TaskId& id : ended) queue_.Noted(id, now_);
  }

  struct Sent {
    TaskId id;
    Operation operation;
    async::TimePoint arrives;
  };

  std::mt19937_64 dice_;
  async::TimePoint now_{1000s};
  bool calm_ = false;
  std::map<std::string, Thing> things_;
  std::set<std::string> looked_;  // since the last request
  std::vector<Sent> sent_;
  std::map<std::string, std::pair<State, int>> published_;
  TaskQueue queue_{{.random = [this] { return std::uniform_real_distribution<>(0, 1)(dice_); },
                    .on_ended = [](const Task&) {},
                    .requests_at_once = kRequestsAtOnce}};
};

TEST(TaskQueueModel, EveryTaskEndsAndItsEndIsTrue) {
  for (std::uint64_t seed = 1; seed <= 100 && !testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE(Format("seed {}", seed));
    Model(seed).Run();
  }
}

}  // namespace
}  // namespace berth::eni
