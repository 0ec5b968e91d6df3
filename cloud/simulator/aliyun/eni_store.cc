#include "cloud/simulator/aliyun/eni_store.h"

#include <algorithm>

#include "log/format.h"

namespace berth::cloud::simulator {
namespace {

// Null for none.
auto* FindIn(auto& map, const std::string& id) {
  const auto found = map.find(id);
  return found == map.end() ? nullptr : &found->second;
}

}  // namespace

void EniStore::Settle(async::WallTime now) {
  now_ = std::max(now_, now);
  while (const auto due = agenda_.Next(now_)) End(*due);
}

void EniStore::End(const Due& due) {
  EniRecord* record = Find(due.id);
  if (!record || record->transition != due.transition) return;
  if (due.end.empty()) return Erase(due.id);
  if (due.end == "Available") Leave(*record);
  record->eni.status = due.end;
}

EniRecord& EniStore::Insert(EniRecord record) {
  const std::string id = ids_.Resource(prefix_);
  record.eni.id = id;
  ++last_mac_;
  record.eni.mac_address = Format("00:16:3e:{:02x}:{:02x}:{:02x}", (last_mac_ >> 16) & 255,
                                  (last_mac_ >> 8) & 255, last_mac_ & 255);
  tags_.Add(id, record.eni.tags);
  return enis_.emplace(id, std::move(record)).first->second;
}

void EniStore::Erase(const std::string& id) {
  EniRecord& record = enis_.at(id);
  Leave(record);
  SetTags(id, {});
  AddressPool& pool = vswitches_.at(record.eni.vswitch_id).pool;
  for (const EniAddress& ip : record.eni.ipv4) pool.Give(ip.address);
  for (const std::string& prefix : record.eni.ipv4_prefixes) pool.Give(prefix);
  enis_.erase(id);
}

EniRecord* EniStore::Find(const std::string& id) { return FindIn(enis_, id); }
const EniRecord* EniStore::Find(const std::string& id) const { return FindIn(enis_, id); }

void EniStore::SetTags(const std::string& id, Tags tags) {
  Eni& eni = enis_.at(id).eni;
  tags_.Remove(id, eni.tags);
  eni.tags = std::move(tags);
  tags_.Add(id, eni.tags);
}

void EniStore::Join(EniRecord& record, const std::string& instance, const std::string& trunk) {
  record.eni.instance_id = instance;
  record.eni.trunk_eni_id = trunk;
  if (!trunk.empty()) record.eni.type = "Member";
  by_instance_[instance].insert(record.eni.id);
}

void EniStore::Leave(EniRecord& record) {
  if (record.eni.instance_id.empty()) return;
  auto& enis = by_instance_[record.eni.instance_id];
  enis.erase(record.eni.id);
  if (enis.empty()) by_instance_.erase(record.eni.instance_id);
  record.eni.instance_id.clear();
  if (!record.eni.trunk_eni_id.empty()) record.eni.type = "Secondary";
  record.eni.trunk_eni_id.clear();
}

void EniStore::Begin(EniRecord& record, std::string status, std::string end,
                     async::Duration delay) {
  Rest(record, std::move(status));
  agenda_.Add(now_ + std::chrono::duration_cast<async::WallTime::duration>(delay),
              {record.eni.id, record.transition, std::move(end)});
}

void EniStore::Rest(EniRecord& record, std::string status) {
  record.eni.status = std::move(status);
  record.transition = ++last_transition_;
}

const std::set<std::string>& EniStore::OfInstance(const std::string& instance) const {
  static const std::set<std::string> kNone;
  const auto* enis = FindIn(by_instance_, instance);
  return enis ? *enis : kNone;
}

std::size_t EniStore::AdaptersOf(const std::string& instance) const {
  return static_cast<std::size_t>(std::ranges::count_if(
      OfInstance(instance),
      [&](const std::string& id) { return enis_.at(id).eni.trunk_eni_id.empty(); }));
}

}  // namespace berth::cloud::simulator
