#include "cloud/simulator/aliyun/eip_store.h"

#include <algorithm>
#include <ranges>
#include <utility>

#include "log/format.h"

namespace berth::cloud::simulator {
namespace {

// 100.64.0.0/10, which is nobody's on the Internet.
constexpr std::uint32_t kFirstAddress = (100u << 24) | (64u << 16);
constexpr std::uint32_t kAddresses = 1u << 22;

// Null for none.
auto* FindIn(auto& map, const std::string& id) {
  const auto found = map.find(id);
  return found == map.end() ? nullptr : &found->second;
}

}  // namespace

void EipStore::Settle(async::WallTime now) {
  now_ = std::max(now_, now);
  while (const auto due = agenda_.Next(now_)) End(*due);
}

void EipStore::EndAt(async::WallTime at, const std::string& id, Phase phase) {
  agenda_.Add(at, Due{id, phase});
}

void EipStore::End(const Due& due) {
  EipRecord* record = Find(due.id);
  if (!record) return;  // deleted out of band meanwhile
  switch (due.phase) {
    case Phase::kInvisible:
      record->visible = true;
      return;
    case Phase::kPackage:
      return EndPackage(record->eip);
    case Phase::kStatus:
      return EndStatus(*record);
  }
}

void EipStore::EndPackage(Eip& eip) {
  if (eip.bandwidth_package_status == "BINDING") {
    eip.bandwidth_package_status = "BINDED";
  } else if (eip.bandwidth_package_status == "UNBINDING") {
    packages_.at(eip.bandwidth_package_id).members.erase(eip.allocation_id);
    eip.bandwidth_package_id.clear();
    eip.bandwidth_package_status.clear();
  }
}

void EipStore::EndStatus(EipRecord& record) {
  Eip& eip = record.eip;
  if (eip.status == "Releasing") {
    Erase(std::string(eip.allocation_id));
  } else if (eip.status == "Associating") {
    eip.status = "InUse";
  } else if (eip.status == "Unassociating") {
    eip.status = "Available";
    eip.instance_id.clear();
    eip.instance_type.clear();
    record.association = {};
  }
}

EipRecord& EipStore::Insert(Eip eip, async::WallTime at) {
  eip.allocation_id = ids_.Resource("eip");
  eip.address = NextAddress();
  by_address_.emplace(eip.address, eip.allocation_id);
  const std::string id = eip.allocation_id;
  Tags tags = std::exchange(eip.tags, {});
  EipRecord& record = eips_
                          .emplace(id, EipRecord{.eip = std::move(eip),
                                                 .allocated_at = at,
                                                 .expires = {},
                                                 .association = {},
                                                 .lock_reasons = {}})
                          .first->second;
  SetTags(id, std::move(tags));
  return record;
}

void EipStore::Erase(const std::string& id) {
  SetTags(id, {});
  const auto found = eips_.find(id);
  by_address_.erase(found->second.eip.address);
  if (auto* package = FindPackage(found->second.eip.bandwidth_package_id)) {
    package->members.erase(id);
  }
  eips_.erase(found);
}

EipRecord* EipStore::Find(const std::string& id) { return FindIn(eips_, id); }
const EipRecord* EipStore::Find(const std::string& id) const { return FindIn(eips_, id); }

void EipStore::SetTags(const std::string& id, Tags tags) {
  Eip& eip = eips_.at(id).eip;
  tags_.Remove(id, eip.tags);
  eip.tags = std::move(tags);
  tags_.Add(id, eip.tags);
}

std::vector<const EipRecord*> EipStore::Visible(const std::vector<std::string>& ids,
                                                const std::vector<std::string>& addresses,
                                                const std::string& tag_key,
                                                const std::string& tag_value) const {
  std::vector<const EipRecord*> records;
  const auto add = [&](const std::string& id) {
    const EipRecord* record = Find(id);
    if (!record || !record->visible) return;
    if (!addresses.empty() && !std::ranges::contains(addresses, record->eip.address)) return;
    records.push_back(record);
  };
  if (!ids.empty()) {
    // Each once, however often it was named.
    for (const std::string& id : std::set(ids.begin(), ids.end())) add(id);
  } else if (!addresses.empty()) {
    for (const std::string& address : std::set(addresses.begin(), addresses.end())) {
      if (const std::string* id = FindIn(by_address_, address)) add(*id);
    }
  } else if (!tag_key.empty()) {
    for (const std::string& id : tags_.With(tag_key, tag_value)) add(id);
  } else {
    for (const std::string& id : std::views::keys(eips_)) add(id);
  }
  return records;
}

std::string EipStore::AddPackage(int bandwidth, std::string isp) {
  std::string id = ids_.Resource("cbwp");
  packages_.emplace(
      id, BandwidthPackage{
              .bandwidth = bandwidth, .isp = std::move(isp), .created_at = now_, .members = {}});
  return id;
}

BandwidthPackage* EipStore::FindPackage(const std::string& id) { return FindIn(packages_, id); }
const BandwidthPackage* EipStore::FindPackage(const std::string& id) const {
  return FindIn(packages_, id);
}

void EipStore::Enter(LedgerEntry entry) {
  if (ledger_.size() >= ledger_size_) ledger_.pop_front();
  ledger_.push_back(std::move(entry));
}

// In turn, so that an address comes again as late as it can.
std::string EipStore::NextAddress() {
  for (;;) {
    last_address_ = (last_address_ + 1) % kAddresses;
    const std::uint32_t address = kFirstAddress + last_address_;
    std::string text = Format("{}.{}.{}.{}", address >> 24, (address >> 16) & 255,
                              (address >> 8) & 255, address & 255);
    if (!by_address_.contains(text)) return text;
  }
}

}  // namespace berth::cloud::simulator
