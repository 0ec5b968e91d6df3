#include "reconcile/eip/plan.h"

#include <tuple>

#include "log/format.h"

namespace berth::eip {
namespace {

using namespace step;

// In a state that the cloud leaves by itself, or one we have never heard of.
bool IsPassing(const cloud::Eip& eip) { return eip.status != "Available" && eip.status != "InUse"; }

bool IsJoining(const cloud::Eip& eip) {
  return !eip.bandwidth_package_id.empty() && !eip.bandwidth_package_status.empty() &&
         eip.bandwidth_package_status != "BINDED";
}

// The uid of the object that it was allocated for; empty for none.
std::string OwnerOf(const cloud::Eip& eip) {
  const auto owner = eip.tags.find(std::string(kOwnerTag));
  return owner == eip.tags.end() ? "" : owner->second;
}

// Another object's, by its tag.
bool IsForeign(const Object& object, const cloud::Eip& eip) {
  const std::string owner = OwnerOf(eip);
  return !owner.empty() && owner != object.id.uid;
}

// Another one's, who is not here to mind, and this object asks for it.
bool IsToAdopt(const Object& object, const cloud::Eip& eip, const Sight& sight) {
  return IsForeign(object, eip) && sight.tagged_for.empty() && object.on_foreign == "adopt";
}

Wait Passing(const cloud::Eip& eip, std::string reason) {
  return {std::move(reason), Format("{} is {} in the cloud", eip.allocation_id, eip.status), true};
}

Wait Stuck(std::string message) {
  return {"Deleting", Format("{}; {}: abandon lets the object go and leaves the address", message,
                             kOnStuckAnnotation)};
}

Step Kept(const Object& object) {
  return Finish{"Skipped", Format("{} is kept: {}", object.allocation_id,
                                  object.spec.release == ReleaseStrategy::kNever
                                      ? "releaseStrategy is Never"
                                      : "it was imported, and releaseStrategy is not set")};
}

// The cloud is asked to release it even when it is not to be seen: a young address may not be yet,
// and only the cloud's word that there is no such address is proof.
Step DecideRelease(const Object& object, const Sight& sight) {
  if (!sight.asked) return Look{};
  if (!sight.eip) return step::Release{};
  const cloud::Eip& eip = *sight.eip;
  if (IsForeign(object, eip)) {
    return Finish{"Skipped", Format("{} is kept: its tag {} names another object; {}: adopt "
                                    "would have made it this one's",
                                    eip.allocation_id, kOwnerTag, kOnForeignAnnotation)};
  }
  if (IsPassing(eip)) return Passing(eip, "Deleting");
  if (eip.service_managed) return Stuck("another product of the cloud manages it");
  if (eip.instance_charge_type == "PrePaid") {
    return Stuck("it is PrePaid: the cloud releases it when its time is over");
  }
  if (eip.deletion_protection) return Stuck("it is protected against deletion in the cloud");
  if (eip.status == "InUse") {
    if (object.on_stuck == "unassociate") return Unassociate{};
    return Stuck(Format("it is in use by {} {}, and not taken off unless {} is unassociate",
                        eip.instance_type, eip.instance_id, kOnStuckAnnotation));
  }
  if (IsJoining(eip)) {
    return Wait{
        "Deleting",
        Format("its package {} is {}", eip.bandwidth_package_id, eip.bandwidth_package_status),
        true};
  }
  if (!eip.bandwidth_package_id.empty()) return Leave{eip.bandwidth_package_id};
  return step::Release{};
}

// It has no address that anybody knows of.
Step DecideUnknownEnd(const Object& object, const Sight& sight) {
  // An attempt may have succeeded without anybody knowing.
  if (object.attempt && !sight.fresh_attempt) {
    if (!sight.searched) return Find{};
    return Allocate{};
  }
  // An attempt that is not there may have been: a backup is restored without status.
  if (object.attempt.number == 0 && !sight.searched) return Find{};
  return Finish{"Skipped", object.NamesAddress()
                               ? object.spec.allocation_id + " was not imported, and is left alone"
                               : "nothing was allocated"};
}

Step DecideEnd(const Object& object, const Sight& sight) {
  if (!object.id.finalizer) return Nothing{};
  if (object.on_stuck == "abandon") {
    return Finish{"Skipped", Format("{} is left in the cloud, as {} asks", object.ClaimedId(),
                                    kOnStuckAnnotation)};
  }
  const std::string& id = object.allocation_id;
  if (id.empty()) return DecideUnknownEnd(object, sight);
  if (!sight.unclaimed && !object.Releases()) return Kept(object);
  if (!sight.taken_by.empty()) {
    return Finish{"Skipped", Format("{} is kept: it is {}'s", id, sight.taken_by)};
  }
  if (!sight.wanted_by.empty()) {
    return Finish{"Skipped", Format("{} is kept: {} names it too", id, sight.wanted_by)};
  }
  return DecideRelease(object, sight);
}

Step DecideImport(const Object& object, const Sight& sight) {
  const std::string& id = object.spec.allocation_id;
  if (!sight.taken_by.empty()) {
    return Wait{"InvalidConfig", Format("{} is {}'s already", id, sight.taken_by)};
  }
  if (!sight.asked) return Look{};
  if (!sight.eip) {
    return Wait{"Lost", Format("there is no {} in this region of this account", id),
                !sight.vanished};
  }
  const cloud::Eip& eip = *sight.eip;
  // Its status was lost, not its address.
  if (OwnerOf(eip) == object.id.uid) return Import{eip.address, Origin::kCreated};
  if (IsToAdopt(object, eip, sight)) return Import{eip.address, Origin::kCreated};
  if (!sight.tagged_for.empty()) {
    return Wait{"InvalidConfig", Format("{} was allocated for {}: its tag {} says so", id,
                                        sight.tagged_for, kOwnerTag)};
  }
  return Import{eip.address, Origin::kImported};
}

Step DecideNew(const Object& object, const Sight& sight) {
  if (!object.attempt) {
    // Its status may be lost, and spec name another address meanwhile: its own one comes first.
    if (object.attempt.number == 0 && !sight.newborn && !sight.searched) return Find{};
    if (object.NamesAddress()) return DecideImport(object, sight);
    return Begin{object.NextAttempt()};
  }
  if (!sight.fresh_attempt && !sight.searched) return Find{};
  return Allocate{};
}

Step DecideLost(const Object& object, const Sight& sight) {
  const std::string& id = object.allocation_id;
  if (!sight.vanished) {
    return Wait{object.told_reason == "Creating" ? "Creating" : "SyncFailed",
                id + " is not to be seen in the cloud at the moment", true};
  }
  const bool ours = object.origin == Origin::kCreated;
  if (ours && object.on_lost == "reallocate") {
    // Not to be seen is not to be gone, and two addresses are one too many.
    if (!sight.gone) return Probe{};
    return Begin{object.NextAttempt()};
  }
  return Wait{"Lost",
              Format("{} is gone from the cloud, and not by our doing{}", id,
                     ours ? Format("; {}: reallocate gets another one", kOnLostAnnotation) : "")};
}

// What the spec asks for and cannot be had any more.
std::string Unlike(const Spec& spec, const cloud::Eip& eip) {
  for (const auto& [name, wanted, is] :
       {std::tuple("isp", &spec.isp, &eip.isp),
        std::tuple("internetChargeType", &spec.internet_charge_type, &eip.internet_charge_type),
        std::tuple("instanceChargeType", &spec.instance_charge_type, &eip.instance_charge_type),
        std::tuple("publicIPAddressPoolID", &spec.pool, &eip.public_ip_address_pool_id)}) {
    if (!wanted->empty() && !is->empty() && *wanted != *is) {
      return Format("{} is {} in the cloud and cannot become {}", name, *is, *wanted);
    }
  }
  return "";
}

// What the cloud has and the spec wants otherwise.
Step DecideRepair(const Object& object, const cloud::Eip& eip) {
  const Spec& spec = object.spec;
  cloud::Tags tags;
  for (const auto& [key, value] : WantedTags(object)) {
    const auto found = eip.tags.find(key);
    if (found == eip.tags.end() || found->second != value) tags.emplace(key, value);
  }
  if (!tags.empty()) return Tag{std::move(tags)};
  std::vector<std::string> stale;
  for (const auto& [key, value] : object.applied_tags) {
    const auto found = eip.tags.find(key);
    if (key != kOwnerTag && !spec.tags.contains(key) && found != eip.tags.end() &&
        found->second == value) {
      stale.push_back(key);
    }
  }
  if (!stale.empty()) return Untag{std::move(stale)};

  cloud::EipChange change;
  if (!spec.name.empty() && spec.name != eip.name) change.name = spec.name;
  if (!spec.description.empty() && spec.description != eip.description) {
    change.description = spec.description;
  }
  // In a package its own bandwidth does nothing, and cannot be changed.
  const bool in_package = !eip.bandwidth_package_id.empty();
  if (!in_package && !spec.bandwidth.empty() && spec.bandwidth != eip.bandwidth) {
    change.bandwidth = spec.bandwidth;
  }
  if (change.name || change.description || change.bandwidth) {
    if (IsPassing(eip)) return Passing(eip, "Updating");
    return Modify{std::move(change)};
  }
  if (!spec.resource_group.empty() && spec.resource_group != eip.resource_group_id) return Move{};
  if (IsJoining(eip)) {
    return Wait{
        "Updating",
        Format("its package {} is {}", eip.bandwidth_package_id, eip.bandwidth_package_status),
        true};
  }
  // Without a word in the spec the package of an imported address is not ours to leave.
  const bool minds = !spec.package.empty() || object.origin == Origin::kCreated;
  if (minds && spec.package != eip.bandwidth_package_id) {
    if (IsPassing(eip)) return Passing(eip, "Updating");
    if (in_package) return Leave{eip.bandwidth_package_id};
    return Join{};
  }
  return Nothing{Unlike(spec, eip)};
}

}  // namespace

cloud::Tags WantedTags(const Object& object) {
  if (object.origin == Origin::kCreated) return object.OwnTags();
  cloud::Tags tags = object.spec.tags;
  tags.erase(std::string(kOwnerTag));
  return tags;
}

Step Decide(const Object& object, const Sight& sight) {
  if (object.id.deleting != 0) return DecideEnd(object, sight);
  if (!object.id.finalizer) return AddFinalizer{};
  const std::string& id = object.allocation_id;
  if (id.empty()) return DecideNew(object, sight);
  if (!sight.taken_by.empty()) {
    return Wait{"InvalidConfig", Format("{} is {}'s already", id, sight.taken_by)};
  }
  if (!object.NamesAddress()) return WriteSpec{};
  if (object.spec.allocation_id != id) {
    return Wait{"InvalidConfig",
                Format("spec.allocationID was changed: the address is {} and stays it; {} "
                       "needs an object of its own",
                       id, object.spec.allocation_id)};
  }
  if (!sight.asked) return Look{};
  if (!sight.eip) return DecideLost(object, sight);
  const cloud::Eip& eip = *sight.eip;
  if (eip.status == "Releasing") return Passing(eip, "Lost");
  if (object.origin != Origin::kCreated &&
      (IsToAdopt(object, eip, sight) || OwnerOf(eip) == object.id.uid)) {
    return Import{eip.address, Origin::kCreated};
  }
  return DecideRepair(object, eip);
}

}  // namespace berth::eip
