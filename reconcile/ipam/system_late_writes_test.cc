// Writes that arrive late, watches that are behind, leaders that fall.
#include <functional>
#include <optional>

#include "reconcile/ipam/system_fixture_test.h"

namespace berth::ipam {
namespace {

// Keeps the state that the first watch of Subnets begins with until it is let go; what follows is
// under way for ever.
class HeldTransport : public kube::Transport {
 public:
  explicit HeldTransport(kube::Transport& inner) : inner_(inner) {}

  async::Handle Send(kube::Request request, Done done) override {
    return inner_.Send(std::move(request), std::move(done));
  }
  async::Handle Watch(kube::Request request, Stream stream) override {
    if (seen_ || !request.path.contains("/subnets?")) {
      return inner_.Watch(std::move(request), std::move(stream));
    }
    seen_ = true;
    deliver_ = std::move(stream.on_lines);
    auto watch = std::make_shared<async::Handle>(
        inner_.Watch(std::move(request), {.on_lines =
                                              [this](std::string_view lines) {
                                                if (!held_.contains("initial-events-end"))
                                                  held_ += lines;
                                              },
                                          .on_end = std::move(stream.on_end)}));
    return async::Handle([this, watch] {
      deliver_ = nullptr;
      watch->Cancel();
    });
  }
  void LetGo() {
    if (deliver_) deliver_(held_);
  }

 private:
  kube::Transport& inner_;
  bool seen_ = false;
  std::function<void(std::string_view)> deliver_;
  std::string held_;
};

TEST_F(SystemTest, AFirstStateThatWasAskedForBeforeTheElectionIsNotEnough) {
  Pool("p", "10.0.0.0/28", R"(,"maxBlockSize":30)");
  HeldTransport held(transport_);
  Replica standby(executor_, held, "standby");
  executor_.Advance(1s);
  Claim("before", "p", 30);
  ASSERT_EQ(Allocated("before"), "10.0.0.0/30");
  replica_.reset();
  Claim("after", "p", 29);
  for (int i = 0; i < 60 && !standby.system.leading(); ++i) executor_.Advance(1s);
  held.LetGo();
  executor_.Advance(5s);
  EXPECT_EQ(Allocated("after"), "10.0.0.8/29");
}

// Keeps the first request of its kind, for a Subnet unless said otherwise, on its way: its sender
// hears nothing, and it arrives when the test says so.
class LateTransport : public kube::Transport {
 public:
  LateTransport(async::Executor& executor, kube::Transport& inner,
                kube::Method method = kube::Method::kPost, std::string path = "/subnets?")
      : executor_(executor), inner_(inner), method_(method), path_(std::move(path)) {}

  async::Handle Send(kube::Request request, Done done) override {
    const bool about = request.path.contains(path_) || request.body.contains(path_);
    if (late_ || request.method != method_ || !about) {
      return inner_.Send(std::move(request), std::move(done));
    }
    late_ = std::move(request);
    return executor_.RunAfter(1s, [done = std::move(done)] {
      done(std::unexpected(kube::Error{kube::ErrorClass::kAmbiguous, {}, "no answer"}));
    });
  }
  async::Handle Watch(kube::Request request, Stream stream) override {
    return inner_.Watch(std::move(request), std::move(stream));
  }
  void Arrive() {
    arrived_ = inner_.Send(*late_, [](const auto&) {});
  }

