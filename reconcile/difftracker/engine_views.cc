#include "log/format.h"
#include "reconcile/difftracker/engine.h"

namespace berth::difftracker {

void Engine::Touch(ServiceIndex index) {
  if (services_[index].touched) return;
  services_[index].touched = true;
  touched_.push_back(index);
}

void Engine::Tell(ServiceIndex index, Notice::Kind kind, std::string message) {
  Service& service = services_[index];
  if (!service.notice) noticed_.push_back(index);
  service.notice = {.service = table_.NameOf(index),
                    .direction = service.direction,
                    .owner = service.owner,
                    .kind = kind,
                    .message = std::move(message)};
}

std::vector<Notice> Engine::TakeNotices() {
  std::vector<Notice> notices;
  for (const ServiceIndex index : std::exchange(noticed_, {})) {
    auto& notice = services_[index].notice;
    if (notice) notices.push_back(*std::move(notice));
    notice.reset();
  }
  return notices;
}

bool Engine::Tracks(std::string_view service) const {
  const auto index = table_.FindService(service);
  return index && *index < services_.size() && services_[*index].tracked;
}

std::string Engine::BlockedBy(ServiceIndex index) const {
  const Service& service = services_[index];
  if (service.machine.state == State::kDeletionPending) {
    const std::size_t shown = ShownOf(index);
    return shown == 0 ? "read of locations" : Format("{} addresses in locations", shown);
  }
  if (service.machine.hold != Hold::kNone) return std::string(ToString(service.machine.hold));
  return AsksForSlot(service.machine) ? "operation slot" : "";
}

ServiceView Engine::ViewOf(ServiceIndex index) const {
  const Service& service = services_[index];
  const AddressTable::Counts& counts = table_.CountsOf(index);
  const bool serving = IsServing(service.machine.state);
  return {.name = table_.NameOf(index),
          .direction = service.direction,
          .owner = service.owner,
          .state = service.machine.state,
          .hold = service.machine.hold,
          .wanted = service.machine.wanted,
          .running = service.machine.running,
          .throttled = service.throttled,
          .quota = service.quota,
          .desired = counts.desired,
          .synced = counts.synced,
          .buffered = serving ? 0 : counts.desired - counts.synced,
          .to_remove = counts.mirrored - counts.synced,
          .pods = service.pods,
          .retries = service.retries,
          .next_retry = service.machine.hold == Hold::kNone ? std::nullopt : service.timer,
          .blocked_by = BlockedBy(index),
          .error = service.error,
          .since = service.since,
          .state_since = service.state_since};
}

std::optional<ServiceView> Engine::Find(std::string_view service) const {
  const auto index = table_.FindService(service);
  if (!index || !Tracks(service)) return std::nullopt;
  return ViewOf(*index);
}

std::optional<LocationView> Engine::FindLocation(std::string_view node_ip) const {
  return table_.FindLocation(node_ip);
}

void Engine::ForEachService(const std::function<void(const ServiceView&)>& visit) const {
  for (ServiceIndex index = 0; index < services_.size(); ++index) {
    if (services_[index].tracked) visit(ViewOf(index));
  }
}

void Engine::ForEachLocation(const std::function<void(const LocationView&)>& visit) const {
  table_.ForEachLocation(visit);
}

std::vector<ServiceChange> Engine::TakeServiceChanges() {
  std::vector<ServiceChange> changes;
  for (std::string& name : std::exchange(gone_, {})) {
    changes.push_back({std::move(name), std::nullopt});
  }
  for (const ServiceIndex index : std::exchange(touched_, {})) {
    Service& service = services_[index];
    if (!service.touched) continue;  // the index was freed since
    service.touched = false;
    if (service.tracked) {
      changes.push_back({table_.NameOf(index), ViewOf(index)});
    } else if (service.published) {
      changes.push_back({table_.NameOf(index), std::nullopt});
    }
    service.published = service.tracked;
  }
  return changes;
}

std::vector<LocationChange> Engine::TakeLocationChanges() {
  std::vector<LocationChange> changes;
  for (auto& [node_ip, view] : table_.TakeLocationChanges()) {
    changes.push_back({std::move(node_ip), std::move(view)});
  }
  return changes;
}

Engine::Totals Engine::totals() const {
  Totals totals{.running = running_,
                .waiting_for_slot = ready_.size(),
                .locations = table_.locations(),
                .addresses = table_.addresses(),
                .pending = table_.pending(),
                .refused = table_.parked(),
                .draining_pods = drains_.size(),
                .bisects = line_.bisects(),
                .drift_found = line_.drift_found()};
  for (ServiceIndex index = 0; index < services_.size(); ++index) {
    const Service& service = services_[index];
    if (!service.tracked) continue;
    ++totals.services[static_cast<std::size_t>(service.machine.state)];
    const AddressTable::Counts& counts = table_.CountsOf(index);
    if (!IsServing(service.machine.state)) totals.buffered += counts.desired - counts.synced;
    if (service.machine.state == State::kDeletionPending && ShownOf(index) > 0) {
      ++totals.blocked_by_locations;
    }
  }
  return totals;
}

}  // namespace berth::difftracker
