#include "handlers/apis/enitasks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "async/test_executor.h"

namespace berth::apis {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;

// A cloud that shows what the test says, and accepts what it is asked for.
class TestEnis : public cloud::Enis {
 public:
  using Wanted = cloud::Wanted;
  using Done = async::Task<Result<void>>;
  using Found = async::Task<Result<std::vector<cloud::Eni>>>;

  Found Describe(std::vector<std::string> ids) override {
    std::vector<cloud::Eni> found;
    for (const std::string& id : ids) {
      if (shown.contains(id)) found.push_back(shown[id]);
    }
    co_return found;
  }
  Done Attach(std::string, std::string, std::string, Wanted) override { return Accept(); }
  Done Detach(std::string, std::string, std::string, Wanted) override { return Accept(); }
  Done Delete(std::string, Wanted) override { return Accept(); }
  async::Task<Result<cloud::Eni>> Create(cloud::EniRequest, Wanted) override {
    co_return Terminal("none");
  }
  Found OfInstance(std::string) override { co_return Terminal("none"); }
  Found Tagged(std::string, std::string) override { co_return Terminal("none"); }
  Assigned AssignIpv4(std::string, int, std::string) override { co_return Terminal("none"); }
  Assigned AssignIpv4Prefixes(std::string, int, std::string) override {
    co_return Terminal("none");
  }
  Assigned AssignIpv6(std::string, int, std::string) override { co_return Terminal("none"); }
  Assigned AssignIpv6Prefixes(std::string, int, std::string) override {
    co_return Terminal("none");
  }
  Done UnassignIpv4(std::string, Values) override { return Accept(); }
  Done UnassignIpv4Prefixes(std::string, Values) override { return Accept(); }
  Done UnassignIpv6(std::string, Values) override { return Accept(); }
  Done UnassignIpv6Prefixes(std::string, Values) override { return Accept(); }
  async::Task<Result<std::vector<cloud::VSwitch>>> DescribeVSwitches(
      std::vector<std::string>) override {
    co_return Terminal("none");
  }

  std::map<std::string, cloud::Eni> shown;
  std::optional<Error> error;

 private:
  Done Accept() {
    if (error) co_return std::unexpected(*error);
    co_return Result<void>();
  }
};

class EniTasksTest : public testing::Test {
 protected:
  EniTasksTest() { MakeRunner(); }

  void MakeRunner() {
    runner_ = std::make_unique<eni::TaskRunner>(
        executor_, eni::TaskRunner::Options{.enis = [this](auto&, auto) { return enis_; },
                                            .on_ended = [](auto&) {}});
  }
  void Show(const std::string& eni, const std::string& status, const std::string& instance = "") {
    cloud_.shown[eni] = {.id = eni, .status = status, .instance_id = instance};
  }
  void Submit(const std::string& eni, eni::Operation operation = eni::Operation::kAttach) {
    runner_->Submit({.eni = eni,
                     .operation = operation,
                     .node = "worker-1",
                     .instance = "i-1",
                     .ipv4_addresses = 10});
  }
  void Advance(async::Duration time) {
    executor_.Advance(time);
    tasks_.Publish(runner_.get());
  }
  ObjectPtr Get(const std::string& eni) { return tasks_.store().Get("", eni); }
  Json StatusOf(const std::string& eni) { return Json::parse(Get(eni)->json)["status"]; }
  std::vector<std::string> CellsOf(const std::string& eni) {
    std::vector<std::string> cells;
    for (const Cell& cell : Get(eni)->cells) {
      cells.push_back(cell.since ? "since " + std::to_string(*cell.since)
                                 : Json::parse(cell.json).as_string());
    }
    EXPECT_EQ(cells.size(), tasks_.store().type().columns.size());
    return cells;
  }
  kube::Status Delete(const std::string& eni, bool dry_run = false) {
    std::vector<kube::Status> answers;
    tasks_.store().Delete({.ns = {}, .name = eni, .dry_run = dry_run}, executor_,
                          [&](std::expected<void, kube::Status> deleted) {
                            answers.push_back(deleted ? kube::Success({}) : deleted.error());
                          });
    executor_.RunUntilIdle();
    EXPECT_EQ(answers.size(), 1);
    return answers.front();
  }

