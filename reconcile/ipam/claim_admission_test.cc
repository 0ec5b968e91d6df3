#include "reconcile/ipam/admission_fixture_test.h"

namespace berth::ipam::test {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

const std::string kUsual = R"("poolRef":"pool","clusterID":"c")";

std::string Stamped(const std::string& stamp) {
  return R"("annotations":{"ipam.plexaubnet.io/allocation":")" + stamp + R"("},)";
}

class ClaimAdmission : public AdmissionTest {
 protected:
  ClaimAdmission() {
    AddPool({"pool", Range("10.0.0.0/16") + R"(,"minBlockSize":20,"maxBlockSize":28)"});
  }

  Verdict Create(const Proposed& claim) { return JudgeClaim(claim.As<Claim>(), nullptr, known_); }
  Verdict Update(const Proposed& before, const Proposed& now) {
    const auto was = before.As<Claim>();
    return JudgeClaim(now.As<Claim>(), &was, known_);
  }
};

TEST_F(ClaimAdmission, TakesWhatIsRight) {
  for (const char* more : {"", R"(,"blockSize":24)", R"(,"blockSize":20)", R"(,"blockSize":28)",
                           R"(,"requestedCIDR":"10.0.3.0/24")"}) {
    const Verdict verdict = Create({"claim", kUsual + more});
    EXPECT_THAT(Faults(verdict), IsEmpty()) << more;
    EXPECT_THAT(verdict.warnings, IsEmpty()) << more;
  }
}

struct Wrong {
  const char* spec;
  const char* field;
  const char* why;
};

class WrongClaim : public ClaimAdmission, public testing::WithParamInterface<Wrong> {};

TEST_P(WrongClaim, IsRefusedWithItsField) {
  const auto [spec, field, why] = GetParam();
  EXPECT_THAT(Faults(Create({"claim", spec})),
              ElementsAre(AllOf(StartsWith(std::string(field) + ": "), HasSubstr(why))));
}

INSTANTIATE_TEST_SUITE_P(
    Spec, WrongClaim,
    testing::Values(
        Wrong{R"("clusterID":"c")", "spec.poolRef", "Required value"},
        Wrong{R"("poolRef":"pool")", "spec.clusterID", "Required value"},
        Wrong{R"("poolRef":"pool","clusterID":"Upper")", "spec.clusterID",
              R"(Invalid value: "Upper": must be 1 to 63 lower-case letters)"},
        Wrong{R"("poolRef":"pool","clusterID":"c","blockSize":24,"requestedCIDR":"10.0.0.0/24")",
              "spec.requestedCIDR", "Forbidden: may not be given together with spec.blockSize"},
        Wrong{R"("poolRef":"pool","clusterID":"c","blockSize":19)", "spec.blockSize",
              "Invalid value: 19: the pool gives out blocks from /20 to /28"},
        Wrong{R"("poolRef":"pool","clusterID":"c","blockSize":29)", "spec.blockSize",
              "from /20 to /28"},
        Wrong{R"("poolRef":"pool","clusterID":"c","requestedCIDR":"10.0.0.1/24")",
              "spec.requestedCIDR", R"(the canonical form is "10.0.0.0/24")"},
        Wrong{R"("poolRef":"pool","clusterID":"c","requestedCIDR":"10.1.0.0/24")",
              "spec.requestedCIDR", R"(not inside the pool "pool", 10.0.0.0/16)"},
        Wrong{R"("poolRef":"pool","clusterID":"c","requestedCIDR":"10.0.0.0/29")",
              "spec.requestedCIDR", "prefix lengths from 20 to 28"}));

TEST_F(ClaimAdmission, ClusterIdsOfSixtyThreeCharactersAreLongEnough) {
  const auto claim = [](std::size_t length) {
    return Proposed{"claim", R"("poolRef":"pool","clusterID":")" + std::string(length, 'c') + "\""};
  };
  EXPECT_TRUE(Create(claim(63)).allowed());
  EXPECT_FALSE(Create(claim(64)).allowed());
}

