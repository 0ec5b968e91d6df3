#include "reconcile/ipam/system.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "async/test_executor.h"
#include "json/json.h"
#include "kube/memory/local_transport.h"
#include "log/format.h"
#include "reconcile/test_crds.h"

namespace berth::ipam {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

struct Replica {
  Replica(async::Executor& executor, kube::Transport& transport, std::string identity)
      : leadership(executor, transport,
                   {.ns = "default", .name = "berth", .identity = std::move(identity)}),
        system(executor, transport, leadership, {.stamp_key = "key"}) {
    leadership.Start();
  }

  runtime::Leadership leadership;
  System system;
};

// The reconcilers on an API server in memory, without webhooks: what they must get right even where
// nobody keeps users from writing nonsense.
class SystemTest : public testing::Test {
 protected:
  SystemTest() {
    InstallCrds(server_);
    Boot();
  }

  void Boot() { BootThrough(transport_); }
  void BootThrough(kube::Transport& transport) {
    replica_.reset();
    ++life_;
    replica_ = std::make_unique<Replica>(executor_, transport, Format("life {}", life_));
    system_ = &replica_->system;
    for (int i = 0; i < 60 && !system_->leading(); ++i) executor_.Advance(1s);
    ASSERT_TRUE(system_->leading());
    executor_.Advance(1s);
  }

  kube::Response Send(kube::Method method, const std::string& path, const std::string& body = "",
                      const std::string& type = "application/json") {
    kube::Response answer;
    server_.Handle({.method = method, .path = path, .body = body, .content_type = type},
                   [&](kube::Response response) { answer = std::move(response); });
    executor_.Advance(1s);
    return answer;
  }

  static std::string Path(const std::string& plural, const std::string& name = "") {
    return "/apis/plexaubnet.io/v1alpha1/namespaces/default/" + plural +
           (name.empty() ? "" : "/" + name);
  }

  void Create(const std::string& kind, const std::string& name, const std::string& spec,
              const std::string& metadata = "") {
    const std::string plural = kind == "SubnetPool"    ? "subnetpools"
                               : kind == "Subnet"      ? "subnets"
                               : kind == "SubnetClaim" ? "subnetclaims"
                                                       : "subnetpoolclaims";
    const auto made = Send(kube::Method::kPost, Path(plural),
                           Format(R"({{"apiVersion":"plexaubnet.io/v1alpha1","kind":"{}",)"
                                  R"("metadata":{{"name":"{}"{}}},"spec":{{{}}}}})",
                                  kind, name, metadata, spec));
    ASSERT_EQ(made.code, 201) << made.body;
  }
  void Pool(const std::string& name, const std::string& cidr, const std::string& more = "") {
    Create("SubnetPool", name, Format(R"("cidr":"{}"{})", cidr, more));
  }
  void Claim(const std::string& name, const std::string& pool, int size,
             const std::string& cluster = "") {
    Create("SubnetClaim", name,
           Format(R"("poolRef":"{}","clusterID":"{}","blockSize":{})", pool,
                  cluster.empty() ? name : cluster, size));
  }
  // As a leader makes it that tells nobody any more.
  void SubnetFor(const std::string& claim, const std::string& pool, const std::string& cidr) {
    Create("Subnet", SubnetName(pool, *Cidr::Parse(cidr)),
           Format(R"("poolRef":"{}","cidr":"{}","clusterID":"{}",)"
                  R"("claimRef":{{"name":"{}","uid":"{}"}})",
                  pool, cidr, claim, claim,
                  Get("subnetclaims", claim)["metadata"]["uid"].as<std::string>()));
  }
  void Delete(const std::string& plural, const std::string& name) {
    const auto deleted = Send(kube::Method::kDelete, Path(plural, name));
    ASSERT_EQ(deleted.code, 200) << deleted.body;
  }
  void Merge(const std::string& plural, const std::string& name, const std::string& patch) {
    const auto patched =
        Send(kube::Method::kPatch, Path(plural, name), patch, "application/merge-patch+json");
    ASSERT_EQ(patched.code, 200) << patched.body;
  }

