#pragma once

#include <gmock/gmock.h>

#include <deque>
#include <optional>

#include "reconcile/difftracker/gateway_model_test.h"

namespace berth::difftracker {

// An engine whose operations and requests are run on a naive gateway, one by one or until nothing
// is left to do at this time.
class EngineFixture : public testing::Test {
 protected:
  EngineFixture() { engine_.Start({}, {}, now_); }

  static Engine::Options TestOptions() {
    return {.random = [] { return 0.0; }};
  }

  void SetService(const std::string& uid, std::uint64_t fingerprint = 1) {
    engine_.SetService(uid, "default/" + uid, fingerprint, now_);
  }
  void SetSlice(const std::string& slice, const std::string& service,
                const std::vector<Placement>& endpoints) {
    engine_.SetSlice(slice, service, endpoints, now_);
  }

  Operation TakeOne() {
    auto operations = engine_.TakeOperations(now_);
    EXPECT_EQ(operations.size(), 1u);
    return operations.empty() ? Operation() : operations[0];
  }
  void Complete(const Operation& operation, const Result<void>& result) {
    engine_.Completed(operation.id, result, now_);
  }
  // Runs everything that is due now; the number of requests about locations.
  int RunAll(Engine& engine) {
    int requests = 0;
    for (bool busy = true; busy;) {
      busy = false;
      for (const Operation& operation : engine.TakeOperations(now_)) {
        busy = true;
        ++operations_;
        engine.Completed(operation.id, gateway_.Run(operation, 2), now_);
      }
      if (const auto work = engine.TakeLocationWork(now_)) {
        busy = true;
        ++requests;
        if (work->read) {
          ++reads_;
          engine.Read(work->generation, gateway_.Read(), now_);
        } else {
          ++syncs_;
          last_updates_ = work->updates;
          engine.Synced(work->generation, gateway_.Update(work->updates), now_);
        }
      }
    }
    EXPECT_THAT(gateway_.violations, testing::IsEmpty());
    return requests;
  }
  int RunAll() { return RunAll(engine_); }
  void Advance(async::Duration time) { now_ += time; }
  // Runs as a server does, from wake to wake.
  void RunFor(async::Duration time) {
    const async::TimePoint end = now_ + time;
    while (true) {
      RunAll();
      const auto wake = engine_.next_wake(now_);
      if (!wake || *wake > end) break;
      ASSERT_GT(*wake, now_) << "the engine wakes for nothing";
      now_ = *wake;
    }
    now_ = end;
  }
  State StateOf(const std::string& service) {
    const auto view = engine_.Find(service);
    EXPECT_TRUE(view.has_value());
    return view ? view->state : State::kNotStarted;
  }

  async::TimePoint now_{std::chrono::hours(1)};
  GatewayModel gateway_;
  Engine engine_{TestOptions()};
  std::vector<cloud::LocationUpdate> last_updates_;
  int operations_ = 0;
  int syncs_ = 0;
  int reads_ = 0;
};

}  // namespace berth::difftracker
