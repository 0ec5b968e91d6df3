#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "handlers/test_cluster.h"

// The webhooks of the IPAM with everything they are about: an API server that calls them, and the
// reconcilers that go on with what they let in.
namespace berth::admission {
namespace {

using std::chrono::seconds;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

const std::string kStamp(ipam::kStampAnnotation);

class IpamInCluster : public testing::Test {
 protected:
  IpamInCluster() { EXPECT_TRUE(cluster_.system->leading()); }

  int AddPool(const std::string& name, const std::string& cidr, const std::string& metadata = "") {
    return cluster_.Create("subnetpools", name, R"({"cidr":")" + cidr + "\"}", metadata).code;
  }
  Json Claim(const std::string& name, const std::string& more = "",
             const std::string& metadata = "", const std::string& query = "") {
    const auto answer = cluster_.Create(
        "subnetclaims", name, R"({"poolRef":"pool","clusterID":")" + name + "\"" + more + "}",
        metadata, query);
    EXPECT_EQ(answer.code, 201) << answer.body;
    return Json::parse(answer.body);
  }
  static std::string StampOf(const Json& claim) {
    const Json& metadata = claim["metadata"];
    return metadata.contains("annotations")
               ? metadata["annotations"].get_value_or<std::string>(kStamp, "")
               : "";
  }
  std::size_t Reserved() {
    return cluster_.system->space().Find("default/pool")->space->Count(ipam::Use::kReserved);
  }

  TestCluster cluster_;
};

TEST_F(IpamInCluster, AClaimHasItsBlockWhenItIsCreated) {
  ASSERT_EQ(AddPool("pool", "10.0.0.0/16"), 201);
  const Json claim = Claim("c");
  EXPECT_EQ(claim["spec"]["blockSize"], 24);
  EXPECT_THAT(StampOf(claim), StartsWith("10.0.0.0/24 "));
  cluster_.executor.Advance(seconds(5));
  const Json bound = cluster_.Get("subnetclaims", "c");
  EXPECT_EQ(bound["status"]["phase"], "Bound") << bound.to_string();
  EXPECT_EQ(bound["status"]["allocatedCIDR"], "10.0.0.0/24");
  EXPECT_EQ(cluster_.Get("subnets", "pool-10-0-0-0-24")["spec"]["clusterID"], "c");
}

TEST_F(IpamInCluster, Flaw1ClaimsAtOnceHaveDifferentBlocks) {
  ASSERT_EQ(AddPool("pool", "10.0.0.0/16"), 201);
  EXPECT_THAT(StampOf(Claim("a")), StartsWith("10.0.0.0/24 "));
  EXPECT_THAT(StampOf(Claim("b", R"(,"blockSize":25)")), StartsWith("10.0.1.0/25 "));
}

TEST_F(IpamInCluster, AClaimWithoutASizeGetsTheBlockThatIsKeptForIt) {
  ASSERT_EQ(cluster_
                .Create("subnetpools", "pool",
                        R"({"cidr":"10.0.0.0/16","preAllocations":{"c":"10.0.4.0/22"}})")
                .code,
            201);
  const Json claim = Claim("c");
  EXPECT_EQ(claim["spec"]["blockSize"], 22);
  EXPECT_THAT(StampOf(claim), StartsWith("10.0.4.0/22 "));
  cluster_.executor.Advance(seconds(1));
  EXPECT_EQ(cluster_.Get("subnetclaims", "c")["status"]["allocatedCIDR"], "10.0.4.0/22");
}

TEST_F(IpamInCluster, AClaimOfAnotherSizeThanTheBlockThatIsKeptForItIsRefused) {
  ASSERT_EQ(cluster_
                .Create("subnetpools", "pool",
                        R"({"cidr":"10.0.0.0/16","preAllocations":{"c":"10.0.4.0/22"}})")
                .code,
            201);
  const auto answer =
      cluster_.Create("subnetclaims", "c", R"({"poolRef":"pool","clusterID":"c","blockSize":26})");
  EXPECT_EQ(answer.code, 422) << answer.body;
  EXPECT_THAT(answer.body, HasSubstr("the pool keeps 10.0.4.0/22 for this claim"));
}

