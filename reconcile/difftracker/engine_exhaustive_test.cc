#include <gmock/gmock.h>

#include <cstdio>
#include <deque>
#include <memory>
#include <set>
#include <unordered_set>

#include "log/format.h"
#include "reconcile/difftracker/engine.h"
#include "reconcile/difftracker/gateway_model_test.h"

// Every order of objects, answers, failures, unknown outcomes and crashes that one egress with two
// pods can meet, to a depth: states that were seen are not followed twice. A state is what the
// engine says of itself, what the gateway has and what is under way.
namespace berth::difftracker {
namespace {

using namespace std::chrono_literals;

constexpr int kDepth = 13;

const std::vector<Placement> kPods[] = {{{"10.0.0.1", "10.1.0.1"}}, {{"10.0.0.1", "10.1.0.2"}}};

enum class Action : std::uint8_t {
  kPod1,
  kPod1Gone,
  kPod2,
  kPod2Gone,
  kTakeOperation,
  kTakeWork,
  kOperationOk,
  kOperationHalf,       // its first step is done
  kOperationNothing,    // refused, nothing is done
  kOperationAmbiguous,  // done, and nobody knows
  kWorkOk,
  kWorkFails,
  kWorkLost,       // outcome not known, not applied
  kWorkAmbiguous,  // outcome not known, applied
  kWorkRefused,
  kTime,
  kCrash,
};
constexpr int kActions = 17;

class World {
 public:
  World() { Start(); }

  bool Do(Action action) {
    switch (action) {
      case Action::kPod1:
        return SetPod(0);
      case Action::kPod1Gone:
        return RemovePod(0);
      case Action::kPod2:
        return SetPod(1);
      case Action::kPod2Gone:
        return RemovePod(1);
      case Action::kTakeOperation: {
        auto operations = engine_->TakeOperations(now_);
        if (operations.empty()) return false;
        if (operation_ || operations.size() > 1) Fail("two operations of one service");
        operation_ = operations[0];
        return true;
      }
      case Action::kTakeWork: {
        auto work = engine_->TakeLocationWork(now_);
        if (!work) return false;
        if (work_) Fail("two requests at once");
        work_ = std::move(work);
        return true;
      }
      case Action::kOperationOk:
        return End(2, true);
      case Action::kOperationHalf:
        return End(1, true);
      case Action::kOperationNothing:
        return End(0, true);
      case Action::kOperationAmbiguous:
        return End(2, false);
      case Action::kWorkOk:
        return Answer(true, {});
      case Action::kWorkFails:
        return Answer(false, Failure(ErrorClass::kRetry));
      case Action::kWorkLost:
        return work_ && !work_->read && Answer(false, Failure(ErrorClass::kAmbiguous));
      case Action::kWorkAmbiguous:
        return work_ && !work_->read && Answer(true, Failure(ErrorClass::kAmbiguous));
      case Action::kWorkRefused:
        return work_ && !work_->read && Answer(false, Failure(ErrorClass::kTerminal, "Bad", 400));
      case Action::kTime: {
        const auto wake = engine_->next_wake(now_);
        if (!wake || *wake <= now_ || *wake > now_ + 6min) return false;
        now_ = *wake;
        return true;
      }
      case Action::kCrash:
        Start();
        return true;
    }
    return false;
  }

  void Check() {
    for (const std::string& violation : gateway_.violations) Fail(violation);
    for (const std::string& pod : engine_->TakeDrainedPods()) {
      const int i = pod == "p0" ? 0 : 1;
      if (live_[i]) Fail("a live pod was let go");
      if (dead_[i] && Shows(i)) Fail("a pod was let go that the cloud shows");
      if (dead_[i] && !live_[1 - i] && !dead_[1 - i] && gateway_.resources.contains(kEgress)) {
        Fail("the last pod was let go before its egress was deleted");
      }
      dead_[i] = false;
    }
    const auto view = engine_->Find(kEgress);
    const std::size_t live = (live_[0] ? 1 : 0) + (live_[1] ? 1 : 0);
    if (live > 0 && (!view || !view->wanted || view->pods != live)) Fail("the count of pods");
    if (live == 0 && view && view->wanted) Fail("an egress without pods is wanted");
    if (!view && !gateway_.resources.empty()) Fail("forgotten, and the cloud has something");
    if (!view && (dead_[0] || dead_[1])) Fail("a finalizer is stuck");
  }

  // Without faults from here, all ends as desired.
  void Converge() {
    for (const auto end = now_ + 30min; now_ < end;) {
      bool busy = true;
      while (busy) {
        busy = Do(Action::kTakeOperation);
        busy |= Do(Action::kTakeWork);
        busy |= Do(Action::kOperationOk);
        busy |= Do(Action::kWorkOk);
        Check();
      }
      now_ = std::max(*engine_->next_wake(now_), now_ + 1ms);
    }
    std::map<std::string, GatewayModel::Addresses> expected;
    for (int i : {0, 1}) {
      if (live_[i]) expected[kPods[i][0].node_ip][kPods[i][0].address] = {kEgress};
    }
    const bool wanted = live_[0] || live_[1];
    if (gateway_.locations != expected) Fail("locations at the end");
    if (gateway_.resources.contains(kEgress) != wanted) Fail("resources at the end");
    if (gateway_.registered.contains(kEgress) != wanted) Fail("registration at the end");
    if (dead_[0] || dead_[1]) Fail("a finalizer at the end");
  }

