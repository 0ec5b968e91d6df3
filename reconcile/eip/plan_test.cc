#include "reconcile/eip/plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace berth::eip {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;

// An object that was allocated long ago and is as it should be, and its address.
Object Settled() {
  Object object;
  object.id = {.name = "web", .uid = "u1", .generation = 2, .finalizer = true};
  object.spec.allocation_id = "eip-1";
  object.allocation_id = "eip-1";
  object.origin = Origin::kCreated;
  object.attempt = {.number = 1, .request = {.client_token = ClientToken("u1", 1)}};
  object.counted = true;
  return object;
}

Object Deleted() {
  Object object = Settled();
  object.id.deleting = 1;
  return object;
}

Sight Seen(cloud::Eip eip = {}) {
  eip.allocation_id = "eip-1";
  if (eip.status.empty()) eip.status = "Available";
  if (eip.tags.empty()) eip.tags.emplace(kOwnerTag, "u1");
  return {.searched = true, .asked = true, .eip = std::move(eip)};
}

const cloud::Place kHere{"cn-hangzhou", "42"};

// With a key of the account that has the address.
Step Decided(Object object, Sight sight) {
  sight.here = kHere;
  object.place = kHere;
  return Decide(object, sight);
}

template <typename T>
bool Is(const Step& step) {
  return std::holds_alternative<T>(step);
}
template <typename T>
T As(const Step& step) {
  const T* found = std::get_if<T>(&step);
  EXPECT_TRUE(found) << "another step: " << step.index();
  return found ? *found : T{};
}

TEST(PlanTest, WhatIsAsItShouldBeIsLeftAlone) {
  EXPECT_TRUE(Is<step::Look>(Decided(Settled(), {})));
  EXPECT_TRUE(Is<step::Nothing>(Decided(Settled(), Seen())));
}

// The order that leaks nothing: finalizer, attempt, cloud, status, spec.
TEST(PlanTest, AnAddressIsAllocatedInTheOrderThatLeaksNothing) {
  Object object;
  object.id = {.name = "web", .uid = "u1"};
  object.spec.bandwidth = "5";
  EXPECT_TRUE(Is<step::AddFinalizer>(Decided(object, {})));
  object.id.finalizer = true;
  const auto begin = As<step::Begin>(Decided(object, {.accounted = true}));
  EXPECT_EQ(begin.attempt.request.client_token, "berth-u1-1");
  EXPECT_EQ(begin.attempt.request.bandwidth, "5");
  object.attempt = begin.attempt;
  object.counted = true;
  EXPECT_TRUE(Is<step::Allocate>(Decided(object, {.fresh_attempt = true})));
  object.allocation_id = "eip-1";
  object.origin = Origin::kCreated;
  EXPECT_TRUE(Is<step::WriteSpec>(Decided(object, {})));
  object.spec.allocation_id = "eip-1";
  EXPECT_TRUE(Is<step::Look>(Decided(object, {})));
  Sight sight = Seen({.bandwidth = "5", .tags = {{"a", "b"}}});
  EXPECT_THAT(As<step::Tag>(Decided(object, sight)).tags, ElementsAre(Pair(kOwnerTag, "u1")));
}

// Nothing is found with a key of another account, and the object's own address would be forgotten.
TEST(PlanTest, ADeletedObjectWithACopiedStatusIsNotSearchedForInAnotherAccount) {
  Object object = Deleted();
  object.allocation_id = "eip-2";
  object.place = {"cn-hangzhou", "41"};
  Sight sight{.here = kHere, .wanted_by = "other"};
  EXPECT_EQ(As<step::Wait>(Decide(object, sight)).reason, "WrongAccount");
}

TEST(PlanTest, AnAttemptOfUnknownOutcomeIsLookedForBeforeItIsRepeated) {
  Object object = Settled();
  object.allocation_id.clear();
  object.spec.allocation_id.clear();
  EXPECT_TRUE(Is<step::Find>(Decided(object, {})));
  EXPECT_TRUE(Is<step::Allocate>(Decided(object, {.searched = true})));
}