TEST_F(ClaimAdmission, ThePoolMayComeLater) {
  const Verdict verdict = Create({"claim", R"("poolRef":"later","clusterID":"c","blockSize":8)"});
  EXPECT_THAT(Faults(verdict), IsEmpty());
  EXPECT_THAT(verdict.warnings, ElementsAre("spec.poolRef: there is no pool \"later\" yet"));
}

TEST_F(ClaimAdmission, Flaw3ASecondClaimOfAClusterIsToldSo) {
  AddSubnet(
      {"s", kUsual + R"(,"cidr":"10.0.0.0/24","claimRef":{"name":"first","uid":"first-uid"})"});
  const Verdict verdict = Create({"second", kUsual + R"(,"blockSize":26)"});
  EXPECT_THAT(Faults(verdict), IsEmpty());
  EXPECT_THAT(verdict.warnings, ElementsAre(AllOf(StartsWith("the claim will wait: "),
                                                  HasSubstr("cluster c holds 10.0.0.0/24"))));
}

TEST_F(ClaimAdmission, Flaw4WhatIsNotFreeIsWaitedFor) {
  AddPool({"tiny", Range("192.0.2.0/24")});
  AddSubnet({"s", R"("poolRef":"tiny","cidr":"192.0.2.0/24","clusterID":"a")"});
  for (const char* more : {R"(,"blockSize":26)", R"(,"requestedCIDR":"192.0.2.0/26")"}) {
    const Verdict verdict =
        Create({"claim", std::string(R"("poolRef":"tiny","clusterID":"b")") + more});
    EXPECT_THAT(Faults(verdict), IsEmpty()) << more;
    EXPECT_THAT(verdict.warnings, ElementsAre(StartsWith("the claim will wait: "))) << more;
  }
}

TEST_F(ClaimAdmission, ABlockThatIsExcludedIsWarnedOf) {
  AddPool({"e", Range("192.0.2.0/24") + R"(,"excludedRanges":["192.0.2.16/28"])"});
  const Verdict verdict =
      Create({"claim", R"("poolRef":"e","clusterID":"b","requestedCIDR":"192.0.2.16/28")"});
  EXPECT_THAT(Faults(verdict), IsEmpty());
  EXPECT_THAT(verdict.warnings, ElementsAre(HasSubstr("192.0.2.16/28 is excluded in pool e")));
}

TEST_F(ClaimAdmission, ANewClaimIsNotWarnedOfReservations) {
  AddPool({"tiny", Range("192.0.2.0/24")});
  ASSERT_TRUE(space_.Reserve("ns/tiny", {.claim = "claim", .cluster = "b", .size = 24, .owner = 7},
                             executor_.Now() + std::chrono::seconds(30)));
  const std::string spec = R"("poolRef":"tiny","clusterID":"b","blockSize":24)";
  EXPECT_THAT(Create({"claim", spec, "", "", Stamped("s")}).warnings, IsEmpty());
  EXPECT_THAT(Create({"claim", spec}).warnings, IsEmpty());
}

TEST_F(ClaimAdmission, AClaimThatABlockIsKeptForIsOfThatSize) {
  AddPool({"kept", R"("cidr":"192.0.2.0/24","maxBlockSize":28,)"
                   R"("preAllocations":{"claim":"192.0.2.64/26","small":"192.0.2.0/30"})"});
  const std::string spec = R"("poolRef":"kept","clusterID":"b")";
  const Proposed without{"claim", spec};
  EXPECT_EQ(DefaultBlockSize(without.As<Claim>(), known_), 26);
  EXPECT_EQ(DefaultBlockSize(Proposed{"small", spec}.As<Claim>(), known_), 30);
  EXPECT_EQ(DefaultBlockSize(Proposed{"other", spec}.As<Claim>(), known_), 24);
  for (const Proposed& fits : {without, Proposed{"claim", spec + R"(,"blockSize":26)"},
                               Proposed{"small", spec + R"(,"blockSize":30)"},
                               Proposed{"claim", spec + R"(,"requestedCIDR":"192.0.2.128/25")"}}) {
    const Verdict verdict = Create(fits);
    EXPECT_THAT(Faults(verdict), IsEmpty());
    EXPECT_THAT(verdict.warnings, IsEmpty());
  }
  EXPECT_THAT(Faults(Create({"claim", spec + R"(,"blockSize":24)"})),
              ElementsAre(HasSubstr("the pool keeps 192.0.2.64/26 for this claim: leave the size "
                                    "out, or ask for 26")));
}

