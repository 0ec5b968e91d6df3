#pragma once

#include <gmock/gmock.h>

#include <functional>
#include <list>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "async/test_executor.h"
#include "cloud/test_account.h"
#include "log/format.h"
#include "reconcile/eni/task_runner.h"

namespace berth::eni {

using namespace std::chrono_literals;
using cloud::simulator::Fault;

// The test sees every call to the cloud, and may decide its fate.
class Script : public cloud::simulator::Fates {
 public:
  explicit Script(async::Executor& executor) : latency_(executor, 1ms, 50ms) {}

  cloud::simulator::Fate Draw(const http::Request& request) override {
    auto fate = latency_.Draw(request);
    for (const http::Header& header : request.headers) {
      if (on_call && header.name == "x-acs-action") on_call(header.value, fate);
    }
    return fate;
  }

  std::function<void(const std::string& action, cloud::simulator::Fate& fate)> on_call;

 private:
  cloud::simulator::Latency latency_;
};

// The runner with the real client, on a simulated cloud.
class TaskRunnerTest : public testing::Test {
 protected:
  explicit TaskRunnerTest(cloud::simulator::EcsOptions ecs = {.until_visible = 2s,
                                                              .attaching = 4s,
                                                              .detaching = 3s,
                                                              .deleting = 2s},
                          cloud::aliyun::ApiOptions limits = {.calls_per_minute = 60'000})
      : account_(executor_, script_, {.ecs = ecs}, limits) {
    cloud_.Settle(executor_.WallNow());
    cloud_.vpc().CreateVSwitch({.id = "vsw-a", .cidr = "10.0.0.0/16"});
    MakeRunner();
  }

  void MakeRunner() {
    runner_.reset();
    runner_ = std::make_unique<TaskRunner>(
        executor_, TaskRunner::Options{
                       .enis = [this](const std::string& account, Backend backend) -> cloud::Enis* {
                         if (unreachable_.contains(account)) return nullptr;
                         asked_of_.insert(backend);
                         return account.empty() ? &account_.enis
                                                : &account_.eni_accounts.In(account);
                       },
                       .on_ended = [this](const std::string& node) { ended_.push_back(node); }});
  }
  void AddInstance(const std::string& id, std::size_t adapters = 20) {
    ASSERT_TRUE(
        cloud_.ecs().CreateInstance({.id = id, .vswitch_id = "vsw-a", .adapters = adapters}));
  }
  // An Available ENI that the lists have.
  std::string Make(bool visible = true) {
    std::string id;
    const auto running = async::Start([](cloud::Enis* enis, std::string* made) -> async::Task<> {
      const auto eni = co_await enis->Create(
          {.vswitch_id = "vsw-a", .security_group_ids = {"sg-1"}, .ipv4_addresses = 2}, {});
      if (eni) *made = eni->id;
    }(&account_.enis, &id));
    executor_.Advance(200ms);
    EXPECT_NE(id, "");
    if (visible) executor_.Advance(2s);
    return id;
  }
  TaskId Submit(const std::string& eni, Operation operation = Operation::kAttach,
                const std::string& node = "1", async::TimePoint born = {}) {
    return {eni, runner_->Submit({.eni = eni,
                                  .operation = operation,
                                  .node = node,
                                  .instance = "i-" + node,
                                  .born = born})};
  }
  const Task& Get(const std::string& eni) {
    const Task* task = runner_->queue().Find(eni);
    if (!task) throw std::runtime_error("there is no task of " + eni);
    return *task;
  }
  // Until the task has ended; how long that took.
  async::Duration RunToEnd(const std::string& eni, async::Duration most = 10min) {
    const auto begin = executor_.Now();
    while (!Get(eni).ended() && executor_.Now() - begin < most) executor_.Advance(50ms);
    EXPECT_TRUE(Get(eni).ended()) << Get(eni).error;
    return executor_.Now() - begin;
  }
  std::string StatusOf(const std::string& eni) {
    cloud_.Settle(executor_.WallNow());
    const cloud::Eni* found = cloud_.ecs().Find(eni);
    return found ? found->status : "gone";
  }
  std::uint64_t Calls(const std::string& action) {
    const auto found = cloud_.calls().find(action);
    return found == cloud_.calls().end() ? 0 : found->second.carried_out;
  }
  void Break(std::list<Fault> faults) { cloud_.faults().Set(std::move(faults)); }

  async::TestExecutor executor_;
  Script script_{executor_};
  cloud::TestAccount account_;
  cloud::simulator::Cloud& cloud_ = account_.cloud;
  std::set<std::string> unreachable_;
  std::set<Backend> asked_of_;
  std::vector<std::string> ended_;
  std::unique_ptr<TaskRunner> runner_;
};

}  // namespace berth::eni