TEST(PlanTest, ADeletedObjectWithAnAttemptOfUnknownOutcomeLearnsItFirst) {
  Object object = Deleted();
  object.allocation_id.clear();
  EXPECT_TRUE(Is<step::Find>(Decided(object, {})));
  EXPECT_TRUE(Is<step::Allocate>(Decided(object, {.searched = true})));
  // Nobody has been asked yet: there is nothing to learn.
  EXPECT_TRUE(Is<step::Finish>(Decided(object, {.accounted = true, .fresh_attempt = true})));
  object.attempt.request = {};
  EXPECT_TRUE(Is<step::Find>(Decided(object, {}))) << "it may have ended in doubt";
  EXPECT_TRUE(Is<step::Finish>(Decided(object, {.accounted = true})));
}

// An address whose tag somebody has removed is not found.
TEST(PlanTest, NothingIsSaidToBeAllocatedOnlyIfEveryRequestWasAnswered) {
  const auto told = [](const Object& object, const Sight& sight) {
    return As<step::Finish>(Decided(object, sight)).message;
  };
  Object object = Deleted();
  object.allocation_id.clear();
  object.spec.allocation_id.clear();
  object.attempt.request.instance_charge_type = "PrePaid";
  object.attempt.request.tags.emplace(kOwnerTag, "u1");
  EXPECT_THAT(told(object, {.searched = true, .doubt_over = true}), HasSubstr("was found"));
  object.attempt.request = {};
  EXPECT_THAT(told(object, {.searched = true}), HasSubstr("was found"));
  EXPECT_EQ(told(object, {.accounted = true}), "nothing was allocated");
}

TEST(PlanTest, FlawAnImportIsKeptUnlessItsReleaseWasAskedFor) {
  Object object = Deleted();
  object.origin = Origin::kImported;
  EXPECT_EQ(As<step::Finish>(Decided(object, Seen())).reason, "Skipped");
  object.spec.release = ReleaseStrategy::kOnDelete;
  EXPECT_TRUE(Is<step::Release>(Decided(object, Seen())));
  object = Deleted();
  object.spec.release = ReleaseStrategy::kNever;
  EXPECT_EQ(As<step::Finish>(Decided(object, Seen())).reason, "Skipped");
}

TEST(PlanTest, FlawTwoObjectsCannotImportOneAddress) {
  Object object = Settled();
  object.allocation_id.clear();
  object.attempt = {};
  EXPECT_EQ(As<step::Wait>(Decided(object, {.searched = true, .taken_by = "other"})).reason,
            "InvalidConfig");
  // Nor one that was allocated for another object of this cluster.
  Sight sight = Seen({.tags = {{std::string(kOwnerTag), "u2"}}});
  sight.tagged_for = "other";
  EXPECT_EQ(As<step::Wait>(Decided(object, sight)).reason, "InvalidConfig");
  EXPECT_TRUE(Is<step::Import>(Decided(object, Seen({.tags = {{"a", "b"}}}))));
}

TEST(PlanTest, AnAddressOfAnotherIsNeverReleased) {
  EXPECT_EQ(
      As<step::Finish>(Decided(Deleted(), Seen({.tags = {{std::string(kOwnerTag), "u2"}}}))).reason,
      "Skipped");
  Sight sight = Seen({.tags = {{"a", "b"}}});
  sight.taken_by = "other";
  EXPECT_EQ(As<step::Finish>(Decided(Deleted(), sight)).reason, "Skipped");
  sight = {.searched = true, .asked = true, .unlisted = true, .taken_by = "other"};
  EXPECT_TRUE(Is<step::Probe>(Decided(Deleted(), sight))) << "its tag is not known";
  sight = Seen();
  sight.taken_by = "another deleted one";
  EXPECT_TRUE(Is<step::Release>(Decided(Deleted(), sight))) << "it has this object's tag";
  sight.wanted_by = "other";
  EXPECT_EQ(As<step::Finish>(Decided(Deleted(), sight)).reason, "Skipped");
}