  Json Get(const std::string& plural, const std::string& name) {
    return Json::parse(Send(kube::Method::kGet, Path(plural, name)).body);
  }
  std::vector<Json> List(const std::string& plural) {
    const Json list = Json::parse(Send(kube::Method::kGet, Path(plural)).body);
    std::vector<Json> items;
    for (const Json& item : list["items"].array_range()) items.push_back(item);
    return items;
  }
  Json Status(const std::string& plural, const std::string& name) {
    return Get(plural, name).get_value_or<Json>("status", Json::Object());
  }
  std::string Phase(const std::string& claim) {
    return Status("subnetclaims", claim).get_value_or<std::string>("phase", "");
  }
  std::string Allocated(const std::string& claim) {
    return Status("subnetclaims", claim).get_value_or<std::string>("allocatedCIDR", "");
  }
  std::string Reason(const std::string& plural, const std::string& name,
                     const std::string& type = "Ready") {
    const Json status = Status(plural, name);
    for (const Json& condition :
         status.get_value_or<Json>("conditions", Json::Array()).array_range()) {
      if (condition["type"].as<std::string>() == type) return condition["reason"].as<std::string>();
    }
    return "";
  }
  // Once the pool's figures are told.
  Json PoolStatus(const std::string& name) {
    executor_.Advance(6s);
    return Status("subnetpools", name);
  }
  std::vector<std::string> EventReasons() {
    const Json list = Json::parse(Send(kube::Method::kGet, "/apis/events.k8s.io/v1/events").body);
    std::vector<std::string> reasons;
    for (const Json& event : list["items"].array_range()) {
      reasons.push_back(event["reason"].as<std::string>());
    }
    return reasons;
  }