TEST_F(IpamInCluster, ClaimsThatNeverArriveKeepNobodyOut) {
  ASSERT_EQ(AddPool("pool", "10.0.0.0/24"), 201);
  for (int i = 0; i < 300; ++i) {
    ipam::Claim never;
    never.id.ns = "default";
    never.pool = "pool";
    never.cluster = "never-" + std::to_string(i);
    never.block_size = 32;
    cluster_.system->Stamp(never);
  }
  EXPECT_EQ(Reserved(), 256);
  Claim("c", R"(,"blockSize":26)");
  cluster_.executor.Advance(seconds(1));
  EXPECT_EQ(cluster_.Get("subnetclaims", "c")["status"]["phase"], "Bound");
}

TEST_F(IpamInCluster, APoolGoesWhileItsLastBlockRests) {
  ASSERT_EQ(cluster_
                .Create("subnetpools", "pool",
                        R"({"cidr":"10.0.0.0/16","reuseGracePeriodSeconds":2592000})")
                .code,
            201);
  Claim("c");
  cluster_.executor.Advance(seconds(5));
  ASSERT_EQ(cluster_.Delete("subnetclaims", "c").code, 200);
  cluster_.executor.Advance(seconds(5));
  ASSERT_EQ(cluster_.Delete("subnetpools", "pool").code, 200);
  cluster_.executor.Advance(seconds(5));
  EXPECT_EQ(cluster_.Get("subnetpools", "pool")["code"], 404);
  EXPECT_EQ(cluster_.Get("subnets", "pool-10-0-0-0-24")["code"], 404);
}

TEST_F(IpamInCluster, ADryRunTakesNothing) {
  ASSERT_EQ(AddPool("pool", "10.0.0.0/16"), 201);
  const Json claim = Claim("c", "", "", "?dryRun=All");
  EXPECT_EQ(claim["spec"]["blockSize"], 24);
  EXPECT_EQ(StampOf(claim), "");
  EXPECT_EQ(Reserved(), 0);
}

TEST_F(IpamInCluster, AStampOfOnesOwnMakingIsReplaced) {
  ASSERT_EQ(AddPool("pool", "10.0.0.0/16"), 201);
  const std::string forged = R"("annotations":{"a":"b",")" + kStamp + R"(":"10.0.9.0/24 1 2"},)";
  const Json claim = Claim("c", "", forged);
  EXPECT_THAT(StampOf(claim), StartsWith("10.0.0.0/24 "));
  EXPECT_EQ(claim["metadata"]["annotations"]["a"], "b");
  // Or goes, when there is none to give.
  EXPECT_EQ(StampOf(Claim("d", R"(,"requestedCIDR":"10.0.0.0/24")", forged)), "");
}

TEST_F(IpamInCluster, WhatIsRefusedReservesNothing) {
  ASSERT_EQ(AddPool("pool", "10.0.0.0/16"), 201);
  const auto answer =
      cluster_.Create("subnetclaims", "c", R"({"poolRef":"pool","clusterID":"c","blockSize":12})");
  EXPECT_EQ(answer.code, 422) << answer.body;
  EXPECT_THAT(answer.body, HasSubstr("spec.blockSize"));
  EXPECT_EQ(Reserved(), 0);
}

TEST_F(IpamInCluster, AClaimMayComeBeforeItsPool) {
  const Json claim = Claim("c");
  EXPECT_FALSE(claim["spec"].contains("blockSize"));
  EXPECT_EQ(StampOf(claim), "");
  ASSERT_EQ(AddPool("pool", "10.0.0.0/16"), 201);
  cluster_.executor.Advance(seconds(30));
  EXPECT_EQ(cluster_.Get("subnetclaims", "c")["status"]["phase"], "Bound");
}

