#include <gmock/gmock.h>

#include <algorithm>
#include <string>
#include <vector>

#include "kube/status.h"
#include "reconcile/ipam/interceptor_fixture_test.h"
#include "reconcile/ipam/system_fixture_test.h"

// Acts of users, policies and other controllers between two writes of Berth.
namespace berth::ipam {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

bool IsStatusWrite(const kube::Request& request) {
  return request.path.contains("/subnetclaims/") && request.path.contains("/status");
}

class RaceTest : public SystemTest {
 protected:
  RaceTest() { BootThrough(interceptor_); }
  ~RaceTest() override { replica_.reset(); }

  // The API server fails such requests for a while.
  template <typename Which>
  void Fail(Which which, kube::ErrorClass error_class = kube::ErrorClass::kRetry) {
    interceptor_.on_request = [=](kube::Request& request) -> std::optional<kube::Error> {
      if (!which(request)) return std::nullopt;
      return kube::Error{error_class, "", "not now", 500, {}};
    };
  }
  // A webhook denies such requests with a code of its choice.
  void Deny(kube::Method method, std::string path, int code) {
    interceptor_.on_request = [=](kube::Request& request) -> std::optional<kube::Error> {
      if (request.method != method || !request.path.contains(path) ||
          request.path.contains("/status")) {
        return std::nullopt;
      }
      const kube::Status denial{
          code, "", R"(admission webhook "w" denied the request: not today)", {}};
      return kube::ErrorFromStatus(code, kube::ToJson(denial), {}, true);
    };
  }
  std::string ReadyMessage(const std::string& claim) {
    for (const Json& condition : Status("subnetclaims", claim)["conditions"].array_range()) {
      if (condition["type"] == "Ready") return condition["message"].as<std::string>();
    }
    return "";
  }

  Interceptor interceptor_{executor_, transport_};
};

TEST_F(RaceTest, AClaimWhoseClusterIdIsNotThatOfItsSubnetSaysSo) {
  Pool("p", "10.0.0.0/16");
  Fail(IsStatusWrite);
  Claim("c", "p", 24, "before");
  ASSERT_THAT(List("subnets"), SizeIs(1));
  Merge("subnetclaims", "c", R"({"spec":{"clusterID":"after"}})");
  interceptor_.on_request = nullptr;
  executor_.Advance(1min);
  EXPECT_EQ(Phase("c"), "Bound");
  EXPECT_THAT(ReadyMessage("c"), HasSubstr("spec has another clusterID"));
  Merge("subnetclaims", "c", R"({"spec":{"clusterID":"before"}})");
  executor_.Advance(1min);
  EXPECT_THAT(ReadyMessage("c"), testing::EndsWith("as Subnet p-10-0-0-0-24"));
}

TEST_F(RaceTest, ADenialIsToldWhateverItsCode) {
  Pool("p", "10.0.0.0/16");
  Claim("bound", "p", 24);
  for (const int code : {404, 409, 429, 500}) {
    Deny(kube::Method::kPost, "/subnets", code);
    Delete("subnets", List("subnets").front()["metadata"]["name"].as<std::string>());
    const std::string fresh = Format("fresh{}", code);
    Claim(fresh, "p", 24);
    executor_.Advance(1min);
    for (const std::string& name : {std::string("bound"), fresh}) {
      EXPECT_EQ(Reason("subnetclaims", name), "SubnetRefused") << code << " " << name;
    }
    interceptor_.on_request = nullptr;
    executor_.Advance(1min);
    EXPECT_EQ(Phase("bound"), "Bound");
    Delete("subnetclaims", fresh);
    executor_.Advance(1min);
  }
}

TEST_F(RaceTest, ADeletionThatIsDeniedAs404IsNotTakenForDone) {
  Pool("p", "10.0.0.0/16");
  Create("SubnetPoolClaim", "b", R"("parentPoolRef":"p","desiredBlockSize":20)");
  executor_.Advance(5s);
  Deny(kube::Method::kDelete, "/subnetpools/", 404);
  Delete("subnetpoolclaims", "b");
  executor_.Advance(1min);
  EXPECT_THAT(List("subnetpools"), SizeIs(2));
  EXPECT_THAT(List("subnetpoolclaims"), SizeIs(1)) << "it waits for its pool";
  interceptor_.on_request = nullptr;
  executor_.Advance(1min);
  EXPECT_THAT(List("subnetpools"), SizeIs(1));
  EXPECT_THAT(List("subnetpoolclaims"), IsEmpty());
}

// The end of a rest is refused; the claim that it was for gets another block meanwhile.
TEST_F(RaceTest, ARestThatNobodyNeedsToEndGoesOn) {
  Pool("p", "10.0.0.0/25", R"(,"reuseGracePeriodSeconds":2592000)");
  Claim("first", "p", 26, "x");
  Claim("other", "p", 26);
  Delete("subnetclaims", "first");
  executor_.Advance(2s);
  const std::string resting = Uid("subnets", "p-10-0-0-0-26");
  Fail([](const kube::Request& request) {
    return request.method == kube::Method::kPatch &&
           (IsStatusWrite(request) || request.path.contains("/subnets/"));
  });
  Claim("again", "p", 26, "x");
  executor_.Advance(5s);
  Merge("subnetpools", "p", R"({"spec":{"cidr":"10.0.0.0/24"}})");
  executor_.Advance(20s);
  ASSERT_THAT(List("subnets"), SizeIs(3));
  // The Subnet may be written again before the claim's status.
  Fail(IsStatusWrite);
  executor_.Advance(40s);
  interceptor_.on_request = nullptr;
  executor_.Advance(1min);
  EXPECT_EQ(Allocated("again"), "10.0.0.128/26");
  EXPECT_EQ(Uid("subnets", "p-10-0-0-0-26"), resting);
  EXPECT_THAT(List("subnets"), SizeIs(3));
}

// The lowest free block is another one at each try.
TEST_F(RaceTest, AQuotaIsToldOnceWhateverBlockIsTried) {
  Pool("p", "10.0.0.0/16");
  for (int i = 0; i < 6; ++i) Claim(Format("c{}", i), "p", 24);
  interceptor_.on_request = [](kube::Request& request) -> std::optional<kube::Error> {
    if (request.method != kube::Method::kPost || !request.path.contains("/subnets")) {
      return std::nullopt;
    }
    const auto at = request.body.find(R"("name":"p-)") + 8;
    const std::string name = request.body.substr(at, request.body.find('"', at) - at);
    return kube::Error{kube::ErrorClass::kTerminal,
                       "Forbidden",
                       Format("subnets \"{}\" is forbidden: exceeded quota: few", name),
                       403,
                       {}};
  };
  Claim("c", "p", 24);
  executor_.Advance(2min);
  ASSERT_EQ(Reason("subnetclaims", "c"), "SubnetRefused");
  const Json before = Get("subnetclaims", "c");
  for (int i = 5; i >= 0; --i) {
    Delete("subnetclaims", Format("c{}", i));
    executor_.Advance(1min);
  }
  EXPECT_EQ(Get("subnetclaims", "c"), before);
}

}  // namespace
}  // namespace berth::ipam
