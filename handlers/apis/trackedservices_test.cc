#include "handlers/apis/trackedservices.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "async/test_executor.h"
#include "handlers/apis/locations.h"

namespace berth::apis {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// An engine without the objects and the cloud around it.
class TestTracker : public difftracker::Tracker {
 public:
  const difftracker::Engine& engine() const override { return engine_; }
  const std::vector<std::string>& AddressesOf(const std::string&) const override {
    return addresses;
  }
  std::string NodeOf(const std::string& ip) const override { return ip == "10.0.0.1" ? "n1" : ""; }
  std::set<std::string> TakeChangedServices() override {
    std::set<std::string> changed;
    for (const auto& change : engine_.TakeServiceChanges()) changed.insert(change.name);
    return changed;
  }
  std::vector<difftracker::LocationChange> TakeChangedLocations() override {
    return engine_.TakeLocationChanges();
  }
  difftracker::Forced ForceDelete(const std::string& service) override {
    return engine_.ForceDelete(service, now);
  }
  std::weak_ptr<const void> alive() const override { return alive_; }

  async::TimePoint now{};
  std::vector<std::string> addresses;
  difftracker::Engine engine_{{.random = [] { return 0.5; }}};

 private:
  std::shared_ptr<const int> alive_ = std::make_shared<const int>(0);
};

constexpr const char* kUid = "5edfffb0-a118-4e13-89d7-152814d89685";

class TrackedServicesTest : public testing::Test {
 protected:
  TrackedServicesTest() {
    tracker_->engine_.SetService(kUid, "shop/web", 1, tracker_->now);
    tracker_->engine_.SetSlice("shop/web-1", kUid, {{"10.0.0.1", "10.244.0.1"}}, tracker_->now);
    tracker_->engine_.SetPod("p1", "egress-a", {{"10.0.0.1", "10.244.0.2"}}, tracker_->now);
    tracker_->engine_.Start({}, {}, tracker_->now);
  }

  void Publish() {
    services_.Publish(tracker_.get());
    locations_.Publish(tracker_.get());
  }
  std::vector<std::string> Names(ResourceStore& store) {
    std::vector<std::string> names;
    const auto page = store.List("", [](const Object&) { return true; }, std::nullopt, 0);
    for (const auto& object : page.objects) names.push_back(object->name);
    return names;
  }
  int Delete(const std::string& name, bool dry_run = false) {
    int code = 0;
    services_.store().Delete({.name = name, .dry_run = dry_run}, executor_,
                             [&](std::expected<void, kube::Status> answer) {
                               code = answer ? 200 : answer.error().code;
                             });
    executor_.Advance(1s);
    return code;
  }

  async::TestExecutor executor_;
  std::unique_ptr<TestTracker> tracker_ = std::make_unique<TestTracker>();
  TrackedServices services_{executor_};
  Locations locations_{executor_};
};

TEST_F(TrackedServicesTest, ShowsLoadBalancersAndNatGateways) {
  tracker_->addresses = {"20.0.0.1"};
  Publish();
  EXPECT_THAT(Names(services_.store()), ElementsAre(std::string("lb-") + kUid, "nat-egress-a"));
  const auto row = services_.store().Get("", std::string("lb-") + kUid);
  EXPECT_THAT(row->json, HasSubstr(R"("owner":"shop/web")"));
  EXPECT_THAT(row->json, HasSubstr(R"("addresses":["20.0.0.1"])"));
  EXPECT_THAT(row->json, HasSubstr(R"("desired":1,"synced":0,"buffered":1)"));
  std::vector<std::string> cells;
  for (const Cell& cell : services_.store().Get("", "nat-egress-a")->cells)
    cells.push_back(cell.json);
  EXPECT_EQ(cells.size(), TrackedServiceType().columns.size());
  EXPECT_THAT(cells[1], HasSubstr("1 pod"));
}

TEST_F(TrackedServicesTest, ALocationIsShownWithItsNode) {
  for (const auto& operation : tracker_->engine_.TakeOperations(tracker_->now))
    tracker_->engine_.Completed(operation.id, {}, tracker_->now);
  Publish();
  EXPECT_THAT(Names(locations_.store()), ElementsAre("10.0.0.1"));
  for (const std::string& name : Names(locations_.store())) {
    EXPECT_THAT(locations_.store().Get("", name)->json, HasSubstr(R"("nodeName":"n1")"));
    std::size_t cells = 0;
    for ([[maybe_unused]] const Cell& cell : locations_.store().Get("", name)->cells) ++cells;
    EXPECT_EQ(cells, LocationType().columns.size());
  }
}

TEST_F(TrackedServicesTest, AServiceThatIsWantedIsNotDeleted) {
  Publish();
  EXPECT_EQ(Delete(std::string("lb-") + kUid), 409);
  EXPECT_EQ(Delete("lb-unknown"), 404);
  EXPECT_EQ(Delete("unknown"), 404);
}

TEST_F(TrackedServicesTest, ADeletionThatHangsIsGivenUpAndADryRunChangesNothing) {
  for (const auto& operation : tracker_->engine_.TakeOperations(tracker_->now))
    tracker_->engine_.Completed(operation.id, {}, tracker_->now);
  tracker_->engine_.RemoveService(kUid, tracker_->now);
  Publish();
  EXPECT_EQ(Delete(std::string("lb-") + kUid, true), 200);
  EXPECT_TRUE(tracker_->engine_.Tracks(kUid));
  EXPECT_EQ(Delete(std::string("lb-") + kUid), 200);
  EXPECT_FALSE(tracker_->engine_.Tracks(kUid));
  Publish();
  EXPECT_THAT(Names(services_.store()), ElementsAre("nat-egress-a"));
}

TEST_F(TrackedServicesTest, AReplicaThatDoesNotLeadShowsNothing) {
  Publish();
  services_.Publish(nullptr);
  locations_.Publish(nullptr);
  EXPECT_THAT(Names(services_.store()), IsEmpty());
  EXPECT_THAT(Names(locations_.store()), IsEmpty());
  EXPECT_EQ(Delete("nat-egress-a"), 503);
}

}  // namespace
}  // namespace berth::apis
