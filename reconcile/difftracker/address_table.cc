#include "reconcile/difftracker/address_table.h"

#include <algorithm>
#include <cassert>

#include "reconcile/difftracker/names.h"

namespace berth::difftracker {

std::size_t AddressTable::BucketOf(LocationIndex location, std::string_view ip) const {
  const std::size_t hash = std::hash<std::string_view>()(ip) + location * 0x9E3779B97F4A7C15u;
  return hash & (buckets_.size() - 1);
}

AddressIndex& AddressTable::Bucket(const Address& address) {
  return buckets_[BucketOf(address.location, address.ip)];
}

AddressIndex AddressTable::FindPlace(LocationIndex location, std::string_view ip) const {
  AddressIndex at = buckets_[BucketOf(location, ip)];
  while (at != kNone && (addresses_[at].location != location || addresses_[at].ip != ip)) {
    at = addresses_[at].chain;
  }
  return at;
}

void AddressTable::AddPlace(AddressIndex address) {
  if (++places_ > buckets_.size()) {
    const auto old = std::exchange(buckets_, std::vector<AddressIndex>(buckets_.size() * 2, kNone));
    for (AddressIndex at : old) {
      while (at != kNone) {
        const AddressIndex next = addresses_[at].chain;
        addresses_[at].chain = std::exchange(Bucket(addresses_[at]), at);
        at = next;
      }
    }
  }
  Address& entry = addresses_[address];
  entry.chain = std::exchange(Bucket(entry), address);
}

void AddressTable::ErasePlace(AddressIndex address) {
  const Address& entry = addresses_[address];
  AddressIndex* at = &Bucket(entry);
  while (*at != address) at = &addresses_[*at].chain;
  *at = entry.chain;
  --places_;
}

ServiceIndex AddressTable::InternService(std::string_view name) {
  if (const auto found = FindService(name)) return *found;
  ServiceIndex index = 0;
  if (free_services_.empty()) {
    index = static_cast<ServiceIndex>(services_.size());
    services_.emplace_back();
  } else {
    index = free_services_.back();
    free_services_.pop_back();
  }
  services_[index].name = name;
  by_name_.emplace(name, index);
  return index;
}

std::optional<ServiceIndex> AddressTable::FindService(std::string_view name) const {
  const auto found = by_name_.find(name);
  return found == by_name_.end() ? std::nullopt : std::optional(found->second);
}

void AddressTable::FreeService(ServiceIndex service) {
  Service& entry = services_[service];
  assert(entry.addresses.empty());
  by_name_.erase(entry.name);
  entry = {};
  free_services_.push_back(service);
}

LocationIndex AddressTable::InternLocation(std::string_view node_ip) {
  if (const auto found = by_node_ip_.find(node_ip); found != by_node_ip_.end()) {
    return found->second;
  }
  LocationIndex index = 0;
  if (free_locations_.empty()) {
    index = static_cast<LocationIndex>(locations_.size());
    locations_.emplace_back();
  } else {
    index = free_locations_.back();
    free_locations_.pop_back();
  }
  locations_[index].used = true;
  locations_[index].node_ip = node_ip;
  by_node_ip_.emplace(node_ip, index);
  return index;
}

AddressIndex AddressTable::FindAddress(std::string_view node_ip, std::string_view address) const {
  const auto location = by_node_ip_.find(node_ip);
  if (location == by_node_ip_.end()) return kNone;
  return FindPlace(location->second, address);
}

AddressIndex AddressTable::Intern(std::string_view node_ip, std::string_view address) {
  const LocationIndex location = InternLocation(node_ip);
  if (const AddressIndex found = FindPlace(location, address); found != kNone) return found;
  AddressIndex index = 0;
  if (free_addresses_.empty()) {
    index = static_cast<AddressIndex>(addresses_.size());
    addresses_.emplace_back();
  } else {
    index = free_addresses_.back();
    free_addresses_.pop_back();
  }
  Address& entry = addresses_[index];
  entry.ip = address;
  entry.location = location;
  entry.stamp = ++last_stamp_;
  auto& siblings = locations_[location].addresses;
  entry.position = static_cast<std::uint32_t>(siblings.size());
  siblings.push_back(index);
  AddPlace(index);
  return index;
}

AddressTable::Ref& AddressTable::RefOf(AddressIndex address, ServiceIndex service) {
  Address& entry = addresses_[address];
  for (Ref& ref : entry.refs) {
    if (ref.service == service) return ref;
  }
  auto& own = services_[service].addresses;
  entry.refs.push_back({service, static_cast<std::uint32_t>(own.size())});
  own.push_back(address);
  return entry.refs.back();
}

const AddressTable::Ref* AddressTable::FindRef(AddressIndex address, ServiceIndex service) const {
  for (const Ref& ref : addresses_[address].refs) {
    if (ref.service == service) return &ref;
  }
  return nullptr;
}

void AddressTable::Count(const Address& address, const Ref& ref, bool add) {
  Counts& counts = services_[ref.service].counts;
  const std::size_t family = IsIpv6(address.ip) ? 1 : 0;
  const auto count = [add](std::size_t& number, bool part) {
    if (part) number += add ? 1 : -1;
  };
  count(counts.desired, ref.desired > 0);
  count(counts.mirrored, ref.mirrored);
  count(counts.synced, ref.desired > 0 && ref.mirrored);
  count(counts.wanted[family], ref.desired > 0);
  count(counts.shown[family], ref.mirrored || ref.sent);
}

void AddressTable::Set(AddressIndex address, Ref& ref, std::uint32_t desired, bool mirrored,
                       bool sent) {
  const Address& entry = addresses_[address];
  const auto is_residue = [&ref] { return (ref.mirrored || ref.sent) && ref.desired == 0; };
  const bool was_residue = is_residue();
  Count(entry, ref, false);
  ref.desired = desired & kMostDesired;
  ref.mirrored = mirrored;
  ref.sent = sent;
  Count(entry, ref, true);
  Touch(ref.service);
  if (entry.watchers > 0 && was_residue && !is_residue()) {
    cleared_.emplace_back(address, ref.service);
  }
  if (ref.desired == 0 && !ref.mirrored && !ref.sent) EraseRef(address, ref.service);
}

void AddressTable::EraseRef(AddressIndex address, ServiceIndex service) {
  auto& refs = addresses_[address].refs;
  const auto found = std::ranges::find(refs, service, &Ref::service);
  auto& own = services_[service].addresses;
  const std::uint32_t position = found->position;
  *found = refs.back();
  refs.pop_back();
  if (refs.empty()) refs.shrink_to_fit();
  own[position] = own.back();
  own.pop_back();
  if (position < own.size()) RefOf(own[position], service).position = position;
}

AddressIndex AddressTable::AddDesired(std::string_view node_ip, std::string_view address,
                                      ServiceIndex service) {
  const AddressIndex index = Intern(node_ip, address);
  Ref& ref = RefOf(index, service);
  const bool first = ref.desired == 0;
  Set(index, ref, ref.desired + 1, ref.mirrored, ref.sent);
  if (first) {
    UnparkOne(index);
    Update(index);
  }
  return index;
}

void AddressTable::RemoveDesired(AddressIndex address, ServiceIndex service) {
  Ref& ref = RefOf(address, service);
  assert(ref.desired > 0);
  const bool last = ref.desired == 1;
  Set(address, ref, ref.desired - 1, ref.mirrored, ref.sent);
  if (!last) return;
  UnparkOne(address);
  Update(address);
  Tidy(address);
}

void AddressTable::SetServing(ServiceIndex service, bool serving) {
  if (services_[service].serving == serving) return;
  services_[service].serving = serving;
  services_[service].is_managed = true;
  for (const AddressIndex address : services_[service].addresses) {
    UnparkOne(address);
    Update(address);
  }
}

void AddressTable::SetManaged(ServiceIndex service) {
  services_[service].is_managed = true;
  for (const AddressIndex address : services_[service].addresses) Update(address);
}

void AddressTable::SetProtected(ServiceIndex service) {
  services_[service].is_protected = true;
  for (const AddressIndex address : services_[service].addresses) Update(address);
}

std::size_t AddressTable::LocationsOf(ServiceIndex service) const {
  std::vector<LocationIndex> found;
  for (const AddressIndex address : services_[service].addresses) {
    const Ref* ref = FindRef(address, service);
    if (ref->mirrored || ref->sent) found.push_back(addresses_[address].location);
  }
  std::ranges::sort(found);
  return found.size() - std::ranges::unique(found).size();
}

bool AddressTable::IsResidue(AddressIndex address, ServiceIndex service) const {
  const Ref* ref = FindRef(address, service);
  return ref && (ref->mirrored || ref->sent) && ref->desired == 0;
}

void AddressTable::Watch(AddressIndex address) { ++addresses_[address].watchers; }

void AddressTable::Unwatch(AddressIndex address) {
  assert(addresses_[address].watchers > 0);
  --addresses_[address].watchers;
  Tidy(address);
}

std::vector<ServiceIndex> AddressTable::ServicesAt(AddressIndex address) const {
  std::vector<ServiceIndex> services;
  for (const Ref& ref : addresses_[address].refs) services.push_back(ref.service);
  return services;
}

Placement AddressTable::PlaceOf(AddressIndex address) const {
  const Address& entry = addresses_[address];
  return {locations_[entry.location].node_ip, entry.ip};
}

bool AddressTable::IsAt(AddressIndex address, const Placement& place) const {
  const Address& entry = addresses_[address];
  return entry.ip == place.address && locations_[entry.location].node_ip == place.node_ip;
}

bool AddressTable::Wants(const Ref& ref) const {
  const Service& service = services_[ref.service];
  if (service.is_protected || !service.is_managed) return ref.mirrored;
  return ref.desired > 0 && service.serving;
}

void AddressTable::Update(AddressIndex address) {
  Address& entry = addresses_[address];
  Location& location = locations_[entry.location];
  bool differs = false;
  bool any = false;
  bool kept = false;
  for (const Ref& ref : entry.refs) {
    differs |= Wants(ref) != (ref.mirrored != 0);
    any |= Wants(ref);
    kept |= ref.mirrored != 0;
  }
  differs |= entry.present && !any;
  const Pending pending = !differs ? Pending::kNone : any ? Pending::kChange : Pending::kRemove;
  if (pending != entry.pending) {
    location.changing -= entry.pending == Pending::kChange;
    location.removing -= entry.pending == Pending::kRemove;
    pending_ -= entry.pending != Pending::kNone;
    entry.pending = pending;
    location.changing += pending == Pending::kChange;
    location.removing += pending == Pending::kRemove;
    pending_ += pending != Pending::kNone;
    TouchLocation(entry.location);
  }
  const bool has_content = entry.parked ? kept : any;
  location.contents += has_content;
  location.contents -= entry.has_content;
  entry.has_content = has_content;
  const bool listed = differs && !entry.parked;
  if (listed && entry.change == kNone) {
    entry.change = static_cast<std::uint32_t>(location.changes.size());
    location.changes.push_back(address);
  } else if (!listed && entry.change != kNone) {
    const AddressIndex last = location.changes.back();
    location.changes[entry.change] = last;
    addresses_[last].change = entry.change;
    location.changes.pop_back();
    entry.change = kNone;
  }
  Requeue(entry.location);
}

void AddressTable::Requeue(LocationIndex index) {
  Location& location = locations_[index];
  const bool empty = location.in_cloud && location.present == 0 && location.contents == 0;
  const bool wanted = !location.changes.empty() || (empty && !location.stays);
  if (wanted == (location.place != 0)) return;
  if (wanted) {
    location.place = ++last_place_;
    queue_.emplace(location.place, index);
  } else {
    queue_.erase(location.place);
    location.place = 0;
  }
}

void AddressTable::Tidy(AddressIndex address) {
  Address& entry = addresses_[address];
  if (!entry.refs.empty() || entry.present || entry.watchers > 0 || entry.in_flight) return;
  UnparkOne(address);
  assert(entry.change == kNone && !entry.has_content);
  ErasePlace(address);
  const LocationIndex index = entry.location;
  auto& siblings = locations_[index].addresses;
  const AddressIndex last = siblings.back();
  siblings[entry.position] = last;
  addresses_[last].position = entry.position;
  siblings.pop_back();
  entry = {};
  free_addresses_.push_back(address);
  TidyLocation(index);
}

void AddressTable::TidyLocation(LocationIndex index) {
  Location& location = locations_[index];
  if (!location.used || !location.addresses.empty() || location.in_cloud) return;
  if (location.published) gone_locations_.push_back(location.node_ip);
  if (location.place != 0) queue_.erase(location.place);
  by_node_ip_.erase(location.node_ip);
  location = {};
  free_locations_.push_back(index);
}

void AddressTable::Touch(ServiceIndex service) {
  if (services_[service].touched) return;
  services_[service].touched = true;
  touched_.push_back(service);
}

void AddressTable::TouchLocation(LocationIndex location) {
  if (locations_[location].touched) return;
  locations_[location].touched = true;
  touched_locations_.push_back(location);
}

std::vector<ServiceIndex> AddressTable::TakeTouched() {
  // An index that was freed since is not touched.
  std::erase_if(touched_, [this](ServiceIndex service) {
    return !std::exchange(services_[service].touched, false);
  });
  return std::exchange(touched_, {});
}

std::vector<std::pair<AddressIndex, ServiceIndex>> AddressTable::TakeCleared() {
  return std::exchange(cleared_, {});
}

LocationView AddressTable::ViewOf(const Location& location) {
  return {.node_ip = location.node_ip,
          .addresses = location.present,
          .pending_add = location.changing,
          .pending_remove = location.removing,
          .last_sync = location.last_sync,
          .error = location.error};
}

bool AddressTable::IsShown(const Location& location) {
  return location.used && (location.in_cloud || location.changing > 0 || location.removing > 0);
}

std::optional<LocationView> AddressTable::FindLocation(std::string_view node_ip) const {
  const auto found = by_node_ip_.find(node_ip);
  if (found == by_node_ip_.end() || !IsShown(locations_[found->second])) return std::nullopt;
  return ViewOf(locations_[found->second]);
}

void AddressTable::ForEachLocation(const std::function<void(const LocationView&)>& visit) const {
  for (const Location& location : locations_) {
    if (IsShown(location)) visit(ViewOf(location));
  }
}

std::vector<std::pair<std::string, std::optional<LocationView>>>
AddressTable::TakeLocationChanges() {
  std::vector<std::pair<std::string, std::optional<LocationView>>> changes;
  changes.reserve(gone_locations_.size() + touched_locations_.size());
  for (std::string& gone : gone_locations_) changes.emplace_back(std::move(gone), std::nullopt);
  gone_locations_.clear();
  for (const LocationIndex index : touched_locations_) {
    Location& location = locations_[index];
    if (!location.touched) continue;  // the index was freed since
    location.touched = false;
    const bool shown = IsShown(location);
    if (shown) {
      changes.emplace_back(location.node_ip, ViewOf(location));
    } else if (location.published) {
      changes.emplace_back(location.node_ip, std::nullopt);
    }
    location.published = shown;
  }
  touched_locations_.clear();
  return changes;
}

}  // namespace berth::difftracker
