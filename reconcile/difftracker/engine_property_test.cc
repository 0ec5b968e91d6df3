#include <gmock/gmock.h>
#include <rapidcheck.h>

#include <map>
#include <set>

#include "log/format.h"
#include "reconcile/difftracker/engine.h"
#include "reconcile/difftracker/gateway_model_test.h"

// Random objects, answers, drift and crashes against a model that computes everything from scratch.
namespace berth::difftracker {
namespace {

using namespace std::chrono_literals;

struct ModelPod {
  std::string egress;
  std::vector<Placement> placements;
};

class World {
 public:
  World() { Restart(); }

  // One thing happens.
  void Act() {
    switch (Below(14)) {
      case 0:
      case 1:
        return SetService(Format("a{}", Below(4)), static_cast<std::uint64_t>(Below(3)));
      case 2:
        return RemoveService(Format("a{}", Below(4)));
      case 3:
      case 4:
        return SetSlice();
      case 5:
        return RemoveSlice(Format("s{}", Below(5)));
      case 6:
      case 7:
        return SetPod(Format("p{}", Below(6)));
      case 8:
        return RemovePod(Format("p{}", Below(6)));
      case 9:
        Take();
        return;
      case 10:
        return Answer(/*faults=*/true);
      case 11:
        now_ += std::chrono::seconds(Below(40));
        return;
      case 12:
        if (Below(4) == 0) Drift();
        return;
      default:
        if (Below(6) == 0) Restart();
        Answer(/*faults=*/true);
    }
  }

  void Settle() {
    gateway_.refused.clear();
    for (const auto end = now_ + 1h; now_ < end;) {
      Take();
      while (!operations_.empty() || work_) Answer(/*faults=*/false);
      Check();
      const auto wake = engine_->next_wake(now_);
      RC_ASSERT(wake.has_value());
      now_ = std::max(now_ + 1ms, *wake);
    }
    engine_->Observe(engine_->ObservationStamp(), gateway_.List(), now_);
    RC_ASSERT(engine_->TakeOperations(now_).empty());
    RC_ASSERT(gateway_.locations == ExpectedLocations());
    RC_ASSERT(gateway_.resources == Wanted());
    RC_ASSERT(gateway_.registered == Wanted());
    for (const std::string& pod : finalizers_) RC_ASSERT(pods_.contains(pod));
    RC_ASSERT(engine_->totals().pending == 0u);
  }

  void Check() {
    RC_ASSERT(gateway_.violations == std::vector<std::string>());
    for (const std::string& pod : engine_->TakeDrainedPods()) {
      RC_ASSERT(!pods_.contains(pod));
      RC_ASSERT(!engine_->HoldsPod(pod));
      Release(pod);
    }
    std::map<std::string, std::set<Placement>> desired = Desired();
    std::map<std::string, std::size_t> live;
    for (const auto& [uid, pod] : pods_) ++live[pod.egress];
    std::size_t tracked = 0;
    engine_->ForEachService([&](const ServiceView& view) {
      ++tracked;
      RC_ASSERT(view.desired == desired[view.name].size());
      RC_ASSERT(view.pods == live[view.name]);
      RC_ASSERT(view.wanted == Wanted().contains(view.name));
      RC_ASSERT(view.synced <= view.desired);
    });
    for (const std::string& name : Wanted()) RC_ASSERT(engine_->Tracks(name));
    std::set<std::string> busy;
    for (const Operation& operation : operations_) {
      RC_ASSERT(busy.insert(operation.id.service).second);
    }
    RC_ASSERT(operations_.size() <= 2u);
    RC_ASSERT(engine_->totals().running == operations_.size());
    RC_ASSERT(tracked <= Wanted().size() + gateway_.resources.size() + operations_.size() + 4);
    Publish();
  }

 private:
  int Below(int n) { return *rc::gen::resize(100, rc::gen::inRange(0, n)); }
  Placement APlacement() {
    const int node = Below(3);
    return {Format("10.0.0.{}", node), Format("10.1.{}.{}", node, Below(3))};
  }