TEST_F(ClaimAdmission, AnUpdateForeseesNothing) {
  AddPool({"tiny", Range("192.0.2.0/24")});
  AddSubnet({"s", R"("poolRef":"tiny","cidr":"192.0.2.0/24","clusterID":"a")"});
  const std::string spec = R"("poolRef":"tiny","clusterID":"b","blockSize":)";
  EXPECT_THAT(Update({"claim", spec + "26"}, {"claim", spec + "27"}).warnings, IsEmpty());
}

TEST_F(ClaimAdmission, ThePoolNeverChanges) {
  AddPool({"other", Range("10.1.0.0/16")});
  EXPECT_THAT(
      Faults(Update({"claim", kUsual}, {"claim", R"("poolRef":"other","clusterID":"c")"})),
      ElementsAre("spec.poolRef: Invalid value: \"other\": field is immutable; it is \"pool\""));
}

TEST_F(ClaimAdmission, WhatABoundClaimAskedForStays) {
  const auto claim = [](const std::string& cluster, int size, const std::string& phase) {
    return Proposed{
        "claim",
        R"("poolRef":"pool","clusterID":")" + cluster + R"(","blockSize":)" + std::to_string(size),
        "", R"("phase":")" + phase + "\""};
  };
  EXPECT_THAT(Faults(Update(claim("c", 24, "Pending"), claim("d", 26, "Pending"))), IsEmpty());
  EXPECT_THAT(Faults(Update(claim("c", 24, "Bound"), claim("d", 26, "Bound"))),
              ElementsAre("spec.clusterID: Invalid value: \"d\": field is immutable; it is \"c\"",
                          "spec.blockSize: Invalid value: 26: field is immutable; it is 24"));
  const Proposed exact{"claim", kUsual + R"(,"requestedCIDR":"10.0.0.0/24")", "",
                       R"("phase":"Bound")"};
  EXPECT_THAT(Faults(Update(claim("c", 24, "Bound"), exact)),
              ElementsAre(StartsWith("spec.requestedCIDR: ")));
  const Proposed lost{"claim", kUsual, "", R"("phase":"Error","allocatedCIDR":"10.0.0.0/24")"};
  EXPECT_THAT(Faults(Update(lost, claim("d", 26, "Error"))),
              ElementsAre(StartsWith("spec.clusterID: ")));
  // The manifest that the claim was created with, before its size was filled in.
  const Proposed unsized{"claim", kUsual, "", R"("phase":"Bound")"};
  EXPECT_THAT(Faults(Update(claim("c", 24, "Bound"), unsized)), IsEmpty());
}

TEST_F(ClaimAdmission, AStampCanOnlyBeRemoved) {
  const auto claim = [](const std::string& metadata) {
    return Proposed{"claim", kUsual, "", "", metadata};
  };
  EXPECT_THAT(Faults(Update(claim(Stamped("s")), claim(""))), IsEmpty());
  EXPECT_THAT(Faults(Update(claim(Stamped("s")), claim(Stamped("s")))), IsEmpty());
  for (const std::string& before : {std::string(), Stamped("s")}) {
    EXPECT_THAT(Faults(Update(claim(before), claim(Stamped("other")))),
                ElementsAre(StartsWith("metadata.annotations[ipam.plexaubnet.io/allocation]: "
                                       "Forbidden: ")));
  }
}

