#include <algorithm>
#include <set>
#include <utility>

#include "log/format.h"
#include "reconcile/eip/objects.h"
#include "simulate/eip.h"
#include "simulate/eip_users.h"
#include "simulate/objects.h"
#include "simulate/world.h"

// Invariants of the objects, at all times and in the end.
namespace berth::simulate {
namespace {

using namespace std::chrono_literals;
namespace simulator = cloud::simulator;

// A pass over an object takes no longer, from the look at the cloud to the last write.
constexpr auto kPass = 20s;
constexpr const char* kRefusedWrite = "the API server refused Berth's write";

// Whether a condition is of the spec as it is now.
bool IsCurrent(const Json& object, const Json& condition) {
  return condition.get_value_or<std::int64_t>("observedGeneration", 0) ==
         object["metadata"].get_value_or<std::int64_t>("generation", 0);
}

// Whether the address has so many tags of which the status does not say that they are Berth's that
// there is no room for those of the spec: those of an object before it, or of a lost status.
bool IsFullOfTags(const Json& object, const cloud::Eip& eip) {
  std::set<std::string> tags;
  const Json& wanted = Part(Part(object, "spec"), "tags");
  for (const auto& tag : wanted.object_range()) tags.emplace(tag.key());
  for (const auto& [key, value] : eip.tags) {
    if (!Part(Part(object, "status"), "tags").contains(key)) tags.insert(key);
  }
  return tags.size() > eip::kMostTags;
}

}  // namespace

// Its address, or attempt, is where Berth does not work in the end.
bool Eip::IsElsewhere(const Json& object) {
  const Json& status = Part(object, "status");
  const std::string account = Text(status, "account");
  if (Text(status, "allocationID").empty() && !Part(status, "attempt").contains("clientToken")) {
    return false;
  }
  return !account.empty() &&
         (account != simulator::kDefaultAccount || Text(status, "region") != Eip::kRegion);
}

std::optional<std::string> Eip::Check(World& world, const std::string& writer,
                                      const kube::Request& request) {
  const auto objects = world.List(kCollection);
  if (auto wrong = See(world, objects)) return wrong;
  if (auto wrong = CheckOthersTags()) return wrong;
  if (writer == "user") {
    for (const Json& object : objects) {
      NoteSyncTime(object);
      ready_[UidOf(object)] = ReadyOf(object);
    }
    return std::nullopt;
  }
  if (request.path.contains("/leases/")) return std::nullopt;
  Note(world);
  const auto now = world.scheduler().Now();
  if (request.path.contains("/events")) {
    if (auto wrong = CheckEvent(request)) return wrong;
    if (told_watch_) return told_watch_->SawEvent(request, now);
  }
  for (const Json& object : objects) {
    const std::string uid = UidOf(object);
    const bool written = request.path.contains("/" + NameOf(object) + "/status");
    if (written) edited_.erase(uid);
    if (written) NoteAttempt(object);
    if (edited_.contains(uid)) {
      NoteSyncTime(object);
      ready_[uid] = ReadyOf(object);
      continue;
    }
    if (auto wrong = CheckStillReady(object)) return wrong;
    if (auto wrong = CheckTold(object)) return wrong;
    if (written) {
      if (auto wrong = CheckTruth(world, object)) return wrong;
      if (auto wrong = CheckToken(world, object)) return wrong;
    }
    if (!told_watch_) continue;
    if (auto wrong = told_watch_->Saw(object, now)) return wrong;
  }
  return std::nullopt;
}

// Whether a tag was taken off that others had set before.
std::optional<std::string> Eip::CheckOthersTags() const {
  for (const std::string& id : own_) {
    const cloud::Eip* eip = cloud_.vpc().Find(id);
    if (!eip || witness_.IsUntagged(id) || eip->tags.contains(kOthersTag)) continue;
    // Somebody has told an object that it is its own, or given the tag another value.
    const auto namers = witness_.NamersOf(id);
    const bool misled = std::ranges::any_of(namers, [&](const std::string& uid) {
      return wiped_.contains(uid) || edited_.contains(uid) || forged_.contains(uid) ||
             witness_.IsExcused(uid) || witness_.HasAsked(uid);
    });
    if (!misled) return Format("{} lacks the tag {}, which others had set", id, kOthersTag);
  }
  return std::nullopt;
}

std::optional<std::string> Eip::CheckEvent(const kube::Request& request) {
  const auto event = Json::Parse(request.body);
  if (!event || !event->contains("regarding")) return std::nullopt;
  const std::string uid = Text(Part(*event, "regarding"), "uid");
  if (Text(*event, "note").contains(kRefusedWrite)) told_refusals_.insert(uid);
  return witness_.CheckEvent(uid, Text(*event, "reason"), Text(*event, "note"));
}

// A write to metadata or spec that others refuse is told soon, once for each object at least.
void Eip::Refused(World& world, const kube::Request& request) {
  if (!prompt_ || request.method != kube::Method::kPatch) return;
  if (request.path.ends_with("/status")) {
    untold_[request.path] = world.scheduler().Now();
    return;
  }
  for (const Json& object : world.List(kCollection)) {
    if (request.path != PathOf(NameOf(object))) continue;
    world.scheduler().After(30s, [this, &world, name = NameOf(object), uid = UidOf(object)] {
      if (told_refusals_.contains(uid)) return;
      world.Violate(name + " is not told that a write was refused");
    });
  }
}

// A deletion is told though the cloud has no turn for it, unless the status may not be written: a
// refused write is repeated after a minute.
void Eip::CheckDeletionTold(World& world, const std::string& uid) {
  if (!prompt_ || world.faults().forbidden > 0 || edited_.contains(uid)) return;
  for (const Json& object : world.List(kCollection)) {
    if (UidOf(object) != uid || !Deleting(object)) continue;
    if (Text(ReadyOf(object), "status") != "True") continue;
    const auto refused = untold_.find(PathOf(NameOf(object)) + "/status");
    if (refused != untold_.end() && world.scheduler().Now() - refused->second < 90s) continue;
    world.Violate(NameOf(object) + " is being deleted and Ready");
  }
}

void Eip::NoteSyncTime(const Json& object) {
  sync_time_[UidOf(object)] = Text(Part(object, "status"), "lastSyncTime");
}

// Whether an object that was Ready is told not to be because a list did not have its address.
std::optional<std::string> Eip::CheckStillReady(const Json& object) {
  const Json& ready = ReadyOf(object);
  const Json before = std::exchange(ready_[UidOf(object)], ready);
  const bool was_ready = Text(before, "status") == "True" && IsCurrent(object, before);
  if (!was_ready || Text(ready, "status") == "True" || Deleting(object)) return std::nullopt;
  if (!Text(ready, "message").contains("is missing from the cloud's list")) return std::nullopt;
  return Format("{} was Ready: {}", NameOf(object), Text(ready, "message"));
}

// Whether a status contradicts itself, or says of a fault that passes that the spec is to blame.
std::optional<std::string> Eip::CheckTold(const Json& object) {
  const Json& status = Part(object, "status");
  const Json& ready = ReadyOf(object);
  const std::string reason = Text(ready, "reason");
  const std::string message = Text(ready, "message");
  const auto holds = [&](const char* type) {
    return Text(ConditionOf(object, type), "status") == "True";
  };
  if (reason == "InvalidConfig" && message.contains(kPasses)) {
    return Format("{} is told that its spec is wrong: {}", NameOf(object), message);
  }
  const bool lost = reason == "Lost" && !holds("Progressing");
  if (lost && !Text(status, "allocationID").empty() && !Text(status, "eipAddress").empty()) {
    return NameOf(object) + " is lost and shows its old address";
  }
  if (!message.empty() && message == Text(ConditionOf(object, "Synced"), "message")) {
    return NameOf(object) + " says the same thing twice";
  }
  const std::string synced = Text(status, "lastSyncTime");
  std::string& before = sync_time_[UidOf(object)];
  if (!synced.empty() && synced != before && !holds("Synced")) {
    return NameOf(object) + " says that it was synced, and that it was not";
  }
  before = synced;
  return std::nullopt;
}

// Whether the conditions that have just been written were true when the cloud was last asked.
std::optional<std::string> Eip::CheckTruth(World& world, const Json& object) const {
  const Json& ready = ReadyOf(object);
  const Json& status = Part(object, "status");
  const std::string reason = Text(ready, "reason");
  const std::string name = NameOf(object);
  const std::string id = Text(status, "allocationID");
  const auto now = world.scheduler().Now();
  const auto since = now - grace_ - kPass;
  if (witness_.IsExcused(UidOf(object)) || !IsCurrent(object, ready)) return std::nullopt;
  using State = EipHistory::State;
  const auto has_been = [&](const auto& like) { return history_.HasBeen(id, since, like); };
  if (reason == "Created" || reason == "Updated") {
    const Json protection =
        Part(object, "spec").get_value_or<Json>("securityProtectionTypes", Json::Array());
    if (!has_been([&](const State& state) {
          return state && state->eip.security_protection_types.size() >= protection.size();
        })) {
      return name + " is told to be in sync, and has another protection";
    }
    if (!has_been([&](const State& state) { return state && !CheckAddress(object, state->eip); })) {
      return Format("{} is told to be in sync: {}", name, id);
    }
    if (!has_been([](const State& state) { return state && state->lock_reasons.empty(); })) {
      return name + " is Ready and locked";
    }
  }
  if (reason == "Locked" &&
      !has_been([](const State& state) { return state && !state->lock_reasons.empty(); })) {
    return name + " is told that it is locked";
  }
  const bool unlisted = has_been([](const State& state) { return !state || !state->visible; });
  const bool progressing = Text(ConditionOf(object, "Progressing"), "status") == "True";
  if (reason == "Lost" && !progressing && !id.empty() && !unlisted) {
    return name + " is told that it is lost";
  }
  const bool away = reason == "WrongAccount" || reason == "WrongRegion";
  const bool moved = key_id_ != kKeyId || region_ != kRegion || moved_until_ >= since;
  if (away && !IsElsewhere(object) && !moved) return name + " is told that it is elsewhere";
  if ((reason == "Deleting" || reason == "Deleted") && !Deleting(object)) {
    return name + " is told that it is being deleted";
  }
  const bool synced = Text(ConditionOf(object, "Synced"), "status") == "True";
  if (!synced || unlisted || Text(status, "eipAddress").empty()) return std::nullopt;
  const bool seen = has_been([&](const State& state) {
    return state && Text(status, "eipAddress") == state->eip.address &&
           Text(status, "bandwidth") == state->eip.bandwidth &&
           Text(status, "name") == state->eip.name &&
           Text(status, "resourceGroupID") == state->eip.resource_group_id &&
           Text(status, "bandwidthPackageID") == state->eip.bandwidth_package_id;
  });
  if (!seen) return name + " is Synced with what the cloud never had";
  return std::nullopt;
}

// Whether a user is advised to give up an address that can be found by its tag.
std::optional<std::string> Eip::CheckToken(World& world, const Json& object) const {
  const auto since = world.scheduler().Now() - kPass;
  if (!Text(ReadyOf(object), "message").contains("was used before")) return std::nullopt;
  if (witness_.IsExcused(UidOf(object)) || empty_list_at_ >= since - grace_) return std::nullopt;
  for (const cloud::Eip& eip : cloud_.vpc().Eips()) {
    if (witness_.TagOf(eip.allocation_id) != UidOf(object)) continue;
    const bool unlisted = history_.HasBeen(eip.allocation_id, since, [](const auto& state) {
      return !state || !state->visible || state->eip.status == "Releasing";
    });
    if (!unlisted)
      return Format("{} is told to give up {}, which has its tag", NameOf(object),
                    eip.allocation_id);
  }
  return std::nullopt;
}

// Whether an object is still told to be Ready that users have changed or deleted some time ago.
// A throttled call waits for its turn, so its EIP is told of the change later.
std::optional<std::string> Eip::CheckFollowed(World& world, bool throttled) {
  for (const Json& object : world.List(kCollection)) {
    const Json& ready = ReadyOf(object);
    if (Text(ready, "status") != "True" || edited_.contains(UidOf(object))) continue;
    if (Deleting(object)) return NameOf(object) + " is being deleted and Ready";
    if (!throttled && !IsCurrent(object, ready))
      return NameOf(object) + " is Ready by a spec of before";
  }
  return std::nullopt;
}

// Whether an object tells of a fault that has passed.
std::optional<std::string> Eip::CheckOver(World& world) {
  for (const Json& object : world.List(kCollection)) {
    const std::string message = Text(ReadyOf(object), "message");
    if (message.contains(kPasses) || message.contains("SSL")) {
      return Format("{} still says: {}", NameOf(object), message);
    }
  }
  return std::nullopt;
}

std::optional<std::string> Eip::See(World& world, const Documents& objects) {
  return witness_.See(objects, world.scheduler().Now(), grace_);
}

std::optional<std::string> Eip::Unsettled(World& world) {
  Calm();
  told_watch_.reset();
  cloud_.Settle(world.scheduler().WallNow());  // there may be nobody left who asks it anything
  const auto objects = world.List(kCollection);
  if (auto wrong = See(world, objects)) return wrong;
  if (auto leaked = witness_.Leaked(objects)) return leaked;
  for (const Json& object : objects) {
    if (auto wrong = CheckObject(object, objects)) return wrong;
  }
  return std::nullopt;
}

std::optional<std::string> Eip::CheckObject(const Json& object, const Documents& all) const {
  const std::string name = NameOf(object);
  const Json& ready = ReadyOf(object);
  const std::string reason = Text(ready, "reason");
  const std::string message = Text(ready, "message");
  // Only a person can help.
  if (message.contains("was used before") && MayHaveLostAnAddress(UidOf(object))) {
    return std::nullopt;
  }
  // A user wrote into its status what is not so.
  if (witness_.IsExcused(UidOf(object))) return std::nullopt;
  if (IsElsewhere(object)) {
    if (reason == "WrongAccount" || reason == "WrongRegion") return std::nullopt;
    if (reason == "InvalidConfig" && !CheckBlame(object, all)) return std::nullopt;
    return Format("{} is elsewhere and {}: {}", name, reason, message);
  }
  if (Deleting(object)) return Format("{} is still being deleted: {}", name, message);
  const std::string id = Text(Part(object, "status"), "allocationID");
  const cloud::Eip* eip = cloud_.vpc().Find(id);
  if (Text(ready, "status") == "True") {
    if (!eip) return name + " is Ready and has no address";
    if (Part(object, "status").contains("attempt")) return name + " still has an attempt";
    return CheckAddress(object, *eip);
  }
  if (reason == "Lost") {
    const std::string wanted = Text(Part(object, "spec"), "allocationID");
    if (eip || cloud_.vpc().Find(wanted)) return name + " is told that its address is lost";
    return std::nullopt;
  }
  if (reason == "InvalidConfig") return CheckBlame(object, all);
  if (message.contains("TagsPerResource") && eip && IsFullOfTags(object, *eip)) return std::nullopt;
  if (MayBeRefused(Part(object, "spec"))) return std::nullopt;
  return Format("{} is {}: {}", name, reason, message);
}

// Its status was lost, and there is no address that is known to be its own.
bool Eip::MayHaveLostAnAddress(const std::string& uid) const {
  if (witness_.IsExcused(uid)) return true;
  return wiped_.contains(uid) && std::ranges::none_of(cloud_.vpc().Eips(), [&](const auto& eip) {
           return witness_.TagOf(eip.allocation_id) == uid;
         });
}

// Whether its spec is wrong, as it is told.
std::optional<std::string> Eip::CheckBlame(const Json& object, const Documents& all) const {
  const Json& spec = Part(object, "spec");
  const Json& status = Part(object, "status");
  if (MayBeRefused(spec)) return std::nullopt;
  const std::string named = Text(spec, "allocationID");
  const std::string has = Text(status, "allocationID");
  if (!named.empty() && !has.empty() && named != has) return std::nullopt;
  // A bandwidth package takes EIPs of its own line only, which is that of a spec without a word.
  const cloud::Eip* eip = cloud_.vpc().Find(has);
  if (eip && eip->isp != "BGP" && !Text(spec, "bandwidthPackageID").empty()) return std::nullopt;
  const std::string& claimed = has.empty() ? named : has;
  for (const Json& other : all) {
    if (claimed.empty() || UidOf(other) == UidOf(object)) continue;
    if (Text(Part(other, "spec"), "allocationID") == claimed ||
        Text(Part(other, "status"), "allocationID") == claimed ||
        witness_.TagOf(claimed) == UidOf(other)) {
      return std::nullopt;
    }
  }
  return Format("{} is told that its spec is wrong: {}", NameOf(object),
                Text(ReadyOf(object), "message"));
}

std::optional<std::string> Eip::CheckAddress(const Json& object, const cloud::Eip& eip) const {
  const Json& spec = Part(object, "spec");
  const std::string name = NameOf(object);
  const std::string bandwidth = Text(spec, "bandwidth");
  if (!bandwidth.empty() && eip.bandwidth_package_id.empty() && bandwidth != eip.bandwidth) {
    return Format("{} wants {} Mbps and has {}", name, bandwidth, eip.bandwidth);
  }
  const std::string title = Text(spec, "name");
  if (!title.empty() && title != eip.name) return name + " has another name in the cloud";
  const std::string package = Text(spec, "bandwidthPackageID");
  const bool created = Text(Part(object, "status"), "origin") == "Created";
  if ((created || !package.empty()) && package != eip.bandwidth_package_id) {
    return Format("{} is in the package {}", name, eip.bandwidth_package_id);
  }
  const std::string group = Text(spec, "resourceGroupID");
  if (!group.empty() && group != eip.resource_group_id) {
    return Format("{} is in the resource group {}", name, eip.resource_group_id);
  }
  const Json& tags = Part(spec, "tags");
  for (const auto& tag : tags.object_range()) {
    if (tag.key() == eip::kOwnerTag) continue;
    const auto found = eip.tags.find(std::string(tag.key()));
    if (found == eip.tags.end() || found->second != tag.value().as<std::string>()) {
      return Format("{} lacks the tag {}", name, tag.key());
    }
  }
  if (!created || tags.size() == eip::kMostTags) return std::nullopt;
  const auto owner = eip.tags.find(std::string(eip::kOwnerTag));
  if (owner == eip.tags.end() || owner->second != UidOf(object)) {
    return name + " lacks its owner's tag";
  }
  // The tags to be removed are known only to an object that has always had the address.
  const bool always = witness_.OwnerOf(eip.allocation_id) == UidOf(object) &&
                      !witness_.WasNamedByOthers(eip.allocation_id, UidOf(object));
  for (const char* key : {"team", "stage", "k0", "k19"}) {
    if (always && !wiped_.contains(UidOf(object)) && eip.tags.contains(key) &&
        !tags.contains(key)) {
      return Format("{} still has the tag {}", name, key);
    }
  }
  return std::nullopt;
}

}  // namespace berth::simulate