 private:
  async::Executor& executor_;
  kube::Transport& inner_;
  const kube::Method method_;
  const std::string path_;
  std::optional<kube::Request> late_;
  async::Handle arrived_;
};

TEST_F(SystemTest, ABlockWhoseSubnetMayBeMadeAgainIsNotGivenToOthers) {
  LateTransport late(executor_, transport_);
  BootThrough(late);
  Pool("p", "10.0.0.0/28", R"(,"maxBlockSize":30)");
  Claim("a", "p", 28);
  executor_.Advance(2s);
  ASSERT_EQ(Allocated("a"), "10.0.0.0/28") << "by the second request";
  Claim("b", "p", 30);
  ASSERT_EQ(Phase("b"), "Error");
  Delete("subnets", SubnetName("p", *Cidr::Parse("10.0.0.0/28")));
  late.Arrive();
  executor_.Advance(5s);
  EXPECT_EQ(Phase("a"), "Bound");
  EXPECT_EQ(Phase("b"), "Error");
  EXPECT_THAT(List("subnets"), testing::SizeIs(1));
}

TEST_F(SystemTest, APoolIsNotMadeOfABlockThatItsClaimHasLost) {
  Pool("p", "10.0.0.0/28", R"(,"maxBlockSize":30)");
  replica_.reset();
  Create("SubnetPoolClaim", "pc", R"("parentPoolRef":"p","desiredBlockSize":29)");
  Identity id;
  id.name = "pc";
  id.uid = Uid("subnetpoolclaims", "pc");
  // Bound; its Subnet was deleted, and another leader has given the block to a user's.
  const std::string name = ChildClaimName(id);
  Create("SubnetClaim", name,
         Format(R"("poolRef":"p","clusterID":"{}","blockSize":29)", ChildPoolName(id)),
         OwnedBy("SubnetPoolClaim", "subnetpoolclaims", "pc"));
  const auto told = Send(kube::Method::kPatch, Path("subnetclaims", name) + "/status",
                         R"({"status":{"phase":"Bound","allocatedCIDR":"10.0.0.0/29"}})",
                         "application/merge-patch+json");
  ASSERT_EQ(told.code, 200) << told.body;
  Create("Subnet", "other", R"("poolRef":"p","cidr":"10.0.0.0/28","clusterID":"other")");
  const auto given = Send(kube::Method::kPatch, Path("subnets", "other") + "/status",
                          R"({"status":{"phase":"Allocated"}})", "application/merge-patch+json");
  ASSERT_EQ(given.code, 200) << given.body;
  Boot();
  executor_.Advance(10s);
  ASSERT_EQ(Status("subnets", "other")["phase"], "Allocated");
  EXPECT_EQ(Send(kube::Method::kGet, Path("subnetpools", ChildPoolName(id))).code, 404);
}

TEST_F(SystemTest, AClaimsBlockIsNotLostToASubnetThatItsLeaderHadNotSeen) {
  Pool("p", "10.0.0.0/28", R"(,"maxBlockSize":30)");
  replica_.reset();
  // The user's is the older one; the watch of the leader that made the other was behind, and that
  // leader fell before it told the Subnet's phase.
  Create("Subnet", "a", R"("poolRef":"p","cidr":"10.0.0.0/30","clusterID":"a")");
  Claim("c", "p", 29);
  executor_.Advance(2s);
  SubnetFor("c", "p", "10.0.0.0/29");
  Claim("other", "p", 30);
  Boot();
  executor_.Advance(5s);
  EXPECT_EQ(Allocated("c"), "10.0.0.0/29");
  EXPECT_EQ(Status("subnets", "a")["phase"], "Failed");
  EXPECT_EQ(Allocated("other"), "10.0.0.8/30");
  EXPECT_THAT(List("subnets"), testing::SizeIs(3));
}

TEST_F(SystemTest, AClaimsBlockIsNotLostToAChildPoolThatItsLeaderHadNotSeen) {
  Pool("p", "10.0.0.0/28", R"(,"maxBlockSize":30)");
  replica_.reset();
  Pool("child", "10.0.0.0/30", R"(,"parentRef":"p")");
  Claim("c", "p", 29);
  SubnetFor("c", "p", "10.0.0.0/29");
  Claim("other", "p", 30);
  Boot();
  executor_.Advance(5s);
  EXPECT_EQ(Allocated("c"), "10.0.0.0/29");
  EXPECT_EQ(Allocated("other"), "10.0.0.8/30");
  EXPECT_EQ(Reason("subnetpools", "child"), "PoolOverlap");
}

TEST_F(SystemTest, AClaimsBlockIsNotLostWhenItsPoolIsMadeAnew) {
  Pool("p", "10.0.0.0/28", R"(,"maxBlockSize":30)");
  Claim("c", "p", 29);
  ASSERT_EQ(Allocated("c"), "10.0.0.0/29");
  Create("Subnet", "a", R"("poolRef":"p","cidr":"10.0.0.0/30","clusterID":"a")");
  ASSERT_EQ(Status("subnets", "a")["phase"], "Failed");
  // Gone at once, by force.
  RemoveByForce("p");
  executor_.Advance(5s);
  Pool("p", "10.0.0.0/28", R"(,"maxBlockSize":30)");
  Claim("other", "p", 30);
  executor_.Advance(5s);
  EXPECT_EQ(Allocated("c"), "10.0.0.0/29");
  EXPECT_EQ(Phase("c"), "Bound");
  EXPECT_EQ(Allocated("other"), "10.0.0.8/30");
}

TEST_F(SystemTest, ABlockUnderWayIsNotGivenToOthersWhenItsPoolIsMadeAnew) {
  LateTransport late(executor_, transport_);
  BootThrough(late);
  Pool("p", "10.0.0.0/28", R"(,"maxBlockSize":30)");
  executor_.Advance(10s);
  Claim("a", "p", 29);  // its Subnet is under way
  Delete("subnetclaims", "a");
  RemoveByForce("p");
  Pool("p", "10.0.0.0/28", R"(,"maxBlockSize":30)");
  Claim("other", "p", 30);
  EXPECT_EQ(Allocated("other"), "10.0.0.8/30");
  executor_.Advance(60s);  // it will not arrive any more
  Claim("third", "p", 29);
  EXPECT_EQ(Allocated("third"), "10.0.0.0/29");
}

TEST_F(SystemTest, ABlockUnderWayIsNotGivenToOthersByAPoolThatTakesTheRangeOfItsOwn) {
  LateTransport late(executor_, transport_);
  BootThrough(late);
  Pool("p", "10.0.0.0/28", R"(,"maxBlockSize":30)");
  executor_.Advance(10s);
  Claim("a", "p", 29);  // its Subnet is under way
  RemoveByForce("p");
  Pool("q", "10.0.0.0/28", R"(,"maxBlockSize":30)");
  Claim("other", "q", 30);
  EXPECT_EQ(Allocated("other"), "10.0.0.8/30");
  Delete("subnetclaims", "a");
  executor_.Advance(60s);  // it will not arrive any more
  Claim("third", "q", 29);
  EXPECT_EQ(Allocated("third"), "10.0.0.0/29");
}

TEST_F(SystemTest, ACreateUnderTheOtherNameThatArrivesLateMakesNoSecondSubnet) {
  Pool("p", "10.0.0.0/28", R"(,"maxBlockSize":30)");
  const Cidr block = *Cidr::Parse("10.0.0.0/29");
  LateTransport late(executor_, transport_, kube::Method::kPost, OtherSubnetName("p", block));
  Create("Subnet", SubnetName("p", block), R"("poolRef":"z","cidr":"10.9.0.0/29","clusterID":"s")");
  BootThrough(late);
  Claim("c", "p", 29);
  Delete("subnets", SubnetName("p", block));
  executor_.Advance(5s);
  late.Arrive();
  executor_.Advance(30s);
  EXPECT_EQ(List("subnets").size(), 1u);
}

TEST_F(SystemTest, ABlockThatAClaimIsToldOfWhileItsSubnetGoesIsKept) {
  Pool("p", "10.0.0.0/28", R"(,"maxBlockSize":30)");
  executor_.Advance(10s);
  LateTransport late(executor_, transport_, kube::Method::kPatch, "/subnetclaims/c/status");
  BootThrough(late);
  Claim("c", "p", 29);  // the status that tells of its block has no answer
  late.Arrive();
  server_.Handle({.method = kube::Method::kDelete, .path = Path("subnets", "p-10-0-0-0-29")},
                 [](const kube::Response&) {});
  Claim("other", "p", 28);
  executor_.Advance(10s);
  EXPECT_EQ(Allocated("c"), "10.0.0.0/29");
  EXPECT_EQ(Phase("c"), "Bound");
}

TEST_F(SystemTest, ABlockRestsOnWhenTheClaimThatWantedItBackIsGone) {
  LateTransport late(executor_, transport_, kube::Method::kPatch, "/subnets/p-10-0-0-0-26?");
  BootThrough(late);
  Pool("p", "10.0.0.0/26", R"(,"reuseGracePeriodSeconds":2592000)");
  Claim("c", "p", 26);
  ASSERT_EQ(Phase("c"), "Bound");
  Delete("subnetclaims", "c");
  executor_.Advance(2s);
  Claim("c", "p", 26);  // the end of the rest has no answer
  Delete("subnetclaims", "c");
  executor_.Advance(1min);
  EXPECT_EQ(List("subnets").size(), 1u);
}

TEST_F(SystemTest, AClaimGetsItsBlockAgainFromAPoolMadeAnewWhileItsStatusStillSaysBound) {
  Pool("p", "10.0.0.0/28", R"(,"maxBlockSize":30)");
  Claim("told", "p", 28);
  ASSERT_EQ(Allocated("told"), "10.0.0.0/28");
  // In one turn: the claim's status cannot follow.
  const auto now = [this](kube::Method method, const std::string& path, const std::string& body) {
    server_.Handle({.method = method,
                    .path = path,
                    .body = body,
                    .content_type = method == kube::Method::kPatch ? "application/merge-patch+json"
                                                                   : "application/json"},
                   [](const kube::Response&) {});
  };
  now(kube::Method::kPatch, Path("subnetpools", "p"), R"({"metadata":{"finalizers":null}})");
  now(kube::Method::kDelete, Path("subnetpools", "p"), "");
  now(kube::Method::kDelete, Path("subnets", "p-10-0-0-0-28"), "");
  now(kube::Method::kPost, Path("subnetclaims"),
      R"({"apiVersion":"plexaubnet.io/v1alpha1","kind":"SubnetClaim","metadata":{"name":"new"},)"
      R"("spec":{"poolRef":"p","clusterID":"new","blockSize":30}})");
  now(kube::Method::kPost, Path("subnetpools"),
      R"({"apiVersion":"plexaubnet.io/v1alpha1","kind":"SubnetPool","metadata":{"name":"p"},)"
      R"("spec":{"cidr":"10.0.0.0/28","maxBlockSize":30}})");
  executor_.Advance(1min);
  EXPECT_EQ(Phase("told"), "Bound");
  EXPECT_EQ(Allocated("told"), "10.0.0.0/28");
  EXPECT_EQ(Reason("subnetclaims", "new"), "PoolExhausted");
}

TEST_F(SystemTest, ABlocksClaimThatUsersHaveEditedIsMadeAgainAfterACreateWithoutAnAnswer) {
  LateTransport late(executor_, transport_, kube::Method::kPost, "/subnetpools?");
  BootThrough(late);
  Pool("p", "10.0.0.0/24");
  Create("SubnetPoolClaim", "pc", R"("parentPoolRef":"p","desiredBlockSize":26)");
  executor_.Advance(1min);
  const auto child =
      Status("subnetpoolclaims", "pc").get_value_or<std::string>("boundPoolName", "");
  ASSERT_FALSE(child.empty()) << "by the second request";
  Merge("subnetclaims", child, R"({"spec":{"requestedCIDR":"10.0.0.64/29","blockSize":null}})");
  Delete("subnetpools", child);
  executor_.Advance(2min);
  EXPECT_EQ(Reason("subnetpoolclaims", "pc"), "Bound");
  EXPECT_EQ(Get("subnetpools", child)["spec"]["cidr"], "10.0.0.0/26");
}

TEST_F(SystemTest, ABlockWhoseSubnetMayReturnIsNotGivenToOthersWhenItsPoolIsMadeAnew) {
  LateTransport late(executor_, transport_);
  BootThrough(late);
  Pool("p", "10.0.0.0/28", R"(,"maxBlockSize":30)");
  executor_.Advance(10s);
  Claim("a", "p", 29);
  executor_.Advance(2s);
  ASSERT_EQ(Allocated("a"), "10.0.0.0/29") << "by the second request";
  RemoveByForce("p");
  Delete("subnetclaims", "a");
  ASSERT_TRUE(List("subnets").empty());
  Pool("p", "10.0.0.0/28", R"(,"maxBlockSize":30)");
  Claim("other", "p", 30);
  EXPECT_EQ(Allocated("other"), "10.0.0.8/30") << "the first request may still arrive";
  executor_.Advance(60s);  // not any more
  Claim("third", "p", 29);
  EXPECT_EQ(Allocated("third"), "10.0.0.0/29");
}

// Keeps the answer to the first read of a Subnet until it is let go.
class LateAnswer : public kube::Transport {
 public:
  explicit LateAnswer(kube::Transport& inner) : inner_(inner) {}

