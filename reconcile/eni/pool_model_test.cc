// Random nodes, pods, clouds and people against the pool's rules: what must never happen, and that
// the pool comes to rest once the world does.
#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "reconcile/eni/pool_model_pods_test.h"
#include "reconcile/eni/pool_survey.h"
#include "reconcile/eni/vswitch_choice.h"

namespace berth::eni {
namespace {

using namespace pool_test;

class World {
 public:
  explicit World(unsigned seed)
      : dice_(seed),
        backend_(dice_.Chance(0.2) ? Backend::kEflo : Backend::kEcs),
        cloud_(dice_, backend_),

        pods_(dice_, dice_.Chance(0.7)) {
    node_ = SampleNode();
    node_.status = {};
    // The mode of a Node does not change.
    node_.backend = backend_;
    node_.spec.prefixes = dice_.Chance(0.25);
    node_.spec.vswitches = {"vsw-far", "vsw-a", "vsw-b"};
    cloud_.AddVSwitch("vsw-far", "zone-b", 500);
    for (const char* id : {"vsw-a", "vsw-b"})
      cloud_.AddVSwitch(id, "zone-a", dice_.Chance(0.3) ? dice_.Below(10) : 500);
    ChangeSpec();
  }

  void Run() {
    for (int i = 0; i < 150 && !testing::Test::HasFailure(); ++i) Step();
    calm_ = true;
    cloud_.EndDetaching();
    if (!testing::Test::HasFailure()) ComeToRest();
  }

 private:
  struct Work {
    Operation operation;
    int passes = 0;  // until it ends
  };
  using Bindings = std::map<std::string, std::pair<std::string, std::string>>;

  bool Fails(double chance) { return !calm_ && dice_.Chance(chance); }

  void Step() {
    now_ += std::chrono::seconds(1 + dice_.Below(90));
    switch (dice_.Below(13)) {
      case 0:
      case 1:
      case 2:
        for (int i = dice_.Below(5); i >= 0; --i) pods_.Add();
        return;
      case 3:
      case 4:
        return pods_.Remove();
      case 5:
        return pods_.RunDaemon(node_);
      case 6:
        return dice_.Chance(0.25) ? ChangeSpec() : MarkPrefixes();
      case 7:
        if (dice_.Chance(0.3)) return cloud_.AttachForeign();
        return dice_.Chance(0.2) ? ReAddNode() : cloud_.Meddle();
      default:
        return Pass();
    }
  }

  // The user, sane or not.

  void ChangeSpec() {
    NodeSpec& spec = node_.spec;
    spec.adapters = 1 + dice_.Below(6);
    spec.ipv4_per_adapter = 1 + dice_.Below(14);
    spec.ipv6_per_adapter = dice_.Below(14);
    spec.ipv4 = dice_.Chance(0.85);
    spec.ipv6 = !spec.ipv4 || dice_.Chance(0.3);
    spec.erdma = dice_.Chance(0.3);
    spec.trunk = dice_.Chance(0.3);
    spec.ipv4_prefixes = dice_.Below(25);
    spec.ipv6_prefixes = dice_.Below(2);
    spec.min_pool = dice_.Below(8);
    spec.max_pool = dice_.Chance(0.7) ? spec.min_pool + dice_.Below(8) : dice_.Below(8);
    spec.warm_up = dice_.Chance(0.5) ? dice_.Below(15) : 0;
    spec.has_reclaim = dice_.Chance(0.5);
    spec.reclaim_after = std::chrono::seconds(dice_.Below(300));
    spec.reclaim_interval = std::chrono::seconds(dice_.Below(100));
    spec.reclaim_batch = dice_.Below(5);
    spec.vswitch_policy = std::vector<std::string>{"ordered", "random", "most"}[dice_.Below(3)];
    spec.flavors.clear();
    if (dice_.Chance(0.3)) return;
    const auto add = [&spec](std::string_view type, std::string_view mode, int count) {
      spec.flavors.push_back(
          {.type = std::string(type), .traffic_mode = std::string(mode), .count = count});
    };
    add(kTrunkType, kStandard, dice_.Below(2));
    add(kSecondaryType, kHighPerformance, dice_.Below(2));
    add(kSecondaryType, kStandard, dice_.Below(6));
  }