TEST_F(ClaimAdmission, AnOldMistakeIsNoNewOne) {
  const Verdict verdict = Update({"claim", kUsual + R"(,"blockSize":30)"},
                                 {"claim", R"("poolRef":"pool","clusterID":"d","blockSize":30)"});
  EXPECT_THAT(Faults(verdict), IsEmpty());
  EXPECT_THAT(verdict.warnings, ElementsAre(StartsWith("spec.blockSize: Invalid value: 30")));
}

TEST_F(ClaimAdmission, ThePoolsDefaultIsForWhoSaysNothing) {
  const auto size = [&](const std::string& spec) {
    return DefaultBlockSize(Proposed{"claim", spec}.As<Claim>(), known_);
  };
  EXPECT_EQ(size(kUsual), 24);
  EXPECT_EQ(size(kUsual + R"(,"blockSize":26)"), std::nullopt);
  EXPECT_EQ(size(kUsual + R"(,"requestedCIDR":"10.0.0.0/24")"), std::nullopt);
  EXPECT_EQ(size(R"("poolRef":"later","clusterID":"c")"), std::nullopt);
  EXPECT_EQ(DefaultBlockSize(Proposed{"claim", kUsual}.As<Claim>(), {}), std::nullopt);
}

TEST_F(ClaimAdmission, KeepsItsClusterIdOnceItsSubnetIsThere) {
  const Proposed other{"claim", R"("poolRef":"pool","clusterID":"other")"};
  EXPECT_THAT(Faults(Update({"claim", kUsual}, other)), IsEmpty());
  auto subnet = Proposed{"s", kUsual + R"(,"claimRef":{"name":"claim","uid":"claim-uid"},)" +
                                  Range("10.0.0.0/24")}
                    .As<Subnet>();
  subnet.made = true;
  space_.PutSubnet(subnet);
  EXPECT_THAT(Faults(Update({"claim", kUsual}, other)),
              ElementsAre(StartsWith("spec.clusterID: ")));
  EXPECT_THAT(Faults(Update(other, {"claim", kUsual})), IsEmpty()) << "it may be put right";
}

class SubnetAdmission : public AdmissionTest {
 protected:
  SubnetAdmission() { AddPool({"pool", Range("10.0.0.0/16")}); }

  Verdict Create(const Proposed& subnet) {
    return JudgeSubnet(subnet.As<SubnetProposal>(), nullptr, known_);
  }
  Verdict Update(const Proposed& before, const Proposed& now) {
    const auto was = before.As<SubnetProposal>();
    return JudgeSubnet(now.As<SubnetProposal>(), &was, known_);
  }
  static Proposed Block(const std::string& name, const std::string& cidr,
                        const std::string& more = "") {
    return {name, kUsual + "," + Range(cidr) + more};
  }
};

const std::string kClaimed = R"(,"claimRef":{"name":"claim","uid":"claim-uid"})";

TEST_F(SubnetAdmission, TakesWhatIsFree) {
  EXPECT_THAT(Faults(Create(Block("s", "10.0.0.0/24"))), IsEmpty());
  EXPECT_THAT(Faults(Create(Block("s", "10.0.0.0/16"))), IsEmpty());
}

TEST_F(SubnetAdmission, SaysWhatIsWrong) {
  EXPECT_THAT(Faults(Create({"s", R"("clusterID":"C")"})),
              ElementsAre(StartsWith("spec.poolRef: Required value"),
                          StartsWith("spec.clusterID: Invalid value: \"C\""),
                          StartsWith("spec.cidr: Required value")));
  EXPECT_THAT(Faults(Create(Block("s", "10.0.0.1/24"))),
              ElementsAre(HasSubstr("the canonical form is \"10.0.0.0/24\"")));
  EXPECT_THAT(Faults(Create(Block("s", "10.1.0.0/24"))),
              ElementsAre(HasSubstr("not inside the pool \"pool\", 10.0.0.0/16")));
}