  async::Handle Send(kube::Request request, Done done) override {
    if (asked_ || request.method != kube::Method::kGet || !request.path.contains("/subnets/")) {
      return inner_.Send(std::move(request), std::move(done));
    }
    asked_ = true;
    return inner_.Send(std::move(request), [this, done = std::move(done)](auto answer) {
      let_go_ = [done, answer = std::move(answer)] { done(answer); };
    });
  }
  async::Handle Watch(kube::Request request, Stream stream) override {
    return inner_.Watch(std::move(request), std::move(stream));
  }
  bool asked() const { return asked_; }
  void LetGo() { let_go_(); }

 private:
  kube::Transport& inner_;
  bool asked_ = false;
  std::function<void()> let_go_;
};

TEST_F(SystemTest, ASubnetThatWentWhileItWasReadIsNotCounted) {
  LateTransport never(executor_, transport_);
  LateAnswer late(never);
  BootThrough(late);
  Pool("p", "10.0.0.0/16");
  Claim("c", "p", 24);  // its Subnet is under way, and is looked for once it cannot arrive any more
  Delete("subnetclaims", "c");
  Create("Subnet", "p-10-0-0-0-24", R"("poolRef":"p","cidr":"10.0.0.0/24","clusterID":"s")");
  for (int i = 0; i < 90 && !late.asked(); ++i) executor_.Advance(1s);
  ASSERT_TRUE(late.asked());
  Delete("subnets", "p-10-0-0-0-24");
  late.LetGo();
  EXPECT_EQ(PoolStatus("p")["allocatedCount"], 0);
}

TEST_F(SystemTest, APoolStatusThatArrivesLateIsCorrected) {
  Pool("p", "10.0.0.0/16");
  ASSERT_EQ(PoolStatus("p")["allocatedCount"], 0);
  LateTransport late(executor_, transport_, kube::Method::kPatch, "/subnetpools/p/status");
  BootThrough(late);
  Claim("c", "p", 24);
  Delete("subnetclaims", "c");
  ASSERT_EQ(PoolStatus("p")["allocatedCount"], 0);
  const Json before = Get("subnetpools", "p");
  late.Arrive();
  executor_.Advance(12s);
  EXPECT_EQ(PoolStatus("p")["allocatedCount"], 0);
  EXPECT_NE(Get("subnetpools", "p")["metadata"]["resourceVersion"],
            before["metadata"]["resourceVersion"])
      << "the late write was refused";
}

// As plexaubnet does that still runs during a migration.

// Keeps the answer to the first request of its kind until the test lets it go.
class SlowAnswerTransport : public kube::Transport {
 public:
  SlowAnswerTransport(kube::Transport& inner, kube::Method method, std::string path)
      : inner_(inner), method_(method), path_(std::move(path)) {}

