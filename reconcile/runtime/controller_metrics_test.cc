#include "reconcile/runtime/controller_metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <prometheus/text_serializer.h>

#include <string>

namespace berth::runtime {
namespace {

using testing::HasSubstr;
using testing::Not;
using namespace std::chrono_literals;

std::string Text(const prometheus::Registry& registry) {
  return prometheus::TextSerializer().Serialize(registry.Collect());
}

TEST(ControllerMetrics, TellOfTheQueue) {
  prometheus::Registry registry;
  ControllerMetrics metrics(registry, "eip", 5);
  metrics.Show({.depth = 7,
                .resync = 3,
                .processing = 2,
                .adds = 11,
                .retries = 1,
                .delays = 4,
                .unfinished = 3s,
                .longest = 2s});
  metrics.Taken(50ms);
  const std::string text = Text(registry);
  const std::string labels = "{controller=\"eip\",name=\"eip\"}";
  EXPECT_THAT(text, HasSubstr("workqueue_depth{controller=\"eip\",name=\"eip\",priority=\"0\"} 4"));
  EXPECT_THAT(text,
              HasSubstr("workqueue_depth{controller=\"eip\",name=\"eip\",priority=\"-100\"} 3"));
  EXPECT_THAT(text, HasSubstr("workqueue_adds_total" + labels + " 11\n"));
  EXPECT_THAT(text, HasSubstr("workqueue_retries_total" + labels + " 4\n"));
  EXPECT_THAT(text, HasSubstr("workqueue_unfinished_work_seconds" + labels + " 3\n"));
  EXPECT_THAT(text, HasSubstr("workqueue_longest_running_processor_seconds" + labels + " 2\n"));
  EXPECT_THAT(text, HasSubstr("workqueue_queue_duration_seconds_sum" + labels + " 0.05\n"));
  EXPECT_THAT(text, HasSubstr("controller_runtime_active_workers{controller=\"eip\"} 2\n"));
  EXPECT_THAT(text,
              HasSubstr("controller_runtime_max_concurrent_reconciles{controller=\"eip\"} 5\n"));
}

TEST(ControllerMetrics, CountReconcilesByTheirResult) {
  prometheus::Registry registry;
  ControllerMetrics metrics(registry, "eip", 5);
  metrics.Ended(ReconcileResult::kSuccess, 2s);
  metrics.Ended(ReconcileResult::kRequeueAfter, 0s);
  metrics.Ended(ReconcileResult::kError, 0s);
  metrics.Ended(ReconcileResult::kTerminalError, 0s);
  metrics.Ended(ReconcileResult::kTimeout, 1s);
  const std::string text = Text(registry);
  const auto total = [](const std::string& result, int count) {
    return HasSubstr("controller_runtime_reconcile_total{controller=\"eip\",result=\"" + result +
                     "\"} " + std::to_string(count) + "\n");
  };
  EXPECT_THAT(text, total("success", 1));
  EXPECT_THAT(text, total("requeue_after", 1));
  EXPECT_THAT(text, total("requeue", 0));
  EXPECT_THAT(text, total("error", 3));
  const std::string labels = "{controller=\"eip\"}";
  EXPECT_THAT(text, HasSubstr("controller_runtime_reconcile_errors_total" + labels + " 3\n"));
  EXPECT_THAT(text,
              HasSubstr("controller_runtime_terminal_reconcile_errors_total" + labels + " 1\n"));
  EXPECT_THAT(text, HasSubstr("controller_runtime_reconcile_timeouts_total" + labels + " 1\n"));
  EXPECT_THAT(text, HasSubstr("controller_runtime_reconcile_time_seconds_sum" + labels + " 3\n"));
  EXPECT_THAT(
      text, HasSubstr("workqueue_work_duration_seconds_sum{controller=\"eip\",name=\"eip\"} 3\n"));
}

// The bounds of client-go and controller-runtime: a quantile over both kinds of servers needs the
// same ones.
TEST(ControllerMetrics, HaveTheBucketsOfTheGoOnes) {
  prometheus::Registry registry;
  const ControllerMetrics metrics(registry, "eip", 5);
  const std::string text = Text(registry);
  for (const std::string name :
       {"workqueue_queue_duration_seconds", "workqueue_work_duration_seconds"}) {
    for (const std::string bound : {"1e-08", "1e-05", "1", "1000"}) {
      EXPECT_THAT(text, HasSubstr(name + "_bucket{controller=\"eip\",name=\"eip\",le=\"" + bound +
                                  "\"} 0\n"));
    }
  }
  for (const std::string bound : {"0.005", "0.15", "1.25", "60"}) {
    EXPECT_THAT(
        text,
        HasSubstr("controller_runtime_reconcile_time_seconds_bucket{controller=\"eip\",le=\"" +
                  bound + "\"} 0\n"));
  }
}

TEST(ControllerMetrics, GoOnCountingForTheNextControllerOfTheName) {
  prometheus::Registry registry;
  ControllerMetrics(registry, "eip", 5).Show({.adds = 10});
  ControllerMetrics second(registry, "eip", 5);
  second.Show({.adds = 2});
  second.Show({.adds = 3});
  EXPECT_THAT(Text(registry),
              HasSubstr("workqueue_adds_total{controller=\"eip\",name=\"eip\"} 13\n"));
}

}  // namespace
}  // namespace berth::runtime