TEST(PlanTest, AnAddressWhoseReleaseMayHaveBeenSentIsNotSaidToStay) {
  Sight sight = Seen({.tags = {{std::string(kOwnerTag), "u2"}}});
  sight.doubted_release = true;
  EXPECT_THAT(As<step::Finish>(Decided(Deleted(), sight)).message, HasSubstr("may have been"));
  sight = Seen({.tags = {{"a", "b"}}});
  sight.taken_by = "other";
  sight.doubted_release = true;
  EXPECT_THAT(As<step::Finish>(Decided(Deleted(), sight)).message, HasSubstr("may have been"));
}

// A backup is restored without status, and mostly with another uid.
TEST(PlanTest, AnAddressIsKnownByItsTagWhenTheStatusIsLost) {
  Object object = Settled();
  object.allocation_id.clear();
  object.origin = Origin::kUnknown;
  object.attempt = {};
  EXPECT_EQ(As<step::Import>(Decided(object, Seen())).origin, Origin::kCreated);
  const Sight foreign = Seen({.tags = {{std::string(kOwnerTag), "u2"}}});
  EXPECT_EQ(As<step::Import>(Decided(object, foreign)).origin, Origin::kImported);
  object.allocation_id = "eip-1";
  object.origin = Origin::kImported;
  EXPECT_EQ(As<step::Import>(Decided(object, Seen())).origin, Origin::kCreated);
}

TEST(PlanTest, AnAddressOfAnotherIsAdoptedOnceForAnAnnotation) {
  const Sight foreign = Seen({.tags = {{std::string(kOwnerTag), "u2"}}});
  Object object = Settled();
  object.origin = Origin::kImported;
  EXPECT_TRUE(Is<step::Nothing>(Decided(object, foreign)));
  object.on_foreign = "adopt";
  EXPECT_THAT(As<step::Tag>(Decided(object, foreign)).tags, ElementsAre(Pair(kOwnerTag, "u1")));
  Sight here = foreign;
  here.tagged_for = "other";
  EXPECT_TRUE(Is<step::Nothing>(Decided(object, here))) << "its own object is there";
  object.adopted = true;
  EXPECT_TRUE(Is<step::Nothing>(Decided(object, foreign))) << "another has adopted it since";
}

TEST(PlanTest, AStatusDoesNotMakeAnAddressItsOwn) {
  Sight foreign = Seen({.tags = {{std::string(kOwnerTag), "u2"}}});
  EXPECT_EQ(As<step::Import>(Decided(Settled(), foreign)).origin, Origin::kImported);
  foreign.tagged_for = "other";
  EXPECT_EQ(As<step::Wait>(Decided(Settled(), foreign)).reason, "InvalidConfig");
}

TEST(PlanTest, AnObjectThatMayHaveLostItsStatusIsLookedForByItsTagFirst) {
  Object object = Settled();
  object.allocation_id.clear();
  object.attempt = {};
  EXPECT_TRUE(Is<step::Find>(Decided(object, {}))) << "spec may name another address by now";
  EXPECT_TRUE(Is<step::Look>(Decided(object, {.searched = true})));
  EXPECT_TRUE(Is<step::Look>(Decided(object, {.accounted = true})));
  object.spec.allocation_id.clear();
  EXPECT_TRUE(Is<step::Find>(Decided(object, {})));
  EXPECT_TRUE(Is<step::Begin>(Decided(object, {.searched = true})));
  EXPECT_TRUE(Is<step::Begin>(Decided(object, {.accounted = true})));
  object.attempt.number = 1;
  EXPECT_TRUE(Is<step::Find>(Decided(object, {}))) << "that may be the count of another object";
  EXPECT_TRUE(Is<step::Begin>(Decided(object, {.accounted = true})));
}

TEST(PlanTest, ADeletedObjectWithoutAStatusIsLookedForByItsTag) {
  Object object = Deleted();
  object.allocation_id.clear();
  object.attempt = {};
  EXPECT_TRUE(Is<step::Find>(Decided(object, {})));
  EXPECT_TRUE(Is<step::Finish>(Decided(object, {.accounted = true})));
  EXPECT_TRUE(Is<step::Look>(Decided(object, {.searched = true}))) << "at what spec names";
  EXPECT_EQ(As<step::Import>(Decided(object, Seen())).origin, Origin::kCreated);
  EXPECT_TRUE(Is<step::Finish>(Decided(object, Seen({.tags = {{"a", "b"}}})))) << "not its own";
  Sight sight{.searched = true, .asked = true};
  EXPECT_TRUE(Is<step::Probe>(Decided(object, sight)));
  sight.gone = true;
  EXPECT_TRUE(Is<step::Finish>(Decided(object, sight)));
  object.spec.allocation_id.clear();
  EXPECT_TRUE(Is<step::Finish>(Decided(object, {.searched = true})));
}