  void MarkPrefixes() {
    for (auto& [id, nic] : node_.status.nics) {
      for (Prefix& prefix : nic.ipv4_prefixes) {
        if (!dice_.Chance(0.2) || prefix.status == kInvalid) continue;
        prefix.status = dice_.Chance(0.5) ? kDeleting : kFrozen;
        if (prefix.status == kFrozen) prefix.frozen_until = now_ + 5min;
      }
    }
  }

  // The Node is deleted and made again; pods and ENIs are still there.
  void ReAddNode() {
    if (!node_.status.attempts.empty() || !tasks_.empty() || !pods_.ReportAll(node_)) return;
    node_.status = {};
    must_look_ = true;
  }

  // The reconciler.

  void Pass() {
    NodeStatus next = node_.status;
    if (std::exchange(must_look_, false) || calm_ || dice_.Chance(0.4)) TakeAView(next);
    const std::vector<Task> ended = EndTasks();
    for (const Task& task : ended) TakeTask(node_, next, task, pods_.View(next), now_);
    const Bound bound = BindPods(node_, next, pods_.View(next), now_);
    Shrink(node_, next, pods_.View(next), now_, dice_.Fraction());
    if (!Write(std::move(next))) {
      must_look_ = true;
      return;
    }
    for (const Task& task : ended) tasks_.erase(task.eni);
    SubmitTasks();
    RepeatAttempts();
    vswitches_.known = cloud_.vswitches;
    wanted_ = NextJob(node_, node_.status, bound, vswitches_, now_, dice_.Fraction());
    waiting_ = bound.waiting;
    if (!wanted_.job) return;
    std::visit(
        [&](const auto& job) {
          CheckJob(job, bound);
          Do(job);
        },
        *wanted_.job);
  }

  void TakeAView(NodeStatus& status) {
    snapshots_.push_back(cloud_.enis);
    if (snapshots_.size() > 3) snapshots_.pop_front();
    CloudView view;
    view.vswitches = cloud_.vswitches;
    for (const auto& [id, eni] : Fails(0.3) ? snapshots_.front() : cloud_.enis) {
      if (!Fails(0.1)) view.enis.push_back(eni);
    }
    for (const auto& [id, nic] : status.nics) {
      if (!cloud_.Find(id) && !Fails(0.3)) view.gone.insert(id);
    }
    std::set<std::string> busy;
    for (const auto& [id, work] : tasks_) busy.insert(id);
    TakeView(node_, status, view, busy, pods_.View(status), now_);
  }

  std::vector<Task> EndTasks() {
    std::vector<Task> ended;
    for (auto& [id, work] : tasks_) {
      if (--work.passes > 0) continue;
      Task task;
      task.eni = id;
      task.operation = work.operation;
      const State failure = dice_.Chance(0.5) ? State::kFailed : State::kTimeout;
      task.state = Fails(0.3) ? failure : State::kCompleted;
      const bool completed = task.state == State::kCompleted;
      if (work.operation == Operation::kDelete) {
        if (completed) cloud_.Delete(id);
      } else if (completed && !cloud_.Attach(id)) {
        task.state = State::kFailed;
      } else if (!completed && dice_.Chance(0.3)) {
        cloud_.Attach(id);  // later than the task waited
      }
      const cloud::Eni* eni = cloud_.Find(id);
      if (eni) task.cloud_status = eni->status;
      if (eni && task.state == State::kCompleted) task.result = *eni;
      // A task that failed has not seen it InUse here.
      if (task.state != State::kCompleted && eni && eni->instance_id == kInstance)
        task.cloud_status = kAttaching;
      ended.push_back(std::move(task));
    }
    return ended;
  }

  void SubmitTasks() {
    std::erase_if(tasks_, [this](const auto& entry) {
      const auto nic = node_.status.nics.find(entry.first);
      const auto wanted = entry.second.operation == Operation::kDelete ? kDeleting : kAttaching;
      return nic == node_.status.nics.end() || nic->second.status != wanted;
    });
    for (const auto& [id, nic] : node_.status.nics) {
      if (nic.unschedulable || tasks_.contains(id)) continue;
      if (nic.status == kAttaching)
        tasks_[id] = {.operation = Operation::kAttach, .passes = 1 + dice_.Below(3)};
      if (nic.status == kDeleting)
        tasks_[id] = {.operation = Operation::kDelete, .passes = 1 + dice_.Below(3)};
    }
  }

