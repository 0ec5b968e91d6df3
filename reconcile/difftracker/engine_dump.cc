#include <algorithm>
#include <set>

#include "log/format.h"
#include "reconcile/difftracker/engine.h"

// The state as text: what tests compare engines by.
namespace berth::difftracker {
namespace {

std::int64_t From(async::TimePoint now, async::TimePoint time) {
  return std::max<std::int64_t>(0, (time - now) / std::chrono::milliseconds(1));
}

}  // namespace

std::string AddressTable::Dump(async::TimePoint now) const {
  std::set<std::string> lines;
  for (const Address& address : addresses_) {
    if (address.ip.empty()) continue;
    const Location& location = locations_[address.location];
    std::string line = Format("{} {} {}{}{}{}{}", location.node_ip, address.ip, address.present,
                              address.in_flight, address.parked, address.doubted, address.watchers);
    for (const Ref& ref : address.refs) {
      line += Format(" {}:{}{}{}", services_[ref.service].name, std::uint32_t{ref.desired},
                     std::uint32_t{ref.mirrored}, std::uint32_t{ref.sent});
    }
    lines.insert(std::move(line));
  }
  for (const Location& location : locations_) {
    if (!location.used) continue;
    lines.insert(
        Format("{} {}{}{}", location.node_ip, location.in_cloud, location.stays, location.replace));
  }
  for (const auto& [until, address] : parked_) {
    const bool current = addresses_[address.first].stamp == address.second;
    if (current) lines.insert(Format("{} {}", From(now, until), addresses_[address.first].ip));
  }
  std::string text;
  for (const std::string& line : lines) text += line + "\n";
  return text;
}

std::string LocationLine::Dump(async::TimePoint now) const {
  std::string text =
      Format("{} {} {} {}{}{} {} {} {} {}", static_cast<int>(under_way_), refused_, failures_,
             must_read_, read_requested_, last_was_sync_, From(now, not_before_),
             From(now, sync_at_), From(now, read_at_), From(now, drift_at_));
  for (const auto& part : parts_) text += Format(" {}", part.size());
  return text + "\n";
}

std::string Engine::Dump(async::TimePoint now) const {
  std::string text = line_.Dump(now) + table_.Dump(now);
  for (ServiceIndex index = 0; index < services_.size(); ++index) {
    const Service& service = services_[index];
    if (!service.tracked) continue;
    const Machine& machine = service.machine;
    text += Format("{} {}{} {}{}{}{}{}{} {} {}", table_.NameOf(index), ToString(machine.state),
                   ToString(machine.hold), machine.wanted, machine.running, machine.changed,
                   machine.held, machine.applied, machine.told, machine.failures, service.pods);
    if (service.timer) text += Format(" at {}", From(now, *service.timer));
    if (machine.state == State::kDeletionPending) {
      text += Format(" {} {}", From(now, service.stuck_at), From(now, service.drain_after));
    }
    text += Format(" {}{}{} {}\n", service.ipv4, service.ipv6, table_.IsManaged(index),
                   service.last_pods.size());
  }
  std::set<std::string> drains;
  for (const auto& [pod, drain] : drains_) {
    drains.insert(Format("{} {} {}", pod, drain.residue.size(), drain.last_of.has_value()));
  }
  for (const std::string& drain : drains) text += drain + "\n";
  return text;
}

}  // namespace berth::difftracker
