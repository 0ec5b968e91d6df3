#include <gmock/gmock.h>

#include "kube/status.h"
#include "reconcile/ipam/system_fixture_test.h"

// Creates that somebody refuses: a quota, a policy, a namespace that is being deleted, a name that
// another object has.
namespace berth::ipam {
namespace {

using testing::AllOf;
using testing::HasSubstr;

// Refuses every create of one kind while `words` are given, and counts them all. Loses requests
// whose path has `unanswered` in it.
class RefusingTransport : public kube::Transport {
 public:
  RefusingTransport(async::Executor& executor, kube::Transport& inner, std::string path)
      : executor_(executor), inner_(inner), path_(std::move(path)) {}

  async::Handle Send(kube::Request request, Done done) override {
    if (!unanswered.empty() && request.path.contains(unanswered)) {
      return executor_.RunAfter(1ms, [done = std::move(done)] {
        done(std::unexpected(kube::Error{kube::ErrorClass::kAmbiguous, {}, "no answer"}));
      });
    }
    const bool create = request.method == kube::Method::kPost && request.path.contains(path_);
    if (create) ++creates;
    if (!create || words.empty()) return inner_.Send(std::move(request), std::move(done));
    return executor_.RunAfter(1ms, [this, done = std::move(done)] {
      done(std::unexpected(kube::Error{error_class, "Forbidden", words, 403, {}}));
    });
  }
  async::Handle Watch(kube::Request request, Stream stream) override {
    return inner_.Watch(std::move(request), std::move(stream));
  }

  std::string words;
  std::string unanswered;
  kube::ErrorClass error_class = kube::ErrorClass::kTerminal;
  int creates = 0;