  void RepeatAttempts() {
    NodeStatus next = node_.status;
    for (const auto& [token, attempt] : node_.status.attempts) {
      if (Fails(0.3)) continue;
      const cloud::Eni* eni = cloud_.Create(token, node_.id.uid, attempt.request);
      if (eni) {
        TakeCreated(node_, next, token, *eni, vswitches_);
      } else {
        vswitches_.full_until[attempt.request.vswitch_id] = now_ + 20min;
        next.attempts.erase(token);
      }
    }
    Write(std::move(next));
  }

  void Do(const job::Create& job) {
    NodeStatus next = node_.status;
    next.attempts[Format("token-{}", dice_.Next())] = {.request = job.request, .begun = now_};
    if (Write(std::move(next))) RepeatAttempts();
  }

  void Do(const job::Assign& job) {
    if (Fails(0.2)) return;
    const std::vector<std::string> assigned = cloud_.Assign(job);
    if (assigned.empty())
      vswitches_.full_until[node_.status.nics.at(job.eni).vswitch] = now_ + 20min;
    NodeStatus next = node_.status;
    TakeAssigned(node_, next, job, assigned);
    Write(std::move(next));
  }

  void Do(const job::Unassign& job) {
    if (Fails(0.2)) return;
    cloud_.Unassign(job);
    NodeStatus next = node_.status;
    TakeUnassigned(next, job, now_);
    Write(std::move(next));
  }

  // False if the write was lost.
  bool Write(NodeStatus next) {
    if (Fails(0.1)) return false;
    CheckBindings(next);
    node_.status = std::move(next);
    CheckStatus();
    return !testing::Test::HasFailure();
  }

  // Invariants: checked after every step.

  static Bindings BindingsOf(const NodeStatus& status) {
    Bindings bindings;
    for (const auto& [id, nic] : status.nics) {
      for (const auto* family : {&nic.ipv4, &nic.ipv6}) {
        for (const auto& [address, ip] : *family) {
          if (ip.pod.empty()) continue;
          EXPECT_TRUE(bindings.emplace(address, std::pair(ip.pod, ip.pod_uid)).second)
              << address << " is there twice";
        }
      }
    }
    return bindings;
  }

  void CheckBindings(const NodeStatus& next) {
    const Bindings after = BindingsOf(next);
    for (const auto& [address, pod] : BindingsOf(node_.status)) {
      if (!pods_.IsStanding(pod.first, pod.second)) continue;
      const auto found = after.find(address);
      EXPECT_TRUE(found != after.end() && found->second == pod)
          << address << " of " << pod.first << " " << pod.second << " is lost";
    }
    std::set<std::pair<std::string, bool>> bound;
    for (const auto& [address, pod] : after)
      EXPECT_TRUE(bound.emplace(pod.second, address.contains(':')).second)
          << pod.first << " has a second address";
  }

  void CheckStatus() {
    for (const auto& [id, nic] : node_.status.nics) {
      EXPECT_FALSE(nic.status == kDeleting && nic.HasPod()) << id << " is Deleting under a pod";
      if (cloud_.IsForeign(id)) {
        EXPECT_TRUE(nic.unschedulable) << id << " is another's";
        EXPECT_NE(nic.status, kDeleting) << id << " is another's";
      }
      for (const auto* family : {&nic.ipv4, &nic.ipv6}) {
        for (const auto& [address, ip] : *family) {
          if (ip.status != kDeleting) continue;
          EXPECT_TRUE(ip.pod.empty() && !pods_.IsReported(address)) << address << " is a pod's";
          EXPECT_FALSE(ip.primary) << address << " is primary";
        }
      }
    }
  }

