#include "log/format.h"
#include "reconcile/difftracker/engine.h"
#include "reconcile/difftracker/engine_fixture_test.h"

// Requests about locations: their order, their failures, and what a read corrects.
namespace berth::difftracker {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::IsEmpty;

const Placement kPodA{"10.0.0.1", "10.1.0.1"};
const Placement kPodB{"10.0.0.1", "10.1.0.2"};
const Placement kPodC{"10.0.0.2", "10.1.0.3"};

class EngineLocationsTest : public EngineFixture {
 protected:
  // A service that is created, with endpoints that are synced.
  void Serve(const std::string& service, const std::vector<Placement>& endpoints) {
    SetService(service);
    SetSlice("slice-of-" + service, service, endpoints);
    RunFor(5s);
    ASSERT_EQ(engine_.Find(service)->synced, endpoints.size());
  }
  LocationWork Take() {
    now_ += 2s;
    auto work = engine_.TakeLocationWork(now_);
    EXPECT_TRUE(work.has_value());
    return work.value_or(LocationWork());
  }
};

TEST_F(EngineLocationsTest, ANewLocationIsWrittenInFullAndAKnownOneInPart) {
  Serve("a", {kPodA});
  EXPECT_TRUE(last_updates_.at(0).full);
  SetSlice("slice-of-a", "a", {kPodA, kPodB});
  RunFor(5s);
  ASSERT_EQ(last_updates_.size(), 1u);
  EXPECT_FALSE(last_updates_[0].full);
  EXPECT_EQ(last_updates_[0].location.addresses,
            std::vector<cloud::LocatedAddress>({{"10.1.0.2", {"a"}}}));
  SetSlice("slice-of-a", "a", {});
  RunFor(5s);
  EXPECT_TRUE(last_updates_.at(0).full);
  EXPECT_THAT(last_updates_[0].location.addresses, IsEmpty());
  EXPECT_THAT(gateway_.locations, IsEmpty());
}

TEST_F(EngineLocationsTest, AnAddressOfTwoServicesKeepsTheOtherOne) {
  Serve("a", {kPodA});
  Serve("b", {kPodA});
  engine_.SetPod("p", "egress-a", {kPodA}, now_);
  RunFor(5s);
  EXPECT_THAT(gateway_.locations["10.0.0.1"]["10.1.0.1"], ElementsAre("a", "b", "egress-a"));
  engine_.RemoveService("b", now_);
  RunFor(5s);
  EXPECT_THAT(gateway_.locations["10.0.0.1"]["10.1.0.1"], ElementsAre("a", "egress-a"));
}

TEST_F(EngineLocationsTest, ChangesWhileARequestIsUnderWayTravelTogether) {
  Serve("a", {kPodA});
  SetSlice("slice-of-a", "a", {kPodA, kPodB});
  const LocationWork first = Take();
  for (int i = 3; i < 100; ++i)
    SetSlice(Format("s{}", i), "a", {{"10.0.0.2", Format("10.1.0.{}", i)}});
  EXPECT_EQ(engine_.TakeLocationWork(now_), std::nullopt) << "one at a time";
  engine_.Synced(first.generation, gateway_.Update(first.updates), now_);
  const int syncs = syncs_;
  RunFor(5s);
  EXPECT_EQ(syncs_, syncs + 1);
}

TEST_F(EngineLocationsTest, ARequestHasAtMostAThousandAddresses) {
  SetService("a");
  std::vector<Placement> endpoints;
  for (int i = 0; i < 2'500; ++i) {
    endpoints.push_back({Format("10.0.0.{}", i / 200), Format("10.1.{}.{}", i / 200, i % 200)});
  }
  for (int i = 0; i < 1'200; ++i) {
    endpoints.push_back({"10.0.1.1", Format("10.2.{}.{}", i / 200, i % 200)});
  }
  SetSlice("s", "a", endpoints);
  EXPECT_THAT(engine_.TakeOperations(now_), testing::SizeIs(1));
  engine_.Completed({"a", 1}, {}, now_);
  gateway_.registered.insert("a");
  for (int requests = 0; requests < 6; ++requests) {
    if (engine_.totals().pending == 0) break;
    const LocationWork work = Take();
    std::size_t addresses = 0;
    for (const auto& update : work.updates) addresses += update.location.addresses.size();
    EXPECT_LE(addresses, 1'000u);
    EXPECT_GT(addresses, 0u);
    engine_.Synced(work.generation, gateway_.Update(work.updates), now_);
  }
  EXPECT_THAT(gateway_.violations, IsEmpty());
  EXPECT_EQ(engine_.Find("a")->synced, 3'700u);
  EXPECT_EQ(engine_.totals().addresses, 3'700u);
}

TEST_F(EngineLocationsTest, OneAddressThatTheCloudRefusesDoesNotKeepTheOthersOut) {
  std::vector<Placement> endpoints;
  for (int i = 0; i < 500; ++i) {
    endpoints.push_back({Format("10.0.0.{}", i % 20), Format("10.1.{}.{}", i / 250, i % 250)});
  }
  gateway_.refused = {"10.1.0.77", "10.1.1.88"};
  SetService("a");
  SetSlice("s", "a", endpoints);
  RunFor(30s);
  EXPECT_EQ(engine_.Find("a")->synced, 498u);
  EXPECT_EQ(engine_.totals().refused, 2u);
  EXPECT_LT(syncs_, 60);
  EXPECT_EQ(engine_.FindLocation("10.0.0.17")->error, "it: BadAddress");
  const int syncs = syncs_;
  RunFor(2min);
  EXPECT_EQ(syncs_, syncs) << "they are parked";
  gateway_.refused.clear();
  RunFor(5min);
  EXPECT_EQ(engine_.Find("a")->synced, 500u);
}

TEST_F(EngineLocationsTest, ARefusalOfEverythingIsNotBrokenDownToTheLastAddress) {
  SetService("a");
  for (int i = 0; i < 1'000; ++i) {
    const std::string address = Format("10.1.{}.{}", i / 250, i % 250);
    gateway_.refused.insert(address);
    SetSlice(Format("s{}", i), "a", {{"10.0.0.1", address}});
  }
  RunFor(4min);
  EXPECT_LT(syncs_, 100);
}

TEST_F(EngineLocationsTest, AnAddressThatWasAppliedAlthoughTheRequestTimedOutIsFoundByARead) {
  Serve("a", {kPodC});
  engine_.SetPod("p", "egress-a", {kPodA}, now_);
  RunAll();
  engine_.SetPod("q", "egress-a", {kPodB}, now_);
  const LocationWork work = Take();
  ASSERT_TRUE(gateway_.Update(work.updates).has_value());
  engine_.Synced(work.generation, Failure(ErrorClass::kAmbiguous, "timeout"), now_);
  // Its pod goes: nothing desired is left at the address, but the cloud has it.
  engine_.RemovePod("q", now_);
  EXPECT_TRUE(engine_.HoldsPod("q"));
  const LocationWork read = Take();
  ASSERT_TRUE(read.read) << "nothing is written before the read";
  engine_.Read(read.generation, gateway_.Read(), now_);
  RunFor(10s);
  EXPECT_FALSE(gateway_.locations["10.0.0.1"].contains("10.1.0.2"));
  EXPECT_FALSE(engine_.HoldsPod("q"));
  EXPECT_EQ(engine_.totals().drift_found, 0u) << "it was expected";
}

TEST_F(EngineLocationsTest, AfterAnUnknownOutcomeTheLocationIsWrittenInFull) {
  Serve("a", {kPodA});
  SetSlice("slice-of-a", "a", {kPodA, kPodB});
  const LocationWork work = Take();
  engine_.Synced(work.generation, Failure(ErrorClass::kAmbiguous, "timeout"), now_);
  const LocationWork read = Take();
  ASSERT_TRUE(read.read);
  engine_.Read(read.generation, gateway_.Read(), now_);
  const LocationWork again = Take();
  ASSERT_EQ(again.updates.size(), 1u);
  EXPECT_TRUE(again.updates[0].full);
  EXPECT_EQ(again.updates[0].location.addresses.size(), 2u);
}

TEST_F(EngineLocationsTest, ADeletionWaitsForAReadThatBeganAfterTheLastWrite) {
  Serve("a", {kPodA});
  SetSlice("slice-of-a", "a", {kPodA, kPodB});
  const LocationWork sync = Take();
  ASSERT_FALSE(sync.read);
  engine_.RequestRead();
  engine_.RemoveService("a", now_);
  EXPECT_EQ(StateOf("a"), State::kDeletionPending);
  engine_.Synced(sync.generation, gateway_.Update(sync.updates), now_);
  EXPECT_THAT(engine_.TakeOperations(now_), IsEmpty());
  const LocationWork early = Take();  // was asked for before
  ASSERT_TRUE(early.read);
  engine_.Read(early.generation, gateway_.Read(), now_);
  EXPECT_EQ(StateOf("a"), State::kDeletionPending);
  EXPECT_EQ(engine_.Find("a")->blocked_by, "2 addresses in locations");
  RunFor(5s);
  EXPECT_FALSE(engine_.Tracks("a"));
}

TEST_F(EngineLocationsTest, MappingsThatTheMirrorDoesNotHaveAreReadAndRemoved) {
  Serve("a", {kPodA});
  engine_.RemoveService("a", now_);
  while (StateOf("a") == State::kDeletionPending) {
    const LocationWork work = Take();
    if (work.read) {
      engine_.Read(work.generation, gateway_.Read(), now_);
      // Another writer, after the read.
      gateway_.locations["10.0.0.7"]["10.1.0.7"] = {"a"};
    } else {
      engine_.Synced(work.generation, gateway_.Update(work.updates), now_);
    }
  }
  const Operation deletion = TakeOne();
  Complete(deletion, gateway_.Run(deletion, 2));
  gateway_.violations.clear();
  EXPECT_EQ(StateOf("a"), State::kDeletionPending);
  RunFor(10s);
  EXPECT_FALSE(engine_.Tracks("a"));
  EXPECT_THAT(gateway_.locations, IsEmpty());
  EXPECT_THAT(gateway_.resources, IsEmpty());
}

TEST_F(EngineLocationsTest, MappingsThatNoReadShowsAreAskedForWithPauses) {
  Serve("a", {});
  engine_.RemoveService("a", now_);
  int deletions = 0;
  for (const auto end = now_ + 10min; now_ < end;) {
    for (const Operation& operation : engine_.TakeOperations(now_)) {
      ++deletions;
      Complete(operation,
               Failure(ErrorClass::kTerminal, "ServiceWithOverlayMappingsCannotBeDeleted", 400));
    }
    while (const auto work = engine_.TakeLocationWork(now_)) {
      engine_.Read(work->generation, gateway_.Read(), now_);
    }
    const auto wake = engine_.next_wake(now_);
    ASSERT_TRUE(wake.has_value() && deletions < 1'000);
    now_ = *wake;
  }
  EXPECT_GT(deletions, 5);
  EXPECT_LT(deletions, 40);
}

TEST_F(EngineLocationsTest, ADeletionThatIsStuckIsToldOfAndItsLocationsAreWrittenInFull) {
  Serve("a", {kPodA, kPodB});
  Serve("b", {kPodA});
  gateway_.refused = {"10.1.0.1", "10.1.0.2"};
  engine_.RemoveService("a", now_);
  RunFor(4min);
  EXPECT_THAT(engine_.TakeNotices(), IsEmpty());
  EXPECT_EQ(engine_.ForceDelete("b", now_), Forced::kWanted);
  RunFor(61s);
  const auto notices = engine_.TakeNotices();
  ASSERT_EQ(notices.size(), 1u);
  EXPECT_EQ(notices[0].kind, Notice::Kind::kStuck);
  EXPECT_EQ(notices[0].message, "2 addresses in 1 locations still name it");
  gateway_.refused.clear();
  RunFor(5min);
  EXPECT_FALSE(engine_.Tracks("a"));
  EXPECT_THAT(gateway_.locations["10.0.0.1"]["10.1.0.1"], ElementsAre("b"));
}

TEST_F(EngineLocationsTest, AForcedDeletionLetsGoAndIsFoundAsAnOrphanLater) {
  engine_.SetPod("p", "egress-a", {kPodA}, now_);
  RunFor(5s);
  gateway_.refused = {"10.1.0.1"};
  engine_.SetPod("q", "egress-b", {kPodA}, now_);
  engine_.RemovePod("p", now_);
  RunFor(10s);
  EXPECT_TRUE(engine_.HoldsPod("p"));
  EXPECT_EQ(engine_.ForceDelete("egress-a", now_), Forced::kForgotten);
  EXPECT_EQ(engine_.ForceDelete("egress-a", now_), Forced::kNoService);
  EXPECT_FALSE(engine_.Tracks("egress-a"));
  gateway_.refused.clear();
  engine_.Observe(engine_.ObservationStamp(), gateway_.List(), now_);
  EXPECT_EQ(StateOf("egress-a"), State::kDeletionPending);
  RunFor(10min);
  EXPECT_FALSE(engine_.Tracks("egress-a"));
  EXPECT_THAT(gateway_.resources, ElementsAre("egress-b"));
}

TEST_F(EngineLocationsTest, DriftIsFoundWithinTenMinutes) {
  Serve("a", {kPodA, kPodC});
  gateway_.locations["10.0.0.2"]["10.1.0.3"] = {};
  gateway_.locations["10.0.0.1"]["10.1.0.99"] = {"a"};
  gateway_.locations["10.0.0.9"] = {};
  RunFor(11min);
  EXPECT_EQ(engine_.totals().drift_found, 2u);
  EXPECT_THAT(gateway_.locations["10.0.0.2"]["10.1.0.3"], ElementsAre("a"));
  EXPECT_EQ(gateway_.locations["10.0.0.1"].size(), 1u);
  EXPECT_FALSE(gateway_.locations.contains("10.0.0.9"));
}

TEST_F(EngineLocationsTest, ARegistrationThatIsLostIsMadeAgainBeforeLocationsNameIt) {
  Serve("a", {kPodA});
  gateway_.locations.clear();
  gateway_.registered.clear();
  engine_.RequestRead();
  EXPECT_TRUE(engine_.Observe(engine_.ObservationStamp(), {}, now_));
  EXPECT_EQ(StateOf("a"), State::kCreated) << "one list may be too old";
  EXPECT_FALSE(engine_.Observe(engine_.ObservationStamp(), {}, now_));
  EXPECT_EQ(StateOf("a"), State::kCreationInProgress);
  RunFor(10s);
  EXPECT_EQ(engine_.Find("a")->synced, 1u);
}

TEST_F(EngineLocationsTest, ARegistrationThatIsBackInTheNextListIsNotLost) {
  Serve("a", {kPodA});
  const auto list = gateway_.List();
  for (int i = 0; i < 4; ++i) {
    EXPECT_TRUE(engine_.Observe(engine_.ObservationStamp(), {}, now_));
    EXPECT_FALSE(engine_.Observe(engine_.ObservationStamp(), list, now_));
  }
  EXPECT_EQ(StateOf("a"), State::kCreated);
}

TEST_F(EngineLocationsTest, AnOrphanOfWhichOnlyTheRegistrationIsSeenIsLookedAtAgain) {
  gateway_.registered = {"egress-x"};
  gateway_.resources = {"egress-x"};
  gateway_.locations["10.0.0.1"]["10.1.0.1"] = {"egress-x"};
  auto list = gateway_.List();
  list.at(0).bare = true;
  EXPECT_TRUE(engine_.Observe(engine_.ObservationStamp(), list, now_));
  EXPECT_FALSE(engine_.Tracks("egress-x"));
  auto other = list;
  other.at(0).bare = false;
  other.at(0).of_another = true;
  EXPECT_FALSE(engine_.Observe(engine_.ObservationStamp(), other, now_));
  RunFor(11min);
  EXPECT_TRUE(gateway_.Names("egress-x"));
  EXPECT_TRUE(engine_.Observe(engine_.ObservationStamp(), list, now_));
  EXPECT_FALSE(engine_.Observe(engine_.ObservationStamp(), list, now_));
  RunFor(1min);
  EXPECT_FALSE(gateway_.Names("egress-x"));
  EXPECT_THAT(gateway_.registered, IsEmpty());
}

TEST_F(EngineLocationsTest, AListFromBeforeAnOperationDoesNotCount) {
  const auto stamp = engine_.ObservationStamp();
  Serve("a", {kPodA});
  engine_.Observe(stamp, {}, now_);
  EXPECT_EQ(StateOf("a"), State::kCreated);
  const auto list = gateway_.List();
  const auto before = engine_.ObservationStamp();
  engine_.RemoveService("a", now_);
  RunFor(5s);
  ASSERT_FALSE(engine_.Tracks("a"));
  engine_.Observe(before, list, now_);
  EXPECT_FALSE(engine_.Tracks("a"));
}

TEST_F(EngineLocationsTest, FailuresOfRequestsBackOffAndNothingIsLost) {
  Serve("a", {kPodC});
  SetSlice("slice-of-a", "a", {kPodA});
  std::vector<async::Duration> pauses;
  for (int i = 0; i < 7; ++i) {
    const auto wake = engine_.next_wake(now_);
    pauses.push_back(*wake - now_);
    now_ = *wake;
    const auto work = engine_.TakeLocationWork(now_);
    ASSERT_TRUE(work.has_value());
    engine_.Synced(work->generation, Failure(ErrorClass::kRetry, "Busy", 503), now_);
  }
  pauses.erase(pauses.begin());
  EXPECT_THAT(pauses, ElementsAre(1s, 2s, 4s, 8s, 16s, 30s));
  RunFor(1min);
  EXPECT_EQ(engine_.Find("a")->synced, 1u);
}

TEST_F(EngineLocationsTest, AzuresOwnMappingsStay) {
  Engine engine(TestOptions());
  gateway_.registered = {"default-natgw"};
  gateway_.locations["10.0.0.1"]["10.1.0.1"] = {"default-natgw"};
  gateway_.locations["10.0.0.2"]["10.1.0.3"] = {"default-natgw"};
  engine.SetPod("p", "egress-a", {kPodA}, now_);
  engine.Start({{.name = "default-natgw",
                 .type = cloud::ServiceType::kOutbound,
                 .registered = true,
                 .is_default = true}},
               gateway_.Read(), now_);
  RunAll(engine);
  EXPECT_FALSE(engine.Tracks("default-natgw"));
  EXPECT_THAT(gateway_.locations["10.0.0.1"]["10.1.0.1"], ElementsAre("default-natgw", "egress-a"));
  EXPECT_THAT(gateway_.locations["10.0.0.2"]["10.1.0.3"], ElementsAre("default-natgw"));
}

}  // namespace
}  // namespace berth::difftracker