  void SetService(const std::string& uid, std::uint64_t fingerprint) {
    services_[uid] = fingerprint;
    RC_LOG() << "service " << uid << "\n";
    engine_->SetService(uid, "default/" + uid, fingerprint, now_);
  }
  void RemoveService(const std::string& uid) {
    services_.erase(uid);
    RC_LOG() << "no service " << uid << "\n";
    engine_->RemoveService(uid, now_);
  }
  void SetSlice() {
    const std::string slice = Format("s{}", Below(5));
    const std::string service =
        slices_.contains(slice) ? slices_[slice].first : Format("a{}", Below(4));
    std::vector<Placement> endpoints;
    for (int i = Below(4); i > 0; --i) endpoints.push_back(APlacement());
    slices_[slice] = {service, endpoints};
    engine_->SetSlice(slice, service, endpoints, now_);
  }
  void RemoveSlice(const std::string& slice) {
    slices_.erase(slice);
    engine_->RemoveSlice(slice, now_);
  }
  void SetPod(const std::string& uid) {
    if (finalizers_.contains(uid) && !pods_.contains(uid)) return;  // a dead pod stays dead
    ModelPod pod{Format("egress{}", Below(2)), {APlacement()}};
    if (Below(3) == 0) pod.placements.push_back({"fd00::1", Format("fd00:1::{}", Below(3))});
    finalizers_.insert(uid);
    for (const Placement& placement : pod.placements) had_[uid].insert({pod.egress, placement});
    pods_[uid] = pod;
    RC_LOG() << "pod " << uid << " of " << pod.egress << " at " << pod.placements[0].address
             << "\n";
    engine_->SetPod(uid, pod.egress, pod.placements, now_);
  }
  void RemovePod(const std::string& uid) {
    if (!pods_.contains(uid)) return;
    dead_[uid] = pods_[uid];
    RC_LOG() << "no pod " << uid << "\n";
    pods_.erase(uid);
    engine_->RemovePod(uid, now_);
  }
  // The finalizer goes: the cloud must not show the pod's addresses for its egress, unless another
  // pod that is held has or had them.
  void Release(const std::string& uid) {
    const ModelPod& pod = dead_[uid];
    for (const Placement& placement : pod.placements) {
      const bool taken = std::ranges::any_of(finalizers_, [&](const std::string& other) {
        return other != uid && had_[other].contains({pod.egress, placement});
      });
      const auto location = gateway_.locations.find(placement.node_ip);
      if (taken || location == gateway_.locations.end() || drifted_) continue;
      const auto address = location->second.find(placement.address);
      RC_LOG() << "released " << uid << " at " << placement.address << "\n";
      RC_ASSERT((address == location->second.end() || !address->second.contains(pod.egress)));
    }
    finalizers_.erase(uid);
    dead_.erase(uid);
    had_.erase(uid);
  }

  void Take() {
    for (Operation& operation : engine_->TakeOperations(now_)) operations_.push_back(operation);
    if (auto work = engine_->TakeLocationWork(now_)) {
      RC_ASSERT(!work_.has_value());
      work_ = std::move(work);
    }
  }
  void Answer(bool faults) {
    if (!operations_.empty() && (!work_ || Below(2) == 0)) {
      const auto chosen = operations_.begin() + Below(static_cast<int>(operations_.size()));
      const Operation operation = *chosen;
      operations_.erase(chosen);
      RC_LOG() << ToString(operation.kind) << " " << operation.id.service << "\n";
      Result<void> result = gateway_.Run(operation, faults ? Below(3) : 2);
      if (!result && drifted_) gateway_.violations.clear();  // mappings that others have written
      engine_->Completed(operation.id, faults ? Disturbed(result) : result, now_);
    } else if (work_) {
      const LocationWork work = *std::exchange(work_, std::nullopt);
      RC_LOG() << (work.read ? "read" : "sync") << "\n";
      if (work.read) {
        if (faults && Below(4) == 0)
          return engine_->Read(work.generation, Failure(ErrorClass::kRetry), now_);
        return engine_->Read(work.generation, gateway_.Read(), now_);
      }
      const int kind = faults ? Below(5) : 0;
      RC_LOG() << "with outcome " << kind << "\n";
      if (kind == 1) return engine_->Synced(work.generation, Failure(ErrorClass::kRetry), now_);
      if (kind == 2) return engine_->Synced(work.generation, Failure(ErrorClass::kAmbiguous), now_);
      if (faults) gateway_.refused = {Format("10.1.{}.{}", Below(3), Below(4))};
      const Result<void> result = gateway_.Update(work.updates);
      RC_LOG() << (result ? "ok\n" : "refused\n");
      if (kind == 3 && result)
        return engine_->Synced(work.generation, Failure(ErrorClass::kAmbiguous), now_);
      engine_->Synced(work.generation, result, now_);
    }
  }
  Result<void> Disturbed(const Result<void>& result) {
    switch (Below(5)) {
      case 0:
        return Failure(ErrorClass::kAmbiguous, "timeout");
      case 1:
        return result ? result : Failure(ErrorClass::kTerminal, "QuotaExceeded", 400);
      case 2:
        return result ? result : Failure(ErrorClass::kThrottled, "", 429);
      default:
        return result;
    }
  }
  // Another writer at the gateway, who does not break its rules.
  void Drift() {
    drifted_ = gateway_.others = true;
    RC_LOG() << "drift\n";
    const Placement place = APlacement();
    if (gateway_.registered.empty() || Below(2) == 0) {
      gateway_.locations.erase(place.node_ip);
    } else {
      gateway_.locations[place.node_ip][place.address] = {*gateway_.registered.begin()};
    }
  }
  // A new process: all that the old one knew is gone, and so are the answers it waited for.
  void Restart() {
    if (work_ && !work_->read && Below(2) == 0) std::ignore = gateway_.Update(work_->updates);
    for (const Operation& operation : operations_) std::ignore = gateway_.Run(operation, Below(3));
    if (drifted_) gateway_.violations.clear();
    operations_.clear();
    work_.reset();
    RC_LOG() << "restart\n";
    published_.clear();
    engine_ = std::make_unique<Engine>(
        Engine::Options{.random = [] { return 0.5; }, .slots = 2, .addresses_of_request = 3});
    for (const auto& [uid, fingerprint] : services_) {
      engine_->SetService(uid, "default/" + uid, fingerprint, now_);
    }
    for (const auto& [slice, content] : slices_) {
      engine_->SetSlice(slice, content.first, content.second, now_);
    }
    for (const auto& [uid, pod] : pods_) engine_->SetPod(uid, pod.egress, pod.placements, now_);
    for (const auto& [uid, pod] : dead_) engine_->DrainPod(uid, pod.egress, pod.placements, now_);
    engine_->Start(gateway_.List(), gateway_.Read(), now_);
  }

