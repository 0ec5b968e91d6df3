#include "reconcile/eip/plan.h"

#include <algorithm>
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

// Another one's, who is not here to mind, and this object asks for it. Only once for an annotation:
// the object that has it now may be another cluster's, and ask for it too.
bool IsToAdopt(const Object& object, const cloud::Eip& eip, const Sight& sight) {
  return IsForeign(object, eip) && sight.tagged_for.empty() && object.on_foreign == "adopt" &&
         !object.adopted && object.OwnTags().contains(std::string(kOwnerTag));
}

// The status says that Berth has allocated the address, and counts no attempt to do so: somebody
// has changed status.origin.
bool IsImportByCount(const Object& object, const cloud::Eip& eip) {
  return object.origin == Origin::kCreated && !object.counted && OwnerOf(eip).empty();
}

// An address that Berth allocates has its owner's tag from the first moment on. Without it, either
// the tag was removed or the status names an address that is not the object's.
bool LacksOwnTag(const Object& object, const cloud::Eip& eip) {
  return object.origin == Origin::kCreated && OwnerOf(eip).empty() &&
         object.OwnTags().contains(std::string(kOwnerTag));
}

Wait OfAnother(const cloud::Eip& eip, const Sight& sight) {
  return {"InvalidConfig", Format("{} was allocated for {}: its tag {} says so", eip.allocation_id,
                                  sight.tagged_for, kOwnerTag)};
}

// Whether the object's tag on an address counts: that of an import which nobody has asked to adopt
// was set by hand.
bool TrustsTag(const Object& object) { return object.counted || object.on_foreign == "adopt"; }

// An object that has an address, and whose status may be wrong about whose it is.
std::optional<Step> DecideOwner(const Object& object, const cloud::Eip& eip, const Sight& sight) {
  const bool created = object.origin == Origin::kCreated;
  if (!created && OwnerOf(eip) == object.id.uid && TrustsTag(object)) {
    return Import{eip.address, Origin::kCreated};
  }
  // The tag comes before the status: found again from the cloud, whatever happens in between.
  if (!created && IsToAdopt(object, eip, sight)) {
    return Tag{{{std::string(kOwnerTag), object.id.uid}}};
  }
  if (!created) return std::nullopt;
  if (IsImportByCount(object, eip)) {
    return Import{eip.address, Origin::kImported,
                  Format("status.origin was changed by hand: {} was imported, and stays in the "
                         "cloud when this object goes",
                         eip.allocation_id)};
  }
  const bool foreign = IsForeign(object, eip);
  if (!sight.searched && (foreign || LacksOwnTag(object, eip))) return Find{};
  if (!foreign) return std::nullopt;
  if (!sight.tagged_for.empty()) return OfAnother(eip, sight);
  return Import{eip.address, Origin::kImported,
                Format("the tag {} of {} names another object: the EIP is treated as imported, and "
                       "stays in the cloud when this object goes unless the annotation {}=adopt, "
                       "written anew, makes it this object's",
                       kOwnerTag, eip.allocation_id, kOnForeignAnnotation)};
}

std::string Describe(const cloud::Place& place) {
  return Format("region {} of account {}", place.region, place.account);
}

// Why nothing may be done about an object's address, or attempt, with Berth's access key; none when
// it may. In another account or region the cloud's word that there is no such address proves
// nothing.
std::optional<Wait> Misplaced(const Object& object, const cloud::Place& here) {
  const cloud::Place& place = object.place;
  const bool has_place = !place.account.empty();
  if (!has_place || place == here || (object.allocation_id.empty() && !object.attempt)) {
    return std::nullopt;
  }
  const bool other_account = place.account != here.account;
  return Wait{.reason = other_account ? "WrongAccount" : "WrongRegion",
              .message = Format(
                  "{} in {}, and Berth's access key works in {}: give Berth {}, or delete the "
                  "object with the annotation {}=abandon, which leaves the EIP in the cloud",
                  object.allocation_id.empty() ? "the EIP is being allocated"
                                               : object.allocation_id + " is",
                  Describe(place), Describe(here),
                  other_account ? "an access key of account " + place.account
                                : "the region " + place.region,
                  kOnStuckAnnotation),
              .misplaced = true};
}

