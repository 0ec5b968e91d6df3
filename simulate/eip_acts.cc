// Acts of users on EIPs beyond their specs, and of others in the cloud.
#include <algorithm>
#include <iterator>
#include <tuple>

#include "log/format.h"
#include "reconcile/eip/objects.h"
#include "simulate/eip.h"
#include "simulate/objects.h"
#include "simulate/world.h"

namespace berth::simulate {
using namespace std::chrono_literals;

void Eip::Act(World& world) {
  const auto roll = world.random().Below(100);
  if (roll < 70) return users_->Act();
  if (roll < 73) return DropTags(world);
  if (roll < 77) return Wipe(world);
  if (roll < 81) return Restore(world);
  if (roll < 83) return CopyStatus(world);
  if (roll < 86) {
    world.Trace("{}", "a list will be empty");
    ++empty_lists_;
    return;
  }
  if (roll < 89) return ThinkAgain(world);
  if (roll < 91) return RenameTag(world);
  if (roll < 93) return ForgeOwner(world);
  Meddle(world);
}

// To be imported: mostly one that users had before, or any that there is, or none.
std::string Eip::SomeAddress(World& world) const {
  Dice& random = world.random();
  const auto roll = random.Below(10);
  const auto eips = cloud_.vpc().Eips();
  if (roll < 7) return own_[random.Below(own_.size())];
  if (roll < 9 && !eips.empty()) return eips[random.Below(eips.size())].allocation_id;
  return "eip-nowhere";
}

// A user removes spec.tags soon after something else was done.
void Eip::DropTags(World& world) {
  const auto objects = world.List(kCollection);
  if (objects.empty()) return;
  const std::string path = PathOf(NameOf(objects[world.random().Below(objects.size())]));
  world.scheduler().After(world.random().Between(0s, 3s),
                          [&world, path] { world.Merge(path, R"({"spec":{"tags":null}})"); });
}

// A user sets as many tags as leave room for the owner's, and renames one of them later.
void Eip::RenameTag(World& world) {
  const auto objects = world.List(kCollection);
  if (objects.empty()) return;
  const Json& object = objects[world.random().Below(objects.size())];
  if (!IsSettled(object)) return;
  const std::string path = PathOf(NameOf(object));
  Json tags;
  for (int i = 0; i < 19; ++i) tags[Format("k{}", i)] = "x";
  world.Merge(path, R"({"spec":{"tags":null}})");
  world.Merge(path, Format(R"({{"spec":{{"tags":{}}}}})", tags.to_string()));
  world.scheduler().After(world.random().Between(0s, 30s), [&world, path] {
    world.Merge(path, R"({"spec":{"tags":{"k0":null,"k19":"x"}}})");
  });
}

// A user deletes some objects, perhaps when releases have to wait for their turn, and then wants to
// keep the address of the last one, or another cluster takes it over.
void Eip::ThinkAgain(World& world) {
  Dice& random = world.random();
  const auto objects = world.List(kCollection);
  if (objects.empty()) return;
  if (random.Chance(0.7)) Storm(world, kThrottles, random.Between(5s, 40s));
  const std::size_t first = random.Below(objects.size());
  const std::size_t last = std::min(first + random.Below(4), objects.size() - 1);
  for (std::size_t i = first; i < last; ++i) {
    world.Ask({.method = kube::Method::kDelete, .path = PathOf(NameOf(objects[i]))});
  }
  const std::string path = PathOf(NameOf(objects[last]));
  const std::string uid = UidOf(objects[last]);
  const std::string id =
      IsSettled(objects[last]) ? Text(Part(objects[last], "status"), "allocationID") : "";
  const bool adopted = !id.empty() && random.Chance(0.3);
  const bool falls_back = random.Chance(0.3);
  const std::string change = random.Chance(0.5)
                                 ? R"({"spec":{"releaseStrategy":"Never"}})"
                                 : Format(R"({{"metadata":{{"annotations":{{"{}":"abandon"}}}}}})",
                                          eip::kOnStuckAnnotation);
  const auto until_deleted = random.Between(0s, 30s);
  if (falls_back) {
    world.scheduler().After(until_deleted + random.Between(1s, 5s),
                            [this, &world] { FallBack(world); });
  }
  world.scheduler().After(until_deleted, [this, &world, path, change, adopted, uid, id] {
    world.Ask({.method = kube::Method::kDelete, .path = path});
    world.scheduler().After(30s, [this, &world, uid] { CheckDeletionTold(world, uid); });
    world.scheduler().After(world.random().Between(0s, 5s),
                            [this, &world, path, change, adopted, uid, id] {
                              if (adopted) return AdoptElsewhere(world, uid, id);
                              world.Merge(path, change);
                            });
  });
}

// The cloud gives up a release that it has begun, perhaps when its object is gone already.
void Eip::FallBack(World& world) {
  Note(world);
  for (const cloud::Eip& eip : cloud_.vpc().Eips()) {
    if (eip.status != "Releasing") continue;
    world.Trace("{} is not released after all", eip.allocation_id);
    const std::string id = eip.allocation_id;
    witness_.Orphan(witness_.OwnerOf(id));
    witness_.FellBack(id);
    cloud_.vpc().Edit(id).status = "Available";
    return;
  }
}

// The tag of the object's address names an object of another cluster from now on.
void Eip::AdoptElsewhere(World& world, const std::string& uid, const std::string& id) {
  Note(world);
  const cloud::Eip* eip = cloud_.vpc().Find(id);
  if (!eip || witness_.TagOf(id) != uid) return;
  world.Trace("another cluster adopts {}", id);
  cloud::Tags tags = eip->tags;
  tags[std::string(eip::kOwnerTag)] = EipWitness::kElsewhere;
  cloud_.vpc().SetTags(id, tags);
  witness_.Orphan(uid);
  witness_.Adopted(id, world.scheduler().WallNow());
}

// A user's change that the controller cannot see: whatever becomes of the address is not its fault.
void Eip::Tampered(const Json& object, const std::string& action) {
  const std::string uid = UidOf(object);
  if (action == "ownerReferences") return;
  if (action == "finalizers") witness_.Orphan(uid);
  if (action.starts_with("status.")) edited_.insert(uid);
  if (action.starts_with("status.conditions") || action == "status.lastSyncTime") return;
  wiped_.insert(uid);
  witness_.Excuse(uid);
}

void Eip::WriteStatus(World& world, const std::string& name, const Json& status) {
  Json patch;
  patch["status"] = status;
  world.Merge(PathOf(name) + "/status", patch.to_string());
}

void Eip::NoteAttempt(const Json& object) {
  const Json& status = Part(object, "status");
  if (Part(status, "attempt").contains("clientToken")) attempts_[UidOf(object)] = status;
}

// Whether its address is known by its tag, and not by its status alone.
bool Eip::IsSettled(const Json& object) const {
  const std::string id = Text(Part(object, "status"), "allocationID");
  return Text(ReadyOf(object), "status") == "True" && witness_.TagOf(id) == UidOf(object) &&
         !forged_.contains(UidOf(object));
}

// A user makes an import look like the object's own, by the tag or by the status.
void Eip::ForgeOwner(World& world) {
  Dice& random = world.random();
  const auto objects = world.List(kCollection);
  if (objects.empty()) return;
  const Json& object = objects[random.Below(objects.size())];
  const std::string id = Text(Part(object, "status"), "allocationID");
  const bool imported = Text(Part(object, "status"), "origin") == "Imported";
  const cloud::Eip* eip = cloud_.vpc().Find(id);
  if (!imported || !eip || !std::ranges::contains(own_, id) || !witness_.TagOf(id).empty()) return;
  world.Trace("somebody makes {} look like the own address of {}", id, NameOf(object));
  if (random.Chance(0.5)) {
    Json status;
    status["origin"] = "Created";
    edited_.insert(UidOf(object));
    return WriteStatus(world, NameOf(object), status);
  }
  Note(world);
  eip = cloud_.vpc().Find(id);  // a release may have ended meanwhile
  if (!eip) return;
  forged_.insert(UidOf(object));
  cloud::Tags tags = eip->tags;
  tags[std::string(eip::kOwnerTag)] = UidOf(object);
  cloud_.vpc().SetTags(id, tags);
  const Json& other = objects[random.Below(objects.size())];
  if (UidOf(other) == UidOf(object) || random.Chance(0.5)) return;
  // So that the object looks for its tag when it goes.
  world.Trace("the status of {} is copied to {}", NameOf(object), NameOf(other));
  Overwrite(world, other, Part(object, "status"));
  world.Ask({.method = kube::Method::kDelete, .path = PathOf(NameOf(object))});
}

// A user writes another object's status into this one. Its own address is still found if spec names
// it; in another account or region its tag is not.
void Eip::Overwrite(World& world, const Json& object, const Json& status) {
  const std::string uid = UidOf(object);
  const bool named =
      Text(Part(object, "spec"), "allocationID") == Text(Part(object, "status"), "allocationID");
  edited_.insert(uid);
  wiped_.insert(uid);
  if (!IsSettled(object) || !named || moves_) witness_.Excuse(uid);
  WriteStatus(world, NameOf(object), status);
}

// A user takes another object's status for this one's: as it is, or as it was in the middle of its
// allocation.
void Eip::CopyStatus(World& world) {
  Dice& random = world.random();
  const auto objects = world.List(kCollection);
  if (objects.empty()) return;
  const Json& to = objects[random.Below(objects.size())];
  const std::string uid = UidOf(to);
  const Json& from = objects[random.Below(objects.size())];
  std::string from_uid = UidOf(from);
  Json status = Part(from, "status");
  if (random.Chance(0.5) && !attempts_.empty()) {
    auto attempt = attempts_.begin();
    std::advance(attempt, random.Below(attempts_.size()));
    std::tie(from_uid, status) = *attempt;
    status["allocationID"] = Json::null();
  }
  if (from_uid == uid) return;
  world.Trace("the status of {} is copied to {}", from_uid, NameOf(to));
  witness_.Orphan(from_uid);  // what both name is kept
  Overwrite(world, to, status);
}

// A user who was told to change spec does.
void Eip::FollowAdvice(World& world, const std::string& uid) {
  for (const Json& object : world.List(kCollection)) {
    if (UidOf(object) != uid) continue;
    world.Merge(PathOf(NameOf(object)), R"({"spec":{"description":"as advised"}})");
  }
}

// A user deletes an object that has failed.
void Eip::GiveUp(World& world, const std::string& uid) {
  for (const Json& object : world.List(kCollection)) {
    if (UidOf(object) != uid) continue;
    world.Ask({.method = kube::Method::kDelete, .path = PathOf(NameOf(object))});
  }
}

// A status goes, as when an object or etcd is restored; and perhaps what was written into the spec,
// and the finalizer.
void Eip::Wipe(World& world) {
  Dice& random = world.random();
  const auto objects = world.List(kCollection);
  if (objects.empty()) return;
  const Json& object = objects[random.Below(objects.size())];
  const std::string uid = UidOf(object);
  wiped_.insert(uid);
  // In another account or region its tag is not found either.
  if (!IsSettled(object) || moves_) witness_.Excuse(uid);
  if (random.Chance(0.4)) {
    const bool strip = random.Chance(0.5);
    // Without it the object can go unseen.
    if (strip) witness_.Orphan(uid);
    front_->SetBypassed(true);
    world.Merge(PathOf(NameOf(object)),
                Format(R"({{"metadata":{{{}}},)"
                       R"("spec":{{"allocationID":null,"description":"wiped"}}}})",
                       strip ? R"("finalizers":null)" : ""));
    front_->SetBypassed(false);
  }
  world.Merge(PathOf(NameOf(object)) + "/status", R"({"status":null})");
}

// An object is lost, with nobody asking its finalizer, and made again from a backup of its spec,
// and perhaps of its status.
void Eip::Restore(World& world) {
  Dice& random = world.random();
  const auto objects = world.List(kCollection);
  if (objects.empty()) return;
  const Json& object = objects[random.Below(objects.size())];
  witness_.Orphan(UidOf(object));
  const std::string path = PathOf(NameOf(object));
  world.Merge(path, R"({"metadata":{"finalizers":null}})");
  world.Ask({.method = kube::Method::kDelete, .path = path});
  Json copy;
  copy["apiVersion"] = "eip.alibabacloud.com/v1alpha1";
  copy["kind"] = "EIP";
  copy["metadata"] = Json::Object();
  copy["metadata"]["name"] = NameOf(object);
  copy["spec"] = object["spec"];
  const Json made =
      world.Ask({.method = kube::Method::kPost, .path = kCollection, .body = copy.to_string()})
          .body();
  if (!made.contains("spec") || !object.contains("status") || random.Chance(0.5)) return;
  world.scheduler().After(random.Between(0s, 20s), [this, &world, object, uid = UidOf(made)] {
    world.Trace("the status of {} is restored", NameOf(object));
    // By its spec it may have got an address of its own meanwhile.
    const std::string id = Text(object["status"], "allocationID");
    const bool shared = !id.empty() && id == Text(object["spec"], "allocationID");
    for (const Json& now : world.List(kCollection)) {
      if (UidOf(now) != uid) continue;
      if (!shared) return Overwrite(world, now, object["status"]);
      edited_.insert(uid);
      return WriteStatus(world, NameOf(now), object["status"]);
    }
  });
}

void Eip::Note(World& world) {
  cloud_.Settle(world.scheduler().WallNow());
  history_.Note(world.scheduler().Now());
}

// Other users of the cloud account change or delete EIPs.
void Eip::Meddle(World& world) {
  Note(world);
  Dice& random = world.random();
  const auto eips = cloud_.vpc().Eips();
  if (eips.empty()) return;
  const std::string id = eips[random.Below(eips.size())].allocation_id;
  cloud::Eip& eip = cloud_.vpc().Edit(id);
  switch (random.Below(9)) {
    case 0:
    case 1:
      world.Trace("others delete {}", id);
      cloud_.vpc().DeleteEip(id);
      return;
    case 2:
      eip.name = "meddled";
      return;
    case 3:
      // An object that has lost its status as well is beyond help, and so is a PrePaid address of
      // which its object was not told.
      if (eip.instance_charge_type == "PrePaid" || wiped_.contains(witness_.TagOf(id))) return;
      world.Trace("others take the tags off {}", id);
      cloud_.vpc().SetTags(id, {});
      witness_.Untag(id);
      return;
    case 4:
      eip.deletion_protection = true;
      return;
    case 5:
      eip.resource_group_id = "rg-meddled";
      return;
    case 6:
      cloud_.vpc().SetLocks(id, {random.Chance(0.5) ? "financial" : "security"});
      return;
    case 7:
      if (eip.bandwidth_package_status != "BINDED") return;
      eip.bandwidth_package_id.clear();
      eip.bandwidth_package_status.clear();
      return;
    default:
      if (eip.status == "Available") {
        eip.status = "InUse";
        eip.instance_id = "i-1";
        eip.instance_type = "EcsInstance";
      }
  }
}

}  // namespace berth::simulate
