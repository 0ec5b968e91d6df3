#include "simulate/eip_witness.h"

#include <algorithm>
#include <utility>

#include "kube/age.h"
#include "log/format.h"
#include "reconcile/eip/objects.h"
#include "simulate/objects.h"

namespace berth::simulate {
namespace {

using cloud::simulator::LedgerEntry;

// The object that an allocation was made for: its token begins with "berth-UID-".
std::string UidOf(const LedgerEntry& entry) {
  const auto end = entry.client_token.rfind('-');
  return end == std::string::npos || end < 6 ? "" : entry.client_token.substr(6, end - 6);
}

}  // namespace

std::string EipWitness::OwnerOf(const std::string& id) const {
  const auto found = owner_.find(id);
  return found == owner_.end() ? "" : found->second;
}

bool EipWitness::IsNamed(const std::string& id) const {
  const auto found = named_.find(id);
  return found != named_.end() && !found->second.empty();
}

bool EipWitness::WasNamedByOthers(const std::string& id, const std::string& uid) const {
  const auto found = namers_.find(id);
  return found != namers_.end() && (found->second.size() > 1 || !found->second.contains(uid));
}

const cloud::Eip* EipWitness::Find(const std::string& id) const {
  for (const cloud::simulator::VpcProduct* vpc : cloud_.vpcs()) {
    if (const cloud::Eip* eip = vpc->Find(id)) return eip;
  }
  return nullptr;
}

std::string EipWitness::TagOf(const std::string& id) const {
  const cloud::Eip* eip = Find(id);
  if (!eip) return "";
  const auto tag = eip->tags.find(std::string(eip::kOwnerTag));
  return tag == eip->tags.end() ? "" : tag->second;
}

std::optional<std::string> EipWitness::See(const Documents& objects, async::TimePoint now,
                                           async::Duration grace) {
  now_ = now;
  grace_ = grace;
  for (const cloud::simulator::VpcProduct* vpc : cloud_.vpcs()) {
    const auto& ledger = vpc->ledger();
    for (std::size_t i = read_[vpc]; i < ledger.size(); ++i) {
      if (ledger[i].by == "berth" && ledger[i].event == LedgerEntry::Event::kAllocated) {
        owner_.emplace(ledger[i].allocation_id, UidOf(ledger[i]));
      }
    }
  }
  for (const Json& object : objects) Meet(object, now);
  if (auto wrong = CheckTags()) return wrong;
  for (auto& [id, claims] : named_) {
    std::erase_if(claims, [&](const auto& claim) { return claim.second.seen != now; });
  }
  for (const Json& object : objects) {
    if (object["metadata"].contains("deletionTimestamp")) MeetDeleted(object);
  }
  for (auto& [vpc, read] : read_) {
    const auto& ledger = vpc->ledger();
    while (read < ledger.size()) {
      if (auto wrong = Read(ledger[read++])) return wrong;
    }
  }
  return std::nullopt;
}

void EipWitness::Meet(const Json& object, async::TimePoint now) {
  const std::string uid = UidOf(object);
  const std::string has = Text(Part(object, "status"), "allocationID");
  if (!has.empty() && OwnerOf(has) == uid) knew_.insert(uid);
  if (!has.empty()) first_tag_.try_emplace({has, uid}, TagOf(has));
  if (Text(Part(object["metadata"], "annotations"), eip::kOnForeignAnnotation) == "adopt") {
    adopters_.insert(uid);
  }
  const std::string spec = Text(Part(object, "spec"), "allocationID");
  const std::string named = has.empty() ? spec : has;
  if (!named.empty()) namers_[named].insert(uid);
  // A status whose address spec does not name may be a copy.
  if (named.empty() || spec != named || object["metadata"].contains("deletionTimestamp")) return;
  Claim& claim = named_[named].try_emplace(uid, Claim{now, now}).first->second;
  claim.seen = now;
}

// Decides what may happen to the address of a deleted object.
void EipWitness::MeetDeleted(const Json& object) {
  const std::string uid = UidOf(object);
  deleted_.try_emplace(
      uid, kube::ParseTimestamp(Text(object["metadata"], "deletionTimestamp")).value_or(0));
  const Json& status = Part(object, "status");
  const std::string id = Text(status, "allocationID");
  const std::string strategy = Text(Part(object, "spec"), "releaseStrategy");
  // Whatever its status says: what was allocated for it was not imported.
  const bool led_astray = excused_.contains(uid) || adopters_.contains(uid);
  const bool imported =
      (Text(status, "origin") == "Imported" || (!id.empty() && !led_astray)) && OwnerOf(id) != uid;
  const bool abandoned =
      Text(Part(object["metadata"], "annotations"), eip::kOnStuckAnnotation) == "abandon";
  if (abandoned) stays_.insert(uid);
  const bool knew = knew_.contains(uid);
  if (abandoned || (strategy == "Never" && (knew || !id.empty()))) {
    kept_since_.try_emplace(uid, now_);
  } else {
    kept_since_.erase(uid);
  }
  if (!knew) goes_.insert(uid);
  for (const auto& [address, owner] : owner_) {
    if (owner == uid && IsNamed(address)) stays_.insert(uid);
  }
  if (!knew && id.empty()) return;
  // Its status may tell of an address that is not its own.
  const auto own = held_.find(uid);
  const bool misled = own != held_.end() && own->second != id;
  const auto stays = [&] { (misled ? goes_ : stays_).insert(uid); };
  if (strategy == "Never" || (imported && strategy.empty())) {
    if (strategy == "Never") {
      stays_.insert(uid);
    } else {
      stays();
    }
    stays_.insert(OwnerOf(id));
    return;
  }
  if (IsNamed(id)) stays();
  goes_.insert(uid);
  if (id.empty()) return;
  const std::string tag = TagOf(id);
  if (!tag.empty() && tag != uid) {
    stays();
  } else if (!WasForeign(id, uid)) {
    given_.insert(id);
  }
}

bool EipWitness::WasForeign(const std::string& id, const std::string& uid) const {
  const auto tag = first_tag_.find({id, uid});
  const bool foreign = tag != first_tag_.end() && !tag->second.empty() && tag->second != uid;
  return foreign && !adopters_.contains(uid);
}

std::optional<std::string> EipWitness::CheckTags() {
  for (const cloud::simulator::VpcProduct* vpc : cloud_.vpcs()) {
    for (const cloud::Eip& eip : vpc->Eips()) {
      const std::string tag = TagOf(eip.allocation_id);
      const std::string before = std::exchange(tag_[eip.allocation_id], tag);
      if (before.empty() || tag.empty() || tag == before || adopters_.contains(tag)) continue;
      return Format("{} had the tag of {}, and has that of {} now", eip.allocation_id, before, tag);
    }
  }
  return std::nullopt;
}

std::optional<std::string> EipWitness::Read(const LedgerEntry& entry) {
  const std::string& id = entry.allocation_id;
  if (entry.event == LedgerEntry::Event::kAllocated) {
    if (entry.by != "berth") return std::nullopt;
    const std::string uid = UidOf(entry);
    if (auto wrong = CheckBought(entry)) return wrong;
    const auto [other, first] = held_.emplace(uid, id);
    if (first || excused_.contains(uid)) return std::nullopt;
    return Format("{} and {} are both of {}", other->second, id, uid);
  }
  const auto owner = owner_.find(id);
  if (owner != owner_.end()) {
    const auto holds = held_.find(owner->second);
    if (holds != held_.end() && holds->second == id) held_.erase(holds);
  }
  if (entry.by != "berth") return std::nullopt;
  released_.insert(id);
  return CheckRelease(entry);
}

// A request may be on its way for kUnderWay when its object is deleted.
std::optional<std::string> EipWitness::CheckBought(const LedgerEntry& entry) const {
  constexpr auto kUnderWay = std::chrono::seconds(20);
  const auto deleted = deleted_.find(UidOf(entry));
  const cloud::Eip* eip = Find(entry.allocation_id);
  if (deleted == deleted_.end() || !eip || eip->instance_charge_type != "PrePaid") {
    return std::nullopt;
  }
  const async::Duration since = entry.at.time_since_epoch() - std::chrono::seconds(deleted->second);
  if (since <= grace_ + kUnderWay) return std::nullopt;
  return Format("{} was bought for {}, which had been deleted", eip->allocation_id, deleted->first);
}

bool EipWitness::IsKept(const std::string& id) const {
  std::set<std::string> uids = {OwnerOf(id)};
  if (const auto namers = namers_.find(id); namers != namers_.end()) {
    uids.insert(namers->second.begin(), namers->second.end());
  }
  bool kept = false;
  for (const std::string& uid : uids) {
    if (!deleted_.contains(uid)) continue;
    const auto since = kept_since_.find(uid);
    const bool asks = since != kept_since_.end() && now_ - since->second > grace_;
    if (!asks || excused_.contains(uid)) return false;
    kept = true;
  }
  return kept;
}

std::optional<std::string> EipWitness::CheckRelease(const LedgerEntry& entry) const {
  const std::string& id = entry.allocation_id;
  const auto owner = owner_.find(id);
  const bool own =
      owner != owner_.end() && (goes_.contains(owner->second) || excused_.contains(owner->second));
  // A user wrote the attempt, and did not name its owner.
  const bool forged = owner != owner_.end() && owner->second.empty() && !excused_.empty();
  if (!own && !forged && !given_.contains(id)) {
    return Format("{} was released, and nobody had asked for it", id);
  }
  const auto adopted = adopted_.find(id);
  if (adopted != adopted_.end() && tag_.at(id) == kElsewhere &&
      entry.at - adopted->second > grace_) {
    return Format("{} was released, and had become another cluster's", id);
  }
  if (!forged && IsKept(id)) return Format("{} was released, and was to be kept", id);
  const auto claims = named_.find(id);
  if (claims == named_.end()) return std::nullopt;
  for (const auto& [uid, claim] : claims->second) {
    if (now_ - claim.since > grace_ && !excused_.contains(uid)) {
      return Format("{} was released, and {} names it too", id, uid);
    }
  }
  return std::nullopt;
}

std::optional<std::string> EipWitness::CheckEvent(const std::string& uid, const std::string& reason,
                                                  const std::string& note) const {
  const auto own = std::ranges::find_if(owner_, [&](const auto& entry) {
    const cloud::Eip* eip = entry.second == uid ? Find(entry.first) : nullptr;
    return eip && eip->status != "Releasing";
  });
  if (note == "nothing was allocated" && own != owner_.end() && !excused_.contains(uid)) {
    return Format("an event says \"{}\", and {} was", note, own->first);
  }
  const std::string id = note.substr(0, note.find(' '));
  if (!id.starts_with("eip-") || excused_.contains(uid)) return std::nullopt;
  const bool stays = note.contains("stays in the cloud") || note.contains("is left in the cloud");
  if (stays && released_.contains(id) && !WasNamedByOthers(id, uid)) {
    return Format("an event says \"{}\", and Berth has released it", note);
  }
  const bool gone = reason == "Released" || reason == "AlreadyReleased";
  const cloud::Eip* eip = Find(id);
  // Berth looks again within half a minute.
  constexpr auto kLooksAgain = std::chrono::seconds(40);
  const auto fell_back = fell_back_.find(id);
  const bool unseen =
      fell_back != fell_back_.end() && now_ - fell_back->second < grace_ + kLooksAgain;
  if (gone && !unseen && eip && eip->status != "Releasing") {
    return Format("an event says \"{}\", and it is {}", note, eip->status);
  }
  return std::nullopt;
}

std::optional<std::string> EipWitness::Leaked(const Documents& objects) const {
  std::set<std::string> known;  // uids and addresses
  for (const Json& object : objects) {
    const Json& status = Part(object, "status");
    known.insert(Text(status, "allocationID"));
    // Its attempt is still open, and it says so.
    if (Part(status, "attempt").contains("clientToken") && Text(status, "allocationID").empty()) {
      known.insert(UidOf(object));
    }
  }
  for (const auto& [id, uid] : owner_) {
    if (!Find(id) || known.contains(id) || known.contains(uid)) continue;
    // A user wrote the attempt, and did not name its owner.
    if (uid.empty() && !excused_.empty()) continue;
    if (purchases_refused_ && untagged_.contains(id) && !knew_.contains(uid)) continue;
    if (!stays_.contains(uid) && !excused_.contains(uid)) {
      return Format("{} of {} is leaked", id, uid);
    }
  }
  return std::nullopt;
}

}  // namespace berth::simulate
