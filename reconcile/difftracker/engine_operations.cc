#include <algorithm>
#include <cassert>

#include "reconcile/difftracker/engine.h"
#include "reconcile/difftracker/names.h"
#include "reconcile/difftracker/pause.h"

// The state of the cloud, and the work that removes the difference.
namespace berth::difftracker {
namespace {

OperationKind KindOf(State state) {
  switch (state) {
    case State::kDeletionInProgress:
      return OperationKind::kDelete;
    case State::kUpdateInProgress:
      return OperationKind::kUpdate;
    default:
      return OperationKind::kCreate;
  }
}

Event EventOf(const Result<void>& result, State state) {
  if (result) return Event::kOk;
  const Error& error = result.error();
  if (cloud::HasMappings(error)) {
    return state == State::kDeletionInProgress ? Event::kMappings : Event::kFailed;
  }
  if (error.error_class == ErrorClass::kThrottled) return Event::kThrottled;
  if (cloud::IsQuota(error) || cloud::IsForbidden(error)) return Event::kForbidden;
  return error.error_class == ErrorClass::kTerminal ? Event::kRejected : Event::kFailed;
}

// The cloud or the API server has refused it, and not Berth the spec: a person may remove the
// cause.
bool MayPass(const Error& error) { return error.code != 0; }

Direction DirectionOf(const CloudService& found) {
  if (found.type == cloud::ServiceType::kInbound) return Direction::kInbound;
  if (found.type == cloud::ServiceType::kOutbound) return Direction::kOutbound;
  return IsUidShaped(found.name) ? Direction::kInbound : Direction::kOutbound;
}

}  // namespace

std::string_view ToString(OperationKind kind) {
  switch (kind) {
    case OperationKind::kCreate:
      return "create";
    case OperationKind::kUpdate:
      return "update";
    case OperationKind::kDelete:
      return "delete";
  }
  return {};
}

bool Engine::Start(const std::vector<CloudService>& services,
                   const std::vector<cloud::Location>& locations, async::TimePoint now) {
  assert(!started_);
  started_ = true;
  table_.Replace(locations);
  for (const CloudService& found : services) {
    if (!Adopt(found, now)) bare_.insert(found.name);
  }
  Settle(now);
  line_.Start(now);
  for (const auto& [pod, drain] : std::exchange(early_drains_, {})) {
    if (!pods_.contains(pod)) DrainPod(pod, drain.egress, drain.placements, now);
  }
  for (const ServiceIndex index : std::set(pending_deletions_)) CheckDrained(index, now);
  return !bare_.empty();
}

bool Engine::Adopt(const CloudService& found, async::TimePoint now) {
  assert(found.type != cloud::ServiceType::kUnknown);
  const ServiceIndex index = Intern(found.name);
  Service& service = services_[index];
  if (found.is_default) {
    service.is_default = true;
    table_.SetProtected(index);
    return true;
  }
  const bool awaits_second_sight =
      !found.of_another && !service.tracked && found.bare && !bare_.contains(found.name);
  if (found.of_another || awaits_second_sight) {
    Tidy(index);
    return !awaits_second_sight;
  }
  if (!service.tracked) {
    if (found.registered) table_.SetManaged(index);
    Track(index, DirectionOf(found), now);
    service.orphan = true;
    // As if it had been created here, and its object deleted since.
    service.machine = {
        .state = State::kCreated, .wanted = true, .held = true, .applied = found.registered};
    Apply(index, Event::kNotWanted, now);
    return true;
  }
  service.machine.held = true;
  if (!found.registered || service.machine.state != State::kNotStarted) return true;
  service.machine.applied = true;
  service.machine.changed = !found.in_sync;
  service.machine.state = found.in_sync ? State::kCreated : State::kUpdateInProgress;
  SetReady(index, AsksForSlot(service.machine));
  table_.SetServing(index, true);
  Touch(index);
  return true;
}

bool Engine::Observe(std::uint64_t stamp, const std::vector<CloudService>& services,
                     async::TimePoint now) {
  assert(started_);
  std::set<std::string_view> registered;
  std::set<std::string> bare;
  for (const CloudService& found : services) {
    if (found.registered) registered.insert(found.name);
    const auto known = table_.FindService(found.name);
    if (known && At(*known).tracked && !found.is_default) {
      services_[*known].machine.held |= services_[*known].stamp <= stamp && !found.of_another;
      continue;
    }
    const auto forgotten = [&](const auto& one) {
      return one.first > stamp && one.second == found.name;
    };
    if (std::ranges::none_of(forgotten_, forgotten) && !Adopt(found, now)) bare.insert(found.name);
  }
  bare_ = std::move(bare);
  bool any_missing = false;
  for (ServiceIndex index = 0; index < services_.size(); ++index) {
    Service& service = services_[index];
    const bool judged = service.tracked && service.machine.applied && !service.machine.running &&
                        service.stamp <= stamp;
    const bool missing = judged && !registered.contains(table_.NameOf(index));
    const bool lost = missing && service.missing;
    service.missing = missing && !lost;
    any_missing |= service.missing;
    if (lost) Apply(index, Event::kLost, now);
  }
  Settle(now);
  return any_missing || !bare_.empty();
}

bool Engine::IsUnchangedSince(std::uint64_t stamp, std::string_view name) const {
  const auto index = table_.FindService(name);
  if (!index || !Tracks(name) || services_[*index].stamp > stamp) return false;
  return std::ranges::none_of(
      forgotten_, [&](const auto& one) { return one.first > stamp && one.second == name; });
}

void Engine::Repair(std::string_view name, async::TimePoint now) {
  const auto index = table_.FindService(name);
  if (!index || !At(*index).tracked || !services_[*index].machine.wanted) return;
  Apply(*index, Event::kSpecChanged, now);
  Settle(now);
}

std::vector<Operation> Engine::TakeOperations(async::TimePoint now) {
  if (!started_) return {};
  RunTimers(now);
  std::vector<Operation> operations;
  while (running_ < options_.slots && !ready_.empty()) {
    const ServiceIndex index = ready_.begin()->second;
    Apply(index, Event::kSlot, now);
    Service& service = services_[index];
    service.generation = ++last_generation_;
    const auto [ipv4, ipv6] = FamiliesOf(table_.NameOf(index));
    operations.push_back({.id = {table_.NameOf(index), service.generation},
                          .kind = KindOf(service.machine.state),
                          .direction = service.direction,
                          .ipv4 = ipv4,
                          .ipv6 = ipv6,
                          .orphan = service.orphan,
                          .attempt = static_cast<int>(service.retries) + 1});
  }
  return operations;
}

bool Engine::IsWanted(const OperationId& id) const {
  const auto index = table_.FindService(id.service);
  if (!index || *index >= services_.size()) return false;
  const Service& service = services_[*index];
  if (!service.machine.running || service.generation != id.generation) return false;
  return service.machine.wanted || service.machine.state == State::kDeletionInProgress;
}

void Engine::Completed(const OperationId& id, const Result<void>& result, async::TimePoint now) {
  const auto index = table_.FindService(id.service);
  if (!index || *index >= services_.size()) return;
  Service& service = services_[*index];
  if (!service.machine.running || service.generation != id.generation) return;
  const Event event = EventOf(result, service.machine.state);
  service.error = result ? std::string() : result.error().message;
  service.throttled = event == Event::kThrottled;
  service.quota = !result && cloud::IsQuota(result.error());
  service.may_pass = !result && MayPass(result.error());
  service.retries = result ? 0 : service.retries + 1;
  if (event == Event::kMappings) {
    const int failures = static_cast<int>(std::min<std::size_t>(service.retries, 10));
    service.drain_after = now + PauseAfter(failures, options_.random());
    table_.SetManaged(*index);  // others have written them, for a service of ours
  }
  Apply(*index, event, now);
  if (event == Event::kMappings) line_.RequestRead();
  if (service.throttled && service.timer) {
    SetTimer(*index, std::max(*service.timer, now + result.error().retry_after));
  }
  Settle(now);
}

std::optional<LocationWork> Engine::TakeLocationWork(async::TimePoint now) {
  if (!started_) return std::nullopt;
  RunTimers(now);
  auto work = line_.Take(now);
  Settle(now);
  return work;
}

void Engine::Synced(std::uint64_t generation, const Result<void>& result, async::TimePoint now) {
  line_.Synced(generation, result, now);
  Settle(now);
}

void Engine::Read(std::uint64_t generation, const Result<std::vector<cloud::Location>>& locations,
                  async::TimePoint now) {
  const bool replaced = line_.Read(generation, locations, now);
  Settle(now);
  if (!replaced) return;
  // Requests do not overlap: this read began after the last write that named such a service.
  for (const ServiceIndex index : std::set(pending_deletions_)) CheckDrained(index, now);
}

std::optional<async::TimePoint> Engine::next_wake(async::TimePoint now) const {
  if (!started_) return std::nullopt;
  if (running_ < options_.slots && !ready_.empty()) return now;
  std::optional<async::TimePoint> wake = line_.next_wake(now);
  if (!timers_.empty())
    wake = std::min(wake.value_or(timers_.begin()->first), timers_.begin()->first);
  return wake;
}

Forced Engine::ForceDelete(std::string_view name, async::TimePoint now) {
  const auto index = table_.FindService(name);
  if (!index || !At(*index).tracked) return Forced::kNoService;
  const Machine& machine = services_[*index].machine;
  if (machine.wanted) return Forced::kWanted;
  if (!TryStep(machine, Event::kForced).possible) return Forced::kBusy;
  Apply(*index, Event::kForced, now);
  GiveUpResidue(*index);
  Settle(now);
  return Forced::kForgotten;
}

}  // namespace berth::difftracker