  async::TestExecutor executor_;
  kube::memory::Server server_{{.now = [this] { return executor_.WallNow(); },
                                .random = [this] { return executor_.Random(); }}};
  kube::memory::LocalTransport transport_{executor_, server_};
  std::unique_ptr<Replica> replica_;
  System* system_ = nullptr;
  int life_ = 0;
};

TEST_F(SystemTest, ClaimBecomesASubnetThatNamesIt) {
  Pool("p", "10.0.0.0/16");
  Claim("c", "p", 24);
  EXPECT_EQ(Phase("c"), "Bound");
  EXPECT_EQ(Allocated("c"), "10.0.0.0/24");
  const Json subnet = Get("subnets", "p-10-0-0-0-24");
  EXPECT_EQ(subnet["status"]["phase"], "Allocated");
  EXPECT_TRUE(subnet["status"].contains("allocatedAt"));
  EXPECT_EQ(subnet["spec"]["claimRef"]["uid"], Get("subnetclaims", "c")["metadata"]["uid"]);
  EXPECT_EQ(subnet["metadata"]["ownerReferences"][0]["name"], "c");
}

TEST_F(SystemTest, FlawOneNoOverlapBetweenSizes) {
  Pool("p", "10.0.0.0/24");
  Claim("half", "p", 25);
  Claim("whole", "p", 24);
  EXPECT_EQ(Phase("half"), "Bound");
  EXPECT_EQ(Phase("whole"), "Error");
  EXPECT_EQ(Reason("subnetclaims", "whole"), "PoolExhausted");
}

TEST_F(SystemTest, FlawTwoStrategyIsRead) {
  Pool("linear", "10.0.0.0/24");
  Pool("buddy", "10.1.0.0/24", R"(,"strategy":"Buddy")");
  for (const std::string pool : {"linear", "buddy"}) {
    Claim(pool + "-a", pool, 26);
    Claim(pool + "-b", pool, 27);
    Claim(pool + "-c", pool, 28);
    Delete("subnetclaims", pool + "-a");
    Claim(pool + "-d", pool, 28);
  }
  // The lowest address there; the smallest hole here.
  EXPECT_EQ(Allocated("linear-d"), "10.0.0.0/28");
  EXPECT_EQ(Allocated("buddy-d"), "10.1.0.112/28");
}

TEST_F(SystemTest, FlawThreeTheSameClusterTwiceIsAConflict) {
  Pool("p", "10.0.0.0/16");
  Claim("first", "p", 24, "east");
  Claim("second", "p", 25, "east");
  EXPECT_EQ(Phase("second"), "Error");
  EXPECT_EQ(Reason("subnetclaims", "second"), "ClusterIDConflict");
  EXPECT_EQ(Allocated("second"), "");
  Delete("subnetclaims", "first");
  executor_.Advance(10s);
  EXPECT_EQ(Phase("second"), "Bound");
  EXPECT_EQ(List("subnets").size(), 1u);
}

TEST_F(SystemTest, FlawFourClaimsAreRetriedWhenRoomOrAPoolAppears) {
  Claim("early", "p", 25);
  EXPECT_EQ(Reason("subnetclaims", "early"), "PoolNotFound");
  Pool("p", "10.0.0.0/24");
  EXPECT_EQ(Phase("early"), "Bound");
  Claim("second", "p", 25);
  Claim("third", "p", 25);
  EXPECT_EQ(Reason("subnetclaims", "third"), "PoolExhausted");
  Delete("subnetclaims", "second");
  executor_.Advance(10s);
  EXPECT_EQ(Phase("third"), "Bound");
  Claim("fourth", "p", 25);
  EXPECT_EQ(Phase("fourth"), "Error");
  Merge("subnetpools", "p", R"({"spec":{"cidr":"10.0.0.0/23"}})");
  EXPECT_EQ(Phase("fourth"), "Bound");
}

TEST_F(SystemTest, FlawFiveADeletedSubnetComesBackUnderItsClaim) {
  Pool("p", "10.0.0.0/16");
  Claim("c", "p", 24);
  const Json before = Get("subnets", "p-10-0-0-0-24");
  Delete("subnets", "p-10-0-0-0-24");
  executor_.Advance(5s);
  const Json after = Get("subnets", "p-10-0-0-0-24");
  EXPECT_NE(after["metadata"]["uid"], before["metadata"]["uid"]);
  EXPECT_EQ(Phase("c"), "Bound");
  EXPECT_EQ(Status("subnetclaims", "c")["observedGeneration"],
            Get("subnetclaims", "c")["metadata"]["generation"]);
}

TEST_F(SystemTest, FlawSixNewPoolsAndEditsAreCountedAndConditionsStay) {
  Pool("p", "10.0.0.0/24", R"(,"maxBlockSize":26)");
  EXPECT_EQ(PoolStatus("p")["freeCountBySize"]["26"], 4);
  Send(kube::Method::kPatch, Path("subnetpools", "p") + "/status",
       R"({"status":{"conditions":[{"type":"Theirs","status":"True","reason":"R","message":"m",)"
       R"("lastTransitionTime":"2026-01-01T00:00:00Z"}]}})",
       "application/merge-patch+json");
  Merge("subnetpools", "p", R"({"spec":{"cidr":"10.0.0.0/23"}})");
  const Json status = PoolStatus("p");
  EXPECT_EQ(status["freeCountBySize"]["/26"], 8);
  EXPECT_EQ(status["observedGeneration"], 2);
  EXPECT_EQ(Reason("subnetpools", "p", "Theirs"), "R");
  EXPECT_EQ(Reason("subnetpools", "p"), "Ready");
}

TEST_F(SystemTest, FlawSevenFiguresFollowRealSizes) {
  Pool("p", "10.0.0.0/24", R"(,"maxBlockSize":28)");
  Claim("a", "p", 26);
  Claim("b", "p", 28);
  const Json free = PoolStatus("p")["freeCountBySize"];
  EXPECT_EQ(free.to_string(),
            R"({"/24":0,"/25":1,"/26":2,"/27":5,"/28":11,"24":0,"25":1,"26":2,"27":5,"28":11})");
  Pool("long", "10.1.0.0/28", R"(,"defaultBlockSize":28)");
  EXPECT_EQ(PoolStatus("long")["freeCountBySize"]["28"], 1);
  Pool("six", "2001:db8::/48", R"(,"maxBlockSize":64)");
  EXPECT_EQ(PoolStatus("six")["freeCountBySize"]["/64"], 65536);
}

TEST_F(SystemTest, FlawEightMoreThanAThousandSubnetsCount) {
  Pool("p", "10.0.0.0/16");
  for (int i = 0; i < 1100; ++i) Claim(Format("c{}", i), "p", 28);
  EXPECT_EQ(PoolStatus("p")["allocatedCount"], 1100);
  Boot();
  EXPECT_EQ(PoolStatus("p")["allocatedCount"], 1100);
}

TEST_F(SystemTest, FlawNineABlockOfAChildPoolStaysTheChilds) {
  Pool("world", "10.0.0.0/16");
  Create("SubnetPoolClaim", "one", R"("parentPoolRef":"world","desiredBlockSize":24)");
  Create("SubnetPoolClaim", "two", R"("parentPoolRef":"world","desiredBlockSize":24)");
  executor_.Advance(15s);
  const auto child = [&](const std::string& claim) {
    return Get("subnetpools", Status("subnetpoolclaims", claim)["boundPoolName"].as<std::string>());
  };
  const Json one = child("one");
  EXPECT_EQ(one["spec"]["cidr"], "10.0.0.0/24");
  EXPECT_EQ(child("two")["spec"]["cidr"], "10.0.1.0/24");
  // The claim of the block goes, and the Subnet with it; the child is still there, and so nobody
  // else gets the block, which is claimed for it again.
  const std::string name = one["metadata"]["name"].as<std::string>();
  const Json before = Get("subnets", "world-10-0-0-0-24");
  Delete("subnetclaims", name);
  Claim("c", "world", 24);
  EXPECT_EQ(Allocated("c"), "10.0.2.0/24");
  executor_.Advance(10s);
  EXPECT_EQ(Allocated(name), "10.0.0.0/24");
  EXPECT_NE(Get("subnets", "world-10-0-0-0-24")["metadata"]["uid"], before["metadata"]["uid"]);
}

TEST_F(SystemTest, FlawTenAFailedSubnetRecovers) {
  Pool("p", "10.0.0.0/24");
  Create("Subnet", "one", R"("poolRef":"p","cidr":"10.0.0.0/25","clusterID":"one")");
  Create("Subnet", "two", R"("poolRef":"p","cidr":"10.0.0.0/26","clusterID":"two")");
  EXPECT_EQ(Status("subnets", "one")["phase"], "Allocated");
  EXPECT_EQ(Status("subnets", "two")["phase"], "Failed");
  EXPECT_THAT(Status("subnets", "two")["message"].as<std::string>(), HasSubstr("10.0.0.0/25"));
  Delete("subnets", "one");
  EXPECT_EQ(Status("subnets", "two")["phase"], "Allocated");
}

TEST_F(SystemTest, FlawElevenTheListOfBlocksIsBounded) {
  Pool("p", "10.0.0.0/16");
  for (int i = 0; i < 300; ++i) Claim(Format("c{}", i), "p", 28);
  const Json status = PoolStatus("p");
  EXPECT_EQ(status["allocatedCIDRs"].size(), 256u);
  EXPECT_EQ(status["allocatedCount"], 300);
  EXPECT_EQ(Reason("subnetpools", "p", "ListTruncated"), "TooMany");
}

TEST_F(SystemTest, FlawTwelveOfTwoOverlappingPoolsTheYoungerGivesNothing) {
  Pool("old", "10.0.0.0/24");
  executor_.Advance(2s);
  Pool("young", "10.0.0.0/16");
  Claim("a", "old", 25);
  Claim("b", "young", 25);
  EXPECT_EQ(Phase("a"), "Bound");
  EXPECT_EQ(Reason("subnetclaims", "b"), "PoolNotReady");
  EXPECT_EQ(PoolStatus("young")["conditions"][0]["reason"], "PoolOverlap");
}

TEST_F(SystemTest, FlawThirteenEventsAreDelivered) {
  Pool("p", "10.0.0.0/25");
  Claim("a", "p", 25);
  Claim("b", "p", 25);
  EXPECT_THAT(EventReasons(), testing::IsSupersetOf({"SubnetAllocated", "SubnetPoolExhausted"}));
}

TEST_F(SystemTest, DeletionGoesFromTheSubnetsUp) {
  Pool("world", "10.0.0.0/16");
  Create("SubnetPoolClaim", "pc", R"("parentPoolRef":"world","desiredBlockSize":24)");
  executor_.Advance(15s);
  const std::string child = Status("subnetpoolclaims", "pc")["boundPoolName"].as<std::string>();
  Claim("user", child, 26);
  ASSERT_EQ(Phase("user"), "Bound");
  Delete("subnetpoolclaims", "pc");
  executor_.Advance(60s);
  EXPECT_EQ(Reason("subnetpoolclaims", "pc"), "Deleting");
  EXPECT_EQ(Reason("subnetpools", child), "Deleting");
  EXPECT_EQ(Phase("user"), "Bound");
  EXPECT_EQ(Status("subnets", "world-10-0-0-0-24")["phase"], "Allocated");
  Delete("subnetclaims", "user");
  executor_.Advance(120s);
  EXPECT_TRUE(List("subnetpoolclaims").empty());
  EXPECT_TRUE(List("subnetclaims").empty());
  EXPECT_TRUE(List("subnets").empty());
  EXPECT_EQ(PoolStatus("world")["allocatedCount"], 0);
}

TEST_F(SystemTest, TheEscapeAnnotationTakesTheSubnetsAlong) {
  Pool("p", "10.0.0.0/16");
  Claim("c", "p", 24);
  Delete("subnetpools", "p");
  executor_.Advance(40s);
  EXPECT_EQ(Reason("subnetpools", "p"), "Deleting");
  Merge("subnetpools", "p",
        R"({"metadata":{"annotations":{"ipam.plexaubnet.io/allow-delete":"true"}}})");
  executor_.Advance(60s);
  EXPECT_TRUE(List("subnetpools").empty());
  EXPECT_TRUE(List("subnets").empty());
  EXPECT_EQ(Reason("subnetclaims", "c"), "PoolNotFound");
}

TEST_F(SystemTest, AReleasedBlockRestsForItsGracePeriod) {
  Pool("p", "10.0.0.0/25", R"(,"reuseGracePeriodSeconds":60)");
  Claim("a", "p", 25);
  Delete("subnetclaims", "a");
  Claim("b", "p", 25);
  executor_.Advance(30s);
  EXPECT_EQ(Phase("b"), "Error");
  executor_.Advance(60s);
  EXPECT_EQ(Phase("b"), "Bound");
}

TEST_F(SystemTest, PreAllocatedBlocksAreKeptForTheirClaim) {
  Pool("p", "10.0.0.0/24", R"(,"preAllocations":{"mine":"10.0.0.0/26"})");
  Claim("other", "p", 26);
  Claim("mine", "p", 26);
  EXPECT_EQ(Allocated("other"), "10.0.0.64/26");
  EXPECT_EQ(Allocated("mine"), "10.0.0.0/26");
}

TEST_F(SystemTest, ExcludedRangesAreNotGivenOut) {
  Pool("p", "10.0.0.0/24", R"(,"excludedRanges":["10.0.0.0-10.0.0.9"])");
  Claim("c", "p", 28);
  EXPECT_EQ(Allocated("c"), "10.0.0.16/28");
}

TEST_F(SystemTest, NothingIsWrittenWhenNothingChanged) {
  Pool("p", "10.0.0.0/16");
  Claim("c", "p", 24);
  PoolStatus("p");
  const auto version = server_.version();
  executor_.Advance(std::chrono::minutes(25));  // two resyncs
  // The lease is renewed every three seconds; nothing else is written.
  for (const std::string plural : {"subnetpools", "subnets", "subnetclaims"}) {
    for (const Json& object : List(plural)) {
      EXPECT_LE(std::stoull(object["metadata"]["resourceVersion"].as<std::string>()), version);
    }
  }
}

TEST_F(SystemTest, ARestartInTheMiddleFindsEverythingAgain) {
  Pool("p", "10.0.0.0/24");
  for (int i = 0; i < 4; ++i) Claim(Format("a{}", i), "p", 28);
  Boot();
  for (int i = 0; i < 4; ++i) Claim(Format("b{}", i), "p", 28);
  std::vector<std::string> blocks;
  for (const Json& subnet : List("subnets"))
    blocks.push_back(subnet["spec"]["cidr"].as<std::string>());
  EXPECT_THAT(blocks, testing::SizeIs(8));
  EXPECT_EQ(std::set(blocks.begin(), blocks.end()).size(), 8u);
}

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
    if (late_ || request.method != method_ || !request.path.contains(path_)) {
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
  id.uid = Get("subnetpoolclaims", "pc")["metadata"]["uid"].as<std::string>();
  // Bound, and its Subnet was deleted while nobody led.
  const std::string name = ChildClaimName(id);
  Claim(name, "p", 29, ChildPoolName(id));
  const auto told = Send(kube::Method::kPatch, Path("subnetclaims", name) + "/status",
                         R"({"status":{"phase":"Bound","allocatedCIDR":"10.0.0.0/29"}})",
                         "application/merge-patch+json");
  ASSERT_EQ(told.code, 200) << told.body;
  Claim("other", "p", 28);
  Boot();
  executor_.Advance(10s);
  ASSERT_EQ(Allocated("other"), "10.0.0.0/28");
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
  Merge("subnetpools", "p", R"({"metadata":{"finalizers":null}})");
  Delete("subnetpools", "p");
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
  Merge("subnetpools", "p", R"({"metadata":{"finalizers":null}})");
  Delete("subnetpools", "p");
  Pool("p", "10.0.0.0/28", R"(,"maxBlockSize":30)");
  Claim("other", "p", 30);
  EXPECT_EQ(Allocated("other"), "10.0.0.8/30");
  executor_.Advance(60s);  // it will not arrive any more
  Claim("third", "p", 29);
  EXPECT_EQ(Allocated("third"), "10.0.0.0/29");
}

// Brings nothing of Subnets any more, once it is told so.
class SilentTransport : public kube::Transport {
 public:
  explicit SilentTransport(kube::Transport& inner) : inner_(inner) {}