  async::Handle Send(kube::Request request, Done done) override {
    if (request.method == kube::Method::kPost && request.path.contains("/subnets?")) ++creates;
    if (seen_ || request.method != method_ || !request.path.contains(path_)) {
      return inner_.Send(std::move(request), std::move(done));
    }
    seen_ = true;
    return inner_.Send(std::move(request), [this, done = std::move(done)](auto answer) {
      let_go = [done, answer = std::move(answer)] { done(answer); };
    });
  }
  async::Handle Watch(kube::Request request, Stream stream) override {
    return inner_.Watch(std::move(request), std::move(stream));
  }

  std::function<void()> let_go;
  int creates = 0;  // of Subnets

 private:
  kube::Transport& inner_;
  const kube::Method method_;
  const std::string path_;
  bool seen_ = false;
};

TEST_F(SystemTest, NoSubnetIsMadeForAClaimThatLeftWhileItsNameWasLookedAt) {
  Pool("p", "10.0.0.0/26", R"(,"maxBlockSize":30)");
  Create("Subnet", "p-10-0-0-0-26", R"("poolRef":"z","cidr":"10.9.0.0/29","clusterID":"s")");
  SlowAnswerTransport slow(transport_, kube::Method::kGet, "/subnets/p-10-0-0-0-26");
  BootThrough(slow);
  Claim("c", "p", 26);  // the name of its Subnet is another's, which is being read
  ASSERT_TRUE(slow.let_go);
  Delete("subnetclaims", "c");
  Claim("next", "p", 28);
  ASSERT_EQ(Allocated("next"), "10.0.0.0/28");
  slow.creates = 0;
  slow.let_go();
  executor_.Advance(5s);
  EXPECT_EQ(slow.creates, 0);
  replica_.reset();  // before its transport
}

TEST_F(SystemTest, AnAnswerThatComesAfterTheEndOfAClaimDoesNotBringItBack) {
  Pool("p", "10.0.0.0/26", R"(,"maxBlockSize":30)");
  SlowAnswerTransport slow(transport_, kube::Method::kPatch, "/subnetclaims/c/status");
  BootThrough(slow);
  Claim("c", "p", 26);
  ASSERT_TRUE(slow.let_go);
  Delete("subnetclaims", "c");
  slow.let_go();
  while (server_.CollectGarbage()) executor_.Advance(1s);
  Claim("next", "p", 26);
  executor_.Advance(5s);
  EXPECT_EQ(Allocated("next"), "10.0.0.0/26");
  replica_.reset();  // before its transport
}

TEST_F(SystemTest, ABlockOfAPoolThatIsGoneIsFreeOnceNoSubnetCanComeOfIt) {
  LateTransport late(executor_, transport_);
  BootThrough(late);
  Pool("site", "10.0.0.0/24");
  Pool("p", "10.0.0.0/26", R"(,"parentRef":"site")");
  executor_.Advance(10s);
  Claim("a", "p", 27);  // its Subnet is under way, and never arrives
  RemoveByForce("p");
  Create("SubnetClaim", "b", R"("poolRef":"site","clusterID":"b","requestedCIDR":"10.0.0.0/26")");
  EXPECT_EQ(Reason("subnetclaims", "b"), "RequestedCIDRTaken");
  executor_.Advance(60s);
  EXPECT_EQ(Reason("subnetclaims", "a"), "PoolNotFound");
  EXPECT_EQ(Allocated("b"), "10.0.0.0/26");
  replica_.reset();  // before its transport
}

}  // namespace
}  // namespace berth::ipam