  // Demand as the document says it, counted the long way.
  int Demand(const Bound& bound) const {
    const NodeSpec& spec = node_.spec;
    int idle = 0;
    int coming = 0;
    for (const auto& [id, nic] : node_.status.nics) {
      if (nic.unschedulable || nic.traffic_mode == kHighPerformance) continue;
      int ipv4 = 0;
      int ipv6 = 0;
      for (const auto& [address, ip] : nic.ipv4) ipv4 += ip.status == kValid && ip.pod.empty();
      for (const auto& [address, ip] : nic.ipv6) ipv6 += ip.status == kValid && ip.pod.empty();
      const int both = spec.ipv4 && spec.ipv6 ? std::min(ipv4, ipv6) : spec.ipv4 ? ipv4 : ipv6;
      if (nic.status == kInUse) idle += both;
      if (nic.status == kAttaching) coming += both;
    }
    for (const auto& [token, attempt] : node_.status.attempts) {
      if (attempt.request.traffic_mode == kHighPerformance) continue;
      const auto& request = attempt.request;
      coming += !spec.ipv6  ? request.ipv4_addresses
                : spec.ipv4 ? std::min(request.ipv4_addresses, request.ipv6_addresses)
                            : request.ipv6_addresses;
    }
    int ahead = std::max(spec.min_pool - idle, 0);
    if (!node_.status.warm_up_completed) {
      ahead = std::max(ahead, node_.status.warm_up_target - node_.status.warm_up_allocated);
    }
    return bound.waiting + ahead - coming;
  }

  void CheckJob(const job::Create& job, const Bound& bound) {
    const NodeSpec& spec = node_.spec;
    const cloud::EniRequest& request = job.request;
    int most = 0;
    for (const Flavor& flavor : spec.flavors) most += flavor.count;
    most = spec.flavors.empty() ? spec.adapters - 1 : std::min(most, spec.adapters - 1);
    int enis = static_cast<int>(node_.status.attempts.size());
    for (const auto& [id, nic] : node_.status.nics) enis += nic.status != kInvalid;
    EXPECT_LT(enis, most);
    EXPECT_EQ(cloud_.vswitches.at(request.vswitch_id).zone_id, spec.zone);
    EXPECT_GE(request.ipv4_addresses, 1);
    EXPECT_LE(request.ipv4_addresses + request.ipv4_prefixes, spec.ipv4_per_adapter);
    EXPECT_LE(request.ipv4_addresses, node_.backend == Backend::kEflo ? 1 : 50);
    EXPECT_LE(request.ipv4_prefixes, 10);
    EXPECT_LE(request.ipv6_addresses + request.ipv6_prefixes, std::min(10, spec.ipv6_per_adapter));
    if (InPrefixMode(node_)) return;
    const int demand =
        request.traffic_mode == kHighPerformance ? bound.waiting_erdma : Demand(bound);
    EXPECT_LE(std::max(request.ipv4_addresses, request.ipv6_addresses),
              request.trunk ? std::max(demand, 1) : demand);
  }

  const Nic& PoolNic(const std::string& eni) {
    const Nic& nic = node_.status.nics.at(eni);
    EXPECT_TRUE(nic.status == kInUse && !nic.unschedulable) << eni;
    return nic;
  }

  void CheckJob(const job::Assign& job, const Bound& bound) {
    const Nic& nic = PoolNic(job.eni);
    int kinds = 0;
    for (const int count : {job.ipv4, job.ipv4_prefixes, job.ipv6, job.ipv6_prefixes}) {
      EXPECT_LE(count, node_.backend == Backend::kEflo ? 1 : 10);
      kinds += count > 0;
    }
    EXPECT_EQ(kinds, 1);
    const NicStock stock = NicStock::Of(nic);
    if (job.ipv4 + job.ipv4_prefixes > 0) {
      EXPECT_LE(stock.ipv4.held + job.ipv4 + job.ipv4_prefixes, node_.spec.ipv4_per_adapter);
    } else {
      EXPECT_LE(stock.ipv6.held + job.ipv6 + job.ipv6_prefixes, node_.spec.ipv6_per_adapter);
    }
    EXPECT_LE(std::max(job.ipv4, job.ipv6),
              IsErdma(nic) ? bound.waiting_erdma : std::max(Demand(bound), 0));
  }

  void CheckJob(const job::Unassign& job, const Bound&) {
    const Nic& nic = PoolNic(job.eni);
    int kinds = 0;
    for (const auto* values : {&job.ipv4, &job.ipv4_prefixes, &job.ipv6, &job.ipv6_prefixes}) {
      EXPECT_LE(values->size(), node_.backend == Backend::kEflo ? 1 : 10);
      kinds += !values->empty();
    }
    EXPECT_EQ(kinds, 1);
    for (const std::string& address : job.ipv4)
      EXPECT_TRUE(nic.ipv4.at(address).pod.empty() && !nic.ipv4.at(address).primary) << address;
    for (const std::string& address : job.ipv6)
      EXPECT_TRUE(nic.ipv6.at(address).pod.empty()) << address;
    for (const std::string& prefix : job.ipv4_prefixes)
      EXPECT_FALSE(pods_.HasAnyIn(prefix)) << prefix << " has a pod";
  }