// Nobody was told of it, so nobody can want to keep it.
TEST(PlanTest, WhatADeletedObjectsAttemptCameToIsReleasedWhateverTheStrategy) {
  Object object = Deleted();
  object.spec.release = ReleaseStrategy::kNever;
  Sight sight = Seen();
  sight.unclaimed = true;
  EXPECT_TRUE(Is<step::Release>(Decided(object, sight)));
  sight.wanted_by = "other";
  EXPECT_TRUE(Is<step::Finish>(Decided(object, sight))) << "somebody has found it in the cloud";
}

TEST(PlanTest, WhoseAnAddressIsIsNotForTheSpecToSay) {
  Object object = Settled();
  object.spec.tags = {{std::string(kOwnerTag), "u2"}};
  EXPECT_THAT(WantedTags(object), ElementsAre(Pair(kOwnerTag, "u1")));
  object.origin = Origin::kImported;
  EXPECT_THAT(WantedTags(object), testing::IsEmpty());
}

TEST(PlanTest, TwentyTagsOfTheSpecLeaveTheOwnersOut) {
  Object object = Settled();
  for (std::size_t i = 1; i < kMostTags; ++i) object.spec.tags.emplace(std::to_string(i), "x");
  EXPECT_EQ(WantedTags(object).size(), kMostTags);
  EXPECT_TRUE(object.NextAttempt().request.tags.contains(std::string(kOwnerTag)));
  object.spec.tags.emplace("20", "x");
  EXPECT_EQ(WantedTags(object), object.spec.tags);
  EXPECT_EQ(object.NextAttempt().request.tags, object.spec.tags);
}

TEST(PlanTest, WhatCannotBeChangedIsSaid) {
  Object object = Settled();
  object.spec.isp = "BGP_PRO";
  EXPECT_THAT(As<step::Nothing>(Decided(object, Seen({.isp = "BGP"}))).unlike, HasSubstr("isp"));
  EXPECT_EQ(As<step::Nothing>(Decided(object, Seen({.isp = "BGP_PRO"}))).unlike, "");
}

TEST(PlanTest, AnotherProtectionCannotBeHad) {
  Object object = Settled();
  object.spec.protection = {"AntiDDoS_Enhanced"};
  EXPECT_THAT(As<step::Nothing>(Decided(object, Seen())).unlike,
              HasSubstr("securityProtectionTypes"));
  EXPECT_EQ(
      As<step::Nothing>(Decided(object, Seen({.security_protection_types = {"AntiDDoS_Enhanced"}})))
          .unlike,
      "");
}

TEST(PlanTest, AStatusThatIsNotKnownIsWaitedFor) {
  EXPECT_TRUE(As<step::Wait>(Decided(Deleted(), Seen({.status = "Frozen"}))).soon);
}

TEST(PlanTest, FlawAnEditedAllocationIdDoesNotOrphanTheAddress) {
  Object object = Settled();
  object.spec.allocation_id = "eip-2";
  EXPECT_TRUE(Is<step::Find>(Decided(object, {}))) << "the status may be the one that was edited";
  EXPECT_EQ(As<step::Wait>(Decided(object, {.searched = true})).reason, "InvalidConfig");
  object.id.deleting = 1;
  EXPECT_TRUE(Is<step::Find>(Decided(object, {})));
  EXPECT_TRUE(Is<step::Release>(Decided(object, Seen()))) << "what it had goes with it";
}