  std::set<std::string> Wanted() const {
    std::set<std::string> wanted;
    for (const auto& [uid, fingerprint] : services_) wanted.insert(uid);
    for (const auto& [uid, pod] : pods_) wanted.insert(pod.egress);
    return wanted;
  }
  std::map<std::string, std::set<Placement>> Desired() const {
    std::map<std::string, std::set<Placement>> desired;
    for (const auto& [slice, content] : slices_) {
      desired[content.first].insert(content.second.begin(), content.second.end());
    }
    for (const auto& [uid, pod] : pods_) {
      desired[pod.egress].insert(pod.placements.begin(), pod.placements.end());
    }
    return desired;
  }
  std::map<std::string, GatewayModel::Addresses> ExpectedLocations() const {
    std::map<std::string, GatewayModel::Addresses> expected;
    for (const auto& [service, placements] : Desired()) {
      if (!Wanted().contains(service)) continue;
      for (const Placement& place : placements)
        expected[place.node_ip][place.address].insert(service);
    }
    return expected;
  }
  // Followers of the changes see what a look at everything shows.
  void Publish() {
    for (const ServiceChange& change : engine_->TakeServiceChanges()) {
      if (change.view) {
        published_["service " + change.name] = Format("{} {} {}", ToString(change.view->state),
                                                      change.view->desired, change.view->synced);
      } else {
        published_.erase("service " + change.name);
      }
    }
    for (const LocationChange& change : engine_->TakeLocationChanges()) {
      if (change.view) {
        published_["location " + change.node_ip] =
            Format("{} {} {}", change.view->addresses, change.view->pending_add,
                   change.view->pending_remove);
      } else {
        published_.erase("location " + change.node_ip);
      }
    }
    std::map<std::string, std::string> all;
    engine_->ForEachService([&](const ServiceView& view) {
      all["service " + view.name] =
          Format("{} {} {}", ToString(view.state), view.desired, view.synced);
    });
    engine_->ForEachLocation([&](const LocationView& view) {
      all["location " + view.node_ip] =
          Format("{} {} {}", view.addresses, view.pending_add, view.pending_remove);
    });
    RC_ASSERT(published_ == all);
  }

  async::TimePoint now_{1h};
  GatewayModel gateway_;
  std::unique_ptr<Engine> engine_;
  std::vector<Operation> operations_;
  std::optional<LocationWork> work_;
  std::map<std::string, std::uint64_t> services_;
  std::map<std::string, std::pair<std::string, std::vector<Placement>>> slices_;
  std::map<std::string, ModelPod> pods_;
  std::map<std::string, ModelPod> dead_;
  std::set<std::string> finalizers_;
  std::map<std::string, std::set<std::pair<std::string, Placement>>> had_;
  std::map<std::string, std::string> published_;
  bool drifted_ = false;
};

TEST(EnginePropertyTest, AfterAnyFaultsTheCloudIsAsDesiredAndNothingIsLeftBehind) {
  EXPECT_TRUE(rc::check([] {
    for (int worlds = 0; worlds < 5; ++worlds) {
      World world;
      const int acts = *rc::gen::inRange(1, 150);
      for (int i = 0; i < acts; ++i) {
        world.Act();
        world.Check();
      }
      world.Settle();
    }
  }));
}

}  // namespace
}  // namespace berth::difftracker