TEST_F(IpamInCluster, Flaw12PoolsDoNotOverlap) {
  ASSERT_EQ(AddPool("pool", "10.0.0.0/16"), 201);
  const auto answer = cluster_.Create("subnetpools", "other", R"({"cidr":"10.0.0.0/20"})");
  EXPECT_EQ(answer.code, 422);
  EXPECT_THAT(answer.body, HasSubstr(R"(overlaps the pool \"pool\", 10.0.0.0/16)"));
  EXPECT_EQ(AddPool("child", "10.0.0.0/20", R"("labels":{"plexaubnet.io/parent":"pool"},)"), 201);
}

TEST_F(IpamInCluster, APoolInUseIsNotDeleted) {
  ASSERT_EQ(AddPool("pool", "10.0.0.0/16"), 201);
  Claim("c");
  cluster_.executor.Advance(seconds(5));
  const auto refused = cluster_.Delete("subnetpools", "pool");
  EXPECT_EQ(refused.code, 403) << refused.body;
  EXPECT_THAT(refused.body, HasSubstr(R"(in use by 1 Subnet (\"pool-10-0-0-0-24\"))"));
  ASSERT_EQ(cluster_.Delete("subnetclaims", "c").code, 200);
  cluster_.executor.Advance(seconds(60));
  EXPECT_EQ(cluster_.Delete("subnetpools", "pool").code, 200);
}

TEST_F(IpamInCluster, ASubnetStaysOutOfOthersBlocks) {
  ASSERT_EQ(AddPool("pool", "10.0.0.0/16"), 201);
  Claim("c");
  const auto answer =
      cluster_.Create("subnets", "s", R"({"poolRef":"pool","clusterID":"x","cidr":"10.0.0.0/25"})");
  EXPECT_EQ(answer.code, 422) << answer.body;
  EXPECT_THAT(answer.body, HasSubstr("overlaps 10.0.0.0/24"));
}

TEST_F(IpamInCluster, APoolOfAPoolIsMadeAndTakenApartInOrder) {
  ASSERT_EQ(AddPool("pool", "10.0.0.0/16"), 201);
  ASSERT_EQ(
      cluster_
          .Create("subnetpoolclaims", "team", R"({"parentPoolRef":"pool","desiredBlockSize":20})")
          .code,
      201);
  cluster_.executor.Advance(seconds(30));
  const Json bound = cluster_.Get("subnetpoolclaims", "team");
  ASSERT_EQ(bound["status"]["phase"], "Bound") << bound.to_string();
  const std::string child = bound["status"]["boundPoolName"].as_string();
  ASSERT_EQ(cluster_
                .Create("subnetclaims", "c",
                        R"({"poolRef":")" + child + R"(","clusterID":"c","blockSize":24})")
                .code,
            201);
  cluster_.executor.Advance(seconds(5));
  EXPECT_EQ(cluster_.Delete("subnetpoolclaims", "team").code, 403);
  ASSERT_EQ(cluster_.Delete("subnetclaims", "c").code, 200);
  cluster_.executor.Advance(seconds(60));
  EXPECT_EQ(cluster_.Delete("subnetpoolclaims", "team").code, 200);
}

// The control thread as another executor, which the test holds up.
class IpamAtADistance : public testing::Test {
 protected:
  IpamAtADistance() { RegisterIpam(webhooks_, desk_); }

  void Ask(const std::string& path, const std::string& kind, const std::string& plural,
           const std::string& spec) {
    webhooks_.Review(
        path,
        R"({"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":{"uid":"u",
            "kind":{"group":"plexaubnet.io","version":"v1alpha1","kind":")" +
            kind + R"("},
            "resource":{"group":"plexaubnet.io","version":"v1alpha1","resource":")" +
            plural + R"("},
            "name":"x","namespace":"default","operation":"CREATE",
            "object":{"metadata":{"name":"x","namespace":"default"},"spec":)" +
            spec + "}}}",
        home_, [this](std::expected<std::string, kube::Status> answer) {
          answers_.push_back(Json::parse(answer.value())["response"]);
        });
  }
  void AskAboutAPool() {
    Ask("/validate/plexaubnet.io/subnetpools", "SubnetPool", "subnetpools",
        R"({"cidr":"10.0.0.0/16"})");
  }