  async::Handle Send(kube::Request request, Done done) override {
    return inner_.Send(std::move(request), std::move(done));
  }
  async::Handle Watch(kube::Request request, Stream stream) override {
    if (request.path.contains("/subnets?")) {
      stream.on_lines = [this, deliver = std::move(stream.on_lines)](std::string_view lines) {
        if (!silent) deliver(lines);
      };
    }
    return inner_.Watch(std::move(request), std::move(stream));
  }

  bool silent = false;

 private:
  kube::Transport& inner_;
};

TEST_F(SystemTest, ABlockWhoseSubnetIsUnseenIsNotGivenToOthersWhenItsPoolIsMadeAnew) {
  SilentTransport silent(transport_);
  BootThrough(silent);
  Pool("p", "10.0.0.0/28", R"(,"maxBlockSize":30)");
  executor_.Advance(10s);
  silent.silent = true;
  Claim("a", "p", 29);
  ASSERT_EQ(Allocated("a"), "10.0.0.0/29");
  Merge("subnetpools", "p", R"({"metadata":{"finalizers":null}})");
  Delete("subnetpools", "p");
  Pool("p", "10.0.0.0/28", R"(,"maxBlockSize":30)");
  Claim("other", "p", 30);
  EXPECT_EQ(Allocated("other"), "10.0.0.8/30");
}

TEST_F(SystemTest, ABlockWhoseSubnetMayReturnIsNotGivenToOthersWhenItsPoolIsMadeAnew) {
  LateTransport late(executor_, transport_);
  BootThrough(late);
  Pool("p", "10.0.0.0/28", R"(,"maxBlockSize":30)");
  executor_.Advance(10s);
  Claim("a", "p", 29);
  executor_.Advance(2s);
  ASSERT_EQ(Allocated("a"), "10.0.0.0/29") << "by the second request";
  Merge("subnetpools", "p", R"({"metadata":{"finalizers":null}})");
  Delete("subnetpools", "p");
  Delete("subnetclaims", "a");
  Delete("subnets", SubnetName("p", *Cidr::Parse("10.0.0.0/29")));  // by the garbage collector
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
  LateAnswer late(transport_);
  BootThrough(late);
  Pool("p", "10.0.0.0/16");
  Create("SubnetPoolClaim", "pc", R"("parentPoolRef":"p","desiredBlockSize":20)");
  ASSERT_EQ(PoolStatus("p")["allocatedCount"], 1);
  Delete("subnetpoolclaims", "pc");
  for (int i = 0; i < 90 && !late.asked(); ++i) executor_.Advance(1s);
  ASSERT_TRUE(late.asked());
  executor_.Advance(1s);
  ASSERT_THAT(List("subnets"), testing::IsEmpty());
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
TEST_F(SystemTest, AStatusThatAnotherControllerKeepsWritingIsCorrectedAFewTimesAMinute) {
  Pool("p", "10.0.0.0/16");
  executor_.Advance(1min);
  const auto begin = executor_.Now();
  int corrected = 0;
  for (int round = 0; round < 100; ++round) {
    if (Status("subnetpools", "p")["allocatedCount"] != 0) continue;
    ++corrected;
    Merge("subnetpools", "p/status", R"({"status":{"allocatedCount":99}})");
  }
  EXPECT_GE(corrected, 3);
  EXPECT_LE(corrected, (executor_.Now() - begin) / 10s + 1);
}

TEST_F(SystemTest, ASubnetThatFindsNoRoomInThePoolItWaitedForFails) {
  Create("Subnet", "a", R"("poolRef":"p","cidr":"10.0.0.0/30","clusterID":"a")");
  Create("Subnet", "b", R"("poolRef":"p","cidr":"10.0.0.0/30","clusterID":"b")");
  ASSERT_EQ(Status("subnets", "b")["phase"], "Pending");
  Pool("p", "10.0.0.0/28");
  EXPECT_EQ(Status("subnets", "a")["phase"], "Allocated");
  EXPECT_EQ(Status("subnets", "b")["phase"], "Failed");
}

TEST_F(SystemTest, AChildPoolGivesOutOnceWhatWasInItsWayIsGone) {
  Pool("p", "10.0.0.0/28");
  Create("Subnet", "a", R"("poolRef":"p","cidr":"10.0.0.4/30","clusterID":"a")");
  Create("Subnet", "b", R"("poolRef":"p","cidr":"10.0.0.8/30","clusterID":"b")");
  Pool("child", "10.0.0.0/29", R"(,"parentRef":"p","maxBlockSize":30)");
  ASSERT_EQ(Reason("subnetpools", "child"), "PoolOverlap");
  Claim("c", "child", 30);
  ASSERT_EQ(Phase("c"), "Error");
  Delete("subnets", "a");
  executor_.Advance(2s);
  EXPECT_EQ(Allocated("c"), "10.0.0.0/30");
  EXPECT_EQ(Status("subnets", "b")["phase"], "Allocated");
}

TEST_F(SystemTest, AStampedBlockIsTheClaims) {
  Pool("p", "10.0.0.0/24");
  ipam::Claim claim;
  claim.id.ns = "default";
  claim.id.name = "c";
  claim.pool = "p";
  claim.cluster = "c";
  claim.block_size = 26;
  const auto stamp = system_->Stamp(claim);
  ASSERT_TRUE(stamp);
  EXPECT_THAT(*stamp, HasSubstr("10.0.0.0/26"));
  Claim("other", "p", 26);
  EXPECT_EQ(Allocated("other"), "10.0.0.64/26");
  Create("SubnetClaim", "c", R"("poolRef":"p","clusterID":"c","blockSize":26)",
         Format(R"(,"annotations":{{"ipam.plexaubnet.io/allocation":"{}"}})", *stamp));
  EXPECT_EQ(Allocated("c"), "10.0.0.0/26");
  EXPECT_FALSE(Get("subnetclaims", "c")["metadata"].contains("annotations"));
}

TEST_F(SystemTest, AReservationThatNobodyRedeemsEnds) {
  Pool("p", "10.0.0.0/25");
  ipam::Claim claim;
  claim.id.ns = "default";
  claim.id.name = "never";
  claim.pool = "p";
  claim.cluster = "never";
  claim.block_size = 25;
  ASSERT_TRUE(system_->Stamp(claim));
  Claim("c", "p", 25);
  EXPECT_EQ(Phase("c"), "Error");
  executor_.Advance(40s);
  EXPECT_EQ(Phase("c"), "Bound");
}

TEST_F(SystemTest, AForgedStampIsIgnored) {
  Pool("p", "10.0.0.0/24");
  Create("SubnetClaim", "c", R"("poolRef":"p","clusterID":"c","blockSize":26)",
         R"(,"annotations":{"ipam.plexaubnet.io/allocation":"10.0.0.128/26 1 00"})");
  EXPECT_EQ(Allocated("c"), "10.0.0.0/26");
}

TEST_F(SystemTest, WhatTheAncestorLeftIsFinished) {
  Pool("p", "10.0.0.0/24");
  Create("SubnetClaim", "c", R"("poolRef":"p","clusterID":"c","blockSize":26)",
         R"(,"finalizers":["ipam.plexaubnet.io/finalizer"])");
  Delete("subnetclaims", "c");
  executor_.Advance(10s);
  EXPECT_TRUE(List("subnetclaims").empty());
  EXPECT_TRUE(List("subnets").empty());
}

}  // namespace
}  // namespace berth::ipam
