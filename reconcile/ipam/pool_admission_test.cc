#include "log/format.h"
#include "reconcile/ipam/admission_fixture_test.h"

namespace berth::ipam::test {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using testing::StartsWith;
using testing::UnorderedElementsAre;

class PoolAdmission : public AdmissionTest {};

TEST_F(PoolAdmission, TakesWhatIsRight) {
  for (
      const char* spec :
      {R"("cidr":"10.0.0.0/16")", R"("cidr":"0.0.0.0/0")", R"("cidr":"192.0.2.1/32")",
       R"("cidr":"2001:db8::/32")", R"("cidr":"::/0","maxBlockSize":128)",
       R"("cidr":"10.0.0.0/16","minBlockSize":16,"defaultBlockSize":24,"maxBlockSize":32)",
       R"("cidr":"10.0.0.0/16","strategy":"Buddy","excludedRanges":["10.0.0.0/28","10.0.1.1-10.0.1.9"])",
       R"("cidr":"10.0.0.0/16","preAllocations":{"a":"10.0.0.0/24","b":"10.0.1.0/24"})"}) {
    const Verdict verdict = Create({"pool", spec});
    EXPECT_THAT(Faults(verdict), IsEmpty()) << spec;
    EXPECT_THAT(verdict.warnings, IsEmpty()) << spec;
  }
}

struct Wrong {
  const char* spec;
  const char* field;
  const char* why;
};

class WrongPool : public AdmissionTest, public testing::WithParamInterface<Wrong> {};

TEST_P(WrongPool, IsRefusedWithItsField) {
  const auto [spec, field, why] = GetParam();
  EXPECT_THAT(Faults(Create({"pool", spec})),
              ElementsAre(AllOf(StartsWith(std::string(field) + ": "), HasSubstr(why))));
}

INSTANTIATE_TEST_SUITE_P(
    Spec, WrongPool,
    testing::Values(
        Wrong{R"("strategy":"Linear")", "spec.cidr", "Required value: the pool's CIDR"},
        Wrong{R"("cidr":"10.0.0.0")", "spec.cidr",
              R"(Invalid value: "10.0.0.0": no prefix length)"},
        Wrong{R"("cidr":"10.0.0.1/8")", "spec.cidr", R"(the canonical form is "10.0.0.0/8")"},
        Wrong{R"("cidr":"2001:DB8::/32")", "spec.cidr",
              R"(not in canonical form, which is "2001:db8::/32")"},
        Wrong{R"("cidr":"10.0.0.0/16","defaultBlockSize":33)", "spec.defaultBlockSize",
              "Invalid value: 33: must be from 16, the pool's own prefix length, to 32"},
        Wrong{R"("cidr":"10.0.0.0/16","minBlockSize":15)", "spec.minBlockSize", "must be from 16"},
        Wrong{R"("cidr":"2001:db8::/64","minBlockSize":63)", "spec.minBlockSize", "to 128"},
        Wrong{R"("cidr":"10.0.0.0/16","maxBlockSize":64)", "spec.maxBlockSize", "to 32"},
        Wrong{R"("cidr":"10.0.0.0/16","minBlockSize":26,"maxBlockSize":24)", "spec.minBlockSize",
              "Invalid value: 26: must not be above spec.maxBlockSize, 24"},
        Wrong{R"("cidr":"10.0.0.0/16","minBlockSize":24,"defaultBlockSize":20)",
              "spec.defaultBlockSize",
              "Invalid value: 20: must not be below spec.minBlockSize, 24"},
        Wrong{R"("cidr":"10.0.0.0/16","maxBlockSize":24,"defaultBlockSize":28)",
              "spec.defaultBlockSize", "must not be above spec.maxBlockSize, 24"},
        Wrong{R"("cidr":"10.0.0.0/16","strategy":"Random")", "spec.strategy",
              R"(Unsupported value: "Random": supported values: "Linear", "Buddy")"},
        Wrong{R"("cidr":"10.0.0.0/16","excludedRanges":["10.0.0.0/28","10.0.1.9-10.0.1.1"])",
              "spec.excludedRanges[1]", "ends before it begins"},
        Wrong{R"("cidr":"10.0.0.0/16","excludedRanges":["2001:db8::/64"])",
              "spec.excludedRanges[0]", "not of the pool's address family"},
        Wrong{R"("cidr":"10.0.0.0/16","preAllocations":{"a":"10.0.0.1/24"})",
              "spec.preAllocations[a]", "host bits are set"},
        Wrong{R"("cidr":"10.0.0.0/16","preAllocations":{"a":"10.1.0.0/24"})",
              "spec.preAllocations[a]", "not inside the pool, 10.0.0.0/16"},
        Wrong{
            R"("cidr":"10.0.0.0/16","preAllocations":{"a":"10.0.0.0/25","b":"10.0.4.0/24","c":"10.0.0.0/23"})",
            "spec.preAllocations[a]", R"(overlaps 10.0.0.0/23, which is kept for the claim "c")"},
        Wrong{R"("cidr":"10.0.0.0/16","parentRef":"pool")", "spec.parentRef",
              "a pool cannot be its own parent"}));

TEST_F(PoolAdmission, SaysAllThatIsWrongAtOnce) {
  EXPECT_THAT(Faults(Create({"pool", R"("cidr":"10.0.0.1/8","minBlockSize":28,"maxBlockSize":20,
                               "strategy":"x","excludedRanges":["y"],"preAllocations":{"c":"z"})"})),
              ElementsAre(StartsWith("spec.cidr: "), StartsWith("spec.minBlockSize: "),
                          StartsWith("spec.strategy: "), StartsWith("spec.excludedRanges[0]: "),
                          StartsWith("spec.preAllocations[c]: ")));
}

TEST_F(PoolAdmission, CountsTheBlocksThatExclusionsComeTo) {
  const auto excluding = [](int ranges) {
    std::string texts;
    // Each comes to 30 blocks: it begins and ends beside a border.
    for (int i = 0; i < ranges; ++i)
      texts += Format(R"({}"10.{}.0.1-10.{}.255.254")", i == 0 ? "" : ",", i, i);
    return Format(R"("cidr":"10.0.0.0/8","excludedRanges":[{}])", texts);
  };
  EXPECT_THAT(Faults(Create({"pool", excluding(136)})), IsEmpty());
  EXPECT_THAT(Faults(Create({"pool", excluding(137)})),
              ElementsAre(AllOf(StartsWith("spec.excludedRanges: "),
                                HasSubstr("come to more than 4096 blocks"))));
}

TEST_F(PoolAdmission, TooManyExclusionsAreRefusedUnread) {
  const auto excluding = [](int ranges, const std::string& last) {
    std::string texts;
    for (int i = 0; i < ranges; ++i) texts += R"("",)";
    return Format(R"("cidr":"10.0.0.0/8","excludedRanges":[{}"{}"])", texts, last);
  };
  const auto too_many = ElementsAre(HasSubstr("come to more than 4096 blocks"));
  EXPECT_THAT(Faults(Create({"pool", excluding(100'000, "")})), too_many);
  const Verdict now = Update({"pool", excluding(99'999, "")}, {"pool", excluding(100'000, "")});
  EXPECT_THAT(Faults(now), too_many);
}

TEST_F(PoolAdmission, Flaw12PoolsOfANamespaceDoNotOverlap) {
  AddPool({"a", Range("10.0.0.0/16")});
  for (const char* cidr : {"10.0.0.0/16", "10.0.4.0/24", "10.0.0.0/8"}) {
    EXPECT_THAT(Faults(Create({"b", Range(cidr)})),
                ElementsAre(AllOf(StartsWith("spec.cidr: Invalid value: "),
                                  HasSubstr(R"(overlaps the pool "a", 10.0.0.0/16)"))))
        << cidr;
  }
  EXPECT_THAT(Faults(Create({"b", Range("10.1.0.0/16")})), IsEmpty());
  EXPECT_THAT(Faults(Create({"b", Range("a00::/8")})), IsEmpty());
  Proposed elsewhere{"b", Range("10.0.0.0/16")};
  auto proposal = elsewhere.As<PoolProposal>();
  proposal.pool.id.ns = "other";
  EXPECT_TRUE(JudgePool(proposal, nullptr, known_).allowed());
}

TEST_F(PoolAdmission, NamesThreePoolsThatItOverlapsAtMost) {
  for (int i = 0; i < 5; ++i)
    AddPool({"p" + std::to_string(i), Range("10.0." + std::to_string(i) + ".0/24")});
  EXPECT_EQ(Create({"all", Range("10.0.0.0/8")}).causes.size(), 3);
}

TEST_F(PoolAdmission, ParentsAndChildrenShareAddresses) {
  AddPool({"root", Range("10.0.0.0/8")});
  AddPool({"mid", Range("10.0.0.0/12"), "root"});
  // A grandchild is inside both, and neither is in its way.
  const Proposed leaf{"leaf", Range("10.0.0.0/16"), "mid"};
  EXPECT_THAT(Faults(Create(leaf)), IsEmpty());
  AddPool(leaf);
  EXPECT_THAT(Faults(Update({"root", Range("10.0.0.0/8")}, {"root", Range("8.0.0.0/6")})),
              IsEmpty());
  // A sister of mid is not above leaf.
  EXPECT_THAT(Faults(Create({"sister", Range("10.0.0.0/13"), "root"})),
              UnorderedElementsAre(HasSubstr("the pool \"leaf\""), HasSubstr("the pool \"mid\"")));
}

TEST_F(PoolAdmission, AChildIsInsideItsParent) {
  AddPool({"root", Range("10.0.0.0/16")});
  EXPECT_THAT(Faults(Create({"child", Range("10.1.0.0/24"), "root"})),
              ElementsAre(HasSubstr("not inside the parent pool \"root\", 10.0.0.0/16")));
  EXPECT_THAT(Faults(Create({"child", Range("10.0.0.0/15") + R"(,"parentRef":"root")"})),
              ElementsAre(HasSubstr("not inside the parent pool \"root\", 10.0.0.0/16")));
}

TEST_F(PoolAdmission, Flaw9AChildDoesNotTakeWhatItsParentHasGivenOut) {
  AddPool({"root", Range("10.0.0.0/16")});
  AddSubnet({"s", R"("poolRef":"root","cidr":"10.0.1.0/24","clusterID":"c")"});
  EXPECT_THAT(Faults(Create({"child", Range("10.0.0.0/20"), "root"})),
              ElementsAre(HasSubstr("overlaps 10.0.1.0/24 of the parent pool \"root\", which a "
                                    "Subnet holds")));
}

TEST_F(PoolAdmission, AClaimsBlockDoesNotBecomeAChildsRange) {
  AddPool({"root", Range("10.0.0.0/16")});
  Identity pool_claim;
  pool_claim.name = "pc";
  pool_claim.uid = "pc-uid";
  AddSubnet(
      {"s", R"("poolRef":"root","cidr":"10.0.1.0/24","clusterID":"child","claimRef":{"name":")" +
                ChildClaimName(pool_claim) + R"(","uid":"block-uid"})"});
  const Proposed by_hand{"child", Range("10.0.1.0/24"), "root"};
  EXPECT_THAT(Faults(Create(by_hand)),
              ElementsAre(HasSubstr("is 10.0.1.0/24 of the parent pool \"root\", which a Subnet "
                                    "holds, and not for this pool")));
  // The block that its SubnetPoolClaim was given: by Berth's claim, or by plexaubnet's.
  const std::string owner =
      R"("ownerReferences":[{"kind":"SubnetPoolClaim","name":"pc","uid":"pc-uid"}],)";
  const Proposed child{"child", Range("10.0.1.0/24"), "root", "", owner};
  EXPECT_THAT(Faults(Create(child)), IsEmpty());
  AddSubnet({"t", R"("poolRef":"root","cidr":"10.0.2.0/24","clusterID":"pc-uid")"});
  EXPECT_THAT(Faults(Create({"other", Range("10.0.2.0/24"), "root", "", owner})), IsEmpty());
  // A user's claim may have the child's name as its clusterID.
  AddSubnet({"u", R"("poolRef":"root","cidr":"10.0.3.0/24","clusterID":"x")"});
  EXPECT_THAT(Faults(Create({"x", Range("10.0.3.0/24"), "root", "", owner})), SizeIs(1));
  AddPool(child);
  EXPECT_THAT(Faults(Create({"twin", Range("10.0.1.0/24"), "root"})),
              ElementsAre(HasSubstr("is 10.0.1.0/24 of the parent pool"),
                          HasSubstr("overlaps the pool \"child\", 10.0.1.0/24")));
}

TEST_F(PoolAdmission, AChildDoesNotGrowOverAnyBlockOfItsParent) {
  AddPool({"root", Range("10.0.0.0/16")});
  const Proposed before{"child", Range("10.0.0.0/24"), "root"};
  AddPool(before);
  EXPECT_THAT(Faults(Update(before, {"child", Range("10.0.0.0/23"), "root"})), IsEmpty());
  AddSubnet({"s", R"("poolRef":"root","cidr":"10.0.1.0/24","clusterID":"c")"});
  EXPECT_THAT(Faults(Update(before, {"child", Range("10.0.0.0/23"), "root"})),
              ElementsAre(HasSubstr("overlaps 10.0.1.0/24 of the parent pool \"root\", which a "
                                    "Subnet holds")));
}

TEST_F(PoolAdmission, ABlockThatAPoolHasOutsideItsRangeIsInTheWayOfOthers) {
  AddPool({"shrunk", Range("10.0.0.0/16")});
  AddSubnet({"s", R"("poolRef":"shrunk","cidr":"10.0.200.0/24","clusterID":"c")"});
  AddPool({"shrunk", Range("10.0.0.0/17")});
  EXPECT_THAT(Faults(Create({"other", Range("10.0.128.0/17")})),
              ElementsAre(HasSubstr("overlaps 10.0.200.0/24, which the pool \"shrunk\" has given "
                                    "out, outside its range")));
  EXPECT_THAT(Faults(Update({"shrunk", Range("10.0.0.0/17")}, {"shrunk", Range("10.0.0.0/16")})),
              IsEmpty());
}

TEST_F(PoolAdmission, APoolThatWasRemovedByForceMayComeBackOverItsBlocks) {
  AddSubnet({"s", R"("poolRef":"p","cidr":"10.0.0.0/26","clusterID":"s")", "",
             R"("phase":"Allocated","allocatedAt":"2026-01-01T00:00:00Z")"});
  EXPECT_THAT(Faults(Create({"p", Range("10.0.0.0/24")})), IsEmpty());
  EXPECT_THAT(Faults(Create({"q", Range("10.0.0.0/24")})), SizeIs(1));
}

TEST_F(PoolAdmission, AParentMayComeLater) {
  const Verdict verdict = Create({"child", Range("10.0.0.0/24"), "root"});
  EXPECT_THAT(Faults(verdict), IsEmpty());
  EXPECT_THAT(verdict.warnings,
              ElementsAre(AllOf(StartsWith("metadata.labels[plexaubnet.io/parent]: "),
                                HasSubstr("no pool \"root\" yet"))));
}

TEST_F(PoolAdmission, ACircleIsRefused) {
  AddPool({"a", Range("10.0.0.0/8")});
  AddPool({"b", Range("10.0.0.0/12"), "a"});
  AddPool({"c", Range("10.0.0.0/16"), "b"});
  EXPECT_THAT(Faults(Update({"a", Range("10.0.0.0/8")}, {"a", Range("10.0.0.0/8"), "c"})),
              ElementsAre(HasSubstr("a circle: the pool \"c\" is below this one")));
}

TEST_F(PoolAdmission, PoolsNestNoDeeperThanTheyAreLookedAt) {
  AddPool({"d0", Range("fd00::/10")});
  const auto nested = [](int depth) {
    return Proposed{Format("d{}", depth), Range(Format("fd00::/{}", 10 + depth)),
                    Format("d{}", depth - 1)};
  };
  for (int depth = 1; depth <= 63; ++depth) AddPool(nested(depth));
  EXPECT_THAT(Faults(Create(nested(64))), IsEmpty());
  AddPool(nested(64));
  EXPECT_THAT(Faults(Create(nested(65))),
              ElementsAre(HasSubstr("more than 64 pools would be above this one")));
}

TEST_F(PoolAdmission, LabelAndReferenceNameTheSameParent) {
  AddPool({"root", Range("10.0.0.0/8")});
  const std::string spec = Range("10.0.0.0/16") + R"(,"parentRef":"root")";
  EXPECT_THAT(Faults(Create({"child", spec, "root"})), IsEmpty());
  EXPECT_THAT(Faults(Create({"child", spec, "other"})),
              ElementsAre(HasSubstr("spec.parentRef: Invalid value: \"root\": the label "
                                    "plexaubnet.io/parent names another parent, \"other\"")));
}

TEST_F(PoolAdmission, ARangeGrowsButDoesNotMove) {
  const Proposed before{"pool", Range("10.0.0.0/16")};
  AddPool(before);
  AddSubnet({"s", R"("poolRef":"pool","cidr":"10.0.1.0/24","clusterID":"c")"});
  EXPECT_THAT(Faults(Update(before, {"pool", Range("10.0.0.0/15")})), IsEmpty());
  for (const char* cidr : {"10.1.0.0/16", "11.0.0.0/8", "2001:db8::/32"}) {
    EXPECT_THAT(Faults(Update(before, {"pool", Range(cidr)})),
                ElementsAre(HasSubstr("can grow or shrink, not move: it is \"10.0.0.0/16\"")))
        << cidr;
  }
}

TEST_F(PoolAdmission, ShrinksOnlyWhileNobodyUsesIt) {
  const Proposed before{"pool", Range("10.0.0.0/16")};
  const Proposed now{"pool", Range("10.0.0.0/17")};
  AddPool(before);
  EXPECT_THAT(Faults(Update(before, now)), IsEmpty());
  for (const char* third : {"1", "2", "3", "4"})
    AddSubnet({std::string("s") + third, std::string(R"("poolRef":"pool","cidr":"10.0.)") + third +
                                             R"(.0/24","clusterID":"c)" + third + "\""});
  EXPECT_THAT(Faults(Update(before, now)),
              ElementsAre(HasSubstr("cannot shrink from \"10.0.0.0/16\" while in use by 4 Subnets "
                                    "(\"s1\", \"s2\", \"s3\" and others)")));
}

TEST_F(PoolAdmission, DoesNotShrinkUnderAReservation) {
  const Proposed before{"pool", Range("10.0.0.0/16")};
  AddPool(before);
  ASSERT_TRUE(space_.Reserve("ns/pool", {.claim = "c", .cluster = "c", .size = 24, .owner = 7},
                             executor_.Now() + std::chrono::seconds(30)));
  EXPECT_THAT(Faults(Update(before, {"pool", Range("10.0.0.0/17")})),
              ElementsAre(HasSubstr("in use by 1 reservation")));
}

TEST_F(PoolAdmission, GrowingMustNotOverlapEither) {
  AddPool({"pool", Range("10.0.0.0/16")});
  AddPool({"next", Range("10.1.0.0/16")});
  EXPECT_THAT(Faults(Update({"pool", Range("10.0.0.0/16")}, {"pool", Range("10.0.0.0/15")})),
              ElementsAre(HasSubstr("overlaps the pool \"next\"")));
}

TEST_F(PoolAdmission, AnOldMistakeIsNoNewOne) {
  AddPool({"a", Range("10.0.0.0/16")});
  const std::string spec = Range("10.0.0.0/16") + R"(,"minBlockSize":28,"maxBlockSize":20)";
  const Verdict kept = Update({"pool", spec}, {"pool", spec + R"(,"strategy":"Buddy")"});
  EXPECT_THAT(Faults(kept), IsEmpty());
  EXPECT_THAT(kept.warnings, ElementsAre(StartsWith("spec.minBlockSize: Invalid value: 28"),
                                         HasSubstr("overlaps the pool \"a\"")));
  EXPECT_THAT(Faults(Update({"pool", spec}, {"pool", spec + R"(,"strategy":"x")"})),
              ElementsAre(StartsWith("spec.strategy: ")));
  // Another value is another mistake.
  EXPECT_THAT(Faults(Update({"pool", Range("10.0.0.1/8")}, {"pool", Range("10.0.0.2/8")})),
              ElementsAre(StartsWith("spec.cidr: ")));
}

TEST_F(PoolAdmission, HostBitsCanBeMended) {
  EXPECT_THAT(Faults(Update({"pool", Range("10.0.0.1/8")}, {"pool", Range("10.0.0.0/8")})),
              IsEmpty());
  EXPECT_THAT(Faults(Update({"pool", Range("nonsense")}, {"pool", Range("10.0.0.0/8")})),
              IsEmpty());
}

TEST_F(PoolAdmission, APoolInUseStays) {
  const Proposed pool{"pool", Range("10.0.0.0/16")};
  AddPool(pool);
  EXPECT_THAT(Faults(Delete(pool)), IsEmpty());
  AddSubnet({"s", R"("poolRef":"pool","cidr":"10.0.16.0/24","clusterID":"c")"});
  AddPool({"child", Range("10.0.0.0/20"), "pool"});
  const Verdict verdict = Delete(pool);
  ASSERT_TRUE(verdict.refusal);
  EXPECT_EQ(verdict.refusal->code, 403);
  EXPECT_EQ(verdict.refusal->message,
            R"(subnetpools.plexaubnet.io "pool" is forbidden: it is in use by 1 Subnet ("s") and )"
            R"(1 child pool ("child"); delete these first, or have the Subnets deleted with it by )"
            R"(the annotation ipam.plexaubnet.io/allow-delete: "true")");
}

TEST_F(PoolAdmission, ThereIsNoEscapeFromAChildPool) {
  const Proposed pool{"pool", Range("10.0.0.0/16")};
  AddPool(pool);
  AddPool({"child", Range("10.0.0.0/20"), "pool"});
  EXPECT_THAT(Faults(Delete(pool)), ElementsAre(EndsWith("; delete these first")));
}

TEST_F(PoolAdmission, TheAnnotationLetsAPoolGo) {
  AddPool({"pool", Range("10.0.0.0/16")});
  AddSubnet({"s", R"("poolRef":"pool","cidr":"10.0.0.0/24","clusterID":"c")"});
  const std::string annotation = R"("annotations":{"ipam.plexaubnet.io/allow-delete":"true"},)";
  EXPECT_THAT(Faults(Delete({"pool", Range("10.0.0.0/16"), "", "", annotation})), IsEmpty());
}

TEST_F(PoolAdmission, WhatIsBeingDeletedIsNotHeldUp) {
  AddPool({"pool", Range("10.0.0.0/16")});
  AddSubnet({"s", R"("poolRef":"pool","cidr":"10.0.0.0/24","clusterID":"c")"});
  const std::string deleting = R"("deletionTimestamp":"2026-11-16T00:00:00Z",)";
  EXPECT_THAT(Faults(Delete({"pool", Range("10.0.0.0/16"), "", "", deleting})), IsEmpty());
}

TEST_F(PoolAdmission, ASubnetWithoutItsBlockCountsToo) {
  const Proposed pool{"pool", Range("10.0.0.0/16")};
  AddPool(pool);
  AddSubnet({"s", R"("poolRef":"pool","cidr":"10.1.0.0/24","clusterID":"c")"});
  EXPECT_THAT(Faults(Delete(pool)), ElementsAre(HasSubstr("in use by 1 Subnet (\"s\")")));
}

TEST_F(PoolAdmission, WithoutASpaceThePoolsOwnStatusCounts) {
  const Proposed used{"pool", Range("10.0.0.0/16"), "", R"("allocatedCount":3)"};
  const auto before = used.As<PoolProposal>();
  EXPECT_THAT(Faults(JudgePoolDeletion(before.pool, {})),
              ElementsAre(HasSubstr("in use by 3 Subnets;")));
  const auto now = Proposed{"pool", Range("10.0.0.0/17")}.As<PoolProposal>();
  EXPECT_THAT(Faults(JudgePool(now, &before, {})),
              ElementsAre(HasSubstr("while in use by 3 Subnets")));
  EXPECT_THAT(Faults(JudgePoolDeletion(now.pool, {})), IsEmpty());
}

TEST_F(PoolAdmission, WithoutASpaceOnlyThePoolItselfIsJudged) {
  AddPool({"a", Range("10.0.0.0/16")});
  const auto proposal = Proposed{"b", Range("10.0.0.0/16"), "nobody"}.As<PoolProposal>();
  const Verdict verdict = JudgePool(proposal, nullptr, {});
  EXPECT_THAT(Faults(verdict), IsEmpty());
  EXPECT_THAT(verdict.warnings, IsEmpty());
}

TEST_F(PoolAdmission, TheUsualSizeIsTheDefaultWithinTheBounds) {
  const auto size = [](const std::string& spec) {
    return DefaultBlockSize(Proposed{"pool", spec}.As<Pool>());
  };
  EXPECT_EQ(size(Range("10.0.0.0/8")), 24);
  EXPECT_EQ(size(Range("10.0.0.0/28")), 28);
  EXPECT_EQ(size(Range("2001:db8::/32")), 64);
  EXPECT_EQ(size(Range("2001:db8::/72")), 72);
  EXPECT_EQ(size(Range("10.0.0.0/8") + R"(,"maxBlockSize":20)"), 20);
  EXPECT_EQ(size(Range("10.0.0.0/8") + R"(,"minBlockSize":26)"), 26);
  EXPECT_EQ(size(Range("nonsense")), std::nullopt);
}

}  // namespace
}  // namespace berth::ipam::test
