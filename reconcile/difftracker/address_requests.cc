#include <algorithm>
#include <cassert>
#include <utility>

#include "reconcile/difftracker/address_table.h"

// Requests about locations: what they say, and what their answers mean for the mirror.
namespace berth::difftracker {

void AddressTable::SetPresent(AddressIndex address, bool present) {
  Address& entry = addresses_[address];
  if (entry.present == present) return;
  entry.present = present;
  Location& location = locations_[entry.location];
  location.present += present ? 1 : -1;
  present_addresses_ += present ? 1 : -1;
  TouchLocation(entry.location);
}

void AddressTable::SetInCloud(LocationIndex index, bool in_cloud) {
  Location& location = locations_[index];
  if (location.in_cloud == in_cloud) return;
  location.in_cloud = in_cloud;
  location.stays = false;
  present_locations_ += in_cloud ? 1 : -1;
  TouchLocation(index);
}

bool AddressTable::SetMirrored(AddressIndex address, const std::vector<ServiceIndex>& services) {
  bool changed = false;
  for (const ServiceIndex service : services) {
    Ref& ref = RefOf(address, service);
    if (ref.mirrored) continue;
    changed = true;
    Set(address, ref, ref.desired, true, ref.sent);
  }
  // From the end: an erased ref is replaced by the last one.
  for (std::size_t i = addresses_[address].refs.size(); i-- > 0;) {
    Ref& ref = addresses_[address].refs[i];
    if (!ref.mirrored || std::ranges::contains(services, ref.service)) continue;
    changed = true;
    Set(address, ref, ref.desired, false, ref.sent);
  }
  return changed;
}

std::size_t AddressTable::Replace(const std::vector<cloud::Location>& locations) {
  assert(sent_.empty());
  std::size_t unexpected = 0;
  ++epoch_;
  for (const cloud::Location& read : locations) {
    const LocationIndex location = InternLocation(read.node_ip);
    locations_[location].epoch = epoch_;
    SetInCloud(location, true);
    locations_[location].stays = false;
    for (const cloud::LocatedAddress& located : read.addresses) {
      const AddressIndex address = Intern(read.node_ip, located.address);
      std::vector<ServiceIndex> services;
      services.reserve(located.services.size());
      for (const std::string& name : located.services) services.push_back(InternService(name));
      Address& entry = addresses_[address];
      entry.epoch = epoch_;
      const bool was_doubted = entry.doubted;
      entry.doubted = false;
      const bool was_present = entry.present;
      SetPresent(address, true);
      const bool changed = SetMirrored(address, services);
      if ((changed || !was_present) && !was_doubted) ++unexpected;
      Update(address);
    }
  }
  for (AddressIndex address = 0; address < addresses_.size(); ++address) {
    Address& entry = addresses_[address];
    if (!entry.present || entry.epoch == epoch_) continue;
    if (!entry.doubted) ++unexpected;
    entry.doubted = false;
    SetPresent(address, false);
    SetMirrored(address, {});
    Update(address);
    Tidy(address);
  }
  for (LocationIndex index = 0; index < locations_.size(); ++index) {
    Location& location = locations_[index];
    if (!location.used) continue;
    if (location.in_cloud && location.epoch != epoch_) SetInCloud(index, false);
    if (location.changes.empty()) location.replace = false;
    Requeue(index);
    TidyLocation(index);
  }
  return unexpected;
}

std::vector<ServiceIndex> AddressTable::Content(const Address& address) const {
  std::vector<ServiceIndex> services;
  for (const Ref& ref : address.refs) {
    if (address.parked ? ref.mirrored != 0 : Wants(ref)) services.push_back(ref.service);
  }
  return services;
}

std::optional<AddressTable::SentLocation> AddressTable::Collect(LocationIndex index,
                                                                std::size_t room,
                                                                bool first) const {
  const Location& location = locations_[index];
  SentLocation collected{.location = index};
  if (location.contents == 0) {
    collected.full = true;  // removes the location
    return collected;
  }
  const bool fits = location.contents <= room;
  collected.full = !location.in_cloud || (location.replace && fits);
  if (collected.full && !fits && !first) return std::nullopt;  // the next request has room
  const auto& candidates = collected.full ? location.addresses : location.changes;
  for (const AddressIndex address : candidates) {
    if (collected.full && !addresses_[address].has_content) continue;
    if (collected.addresses.size() == room) break;
    collected.addresses.push_back(address);
  }
  return collected;
}

cloud::LocationUpdate AddressTable::Send(SentLocation collected) {
  cloud::LocationUpdate update;
  update.full = collected.full;
  update.location.node_ip = locations_[collected.location].node_ip;
  for (const AddressIndex address : collected.addresses) {
    Address& entry = addresses_[address];
    entry.in_flight = true;
    cloud::LocatedAddress located{.address = entry.ip, .services = {}};
    for (const ServiceIndex service : Content(entry)) {
      Ref& ref = RefOf(address, service);
      Set(address, ref, ref.desired, ref.mirrored, true);
      located.services.push_back(services_[service].name);
    }
    std::ranges::sort(located.services);
    update.location.addresses.push_back(std::move(located));
  }
  sent_.push_back(std::move(collected));
  return update;
}

std::vector<cloud::LocationUpdate> AddressTable::Build(std::size_t most) {
  assert(sent_.empty());
  std::vector<cloud::LocationUpdate> updates;
  std::size_t room = most;
  // A location is taken once, and comes again after those that wait now.
  const std::uint64_t last = last_place_;
  while (room > 0 && !queue_.empty() && queue_.begin()->first <= last) {
    const LocationIndex index = queue_.begin()->second;
    auto collected = Collect(index, room, room == most);
    if (!collected) break;
    room -= std::max<std::size_t>(1, collected->addresses.size());
    queue_.erase(queue_.begin());
    locations_[index].place = 0;
    Requeue(index);
    updates.push_back(Send(*std::move(collected)));
  }
  return updates;
}

std::vector<cloud::LocationUpdate> AddressTable::BuildPart(const Part& part) {
  assert(sent_.empty());
  std::map<LocationIndex, SentLocation> collected;
  for (const auto& [address, stamp] : part) {
    const Address& entry = addresses_[address];
    if (entry.stamp != stamp || entry.change == kNone) continue;
    SentLocation& location = collected[entry.location];
    location.location = entry.location;
    location.full = !locations_[entry.location].in_cloud;
    // A full update of a new location cannot remove.
    if (location.full && !entry.has_content) continue;
    location.addresses.push_back(address);
  }
  std::vector<cloud::LocationUpdate> updates;
  for (auto& [index, location] : collected) {
    if (!location.addresses.empty()) updates.push_back(Send(std::move(location)));
  }
  return updates;
}

std::vector<AddressTable::SentLocation> AddressTable::EndRequest(bool applied) {
  std::vector<SentLocation> ended = std::exchange(sent_, {});
  for (const SentLocation& sent : ended) {
    // A full update removes what it does not name.
    for (std::size_t i = locations_[sent.location].addresses.size(); applied && i-- > 0;) {
      const AddressIndex address = locations_[sent.location].addresses[i];
      if (!sent.full || addresses_[address].in_flight) continue;
      SetMirrored(address, {});
      SetPresent(address, false);
      Update(address);
      Tidy(address);
    }
    for (const AddressIndex address : sent.addresses) {
      std::vector<ServiceIndex> services;
      for (std::size_t i = addresses_[address].refs.size(); i-- > 0;) {
        Ref& ref = addresses_[address].refs[i];
        if (!ref.sent) continue;
        services.push_back(ref.service);
        Set(address, ref, ref.desired, ref.mirrored || applied, false);
      }
      if (applied) {
        SetMirrored(address, services);
        SetPresent(address, !services.empty());
      }
      addresses_[address].in_flight = false;
      Update(address);
      Tidy(address);
    }
  }
  return ended;
}

void AddressTable::Confirm(async::TimePoint now) {
  // SetInCloud first: a location that goes is freed with its last address.
  for (const SentLocation& sent : sent_) {
    Location& location = locations_[sent.location];
    location.last_sync = now;
    if (location.parked == 0) location.error.clear();
    location.replace = false;
    TouchLocation(sent.location);
    SetInCloud(sent.location, !sent.full || !sent.addresses.empty());
  }
  for (const SentLocation& sent : EndRequest(true)) {
    Requeue(sent.location);
    TidyLocation(sent.location);
  }
}

void AddressTable::Abandon(std::string_view error) {
  for (const SentLocation& sent : sent_) {
    Location& location = locations_[sent.location];
    location.error = error;
    location.stays = location.present == 0;
    TouchLocation(sent.location);
  }
  for (const SentLocation& sent : EndRequest(false)) {
    Requeue(sent.location);
    TidyLocation(sent.location);
  }
}

void AddressTable::Doubt(std::string_view error) {
  for (const SentLocation& sent : sent_) {
    Location& location = locations_[sent.location];
    location.error = error;
    location.replace = true;
    TouchLocation(sent.location);
    for (const AddressIndex address : location.addresses) {
      Address& entry = addresses_[address];
      if (!entry.in_flight && !sent.full) continue;
      entry.doubted = true;
      for (Ref& ref : entry.refs) {
        if (ref.sent && !ref.mirrored) {
          Set(address, ref, ref.desired, true, ref.sent);
        }
      }
      if (std::ranges::any_of(entry.refs, [](const Ref& ref) { return ref.mirrored != 0; })) {
        SetPresent(address, true);
      }
    }
    if (location.present > 0) SetInCloud(sent.location, true);
  }
  for (const SentLocation& sent : EndRequest(false)) Requeue(sent.location);
}

AddressTable::Part AddressTable::Changes() const {
  Part part;
  for (const SentLocation& sent : sent_) {
    // An update without addresses removes all of the location.
    const auto& candidates =
        sent.addresses.empty() ? locations_[sent.location].addresses : sent.addresses;
    for (const AddressIndex address : candidates) {
      const Address& entry = addresses_[address];
      if (entry.change != kNone) part.emplace_back(address, entry.stamp);
    }
  }
  return part;
}

void AddressTable::Park(const Part& part, async::TimePoint until, std::string_view error) {
  for (const auto& [address, stamp] : part) {
    Address& entry = addresses_[address];
    if (entry.stamp != stamp || entry.parked || entry.change == kNone) continue;
    entry.parked = true;
    ++parked_count_;
    ++locations_[entry.location].parked;
    parked_.emplace(until, std::pair(address, stamp));
    locations_[entry.location].error = error;
    TouchLocation(entry.location);
    Update(address);
  }
}

void AddressTable::UnparkOne(AddressIndex address) {
  Address& entry = addresses_[address];
  if (!entry.parked) return;
  entry.parked = false;
  --parked_count_;
  --locations_[entry.location].parked;
}

void AddressTable::Unpark(async::TimePoint now) {
  while (!parked_.empty() && parked_.begin()->first <= now) {
    const auto [address, stamp] = parked_.begin()->second;
    parked_.erase(parked_.begin());
    if (addresses_[address].stamp != stamp) continue;
    UnparkOne(address);
    Update(address);
  }
}

std::optional<async::TimePoint> AddressTable::next_unpark() const {
  return parked_.empty() ? std::nullopt : std::optional(parked_.begin()->first);
}

void AddressTable::ReplaceLocationsOf(ServiceIndex service) {
  for (const AddressIndex address : services_[service].addresses) {
    locations_[addresses_[address].location].replace = true;
  }
}

}  // namespace berth::difftracker
