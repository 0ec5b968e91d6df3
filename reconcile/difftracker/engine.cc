#include "reconcile/difftracker/engine.h"

#include <algorithm>
#include <cassert>

#include "log/format.h"
#include "reconcile/difftracker/names.h"
#include "reconcile/difftracker/pause.h"

// Services: what is desired of them, and what follows each event of their machines.
namespace berth::difftracker {

Engine::Engine(Options options)
    : options_(std::move(options)),
      line_({.random = options_.random,
             .addresses_of_request = options_.addresses_of_request,
             .sync_pause = options_.sync_pause,
             .drift_interval = options_.drift_interval},
            table_) {}

Engine::Service& Engine::At(ServiceIndex index) {
  if (index >= services_.size()) services_.resize(index + 1);
  return services_[index];
}

ServiceIndex Engine::Intern(std::string_view name) {
  const ServiceIndex index = table_.InternService(name);
  At(index);
  return index;
}

void Engine::Track(ServiceIndex index, Direction direction, async::TimePoint now) {
  Service& service = At(index);
  service.tracked = true;
  service.direction = direction;
  service.since = service.state_since = now;
  Touch(index);
}

bool Engine::SetService(std::string_view uid, std::string_view owner, std::uint64_t fingerprint,
                        async::TimePoint now) {
  const ServiceIndex index = Intern(uid);
  Service& service = services_[index];
  if (service.is_default || service.pods > 0 ||
      (service.tracked && service.direction == Direction::kOutbound)) {
    return false;
  }
  if (service.owner != owner) Touch(index);
  service.owner = owner;
  service.orphan = false;
  if (!service.tracked) {
    Track(index, Direction::kInbound, now);
  } else if (service.fingerprint != fingerprint) {
    Apply(index, Event::kSpecChanged, now);
  }
  services_[index].fingerprint = fingerprint;
  if (!services_[index].machine.wanted) Apply(index, Event::kWanted, now);
  Settle(now);
  return true;
}

void Engine::RemoveService(std::string_view uid, async::TimePoint now) {
  const auto index = table_.FindService(uid);
  if (!index || !At(*index).tracked || services_[*index].direction != Direction::kInbound) return;
  if (services_[*index].machine.wanted) Apply(*index, Event::kNotWanted, now);
  Settle(now);
}

void Engine::SetSlice(std::string_view slice, std::string_view service,
                      const std::vector<Placement>& endpoints, async::TimePoint now) {
  if (endpoints.empty()) return RemoveSlice(slice, now);
  const ServiceIndex index = Intern(service);
  auto known = slices_.find(slice);
  if (known != slices_.end() && known->second.service != index) {
    RemoveSlice(slice, now);
    known = slices_.end();
  }
  if (known == slices_.end()) {
    ++services_[index].slices;
    known = slices_.emplace(slice, Slice{.service = index, .addresses = {}}).first;
  }
  ReplaceEndpoints(known->second, endpoints);
  Settle(now);
}

void Engine::ReplaceEndpoints(Slice& slice, const std::vector<Placement>& endpoints) {
  // Most events change a few endpoints and keep the order: what is alike at both ends stays.
  const std::vector<AddressIndex> old = std::move(slice.addresses);
  const std::size_t shorter = std::min(old.size(), endpoints.size());
  std::size_t head = 0;
  while (head < shorter && table_.IsAt(old[head], endpoints[head])) ++head;
  std::size_t tail = 0;
  while (tail < shorter - head &&
         table_.IsAt(old[old.size() - 1 - tail], endpoints[endpoints.size() - 1 - tail])) {
    ++tail;
  }
  slice.addresses.assign(old.begin(), old.begin() + static_cast<std::ptrdiff_t>(head));
  slice.addresses.reserve(endpoints.size());
  for (std::size_t i = head; i < endpoints.size() - tail; ++i) {
    slice.addresses.push_back(
        table_.AddDesired(endpoints[i].node_ip, endpoints[i].address, slice.service));
  }
  slice.addresses.insert(slice.addresses.end(), old.end() - static_cast<std::ptrdiff_t>(tail),
                         old.end());
  // Old endpoints go after the new ones came: an endpoint of both never leaves.
  for (std::size_t i = head; i < old.size() - tail; ++i) {
    table_.RemoveDesired(old[i], slice.service);
  }
}

void Engine::RemoveSlice(std::string_view slice, async::TimePoint now) {
  const auto known = slices_.find(slice);
  if (known == slices_.end()) return;
  const Slice old = std::move(known->second);
  slices_.erase(known);
  --services_[old.service].slices;
  for (const AddressIndex address : old.addresses) table_.RemoveDesired(address, old.service);
  Tidy(old.service);
  Settle(now);
}

void Engine::Apply(ServiceIndex index, Event event, async::TimePoint now) {
  Service& service = services_[index];
  const Machine before = service.machine;
  const Transition to = Step(before, event);
  service.machine = to.machine;
  Touch(index);
  if (to.machine.state != before.state) service.state_since = now;
  if (to.machine.running != before.running) {
    running_ += to.machine.running ? 1 : -1;
    service.stamp = ++last_stamp_;
  }
  const bool serving = IsServing(to.machine.state) && !to.effects.forget;
  if (serving != IsServing(before.state)) table_.SetServing(index, serving);
  if (to.effects.tell_parked) Tell(index, Notice::Kind::kParked, service.error);
  if (to.effects.tell_recovered) Tell(index, Notice::Kind::kRecovered, {});
  if (to.effects.forget) return Forget(index);
  const bool pending = to.machine.state == State::kDeletionPending;
  if (pending && before.state != State::kDeletionPending) {
    pending_deletions_.insert(index);
    service.stuck_at = now + kStuck;
  } else if (!pending) {
    pending_deletions_.erase(index);
  }
  ApplyEffects(index, to, now);
  SetReady(index, AsksForSlot(to.machine));
  if (to.machine.wanted && !before.wanted) ReleaseLastPods(index);
}

void Engine::ApplyEffects(ServiceIndex index, const Transition& to, async::TimePoint now) {
  Service& service = services_[index];
  switch (to.machine.hold) {
    case Hold::kBackOff:
    case Hold::kParked:
      if (to.effects.park) SetTimer(index, now + kParkPause);
      if (to.effects.back_off) {
        SetTimer(index, now + PauseAfter(to.machine.failures, options_.random()));
      }
      break;
    case Hold::kRejected:
      if (to.effects.park)
        SetTimer(index, service.may_pass ? std::optional(now + kParkPause) : std::nullopt);
      break;
    case Hold::kNone:
      SetTimer(index, std::nullopt);
  }
  if (to.effects.replace_locations) table_.ReplaceLocationsOf(index);
  if (to.effects.tell_stuck) {
    Tell(index, Notice::Kind::kStuck,
         Format("{} addresses in {} locations still name it", ShownOf(index),
                table_.LocationsOf(index)));
    service.stuck_at = now + kStuck;
    line_.RequestRead();
  }
  if (to.machine.state == State::kDeletionPending) AwaitDrain(index, now);
}

void Engine::AwaitDrain(ServiceIndex index, async::TimePoint now) {
  Service& service = services_[index];
  const bool early = now < service.drain_after;
  SetTimer(index, early ? std::min(service.drain_after, service.stuck_at) : service.stuck_at);
  // The read that verifies is worth it when nothing is left to remove.
  if (!early && !line_.reading() && ShownOf(index) == 0) line_.RequestRead();
}

void Engine::CheckDrained(ServiceIndex index, async::TimePoint now) {
  const Service& service = services_[index];
  if (now >= service.drain_after && ShownOf(index) == 0) Apply(index, Event::kDrained, now);
}

std::size_t Engine::ShownOf(ServiceIndex index) const {
  if (!table_.IsManaged(index)) return 0;  // nothing was written for it
  const auto& shown = table_.CountsOf(index).shown;
  return shown[0] + shown[1];
}

void Engine::SetTimer(ServiceIndex index, std::optional<async::TimePoint> at) {
  Service& service = services_[index];
  if (service.timer == at) return;
  if (service.timer) timers_.erase({*service.timer, index});
  service.timer = at;
  if (at) timers_.emplace(*at, index);
}

void Engine::SetReady(ServiceIndex index, bool ready) {
  Service& service = services_[index];
  if (ready == (service.place != 0)) return;
  if (ready) {
    service.place = ++last_place_;
    ready_.emplace(service.place, index);
  } else {
    ready_.erase(service.place);
    service.place = 0;
  }
}

void Engine::RunTimers(async::TimePoint now) {
  while (!timers_.empty() && timers_.begin()->first <= now) {
    const ServiceIndex index = timers_.begin()->second;
    Service& service = services_[index];
    SetTimer(index, std::nullopt);
    if (service.machine.state != State::kDeletionPending) {
      Apply(index, Event::kDue, now);
    } else if (now >= service.stuck_at) {
      Apply(index, Event::kStuck, now);
    } else {
      AwaitDrain(index, now);
    }
  }
}

void Engine::Forget(ServiceIndex index) {
  Service& service = services_[index];
  SetTimer(index, std::nullopt);
  SetReady(index, false);
  pending_deletions_.erase(index);
  ReleaseLastPods(index);
  service.tracked = false;
  service.machine = {};
  service.notice.reset();
  service.orphan = service.throttled = service.quota = service.missing = false;
  service.error.clear();
  service.retries = 0;
  service.drain_after = {};
  service.stamp = ++last_stamp_;
  forgotten_.emplace_back(service.stamp, table_.NameOf(index));
  if (forgotten_.size() > kMostForgotten) forgotten_.pop_front();
  Touch(index);
  Tidy(index);
}

void Engine::Settle(async::TimePoint now) {
  while (true) {
    const auto cleared = table_.TakeCleared();
    const auto touched = table_.TakeTouched();
    if (cleared.empty() && touched.empty()) return;
    for (const auto& [address, service] : cleared) Cleared(address, service);
    for (const ServiceIndex index : touched) {
      const Service& service = At(index);
      if (service.tracked) {
        Touch(index);
        if (service.machine.state == State::kDeletionPending) AwaitDrain(index, now);
        if (service.direction == Direction::kOutbound) UpdateFamilies(index, now);
      }
      Tidy(index);
    }
  }
}

std::pair<bool, bool> Engine::FamiliesOf(std::string_view egress) const {
  const auto index = table_.FindService(egress);
  if (!index) return {false, false};
  const AddressTable::Counts& counts = table_.CountsOf(*index);
  return {counts.wanted[0] + counts.shown[0] > 0, counts.wanted[1] + counts.shown[1] > 0};
}

void Engine::UpdateFamilies(ServiceIndex index, async::TimePoint now) {
  Service& service = services_[index];
  // A family's public IP goes when the last address of the family is removed.
  const auto [ipv4, ipv6] = FamiliesOf(table_.NameOf(index));
  if (!service.machine.wanted || (ipv4 == service.ipv4 && ipv6 == service.ipv6)) return;
  service.ipv4 = ipv4;
  service.ipv6 = ipv6;
  Apply(index, Event::kSpecChanged, now);
}

void Engine::Tidy(ServiceIndex index) {
  const Service& service = At(index);
  if (service.tracked || service.is_default || service.pods > 0 || service.slices > 0 ||
      table_.IsUsed(index)) {
    return;
  }
  if (service.published) gone_.push_back(table_.NameOf(index));
  if (!table_.NameOf(index).empty()) table_.FreeService(index);
  services_[index] = {};
}

}  // namespace berth::difftracker