  // The end.

  void ComeToRest() {
    int quiet = 0;
    int turns = 0;  // from growing to shrinking and back
    std::optional<bool> grows;
    for (int pass = 0; quiet < 30 && pass < 600 && !testing::Test::HasFailure(); ++pass) {
      now_ += 25s;
      pods_.RunDaemon(node_);
      const auto before = node_.status.nics;
      Pass();
      const bool rests = !wanted_.job && tasks_.empty() && node_.status.attempts.empty() &&
                         node_.status.nics == before && !node_.status.next_reclaim;
      quiet = rests ? quiet + 1 : 0;
      if (!wanted_.job) continue;
      const bool growing = !std::holds_alternative<job::Unassign>(*wanted_.job);
      turns += grows && *grows != growing;
      grows = growing;
    }
    EXPECT_EQ(quiet, 30) << "no rest";
    EXPECT_LE(turns, 8) << "it grows and shrinks by turns";
    if (!testing::Test::HasFailure() && !InPrefixMode(node_)) CheckRest();
  }

  void CheckRest() {
    const NodeSpec& spec = node_.spec;
    EXPECT_TRUE(waiting_ == 0 || !wanted_.insufficient.empty()) << waiting_ << " wait for nothing";
    std::vector<const Nic*> nics = PoolNics(std::as_const(node_.status));
    std::erase_if(nics, [](const Nic* nic) { return IsErdma(*nic); });
    int idle = 0;
    for (const Nic* nic : nics) idle += NicStock::Of(*nic).Idle(spec);
    if (idle < spec.min_pool) CheckNoRoom(nics);
    const int excess = idle - std::max(spec.max_pool, spec.min_pool);
    if (excess > 0 && node_.status.warm_up_completed) CheckNothingToRelease(nics, excess);
  }

  void CheckNoRoom(const std::vector<const Nic*>& nics) {
    for (const Nic* nic : nics) {
      EXPECT_TRUE(NicStock::Of(*nic).Room(node_.spec) == 0 ||
                  FreeAddressesOf(vswitches_, nic->vswitch, now_) == 0)
          << nic->id << " has room";
    }
    const PoolSurvey survey = PoolSurvey::Of(node_, node_.status);
    EXPECT_TRUE(survey.trunks + survey.secondaries == 0 || NicStock{}.Room(node_.spec) == 0 ||
                !ChooseVSwitch(node_.spec, vswitches_, now_, 0).vswitch)
        << "an ENI could be made";
  }

  void CheckNothingToRelease(const std::vector<const Nic*>& nics, int excess) {
    for (const Nic* nic : nics) {
      const int idle = NicStock::Of(*nic).Idle(node_.spec);
      if (idle == 0) continue;
      const bool unused =
          nic->type == kSecondaryType && !nic->HasPod() && nic->ipv4_prefixes.empty();
      EXPECT_FALSE(unused && idle <= excess) << nic->id << " is unused";
      EXPECT_FALSE(node_.spec.ipv6) << "pairs can always be released";
      for (const auto& [address, ip] : nic->ipv4)
        EXPECT_TRUE(ip.primary || !ip.pod.empty() || ip.status != kValid) << address;
    }
  }

  Dice dice_;
  const Backend backend_;
  ModelCloud cloud_;
  ModelPods pods_;
  async::WallTime now_ = kNow;
  Node node_;  // its status as it was written last
  bool calm_ = false;
  bool must_look_ = true;                                    // before the next job
  std::deque<std::map<std::string, cloud::Eni>> snapshots_;  // that late views show
  VSwitches vswitches_;
  std::map<std::string, Work> tasks_;  // by ENI
  Wanted wanted_;
  int waiting_ = 0;
};

TEST(PoolModel, PodsKeepTheirAddressesAndThePoolComesToRest) {
  for (unsigned seed = 1; seed <= 300 && !testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE(Format("seed {}", seed));
    World(seed).Run();
  }
}

}  // namespace
}  // namespace berth::eni
