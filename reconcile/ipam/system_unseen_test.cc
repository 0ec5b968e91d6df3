// Watches that are behind: objects exist that the leader has not seen.
#include "reconcile/ipam/system_fixture_test.h"

namespace berth::ipam {
namespace {

// Brings nothing of one kind any more, once it is told so.
class SilentTransport : public kube::Transport {
 public:
  SilentTransport(kube::Transport& inner, std::string path)
      : inner_(inner), path_(std::move(path)) {}

  async::Handle Send(kube::Request request, Done done) override {
    return inner_.Send(std::move(request), std::move(done));
  }
  async::Handle Watch(kube::Request request, Stream stream) override {
    if (request.path.contains(path_)) {
      stream.on_lines = [this, deliver = std::move(stream.on_lines)](std::string_view lines) {
        if (!silent) deliver(lines);
      };
    }
    return inner_.Watch(std::move(request), std::move(stream));
  }

  bool silent = false;

 private:
  kube::Transport& inner_;
  const std::string path_;
};

// Claim "a" has 10.0.0.0/29 of pool "p", and the watch has not brought its Subnet.
class UnseenSubnetTest : public SystemTest {
 protected:
  ~UnseenSubnetTest() override { replica_.reset(); }
  void SetUp() override {
    BootThrough(silent_);
    Pool("p", "10.0.0.0/28", R"(,"maxBlockSize":30)");
    executor_.Advance(10s);
    silent_.silent = true;
    Claim("a", "p", 29);
    ASSERT_EQ(Allocated("a"), "10.0.0.0/29");
  }

  SilentTransport silent_{transport_, "/subnets?"};
};

TEST_F(UnseenSubnetTest, ItsBlockIsNotGivenToOthersWhenItsPoolIsMadeAnew) {
  RemoveByForce("p");
  Pool("p", "10.0.0.0/28", R"(,"maxBlockSize":30)");
  Claim("other", "p", 30);
  EXPECT_EQ(Allocated("other"), "10.0.0.8/30");
}

TEST_F(UnseenSubnetTest, ItsClaimNamesItWhateverItsNameIs) {
  Create("Subnet", "p-10-0-0-8-29",
         R"("poolRef":"elsewhere","cidr":"10.9.0.0/29","clusterID":"hand")");
  Claim("b", "p", 29);
  const std::string message = Format("10.0.0.8/29 is allocated, as Subnet {}",
                                     OtherSubnetName("p", *Cidr::Parse("10.0.0.8/29")));
  ASSERT_EQ(Status("subnetclaims", "b")["conditions"][0]["message"], message);
  Merge("subnetclaims", "b", R"({"metadata":{"labels":{"touched":"true"}}})");
  EXPECT_EQ(Status("subnetclaims", "b")["conditions"][0]["message"], message);
}

TEST_F(UnseenSubnetTest, ItIsMadeAgainWhenItWentBeforeTheWatchHadBroughtIt) {
  Delete("subnets", "p-10-0-0-0-29");
  executor_.Advance(40s);
  EXPECT_EQ(Get("subnets", "p-10-0-0-0-29")["spec"]["clusterID"], "a");
}

// Pool claim "pc" has a child pool that the watch has not brought.
class UnseenChildTest : public SystemTest {
 protected:
  ~UnseenChildTest() override { replica_.reset(); }
  void SetUp() override {
    BootThrough(silent_);
    Pool("p", "10.0.0.0/16");
    executor_.Advance(10s);
    silent_.silent = true;
    Create("SubnetPoolClaim", "pc", R"("parentPoolRef":"p","desiredBlockSize":20)");
    executor_.Advance(10s);
    child_ = Status("subnetpoolclaims", "pc").get_value_or<std::string>("boundPoolName", "");
    ASSERT_THAT(List("subnetpools"), testing::SizeIs(2));
  }
  void TellOfAnotherPool() {
    const auto told =
        Send(kube::Method::kPatch, Path("subnetpoolclaims", "pc") + "/status",
             R"({"status":{"boundPoolName":"another"}})", "application/merge-patch+json");
    ASSERT_EQ(told.code, 200) << told.body;
  }

  SilentTransport silent_{transport_, "/subnetpools?"};
  std::string child_;
};

TEST_F(UnseenChildTest, ItGetsItsOwnerBack) {
  Merge("subnetpools", child_, R"({"metadata":{"ownerReferences":null}})");
  Merge("subnetpoolclaims", "pc", R"({"metadata":{"annotations":{"a":"b"}}})");
  executor_.Advance(5s);
  EXPECT_EQ(Reason("subnetpoolclaims", "pc"), "Bound");
  EXPECT_EQ(Get("subnetpools", child_)["metadata"]["ownerReferences"][0]["name"], "pc");
}

TEST_F(UnseenChildTest, ItKeepsItsBlockWhateverNameUsersWriteIntoTheStatus) {
  const std::string block = Uid("subnetclaims", child_);
  TellOfAnotherPool();
  executor_.Advance(1min);
  EXPECT_EQ(Uid("subnetclaims", child_), block);
  EXPECT_THAT(List("subnetpools"), testing::SizeIs(2));
}

TEST_F(UnseenChildTest, NoSecondOneIsMadeUnderANameThatUsersWriteIntoTheStatus) {
  Delete("subnetclaims", child_);
  TellOfAnotherPool();
  while (server_.CollectGarbage()) executor_.Advance(1s);
  executor_.Advance(1min);
  EXPECT_THAT(List("subnetpools"), testing::SizeIs(2));
}

TEST_F(UnseenChildTest, ItStaysTheClaimsWhenAnotherPoolNamesTheClaimAsItsOwner) {
  silent_.silent = false;
  const std::string uid = Get("subnetpoolclaims", "pc")["metadata"]["uid"].as_string();
  const auto made = Send(
      kube::Method::kPost, Path("subnetpools"),
      Format(R"({{"apiVersion":"plexaubnet.io/v1alpha1","kind":"SubnetPool","metadata":{{"name":)"
             R"("taken","ownerReferences":[{{"apiVersion":"plexaubnet.io/v1alpha1","kind":)"
             R"("SubnetPoolClaim","name":"pc","uid":"{}"}}]}},"spec":{{"cidr":"10.0.64.0/20",)"
             R"("parentRef":"p"}}}})",
             uid));
  ASSERT_EQ(made.code, 201) << made.body;
  executor_.Advance(40s);
  EXPECT_EQ(Status("subnetpoolclaims", "pc")["boundPoolName"], child_);
}

}  // namespace
}  // namespace berth::ipam