TEST_F(SubnetAdmission, Flaw1OverlapIsDecidedOnAddressesNotOnNames) {
  AddSubnet(Block("pool-10-0-0-0-24", "10.0.0.0/24"));
  for (const char* cidr : {"10.0.0.0/24", "10.0.0.0/25", "10.0.0.128/25", "10.0.0.0/20"}) {
    EXPECT_THAT(Faults(Create(Block("s", cidr))),
                ElementsAre(HasSubstr("overlaps 10.0.0.0/24, which another Subnet holds")))
        << cidr;
  }
  EXPECT_THAT(Faults(Create(Block("s", "10.0.1.0/24"))), IsEmpty());
}

TEST_F(SubnetAdmission, SharesNoAddressWithABlockOfAPoolThatOverlapsItsOwn) {
  AddPool({"twin", Range("10.0.0.0/16")});
  AddSubnet({"s", R"("poolRef":"twin","clusterID":"d",)" + Range("10.0.0.0/24")});
  EXPECT_THAT(Faults(Create(Block("t", "10.0.0.0/25"))),
              ElementsAre(HasSubstr("overlaps 10.0.0.0/24 of the pool \"twin\"")));
  EXPECT_THAT(Faults(Create(Block("t", "10.0.1.0/24"))), IsEmpty());
}

TEST_F(SubnetAdmission, ABlockIsHeldForItsClaim) {
  ASSERT_TRUE(space_.Assign(
      "ns/pool",
      {.claim = "claim", .cluster = "c", .size = 24, .owner = Fingerprint("claim-uid")}));
  EXPECT_THAT(Faults(Create(Block("s", "10.0.0.0/24", kClaimed))), IsEmpty());
  EXPECT_THAT(Faults(Create(Block("s", "10.0.0.0/24"))),
              ElementsAre(HasSubstr("overlaps 10.0.0.0/24, which is reserved")));
  EXPECT_THAT(Faults(Create(Block("s", "10.0.0.0/25", kClaimed))),
              ElementsAre(HasSubstr("overlaps 10.0.0.0/24, which is reserved")));
}

TEST_F(SubnetAdmission, AChildPoolsBlockIsForTheSubnetThatItStandsOn) {
  AddPool({"child", Range("10.0.0.0/20"), "pool"});
  EXPECT_THAT(Faults(Create(Block("s", "10.0.0.0/20", kClaimed))), IsEmpty());
  EXPECT_THAT(Faults(Create(Block("s", "10.0.0.0/20"))),
              ElementsAre(HasSubstr("which a child pool holds")));
  EXPECT_THAT(Faults(Create(Block("s", "10.0.0.0/24", kClaimed))),
              ElementsAre(HasSubstr("overlaps 10.0.0.0/20, which a child pool holds")));
}

TEST_F(SubnetAdmission, IsNotInItsOwnWay) {
  AddSubnet(Block("s", "10.0.0.0/24"));
  EXPECT_THAT(Faults(Update(Block("s", "10.0.0.0/24"),
                            {"s", R"("poolRef":"pool","clusterID":"d",)" + Range("10.0.0.0/24")})),
              IsEmpty());
}

TEST_F(SubnetAdmission, ThePoolMayComeLater) {
  const Verdict verdict =
      Create({"s", R"("poolRef":"later","clusterID":"c",)" + Range("10.0.0.0/24")});
  EXPECT_THAT(Faults(verdict), IsEmpty());
  EXPECT_THAT(verdict.warnings, ElementsAre("spec.poolRef: there is no pool \"later\" yet"));
}

TEST_F(SubnetAdmission, Flaw10OneThatFailedCanStillBeUpdated) {
  AddSubnet(Block("first", "10.0.0.0/24"));
  AddSubnet(Block("failed", "10.0.0.0/25"));
  const Verdict verdict =
      Update(Block("failed", "10.0.0.0/25"),
             {"failed", R"("poolRef":"pool","clusterID":"d",)" + Range("10.0.0.0/25")});
  EXPECT_THAT(Faults(verdict), IsEmpty());
  EXPECT_THAT(verdict.warnings, ElementsAre(HasSubstr("overlaps 10.0.0.0/24")));
}

