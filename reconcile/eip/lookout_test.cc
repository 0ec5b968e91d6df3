#include "reconcile/eip/lookout.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <set>

#include "async/test_executor.h"
#include "log/format.h"

namespace berth::eip {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;

// A cloud that has every address but "gone", and tells how it was asked.
class Asked : public cloud::Vpc {
 public:
  explicit Asked(async::Executor& executor) : executor_(executor) {}

  async::Task<Result<std::vector<cloud::Eip>>> DescribeEips(std::vector<std::string> ids) override {
    calls.push_back(ids);
    co_await async::Sleep(executor_, 10ms);
    if (ids.size() > 1 && all_refused) co_return Refused();
    for (const std::string& id : ids) {
      if (refused.contains(id)) co_return Refused();
    }
    if (fails) co_return std::unexpected(Error{ErrorClass::kRetry, {}, "no"});
    std::vector<cloud::Eip> eips;
    for (std::string& id : ids) {
      if (id != "gone") eips.push_back({.allocation_id = std::move(id)});
    }
    co_return eips;
  }

  using Done = async::Task<Result<void>>;
  async::Task<Result<cloud::AllocatedEip>> AllocateEip(cloud::EipRequest, Wanted) override {
    return No();
  }
  async::Task<Result<std::vector<cloud::Eip>>> EipsTagged(std::string, std::string) override {
    co_return std::vector<cloud::Eip>();
  }
  Done ModifyEip(std::string, cloud::EipChange, Wanted) override { return Nothing(); }
  Done ReleaseEip(std::string, Wanted) override { return Nothing(); }
  Done UnassociateEip(std::string, Wanted) override { return Nothing(); }
  Done JoinPackage(std::string, std::string, std::string, Wanted) override { return Nothing(); }
  Done LeavePackage(std::string, std::string, std::string, Wanted) override { return Nothing(); }
  Done TagEips(std::vector<std::string>, cloud::Tags, Wanted) override { return Nothing(); }
  Done UntagEips(std::vector<std::string>, std::vector<std::string>, Wanted) override {
    return Nothing();
  }
  Done MoveEip(std::string, std::string, Wanted) override { return Nothing(); }

  std::vector<std::vector<std::string>> calls;
  bool fails = false;
  bool all_refused = false;
  std::set<std::string> refused;

 private:
  static std::unexpected<Error> Refused() {
    return std::unexpected(Error{.error_class = ErrorClass::kTerminal,
                                 .reason = "InvalidAllocationId.Malformed",
                                 .message = "The ID is not valid.",
                                 .code = 400});
  }
  static Done Nothing() { co_return Result<void>(); }
  static async::Task<Result<cloud::AllocatedEip>> No() { co_return cloud::AllocatedEip(); }

  async::Executor& executor_;
};

class LookoutTest : public testing::Test {
 protected:
  struct Look {
    std::optional<Lookout::Seen> seen;
    async::Running running;
  };

  Look& See(const std::string& id) {
    looks_.push_back(std::make_unique<Look>());
    Look& look = *looks_.back();
    look.running = async::Start(Into(lookout_.See(id), &look.seen));
    return look;
  }
  static async::Task<void> Into(async::Task<Lookout::Seen> task,
                                std::optional<Lookout::Seen>* seen) {
    seen->emplace(co_await std::move(task));
  }

  async::TestExecutor executor_;
  Asked cloud_{executor_};
  Lookout lookout_{executor_, cloud_};
  std::vector<std::unique_ptr<Look>> looks_;
};

TEST_F(LookoutTest, WhatIsAskedForTogetherIsOneCall) {
  const Look& one = See("one");
  const Look& again = See("one");
  const Look& gone = See("gone");
  executor_.Advance(100ms);
  EXPECT_THAT(cloud_.calls, ElementsAre(ElementsAre("gone", "one")));
  EXPECT_EQ((*one.seen)->value().allocation_id, "one");
  EXPECT_EQ((*again.seen)->value().allocation_id, "one");
  EXPECT_FALSE((*gone.seen)->has_value());
}

TEST_F(LookoutTest, AFullCallGoesAtOnce) {
  for (int i = 0; i < 120; ++i) See(Format("e{}", i));
  EXPECT_EQ(cloud_.calls.size(), 2u);
  executor_.Advance(2s);
  EXPECT_EQ(cloud_.calls.size(), 3u);
  for (const auto& look : looks_) EXPECT_TRUE(look->seen && *look->seen);
}

// As when addresses are allocated one by one.
TEST_F(LookoutTest, WhatComesOneByOneIsACallASecond) {
  for (int i = 0; i < 100; ++i) {
    See(Format("e{}", i));
    executor_.Advance(100ms);
  }
  executor_.Advance(2s);
  EXPECT_LE(cloud_.calls.size(), 12u);
  for (const auto& look : looks_) EXPECT_TRUE(look->seen && *look->seen);
}

TEST_F(LookoutTest, AfterAQuietTimeNobodyWaitsForASecond) {
  See("one");
  executor_.Advance(10s);
  const Look& other = See("other");
  executor_.Advance(100ms);
  EXPECT_TRUE(other.seen);
}

TEST_F(LookoutTest, AnErrorIsEverybodys) {
  cloud_.fails = true;
  const Look& one = See("one");
  const Look& other = See("other");
  executor_.Advance(100ms);
  EXPECT_FALSE(*one.seen);
  EXPECT_FALSE(*other.seen);
}

TEST_F(LookoutTest, ARefusedIdSpoilsNoOthers) {
  cloud_.refused = {"e17", "e40"};
  for (int i = 0; i < 50; ++i) See(Format("e{}", i));
  executor_.Advance(5s);
  for (int i = 0; i < 50; ++i) {
    ASSERT_TRUE(looks_[i]->seen) << i;
    EXPECT_EQ(looks_[i]->seen->has_value(), i != 17 && i != 40) << i;
  }
}

TEST_F(LookoutTest, ARefusalOfEverythingCostsABoundedNumberOfCalls) {
  cloud_.all_refused = true;
  for (int i = 0; i < 50; ++i) See(Format("e{}", i));
  executor_.Advance(5s);
  EXPECT_LE(cloud_.calls.size(), 1u + 2 * Lookout::kMostSplits);
  for (const auto& look : looks_) EXPECT_TRUE(look->seen);
}

TEST_F(LookoutTest, WhoGivesUpIsNotAskedFor) {
  See("one");
  See("other");
  looks_.front().reset();
  executor_.Advance(100ms);
  EXPECT_THAT(cloud_.calls, ElementsAre(ElementsAre("other")));
}

}  // namespace
}  // namespace berth::eip