  TestCluster cluster_;
  async::TestExecutor home_;
  ipam::Desk& desk_ = cluster_.desk;  // its executor is the control thread's
  prometheus::Registry registry_;
  Webhooks webhooks_{registry_};
  std::vector<Json> answers_;
};

TEST_F(IpamAtADistance, TheAnswerComesHome) {
  AskAboutAPool();
  home_.RunUntilIdle();
  EXPECT_THAT(answers_, IsEmpty());
  cluster_.executor.RunUntilIdle();
  EXPECT_THAT(answers_, IsEmpty());
  home_.RunUntilIdle();
  ASSERT_EQ(answers_.size(), 1);
  EXPECT_TRUE(answers_[0]["allowed"].as<bool>());
  EXPECT_FALSE(answers_[0].contains("warnings"));
  EXPECT_EQ(home_.pending(), 0);  // no deadline is left behind
}

TEST_F(IpamAtADistance, AfterTwoSecondsAnObjectIsJudgedByItself) {
  AskAboutAPool();
  home_.Advance(std::chrono::milliseconds(1999));
  EXPECT_THAT(answers_, IsEmpty());
  home_.Advance(std::chrono::milliseconds(1));
  ASSERT_EQ(answers_.size(), 1);
  EXPECT_TRUE(answers_[0]["allowed"].as<bool>());
  EXPECT_THAT(answers_[0]["warnings"][0].as_string(), HasSubstr("were not looked for"));
  cluster_.executor.RunUntilIdle();
  home_.RunUntilIdle();
  EXPECT_EQ(answers_.size(), 1);
}

TEST_F(IpamAtADistance, WhoWasGivenUpGetsNoBlock) {
  ASSERT_EQ(cluster_.Create("subnetpools", "pool", R"({"cidr":"10.0.0.0/16"})").code, 201);
  Ask("/mutate/plexaubnet.io/subnetclaims", "SubnetClaim", "subnetclaims",
      R"({"poolRef":"pool","clusterID":"c"})");
  home_.Advance(seconds(2));
  ASSERT_EQ(answers_.size(), 1);
  EXPECT_FALSE(answers_[0].contains("patch"));
  cluster_.executor.RunUntilIdle();
  EXPECT_EQ(cluster_.system->space().Find("default/pool")->space->Count(ipam::Use::kReserved), 0);
}

TEST_F(IpamAtADistance, AClaimWithAMemberOfAnotherTypeIsLeftToTheSchemaAndGetsNoBlock) {
  ASSERT_EQ(cluster_.Create("subnetpools", "pool", R"({"cidr":"10.0.0.0/16"})").code, 201);
  for (const char* member : {R"("blockSize":"/20")", R"("blockSize":200)", R"("blockSize":[])",
                             R"("requestedCIDR":5)", R"("requestedCIDR":{})"}) {
    answers_.clear();
    Ask("/mutate/plexaubnet.io/subnetclaims", "SubnetClaim", "subnetclaims",
        R"({"poolRef":"pool","clusterID":"c",)" + std::string(member) + "}");
    cluster_.executor.RunUntilIdle();
    home_.RunUntilIdle();
    ASSERT_EQ(answers_.size(), 1);
    EXPECT_TRUE(answers_[0]["allowed"].as<bool>()) << member;
    EXPECT_FALSE(answers_[0].contains("patch")) << member;
  }
  EXPECT_EQ(cluster_.system->space().Find("default/pool")->space->Count(ipam::Use::kReserved), 0);
}

TEST_F(IpamAtADistance, AnAnswerThatComesTogetherWithTheDeadlineIsOne) {
  AskAboutAPool();
  home_.RunUntilIdle();
  cluster_.executor.RunUntilIdle();
  home_.Advance(seconds(3));
  ASSERT_EQ(answers_.size(), 1);
  EXPECT_FALSE(answers_[0].contains("warnings"));
}

}  // namespace
}  // namespace berth::admission