  async::TestExecutor executor_;
  TestEnis cloud_;
  cloud::Enis* enis_ = &cloud_;
  std::unique_ptr<eni::TaskRunner> runner_;
  EniTasks tasks_{executor_};
};

TEST_F(EniTasksTest, ATaskIsAnObject) {
  Show("eni-1", "Available");
  cloud_.error = Error{ErrorClass::kThrottled, "Throttling.User",
                       "AttachNetworkInterface: Throttling.User: slow (request ID R-1)"};
  Submit("eni-1");
  Advance(0s);
  EXPECT_THAT(CellsOf("eni-1"),
              ElementsAre("worker-1", "i-1", "Attach", "Pending", "Available", "0",
                          testing::StartsWith("03:04:"), "since 1767323045", "Throttling.User",
                          "ECS", "R-1", "<none>",
                          "AttachNetworkInterface: Throttling.User: slow (request ID R-1)"));
  cloud_.error.reset();
  Advance(6s);
  EXPECT_EQ(CellsOf("eni-1")[3], "Running");
  EXPECT_EQ(StatusOf("eni-1")["attempt"], 1);
  EXPECT_TRUE(StatusOf("eni-1").contains("deadline"));
  EXPECT_FALSE(StatusOf("eni-1").contains("lastError"));
  EXPECT_EQ(Json::parse(Get("eni-1")->json)["spec"]["requestedIPv4Count"], 10);
  EXPECT_EQ(*FieldOf(*Get("eni-1"), "spec.nodeName"), "worker-1");
  Show("eni-1", "InUse", "i-1");
  Advance(30s);
  EXPECT_EQ(CellsOf("eni-1")[3], "Completed");
  EXPECT_EQ(CellsOf("eni-1")[6], "<none>");
}

TEST_F(EniTasksTest, OnlyChangedTasksArePublished) {
  for (const char* eni : {"eni-1", "eni-2"}) {
    Show(eni, "Attaching");
    Submit(eni);
  }
  Advance(0s);
  const auto version = tasks_.store().version();
  Advance(0s);
  EXPECT_EQ(tasks_.store().version(), version);
  runner_->Cancel("eni-1");
  Advance(0s);
  EXPECT_EQ(Get("eni-1"), nullptr);
  EXPECT_EQ(tasks_.store().version(), version + 1);
}

TEST_F(EniTasksTest, AnEndedTaskIsShownForTenMinutes) {
  Show("eni-1", "InUse", "i-1");
  Submit("eni-1");
  Advance(0s);
  runner_->Noted(runner_->queue().Find("eni-1")->id());
  Advance(10min - 1s);
  EXPECT_EQ(StatusOf("eni-1")["state"], "Completed");
  Advance(1s);
  EXPECT_EQ(Get("eni-1"), nullptr);
}

TEST_F(EniTasksTest, ALaterTaskOfTheEniIsAnotherObject) {
  Show("eni-1", "InUse", "i-1");
  Submit("eni-1");
  Advance(0s);
  const std::string uid = Get("eni-1")->uid;
  Submit("eni-1", eni::Operation::kDetach);
  Advance(0s);
  EXPECT_EQ(CellsOf("eni-1")[2], "Detach");
  EXPECT_NE(Get("eni-1")->uid, uid);
}

TEST_F(EniTasksTest, TheTasksOfAnEarlierLeadershipAreNotShown) {
  Show("eni-1", "Attaching");
  Submit("eni-1");
  Advance(0s);
  MakeRunner();
  EXPECT_EQ(Delete("eni-1").code, 503) << "of a runner that is gone";
  Advance(0s);
  EXPECT_EQ(Get("eni-1"), nullptr);
  Submit("eni-1");
  Advance(0s);
  tasks_.Publish(nullptr);
  EXPECT_EQ(Get("eni-1"), nullptr);
  EXPECT_EQ(Delete("eni-1").details.retry_after_seconds, 1);
}

TEST_F(EniTasksTest, AnAttachThatWasNotSentIsCancelled) {
  enis_ = nullptr;
  Submit("eni-1");
  Advance(1s);
  EXPECT_EQ(Delete("eni-1", true).code, 200);
  EXPECT_NE(runner_->queue().Find("eni-1"), nullptr) << "that was a dry run";
  EXPECT_EQ(Delete("eni-1").code, 200);
  EXPECT_EQ(runner_->queue().Find("eni-1"), nullptr);
  Advance(0s);
  EXPECT_EQ(Get("eni-1"), nullptr);
  EXPECT_EQ(Delete("eni-1").code, 404);
}

TEST_F(EniTasksTest, ARefusalToCancelTellsWhatHappensInstead) {
  Show("eni-1", "Available");
  Submit("eni-1");
  Advance(1s);
  for (const bool dry_run : {true, false}) {
    const auto accepted = Delete("eni-1", dry_run);
    EXPECT_EQ(accepted.code, 409);
    EXPECT_THAT(accepted.message, HasSubstr("cannot be called back"));
  }
  Show("eni-1", "InUse", "i-1");
  Advance(20s);
  EXPECT_THAT(Delete("eni-1").message, HasSubstr("the status of Node worker-1"));
  Submit("eni-1", eni::Operation::kDetach);
  EXPECT_THAT(Delete("eni-1").message, HasSubstr("would submit the Detach again"));
  EXPECT_NE(runner_->queue().Find("eni-1"), nullptr);
}

TEST_F(EniTasksTest, ATaskThatEndedIsNoLongerShownWhenItIsDeleted) {
  Show("eni-1", "InUse", "i-1");
  Submit("eni-1");
  Advance(0s);
  runner_->Noted(runner_->queue().Find("eni-1")->id());
  EXPECT_EQ(Delete("eni-1").code, 200);
  Advance(0s);
  EXPECT_EQ(Get("eni-1"), nullptr);
}

}  // namespace
}  // namespace berth::apis