TEST(PlanTest, FlawAnAddressThatIsGoneIsSaidToBeLost) {
  Object object = Settled();
  Sight sight{.asked = true};
  EXPECT_TRUE(As<step::Wait>(Decided(object, sight)).soon) << "a young one may not be seen yet";
  sight.vanished = true;
  EXPECT_EQ(As<step::Wait>(Decided(object, sight)).reason, "Lost");
  object.on_lost = "reallocate";
  EXPECT_TRUE(Is<step::Probe>(Decided(object, sight))) << "not to be seen is not to be gone";
  sight.gone = true;
  const Attempt attempt = As<step::Begin>(Decided(object, sight)).attempt;
  EXPECT_EQ(attempt.request.client_token, "berth-u1-2");
  // Until the new one is written down, spec names the old one.
  Object replacing = object;
  replacing.attempt = attempt;
  replacing.allocation_id = "eip-2";
  EXPECT_TRUE(Is<step::WriteSpec>(Decided(replacing, {})));
  replacing.allocation_id.clear();
  replacing.attempt.request = {};
  EXPECT_TRUE(Is<step::Begin>(Decided(replacing, {.accounted = true})))
      << "after a refusal the next one";
  object.origin = Origin::kImported;
  EXPECT_EQ(As<step::Wait>(Decided(object, sight)).reason, "Lost");
}

TEST(PlanTest, FlawWhatCannotBeReleasedIsExplained) {
  for (const auto& [eip, why] :
       {std::pair(
            cloud::Eip{.status = "InUse", .instance_id = "i-7", .instance_type = "EcsInstance"},
            "in use by EcsInstance i-7"),
        std::pair(cloud::Eip{.instance_charge_type = "PrePaid"}, "PrePaid"),
        std::pair(cloud::Eip{.deletion_protection = true}, "protected"),
        std::pair(cloud::Eip{.service_managed = true}, "another product")}) {
    const auto wait = As<step::Wait>(Decided(Deleted(), Seen(eip)));
    EXPECT_THAT(wait.message, HasSubstr(why));
    EXPECT_THAT(wait.message, HasSubstr(kOnStuckAnnotation));
    EXPECT_FALSE(wait.soon);
  }
  Object object = Deleted();
  object.on_stuck = "unassociate";
  EXPECT_TRUE(Is<step::Unassociate>(Decided(object, Seen({.status = "InUse"}))));
  object.on_stuck = "abandon";
  EXPECT_EQ(As<step::Finish>(Decided(object, {})).reason, "Skipped");
}

// Only the cloud's word for it is proof that an address is gone: a young one may not be seen yet.
TEST(PlanTest, AnAddressThatWasNeverListedIsReleasedAllTheSame) {
  EXPECT_TRUE(Is<step::Release>(Decided(Deleted(), {.asked = true, .unlisted = true})));
  EXPECT_TRUE(Is<step::Probe>(Decided(Deleted(), {.asked = true})))
      << "it may have another object's tag";
  EXPECT_EQ(As<step::Finish>(Decided(Deleted(), {.asked = true, .gone = true})).reason,
            "AlreadyReleased");
}

TEST(PlanTest, AnAddressLeavesItsPackageBeforeItIsReleased) {
  EXPECT_TRUE(Is<step::Leave>(Decided(
      Deleted(), Seen({.bandwidth_package_id = "cbwp-1", .bandwidth_package_status = "BINDED"}))));
  EXPECT_TRUE(As<step::Wait>(Decided(Deleted(), Seen({.bandwidth_package_id = "cbwp-1",
                                                      .bandwidth_package_status = "BINDING"})))
                  .soon);
}

TEST(PlanTest, FlawDriftIsRepaired) {
  Object object = Settled();
  object.spec.name = "n";
  object.spec.description = "d";
  object.spec.bandwidth = "10";
  object.spec.resource_group = "rg-1";
  object.spec.tags = {{"k", "v"}};
  object.applied_tags = {{"k", "v"}, {"old", "x"}};
  cloud::Eip eip{.bandwidth = "5",
                 .name = "other",
                 .tags = {{std::string(kOwnerTag), "u1"}, {"old", "x"}, {"foreign", "y"}}};
  EXPECT_THAT(As<step::Tag>(Decided(object, Seen(eip))).tags, ElementsAre(Pair("k", "v")));
  eip.tags["k"] = "v";
  EXPECT_THAT(As<step::Untag>(Decided(object, Seen(eip))).keys, ElementsAre("old"));
  eip.tags.erase("old");
  const auto change = As<step::Modify>(Decided(object, Seen(eip))).change;
  EXPECT_EQ(change.name, "n");
  EXPECT_EQ(change.description, "d");
  EXPECT_EQ(change.bandwidth, "10");
  eip.name = "n";
  eip.description = "d";
  eip.bandwidth = "10";
  EXPECT_TRUE(Is<step::Move>(Decided(object, Seen(eip))));
  eip.resource_group_id = "rg-1";
  EXPECT_TRUE(Is<step::Nothing>(Decided(object, Seen(eip))));
}