 private:
  async::Executor& executor_;
  kube::Transport& inner_;
  const std::string path_;
};

class RefusedCreateTest : public SystemTest {
 protected:
  // Creates within the next minute.
  int InAMinute(RefusingTransport& transport) {
    transport.creates = 0;
    executor_.Advance(1min);
    return transport.creates;
  }
  std::string Message(const std::string& plural, const std::string& name) {
    return Status(plural, name).get_value_or<std::string>("message", "");
  }
  int EventsOf(const std::string& reason) {
    const auto reasons = EventReasons();
    return static_cast<int>(std::ranges::count(reasons, reason));
  }
};

TEST_F(RefusedCreateTest, AClaimThatChangesBeforeItHasASubnetGetsWhatItAsksForNow) {
  RefusingTransport refusing(executor_, transport_, "/subnets");
  BootThrough(refusing);
  Pool("p", "10.0.0.0/16");
  Claim("other", "p", 24, "same");
  refusing.words = "try again later";
  refusing.error_class = kube::ErrorClass::kRetry;
  Claim("conflicting", "p", 24);
  Claim("smaller", "p", 24);
  Merge("subnetclaims", "conflicting", R"({"spec":{"clusterID":"same"}})");
  Merge("subnetclaims", "smaller", R"({"spec":{"blockSize":28}})");
  refusing.words = "";
  executor_.Advance(2min);
  EXPECT_EQ(Phase("conflicting"), "Error");
  EXPECT_EQ(Phase("smaller"), "Bound");
  EXPECT_THAT(Allocated("smaller"), testing::EndsWith("/28"));
}

TEST_F(RefusedCreateTest, AClaimWhoseSpecIsNotValidAnyMoreHoldsNothing) {
  RefusingTransport refusing(executor_, transport_, "/subnets");
  BootThrough(refusing);
  Pool("p", "10.0.0.0/24");
  refusing.words = "try again later";
  refusing.error_class = kube::ErrorClass::kRetry;
  Claim("c", "p", 24);
  Merge("subnetclaims", "c", R"({"spec":{"requestedCIDR":"10.0.0.0/24"}})");
  refusing.words = "";
  executor_.Advance(2min);
  ASSERT_EQ(Reason("subnetclaims", "c"), "InvalidRequest");
  Claim("other", "p", 24);
  EXPECT_EQ(Phase("other"), "Bound");
}

TEST_F(RefusedCreateTest, AClaimKeepsItsBlockWhenItsClusterIDChangesAndItsSubnetGoes) {
  RefusingTransport refusing(executor_, transport_, "/subnets");
  BootThrough(refusing);
  Pool("p", "10.0.0.0/24");
  Claim("c", "p", 24);
  Merge("subnetclaims", "c", R"({"spec":{"clusterID":"new"}})");
  refusing.words = "try again later";
  refusing.error_class = kube::ErrorClass::kRetry;
  Delete("subnets", "p-10-0-0-0-24");
  Claim("other", "p", 25);
  refusing.words = "";
  executor_.Advance(2min);
  EXPECT_EQ(Phase("c"), "Bound");
  EXPECT_EQ(Reason("subnetclaims", "other"), "PoolExhausted");
}

TEST_F(RefusedCreateTest, ARefusedSubnetIsTriedMoreAndMoreSeldom) {
  RefusingTransport refusing(executor_, transport_, "/subnets");
  BootThrough(refusing);
  refusing.words = "exceeded quota: small, requested: count/subnets.plexaubnet.io=1";
  Pool("p", "10.0.0.0/16");
  Claim("c", "p", 24);
  EXPECT_LE(InAMinute(refusing), 18);
  executor_.Advance(1min);
  EXPECT_LE(InAMinute(refusing), 2);
  EXPECT_GE(InAMinute(refusing), 1);
}

TEST_F(RefusedCreateTest, ClaimsThatAreRefusedDoNotWakeEachOther) {
  RefusingTransport refusing(executor_, transport_, "/subnets");
  BootThrough(refusing);
  refusing.words = "no";
  Pool("p", "10.0.0.0/16");
  for (int i = 0; i < 20; ++i) Claim(Format("c{}", i), "p", 24);
  executor_.Advance(3min);
  EXPECT_LE(InAMinute(refusing), 2 * 20);
}

TEST_F(RefusedCreateTest, ARefusedClaimSaysWhatIsInTheWayAndIsBoundOnceItIsNot) {
  RefusingTransport refusing(executor_, transport_, "/subnets");
  BootThrough(refusing);
  refusing.words = R"(subnets "x" is forbidden: exceeded quota: small)";
  Pool("p", "10.0.0.0/16");
  Claim("c", "p", 24);
  executor_.Advance(5min);
  EXPECT_EQ(Reason("subnetclaims", "c"), "SubnetRefused");
  EXPECT_THAT(Message("subnetclaims", "c"),
              AllOf(HasSubstr("exceeded quota: small"), HasSubstr("raise the ResourceQuota")));
  EXPECT_EQ(EventsOf("SubnetRefused"), 1);
  refusing.words.clear();
  executor_.Advance(31s);
  EXPECT_EQ(Allocated("c"), "10.0.0.0/24");
}

TEST_F(RefusedCreateTest, ABlockThatWasRefusedIsThereForOthers) {
  RefusingTransport refusing(executor_, transport_, "/subnets");
  BootThrough(refusing);
  Pool("p", "10.0.0.0/24");
  refusing.words = "no";
  Claim("refused", "p", 24);
  executor_.Advance(5min);
  refusing.words.clear();
  Claim("other", "p", 24);
  EXPECT_EQ(Allocated("other"), "10.0.0.0/24");
  executor_.Advance(31s);
  EXPECT_EQ(Reason("subnetclaims", "refused"), "PoolExhausted");
}

TEST_F(RefusedCreateTest, AChangedClaimIsTriedAtOnce) {
  RefusingTransport refusing(executor_, transport_, "/subnets");
  BootThrough(refusing);
  Pool("p", "10.0.0.0/16");
  refusing.words = "no";
  Claim("c", "p", 24);
  executor_.Advance(5min);
  refusing.words.clear();
  Merge("subnetclaims", "c", R"({"spec":{"blockSize":25}})");
  EXPECT_EQ(Allocated("c"), "10.0.0.0/25");
}

TEST_F(RefusedCreateTest, ARefusedPoolClaimIsTriedMoreAndMoreSeldom) {
  RefusingTransport refusing(executor_, transport_, "/subnetclaims");
  BootThrough(refusing);
  Pool("p", "10.0.0.0/16");
  refusing.words = "denied by a policy";
  Create("SubnetPoolClaim", "pc", R"("parentPoolRef":"p","desiredBlockSize":24)");
  EXPECT_LE(InAMinute(refusing), 18);
  executor_.Advance(1min);
  // Room in the parent is no reason to try.
  for (int i = 0; i < 20; ++i) {
    Create("Subnet", "s", R"("poolRef":"p","cidr":"10.0.0.0/24","clusterID":"s")");
    Delete("subnets", "s");
  }
  EXPECT_LE(InAMinute(refusing), 2);
  EXPECT_EQ(Reason("subnetpoolclaims", "pc"), "Refused");
  EXPECT_THAT(Message("subnetpoolclaims", "pc"), HasSubstr("change the policy"));
  refusing.words.clear();
  executor_.Advance(31s);
  EXPECT_EQ(Status("subnetpoolclaims", "pc")["phase"], "Bound");
}

TEST_F(RefusedCreateTest, ABlockWhoseNameAnotherSubnetHasGetsAnother) {
  RefusingTransport counting(executor_, transport_, "/subnets");
  BootThrough(counting);
  Pool("p", "10.0.0.0/16");
  Create("Subnet", "p-10-0-0-0-24", R"("poolRef":"p","cidr":"10.0.9.0/24","clusterID":"s")");
  Claim("c", "p", 24);
  EXPECT_EQ(Allocated("c"), "10.0.0.0/24");
  const std::string name = OtherSubnetName("p", *Cidr::Parse("10.0.0.0/24"));
  EXPECT_EQ(Get("subnets", name)["spec"]["claimRef"]["name"], "c");
  EXPECT_THAT(Get("subnetclaims", "c")["status"]["conditions"].to_string(), HasSubstr(name));
  EXPECT_EQ(PoolStatus("p")["allocatedCIDRs"]["10.0.0.0/24"], "c");
  EXPECT_LE(counting.creates, 2);
  EXPECT_EQ(InAMinute(counting), 0);
  Delete("subnetclaims", "c");
  executor_.Advance(5s);
  EXPECT_EQ(Send(kube::Method::kGet, Path("subnets", name)).code, 404);
}

TEST_F(RefusedCreateTest, ABlockThatAClaimWasToldOfIsKeptWhileItsSubnetIsRefused) {
  RefusingTransport refusing(executor_, transport_, "/subnets");
  BootThrough(refusing);
  Pool("p", "10.0.0.0/24");
  Claim("c", "p", 25);
  ASSERT_EQ(Allocated("c"), "10.0.0.0/25");
  refusing.words = "exceeded quota: few";
  Delete("subnets", "p-10-0-0-0-25");
  executor_.Advance(5s);
  ASSERT_EQ(Reason("subnetclaims", "c"), "SubnetRefused");
  Pool("child", "10.0.0.0/28", R"(,"parentRef":"p")");
  EXPECT_EQ(Reason("subnetpools", "child"), "PoolOverlap");
  refusing.words.clear();
  executor_.Advance(2min);
  EXPECT_EQ(Phase("c"), "Bound");
}

TEST_F(RefusedCreateTest, ABlockThatAClaimWasToldOfIsFreeWhenTheClaimGoesWhileItsSubnetIsRefused) {
  RefusingTransport refusing(executor_, transport_, "/subnets");
  BootThrough(refusing);
  Pool("p", "10.0.0.0/24");
  Claim("c", "p", 24);
  refusing.words = "the namespace is being terminated";
  const auto remove = [this](const std::string& path) {
    server_.Handle({.method = kube::Method::kDelete, .path = path}, [](const kube::Response&) {});
  };
  remove(Path("subnets", "p-10-0-0-0-24"));
  executor_.Advance(500us);  // the create is under way
  ASSERT_EQ(refusing.creates, 2);
  remove(Path("subnetclaims", "c"));
  executor_.Advance(10s);
  Delete("subnetpools", "p");
  executor_.Advance(10s);
  EXPECT_TRUE(List("subnetpools").empty());
}

TEST_F(RefusedCreateTest, AStatusThatIsWrittenAfterItsClaimWentIsForgotten) {
  RefusingTransport refusing(executor_, transport_, "/subnets");
  BootThrough(refusing);
  Pool("p", "10.0.0.0/24");
  Claim("c", "p", 24);
  refusing.words = "exceeded quota: few";
  refusing.unanswered = "/subnetclaims/c/status";
  const auto remove = [this](const std::string& path) {
    server_.Handle({.method = kube::Method::kDelete, .path = path}, [](const kube::Response&) {});
  };
  remove(Path("subnets", "p-10-0-0-0-24"));
  executor_.Advance(500us);  // the create is under way; the status follows its answer
  ASSERT_EQ(refusing.creates, 2);
  remove(Path("subnetclaims", "c"));
  executor_.Advance(10s);
  Delete("subnetpools", "p");
  executor_.Advance(1min);
  EXPECT_EQ(system_->Remembered(), 0U);
  replica_.reset();
}

TEST_F(RefusedCreateTest, AUsersSubnetOfAnotherPoolDoesNotMoveTheBlockThatAClaimAskedFor) {
  RefusingTransport refusing(executor_, transport_, "/subnets");
  BootThrough(refusing);
  Pool("p", "10.0.0.0/24");
  refusing.words = "no answer";
  refusing.error_class = kube::ErrorClass::kAmbiguous;
  Claim("c", "p", 26);
  Create("Subnet", "s",
         Format(R"("poolRef":"q","cidr":"10.0.0.0/26","clusterID":"s",)"
                R"("claimRef":{{"name":"c","uid":"{}"}})",
                Uid("subnetclaims", "c")));
  Delete("subnets", "s");
  Delete("subnetclaims", "c");
  executor_.Advance(2min);
  Delete("subnetpools", "p");
  executor_.Advance(10s);
  EXPECT_TRUE(List("subnetpools").empty());
  replica_.reset();
}

TEST_F(RefusedCreateTest, AClaimWhoseNamesAreAllTakenSaysSoAndWaits) {
  RefusingTransport counting(executor_, transport_, "/subnets");
  BootThrough(counting);
  Pool("p", "10.0.0.0/16");
  const Cidr block = *Cidr::Parse("10.0.0.0/24");
  Create("Subnet", SubnetName("p", block), R"("poolRef":"p","cidr":"10.0.8.0/24","clusterID":"s")");
  Create("Subnet", OtherSubnetName("p", block),
         R"("poolRef":"p","cidr":"10.0.9.0/24","clusterID":"t")");
  Create("SubnetClaim", "c", R"("poolRef":"p","clusterID":"c","requestedCIDR":"10.0.0.0/24")");
  executor_.Advance(2min);
  EXPECT_EQ(Reason("subnetclaims", "c"), "SubnetRefused");
  EXPECT_THAT(Message("subnetclaims", "c"), HasSubstr("a Subnet of this name holds 10.0.9.0/24"));
  EXPECT_LE(InAMinute(counting), 4);
  Delete("subnets", SubnetName("p", block));
  executor_.Advance(31s);
  EXPECT_EQ(Allocated("c"), "10.0.0.0/24");
}

}  // namespace
}  // namespace berth::ipam