class PoolClaimAdmission : public AdmissionTest {
 protected:
  PoolClaimAdmission() { AddPool({"root", Range("10.0.0.0/16") + R"(,"maxBlockSize":24)"}); }

  static Proposed Claiming(int size, const std::string& bound = "",
                           const std::string& metadata = "") {
    return {"claim", R"("parentPoolRef":"root","desiredBlockSize":)" + std::to_string(size), "",
            bound.empty() ? "" : R"("boundPoolName":")" + bound + "\"", metadata};
  }
  Verdict Create(const Proposed& claim) {
    return JudgePoolClaim(claim.As<PoolClaim>(), nullptr, known_);
  }
  Verdict Delete(const Proposed& claim) {
    return JudgePoolClaimDeletion(claim.As<PoolClaim>(), known_);
  }
};

TEST_F(PoolClaimAdmission, TheSizeIsAPartOfTheParent) {
  EXPECT_THAT(Faults(Create(Claiming(17))), IsEmpty());
  EXPECT_THAT(Faults(Create(Claiming(24))), IsEmpty());
  EXPECT_THAT(Faults(Create(Claiming(16))),
              ElementsAre("spec.desiredBlockSize: Invalid value: 16: must be greater than "
                          "16, the prefix length of the parent pool, 10.0.0.0/16"));
  for (const int size : {12, 25}) {
    EXPECT_THAT(Faults(Create(Claiming(size))),
                ElementsAre(HasSubstr("the pool gives out blocks from /16 to /24")))
        << size;
  }
}

TEST_F(PoolClaimAdmission, TheParentMayComeLater) {
  const Verdict verdict = Create({"claim", R"("parentPoolRef":"later","desiredBlockSize":20)"});
  EXPECT_THAT(Faults(verdict), IsEmpty());
  EXPECT_THAT(verdict.warnings, ElementsAre("spec.parentPoolRef: there is no pool \"later\" yet"));
}

TEST_F(PoolClaimAdmission, NothingOfItChanges) {
  const auto before = Claiming(20).As<PoolClaim>();
  const auto now =
      Proposed{"claim", R"("parentPoolRef":"other","desiredBlockSize":21)"}.As<PoolClaim>();
  EXPECT_THAT(
      Faults(JudgePoolClaim(now, &before, known_)),
      ElementsAre(
          "spec.parentPoolRef: Invalid value: \"other\": field is immutable; it is \"root\"",
          "spec.desiredBlockSize: Invalid value: 21: field is immutable; it is 20"));
}

TEST_F(PoolClaimAdmission, StaysWhileItsPoolIsInUse) {
  AddPool({"child", Range("10.0.0.0/20"), "root"});
  EXPECT_THAT(Faults(Delete(Claiming(20, "child"))), IsEmpty());
  AddSubnet({"s", R"("poolRef":"child","clusterID":"c","cidr":"10.0.0.0/24")"});
  const Verdict verdict = Delete(Claiming(20, "child"));
  ASSERT_TRUE(verdict.refusal);
  EXPECT_EQ(verdict.refusal->code, 403);
  EXPECT_THAT(verdict.refusal->message,
              StartsWith(R"(subnetpoolclaims.plexaubnet.io "claim" is forbidden: it is in use by )"
                         R"(1 Subnet ("s") of its pool "child";)"));
  const std::string annotation = R"("annotations":{"ipam.plexaubnet.io/allow-delete":"true"},)";
  EXPECT_THAT(Faults(Delete(Claiming(20, "child", annotation))), IsEmpty());
  EXPECT_THAT(Faults(Delete(Claiming(20))), IsEmpty());
}

}  // namespace
}  // namespace berth::ipam::test