  std::string Signature() const {
    std::string text = Format("{}{}{}{}", live_[0], live_[1], dead_[0], dead_[1]);
    text += engine_->Dump(now_);
    for (const auto& [node, addresses] : gateway_.locations) {
      text += node;
      for (const auto& [address, services] : addresses)
        text += Format(" {} {}", address, services.size());
    }
    text += Format("|{} {}|", gateway_.resources.size(), gateway_.registered.size());
    if (operation_) text += ToString(operation_->kind);
    if (work_) {
      text += work_->read ? "read" : "sync";
      for (const auto& update : work_->updates) {
        text += Format(" {} {}", update.full, update.location.node_ip);
        for (const auto& [address, services] : update.location.addresses) {
          text += Format(" {} {}", address, services.size());
        }
      }
    }
    return text;
  }
  const std::string& failure() const { return failure_; }

 private:
  static constexpr const char* kEgress = "egress";

  void Fail(const std::string& what) {
    if (failure_.empty()) failure_ = what;
  }
  bool Shows(int i) const {
    const auto location = gateway_.locations.find(kPods[i][0].node_ip);
    return location != gateway_.locations.end() && location->second.contains(kPods[i][0].address);
  }
  bool SetPod(int i) {
    if (live_[i] || dead_[i]) return false;
    live_[i] = true;
    return engine_->SetPod(Format("p{}", i), kEgress, kPods[i], now_);
  }
  bool RemovePod(int i) {
    if (!live_[i]) return false;
    live_[i] = false;
    dead_[i] = true;
    engine_->RemovePod(Format("p{}", i), now_);
    return true;
  }
  bool End(int steps, bool known) {
    if (!operation_) return false;
    const Operation operation = *std::exchange(operation_, std::nullopt);
    Result<void> result = gateway_.Run(operation, steps);
    if (!known) result = Failure(ErrorClass::kAmbiguous);
    engine_->Completed(operation.id, result, now_);
    return true;
  }
  bool Answer(bool applied, const Result<void>& result) {
    if (!work_) return false;
    const LocationWork work = *std::exchange(work_, std::nullopt);
    if (work.read) {
      if (result) {
        engine_->Read(work.generation, gateway_.Read(), now_);
      } else {
        engine_->Read(work.generation, std::unexpected(result.error()), now_);
      }
      return true;
    }
    if (applied && !gateway_.Update(work.updates)) Fail("a request that was refused");
    engine_->Synced(work.generation, result, now_);
    return true;
  }
  void Start() {
    operation_.reset();
    work_.reset();
    engine_ = std::make_unique<Engine>(Engine::Options{.random = [] { return 0.0; }});
    for (int i : {0, 1}) {
      const std::string pod = Format("p{}", i);
      if (live_[i]) engine_->SetPod(pod, kEgress, kPods[i], now_);
      if (dead_[i]) engine_->DrainPod(pod, kEgress, kPods[i], now_);
    }
    engine_->Start(gateway_.List(), gateway_.Read(), now_);
  }

  async::TimePoint now_{1h};
  GatewayModel gateway_;
  std::unique_ptr<Engine> engine_;
  std::optional<Operation> operation_;
  std::optional<LocationWork> work_;
  bool live_[2] = {false, false};
  bool dead_[2] = {false, false};
  std::string failure_;
};

std::string PathOf(const std::vector<Action>& path) {
  std::string text;
  for (const Action action : path) text += Format(" {}", static_cast<int>(action));
  return text;
}

TEST(EngineExhaustiveTest, OneEgressWithTwoPodsKeepsItsInvariantsWhateverHappens) {
  std::unordered_set<std::string> seen;
  std::deque<std::vector<Action>> todo = {{}};
  std::size_t transitions = 0;
  while (!todo.empty()) {
    const std::vector<Action> path = std::move(todo.front());
    todo.pop_front();
    for (int i = 0; i < kActions; ++i) {
      World world;
      for (const Action action : path) {
        world.Do(action);
        world.Check();
      }
      if (!world.Do(static_cast<Action>(i))) continue;
      world.Check();
      ++transitions;
      std::vector<Action> next = path;
      next.push_back(static_cast<Action>(i));
      ASSERT_EQ(world.failure(), "") << PathOf(next);
      if (!seen.insert(world.Signature()).second) continue;
      if (next.size() < kDepth) todo.push_back(next);
      world.Converge();
      ASSERT_EQ(world.failure(), "") << PathOf(next);
    }
  }
  std::printf("%zu states, %zu transitions, depth %d\n", seen.size(), transitions, kDepth);
}

}  // namespace
}  // namespace berth::difftracker
