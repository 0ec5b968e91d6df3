// Statuses that must be true when they are written.
#include <gmock/gmock.h>

#include "kube/status.h"
#include "reconcile/ipam/system_fixture_test.h"

namespace berth::ipam {
namespace {

using testing::HasSubstr;
using testing::Not;

class TrueStatusTest : public SystemTest {
 protected:
  std::string Message(const std::string& plural, const std::string& name) {
    executor_.Advance(6s);
    const Json status = Status(plural, name);
    for (const Json& condition :
         status.get_value_or<Json>("conditions", Json::Array()).array_range()) {
      if (condition["type"] == "Ready") return condition["message"].as<std::string>();
    }
    return "";
  }
};

TEST_F(TrueStatusTest, AChildOfAPoolThatIsNotValidIsNotCalledOutside) {
  Pool("site", "10.0.0.0/16");
  Pool("part", "10.0.1.0/24", R"(,"parentRef":"site")");
  Merge("subnetpools", "site", R"({"spec":{"excludedRanges":["nonsense"]}})");
  EXPECT_EQ(Message("subnetpools", "part"), "its parent site is not valid: see there");
  EXPECT_EQ(Reason("subnetpools", "part"), "ParentNotReady");
  Merge("subnetpools", "site", R"({"spec":{"excludedRanges":[]}})");
  executor_.Advance(6s);
  EXPECT_EQ(Reason("subnetpools", "part"), "Ready");
}

TEST_F(TrueStatusTest, APoolBelowACircleIsToldOfTheCircle) {
  Pool("a", "10.0.0.0/16", R"(,"parentRef":"b")");
  Pool("b", "10.0.0.0/16", R"(,"parentRef":"a")");
  Pool("c", "10.0.1.0/24", R"(,"parentRef":"a")");
  EXPECT_EQ(Message("subnetpools", "c"), "SubnetPool a, which it is inside, is its own ancestor");
}

TEST_F(TrueStatusTest, ABlockThatIsKeptForAnotherClaimIsNotCalledExcluded) {
  Pool("p", "10.0.0.0/16",
       R"(,"preAllocations":{"theirs":"10.0.1.0/24"},"excludedRanges":["10.0.2.0/24"])");
  for (const char* block : {"10.0.1.0/24", "10.0.2.0/24"}) {
    const std::string name = Format("c{}", block[5]);
    Create("SubnetClaim", name,
           Format(R"("poolRef":"p","clusterID":"{}","requestedCIDR":"{}")", name, block));
  }
  EXPECT_EQ(Message("subnetclaims", "c1"),
            "10.0.1.0/24 is pre-allocated to another claim in pool p");
  EXPECT_EQ(Message("subnetclaims", "c2"), "10.0.2.0/24 is excluded in pool p");
}

// Refuses patches of pools.
class RefusingPatches : public kube::Transport {
 public:
  RefusingPatches(async::Executor& executor, kube::Transport& inner)
      : executor_(executor), inner_(inner) {}

  async::Handle Send(kube::Request request, Done done) override {
    const bool metadata = request.method == kube::Method::kPatch &&
                          request.path.contains("/subnetpools/") &&
                          !request.path.contains("/status");
    if (!refuse || !metadata) return inner_.Send(std::move(request), std::move(done));
    return executor_.RunAfter(std::chrono::milliseconds(1), [done = std::move(done)] {
      done(std::unexpected(
          kube::Error{kube::ErrorClass::kTerminal, "Forbidden", "a policy denied it", 403, {}}));
    });
  }
  async::Handle Watch(kube::Request request, Stream stream) override {
    return inner_.Watch(std::move(request), std::move(stream));
  }

  bool refuse = false;

 private:
  async::Executor& executor_;
  kube::Transport& inner_;
};

class RefusedPatchTest : public TrueStatusTest {
 protected:
  ~RefusedPatchTest() override { replica_.reset(); }
  RefusingPatches refusing_{executor_, transport_};
};

TEST_F(RefusedPatchTest, ADeletedPoolWhoseFinalizerCannotBeRemovedWaitsForNobodyElse) {
  BootThrough(refusing_);
  Pool("p", "10.0.0.0/16");
  executor_.Advance(5s);
  refusing_.refuse = true;
  Delete("subnetpools", "p");
  const std::string message = Message("subnetpools", "p");
  EXPECT_THAT(message, HasSubstr("a policy denied it"));
  EXPECT_THAT(message, Not(HasSubstr("other controllers")));
  refusing_.refuse = false;
  executor_.Advance(1min);
  EXPECT_EQ(Send(kube::Method::kGet, Path("subnetpools", "p")).code, 404);
}

// No object can name a block of ::ffff:0:0/96.
TEST_F(TrueStatusTest, MappedIpv4AddressesAreNotAllocated) {
  Pool("p", "::fffe:0:0/95", R"(,"defaultBlockSize":96)");
  Claim("first", "p", 96);
  EXPECT_EQ(Allocated("first"), "::fffe:0:0/96");
  Claim("second", "p", 96);
  EXPECT_EQ(Reason("subnetclaims", "second"), "PoolExhausted");
  EXPECT_EQ(List("subnets").size(), 1u);
  EXPECT_EQ(PoolStatus("p")["freeCountBySize"]["96"], 0);
}

}  // namespace
}  // namespace berth::ipam