TEST(PlanTest, InAPackageTheBandwidthIsNotTouched) {
  Object object = Settled();
  object.spec.package = "cbwp-1";
  object.spec.bandwidth = "10";
  const cloud::Eip eip{.bandwidth = "5"};
  EXPECT_TRUE(Is<step::Modify>(Decided(object, Seen(eip))));
  cloud::Eip set = eip;
  set.bandwidth = "10";
  EXPECT_TRUE(Is<step::Join>(Decided(object, Seen(set))));
  cloud::Eip joined = eip;
  joined.bandwidth_package_id = "cbwp-1";
  joined.bandwidth_package_status = "BINDED";
  EXPECT_TRUE(Is<step::Nothing>(Decided(object, Seen(joined))));
  object.spec.package = "cbwp-2";
  EXPECT_TRUE(Is<step::Leave>(Decided(object, Seen(joined))));
  object.spec.package.clear();
  EXPECT_TRUE(Is<step::Leave>(Decided(object, Seen(joined))));
  object.origin = Origin::kImported;
  joined.tags = {{"a", "b"}};
  EXPECT_TRUE(Is<step::Nothing>(Decided(object, Seen(joined)))) << "somebody else's package";
}

TEST(PlanTest, FlawPrePaidSaysForHowLongAndHowItIsPaid) {
  Object object;
  object.id = {.uid = "u1", .finalizer = true};
  object.spec.instance_charge_type = "PrePaid";
  const auto request = As<step::Begin>(Decided(object, {.accounted = true})).attempt.request;
  EXPECT_EQ(request.period, 1);
  EXPECT_EQ(request.pricing_cycle, "Month");
  EXPECT_TRUE(request.auto_pay);
}

TEST(PlanTest, ALockedAddressIsNotReady) {
  const auto locked = As<step::Wait>(Decided(
      Settled(), Seen({.business_status = "FinancialLocked", .lock_reasons = {"financial"}})));
  EXPECT_EQ(locked.reason, "Locked");
  EXPECT_THAT(locked.message, HasSubstr("FinancialLocked, financial"));
  EXPECT_TRUE(Is<step::Nothing>(Decided(Settled(), Seen({.business_status = "Normal"}))));
}

TEST(PlanTest, ElsewhereNothingIsDone) {
  Sight sight = Seen();
  for (const cloud::Place& here : {cloud::Place{"cn-hangzhou", "43"}, {"cn-beijing", "42"}}) {
    sight.here = here;
    for (Object object : {Settled(), Deleted()}) {
      object.place = kHere;
      EXPECT_THAT(As<step::Wait>(Decide(object, sight)).reason, testing::StartsWith("Wrong"));
      object.allocation_id.clear();
      EXPECT_THAT(As<step::Wait>(Decide(object, sight)).reason, testing::StartsWith("Wrong"))
          << "of an attempt";
    }
  }
}

// Which account it is asked first, and only when the cloud is needed at all.
TEST(PlanTest, TheAccountIsAskedForBeforeTheCloudIs) {
  EXPECT_TRUE(Is<step::Locate>(Decide(Settled(), {})));
  EXPECT_TRUE(Is<step::Locate>(Decide(Deleted(), {})));
  Object kept = Deleted();
  kept.spec.release = ReleaseStrategy::kNever;
  EXPECT_TRUE(Is<step::Finish>(Decide(kept, {})));
}

}  // namespace
}  // namespace berth::eip