Wait Passing(const cloud::Eip& eip, std::string reason) {
  return {std::move(reason), Format("{} is {} in the cloud", eip.allocation_id, eip.status), true};
}

Wait Stuck(std::string message) {
  return {"Deleting", Format("{}; the annotation {}=abandon lets the object go and leaves the EIP",
                             message, kOnStuckAnnotation)};
}

Step Kept(const Object& object) {
  return Finish{"Skipped", Format("{} stays in the cloud: {}", object.allocation_id,
                                  object.spec.release == ReleaseStrategy::kNever
                                      ? "spec.releaseStrategy is Never"
                                      : "it was imported, and spec.releaseStrategy is not set")};
}

// The cloud does not take a release back.
std::optional<Step> KeptTooLate(const Object& object, const Sight& sight) {
  const std::string& id = object.allocation_id;
  if (sight.released) {
    return Finish{"Released", Format("{} was released: the cloud had taken the request before the "
                                     "EIP was to be kept",
                                     id)};
  }
  if (!sight.doubted_release) return std::nullopt;
  return Finish{"Skipped", Format("{} may have been released: the request was sent before the EIP "
                                  "was to be kept, and it is not certain what came of it",
                                  id)};
}

// The cloud is asked to release an address that it has not listed yet; one that it listed before is
// waited for. Only the cloud's word that there is no such address is proof.
Step DecideRelease(const Object& object, const Sight& sight) {
  const std::string& id = object.allocation_id;
  if (!sight.asked) return Look{};
  if (!sight.eip && sight.released) return Finish{"Released", id + " was released"};
  if (!sight.eip && object.place.account.empty()) {
    return Stuck(
        Format("{} is not in {}, and the status does not say where it is: give Berth the "
               "access key and the region that it was allocated with",
               id, Describe(sight.here)));
  }
  // Its tag may name another object by now: it is not released before it is seen.
  if (!sight.eip && (!sight.unlisted || !sight.taken_by.empty())) {
    if (sight.gone) return Finish{"AlreadyReleased", id + " was released before"};
    return Probe{};
  }
  if (!sight.eip) return step::Release{};
  if (object.place.account.empty()) return NotePlace{};
  const cloud::Eip& eip = *sight.eip;
  if (IsForeign(object, eip)) {
    if (!sight.searched) return Find{};
    if (auto late = KeptTooLate(object, sight)) return *std::move(late);
    return Finish{"Skipped",
                  Format("{} stays in the cloud: its tag {} names another object; {}: adopt "
                         "would have made it this one's",
                         eip.allocation_id, kOwnerTag, kOnForeignAnnotation)};
  }
  // An object that is deleted too has it in its status: the tag decides which of them releases it.
  if (!sight.taken_by.empty() && OwnerOf(eip) != object.id.uid) {
    if (auto late = KeptTooLate(object, sight)) return *std::move(late);
    return Finish{"Skipped",
                  Format("{} stays in the cloud: the EIP {} has it", id, sight.taken_by)};
  }
  if (!sight.unclaimed && object.spec.release == ReleaseStrategy::kUnset &&
      IsImportByCount(object, eip)) {
    return Kept(object);
  }
  if (!sight.unclaimed && !sight.searched && LacksOwnTag(object, eip)) return Find{};
  if (IsPassing(eip)) return Passing(eip, "Deleting");
  if (eip.service_managed) return Stuck(id + " is managed by another product of the cloud");
  if (eip.instance_charge_type == "PrePaid") {
    return Stuck(id + " is PrePaid: the cloud releases it when its time is over");
  }
  if (eip.deletion_protection) {
    return Stuck(id + " is protected against deletion in the cloud");
  }
  if (eip.status == "InUse") {
    if (object.on_stuck == "unassociate") return Unassociate{};
    return Stuck(Format("{} is in use by {} {}; the annotation {}=unassociate takes it off", id,
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

// The end of an object without an address. Only the cloud's answers to all its requests say that
// there is none; a search by tag does not find an address whose tag somebody has removed.
Finish NoneKnown(bool certain) {
  if (certain) return {"Skipped", "nothing was allocated"};
  return {"Skipped", Format("no EIP with this object's tag {} was found", kOwnerTag)};
}

// An attempt may have succeeded without anybody knowing.
Step DecideDoubt(const Object& object, const Sight& sight) {
  const Attempt& attempt = object.attempt;
  if (!sight.searched) return Find{};
  // The same request again is answered with the same address, which is then released.
  if (attempt.request.instance_charge_type != "PrePaid") return Allocate{};
  // But it would buy a PrePaid address, which cannot be released, if there is none yet.
  if (attempt.IsTagged() && sight.doubt_over) return NoneKnown(false);
  if (attempt.IsTagged()) {
    return Wait{.reason = "Deleting",
                .message =
                    "the cloud did not say whether it allocated the PrePaid EIP; it is looked "
                    "for by its tag until every request has expired",
                .soon = true};
  }
  return Stuck(
      Format("the cloud did not say whether it allocated the PrePaid EIP, and with {} tags "
             "in spec.tags it cannot be looked for: see the cloud's console",
             kMostTags));
}

// It has no address that anybody knows of.
Step DecideUnknownEnd(const Object& object, const Sight& sight) {
  const bool doubtful = object.attempt && !sight.fresh_attempt && !sight.refused;
  // An attempt that is not there may have been: a backup is restored without status.
  const bool unknown = !sight.accounted && !sight.searched;
  if (doubtful || unknown) {
    if (sight.here.account.empty()) return Locate{};
    if (auto wait = Misplaced(object, sight.here)) return *std::move(wait);
    if (doubtful) return DecideDoubt(object, sight);
    return Find{};
  }
  // The address that spec names may be its own, and the search have had incomplete lists.
  if (object.NamesAddress() && !sight.accounted) {
    if (!sight.asked) return Look{};
    if (sight.eip && OwnerOf(*sight.eip) == object.id.uid) {
      return Import{sight.eip->address, Origin::kCreated};
    }
    if (!sight.eip && !sight.gone) return Probe{};
  }
  if (object.NamesAddress()) {
    return Finish{"Skipped", object.spec.allocation_id + " was not imported, and is left alone"};
  }
  return NoneKnown(sight.accounted);
}

Step Abandoned(const Object& object, const Sight& sight) {
  if (auto late = KeptTooLate(object, sight)) return *std::move(late);
  const std::string& id = object.ClaimedId();
  const bool doubtful = object.attempt && !sight.fresh_attempt && !sight.refused;
  const std::string what = !id.empty() ? id + " is left in the cloud"
                           : doubtful  ? "an EIP that may have been allocated is left in the cloud"
                                       : "no EIP is known, and none is searched for";
  return Finish{"Skipped", Format("{}, as {} asks", what, kOnStuckAnnotation)};
}

Step DecideEnd(const Object& object, const Sight& sight) {
  if (!object.id.finalizer) return Nothing{};
  if (object.on_stuck == "abandon") return Abandoned(object, sight);
  const std::string& id = object.allocation_id;
  if (id.empty()) return DecideUnknownEnd(object, sight);
  // The status may be a copy of another object's: the address with this one's tag goes with it.
  const bool uncertain_origin = object.origin != Origin::kCreated && object.counted;
  const bool doubtful = object.ContradictsItself() || uncertain_origin || !sight.taken_by.empty() ||
                        !sight.wanted_by.empty();
  const bool stays = object.spec.release == ReleaseStrategy::kNever;
  if (doubtful && !sight.searched && !stays && !sight.unclaimed) {
    if (sight.here.account.empty()) return Locate{};
    if (auto wait = Misplaced(object, sight.here)) return *std::move(wait);
    return Find{};
  }
  const bool owned =
      sight.owned && TrustsTag(object) && object.spec.release == ReleaseStrategy::kUnset;
  const bool keeps = !sight.unclaimed && !owned && !object.Releases();
  if (keeps || !sight.wanted_by.empty()) {
    if (auto late = KeptTooLate(object, sight)) return *std::move(late);
  }
  if (keeps) return Kept(object);
  if (!sight.wanted_by.empty()) {
    return Finish{"Skipped",
                  Format("{} stays in the cloud: the EIP {} names it too", id, sight.wanted_by)};
  }
  if (sight.here.account.empty()) return Locate{};
  if (auto wait = Misplaced(object, sight.here)) return *std::move(wait);
  return DecideRelease(object, sight);
}

Step DecideImport(const Object& object, const Sight& sight) {
  const std::string& id = object.spec.allocation_id;
  if (!sight.taken_by.empty()) {
    return Wait{"InvalidConfig", Format("the EIP {} has {} already", sight.taken_by, id)};
  }
  if (!sight.asked) return Look{};
  if (!sight.eip) {
    return Wait{"Lost", Format("there is no {} in {}", id, Describe(sight.here)), !sight.vanished};
  }
  const cloud::Eip& eip = *sight.eip;
  // Its status was lost, not its address.
  if (OwnerOf(eip) == object.id.uid) return Import{eip.address, Origin::kCreated};
  if (!sight.tagged_for.empty()) return OfAnother(eip, sight);
  return Import{eip.address, Origin::kImported};
}

Wait Gone(const std::string& id, const cloud::Place& place, bool ours) {
  return {"Lost",
          Format("{} is gone from {}, released by somebody else{}", id, Describe(place),
                 ours ? Format("; the annotation {}=reallocate gets another one", kOnLostAnnotation)
                      : "")};
}

// The user no longer asks for another address in place of the lost one.
Step DecideWithdrawn(const Object& object, const Sight& sight) {
  const bool doubtful = object.attempt && !sight.fresh_attempt && !sight.refused;
  if (doubtful && !sight.searched) return Find{};
  // Without a tag only the same request again would tell, and buy the address if there is none.
  if (doubtful && !object.attempt.IsTagged()) {
    return Wait{"Lost",
                Format("the cloud did not say whether it allocated another EIP, and with {} tags "
                       "in spec.tags it cannot be looked for: see the cloud's console; the "
                       "annotation {}=reallocate asks for the same again",
                       kMostTags, kOnLostAnnotation)};
  }
  if (doubtful && !sight.doubt_over) {
    return Wait{.reason = "Lost",
                .message =
                    "the cloud did not say whether it allocated another EIP; it is looked "
                    "for by its tag until every request has expired",
                .soon = true};
  }
  Wait lost = Gone(object.attempt.replaces, sight.here, true);
  lost.settles = true;
  return lost;
}

Step DecideNew(const Object& object, const Sight& sight) {
  const bool withdrawn = object.IsReplacementWithdrawn();
  if (object.attempt && withdrawn) return DecideWithdrawn(object, sight);
  if (!object.attempt) {
    // Its status may be lost, and spec name another address meanwhile: its own one comes first.
    if (!sight.accounted && !sight.searched) return Find{};
    if (object.NamesAddress()) return DecideImport(object, sight);
    if (withdrawn) return DecideWithdrawn(object, sight);
    return Begin{object.NextAttempt()};
  }
  if (!sight.fresh_attempt && !sight.searched) return Find{};
  if (object.place.account.empty()) return NotePlace{};
  return Allocate{};
}

Step DecideLost(const Object& object, const Sight& sight) {
  const std::string& id = object.allocation_id;
  if (!sight.vanished) {
    const bool is_new = object.told_reason == "Creating";
    return Wait{.reason = is_new ? "Creating" : "SyncFailed",
                .message = Format("{} is missing from the cloud's list; {}", id,
                                  is_new ? "a new EIP is listed late" : "it is looked for again"),
                .soon = true,
                .quiet = object.ToldReadyNow()};
  }
  if (object.place.account.empty()) {
    return Wait{"Lost", Format("{} is not in {}, and the status does not say where it was; check "
                               "Berth's access key and region",
                               id, Describe(sight.here))};
  }
  const bool ours = object.origin == Origin::kCreated;
  if (ours && object.on_lost == "reallocate") {
    // An EIP missing from a list may still exist, and the object must not have two.
    if (!sight.gone) return Probe{};
    return Begin{object.NextAttempt()};
  }
  return Gone(id, object.place, ours);
}

// The spec's wishes that cannot be met any more.
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
  for (const std::string& type : spec.protection) {
    if (std::ranges::contains(eip.security_protection_types, type)) continue;
    return Format("securityProtectionTypes lacks {} in the cloud, and cannot be changed", type);
  }
  return "";
}

// Tags that Berth has set and spec does not have any more.
std::vector<std::string> StaleTags(const Object& object, const cloud::Eip& eip) {
  std::vector<std::string> stale;
  for (const auto& [key, value] : object.applied_tags) {
    const auto found = eip.tags.find(key);
    if (key == kOwnerTag || object.spec.tags.contains(key) || found == eip.tags.end()) continue;
    // A tag that others have given another value is theirs. Until the object is Ready, the other
    // value may be Berth's own: that of before a change that was begun and not carried out.
    if (found->second == value || !object.told_ready) stale.push_back(key);
  }
  return stale;
}

std::optional<Step> DecideTags(const Object& object, const cloud::Eip& eip) {
  cloud::Tags tags;
  std::size_t sum = eip.tags.size();
  for (const auto& [key, value] : WantedTags(object)) {
    const auto found = eip.tags.find(key);
    if (found == eip.tags.end()) ++sum;
    if (found == eip.tags.end() || found->second != value) tags.emplace(key, value);
  }
  std::vector<std::string> stale = StaleTags(object, eip);
  // Stale tags go last, unless the new ones need their room.
  if (!stale.empty() && (tags.empty() || sum > kMostTags)) return Untag{std::move(stale)};
  if (!tags.empty()) return Tag{std::move(tags)};
  return std::nullopt;
}

// Repairs what differs in the cloud from the spec.
Step DecideRepair(const Object& object, const cloud::Eip& eip) {
  const Spec& spec = object.spec;
  if (auto step = DecideTags(object, eip)) return *std::move(step);
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
  // Without a word in the spec the package of an imported address is not ours to leave, unless
  // Berth has put it there.
  const bool minds = !spec.package.empty() || object.origin == Origin::kCreated ||
                     object.joined_package == eip.bandwidth_package_id;
  if (minds && spec.package != eip.bandwidth_package_id) {
    if (IsPassing(eip)) return Passing(eip, "Updating");
    if (in_package) return Leave{eip.bandwidth_package_id};
    return Join{};
  }
  return Nothing{Unlike(spec, eip)};
}

}  // namespace

std::string LockOf(const cloud::Eip& eip) {
  const bool is_normal = eip.business_status.empty() || eip.business_status == "Normal";
  if (is_normal && eip.lock_reasons.empty()) return "";
  std::string reasons = is_normal ? "" : eip.business_status;
  for (const std::string& reason : eip.lock_reasons) {
    reasons += (reasons.empty() ? "" : ", ") + reason;
  }
  return Format(
      "{} is locked in the cloud ({}): pay the account's bills, or ask the cloud's support",
      eip.allocation_id, reasons);
}

bool IsForeign(const Object& object, const cloud::Eip& eip) {
  const std::string owner = OwnerOf(eip);
  return !owner.empty() && owner != object.id.uid;
}

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
  const bool taken = !id.empty() && !sight.taken_by.empty();
  if (sight.here.account.empty()) return Locate{};
  // The status may be a copy of another object's: the address with this one's tag comes first.
  if (!sight.searched && (taken || object.ContradictsItself())) return Find{};
  if (taken) {
    return Wait{"InvalidConfig", Format("the EIP {} has {} already", sight.taken_by, id)};
  }
  if (auto wait = Misplaced(object, sight.here)) return *std::move(wait);
  if (id.empty()) return DecideNew(object, sight);
  // Without its own attempt a status may be a copy: its address is not believed unseen.
  if (!object.NamesAddress() && object.attempt) return WriteSpec{};
  if (object.ContradictsItself()) {
    return Wait{"InvalidConfig",
                Format("spec.allocationID was changed: set it back to {}; {} needs an EIP object "
                       "of its own",
                       id, object.spec.allocation_id)};
  }
  if (!sight.asked) return Look{};
  if (!sight.eip) return DecideLost(object, sight);
  if (object.place.account.empty()) return NotePlace{};
  const cloud::Eip& eip = *sight.eip;
  if (eip.status == "Releasing") return Passing(eip, "Lost");
  if (std::string lock = LockOf(eip); !lock.empty()) return Wait{"Locked", std::move(lock)};
  if (auto step = DecideOwner(object, eip, sight)) return *std::move(step);
  if (!object.NamesAddress()) return WriteSpec{};
  return DecideRepair(object, eip);
}

}  // namespace berth::eip
