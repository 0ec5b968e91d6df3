#include <algorithm>

#include "reconcile/difftracker/engine.h"
#include "reconcile/difftracker/names.h"

// Pods of egresses, live ones and those that drain.
namespace berth::difftracker {
namespace {

std::uint64_t ResidueKey(AddressIndex address, ServiceIndex service) {
  return std::uint64_t{address} << 32 | service;
}

}  // namespace

bool Engine::SetPod(std::string_view pod, std::string_view egress,
                    const std::vector<Placement>& placements, async::TimePoint now) {
  if (placements.empty() || CheckEgress(egress)) {
    RemovePod(pod, now);
    return placements.empty();
  }
  const ServiceIndex index = Intern(egress);
  if (services_[index].is_default ||
      (services_[index].tracked && services_[index].direction == Direction::kInbound)) {
    RemovePod(pod, now);
    return false;
  }
  Pod fresh{.service = index, .addresses = {}};
  for (const Placement& placement : placements) {
    fresh.addresses.push_back(table_.AddDesired(placement.node_ip, placement.address, index));
  }
  ++services_[index].pods;
  services_[index].orphan = false;
  if (services_[index].owner != egress) services_[index].owner = egress;
  if (!services_[index].tracked) Track(index, Direction::kOutbound, now);
  if (!services_[index].machine.wanted) Apply(index, Event::kWanted, now);
  const auto known = pods_.find(pod);
  if (known == pods_.end()) {
    pods_.emplace(pod, std::move(fresh));
  } else {
    RemovePlacements(pod, std::exchange(known->second, std::move(fresh)), now);
  }
  Settle(now);
  return true;
}

void Engine::RemovePod(std::string_view pod, async::TimePoint now) {
  const auto known = pods_.find(pod);
  if (known == pods_.end()) return;
  const Pod old = std::move(known->second);
  pods_.erase(known);
  const bool early = !started_;
  if (early) {
    EarlyDrain drain{.egress = table_.NameOf(old.service), .placements = {}};
    for (const AddressIndex address : old.addresses) {
      drain.placements.push_back(table_.PlaceOf(address));
    }
    early_drains_.insert_or_assign(std::string(pod), std::move(drain));
  }
  RemovePlacements(pod, old, now);
  // The last pods keep the egress's name in the cluster until its resources are deleted.
  const Service& service = services_[old.service];
  if (service.tracked && !service.machine.wanted) AwaitDeletion(pod, old.service);
  if (!early) EndDrain(pod);
  Settle(now);
}

void Engine::RemovePlacements(std::string_view pod, const Pod& old, async::TimePoint now) {
  for (const AddressIndex address : old.addresses) {
    table_.RemoveDesired(address, old.service);
    AddResidue(pod, address, old.service);
  }
  if (--services_[old.service].pods > 0) return;
  if (services_[old.service].machine.wanted) Apply(old.service, Event::kNotWanted, now);
  Tidy(old.service);
}

void Engine::DrainPod(std::string_view pod, std::string_view egress,
                      const std::vector<Placement>& placements, async::TimePoint now) {
  if (pods_.contains(pod)) RemovePod(pod, now);
  if (!started_) {
    early_drains_.insert_or_assign(std::string(pod), EarlyDrain{std::string(egress), placements});
    return;
  }
  const auto named = table_.FindService(egress);
  for (const Placement& placement : placements) {
    const AddressIndex address = table_.FindAddress(placement.node_ip, placement.address);
    if (address == AddressTable::kNone) continue;
    for (const ServiceIndex service : table_.ServicesAt(address)) {
      // Its label may have named another egress before.
      // Nobody removes what names a service that is not tracked, nor is about to be.
      if (!At(service).tracked && !bare_.contains(table_.NameOf(service))) continue;
      const bool outbound = services_[service].direction == Direction::kOutbound;
      if (outbound || service == named) AddResidue(pod, address, service);
    }
  }
  if (named && At(*named).tracked && !services_[*named].machine.wanted) {
    AwaitDeletion(pod, *named);
  }
  EndDrain(pod);
  Settle(now);
}

bool Engine::HoldsPod(std::string_view pod) const {
  return !started_ || pods_.contains(pod) || drains_.contains(pod);
}

std::vector<std::string> Engine::TakeDrainedPods() { return std::exchange(drained_, {}); }

void Engine::AddResidue(std::string_view pod, AddressIndex address, ServiceIndex service) {
  if (!table_.IsResidue(address, service)) return;
  Drain& drain = drains_[std::string(pod)];
  const std::pair pair(address, service);
  if (std::ranges::contains(drain.residue, pair)) return;
  drain.residue.push_back(pair);
  residue_.emplace(ResidueKey(address, service), pod);
  table_.Watch(address);
}

void Engine::Cleared(AddressIndex address, ServiceIndex service) {
  if (table_.IsResidue(address, service)) return;  // again
  const auto [begin, end] = residue_.equal_range(ResidueKey(address, service));
  std::vector<std::string> pods;
  for (auto it = begin; it != end; ++it) pods.push_back(std::move(it->second));
  residue_.erase(begin, end);
  for (const std::string& pod : pods) {
    std::erase(drains_.find(pod)->second.residue, std::pair(address, service));
    table_.Unwatch(address);
    EndDrain(pod);
  }
}

void Engine::AwaitDeletion(std::string_view pod, ServiceIndex service) {
  Drain& drain = drains_[std::string(pod)];
  if (drain.last_of == service) return;
  if (drain.last_of) std::erase(services_[*drain.last_of].last_pods, pod);
  drain.last_of = service;
  services_[service].last_pods.emplace_back(pod);
}

void Engine::ReleaseLastPods(ServiceIndex index) {
  for (const std::string& pod : std::exchange(services_[index].last_pods, {})) {
    drains_.find(pod)->second.last_of.reset();
    EndDrain(pod);
  }
}

void Engine::GiveUpResidue(ServiceIndex index) {
  std::vector<std::string> pods;
  for (auto& [pod, drain] : drains_) {
    const std::size_t before = drain.residue.size();
    std::erase_if(drain.residue, [&](const auto& pair) {
      if (pair.second != index) return false;
      residue_.erase(ResidueKey(pair.first, index));
      table_.Unwatch(pair.first);
      return true;
    });
    if (drain.residue.size() != before) pods.push_back(pod);
  }
  for (const std::string& pod : pods) EndDrain(pod);
}

void Engine::EndDrain(std::string_view pod) {
  const auto drain = drains_.find(pod);
  if (drain != drains_.end()) {
    if (!drain->second.residue.empty() || drain->second.last_of) return;
    drains_.erase(drain);
  }
  if (!pods_.contains(pod)) drained_.emplace_back(pod);
}

}  // namespace berth::difftracker
