#include "reconcile/difftracker/metrics.h"

#include <gmock/gmock.h>
#include <prometheus/text_serializer.h>

#include "reconcile/difftracker/system_fixture_test.h"

namespace berth::difftracker {
namespace {

using testing::HasSubstr;

class DiffTrackerMetrics : public DiffTrackerTest {
 protected:
  std::string Text() { return prometheus::TextSerializer().Serialize(registry_.Collect()); }
};

TEST_F(DiffTrackerMetrics, FlawGaugesReturnToZero) {
  gateway_.latency = 2s;
  CreateService("web");
  Advance(6s);
  EXPECT_THAT(Text(), HasSubstr("difftracker_engine_pending_service_operations{"
                                "service_type=\"inbound\",state=\"CreationInProgress\"} 1\n"));
  Advance(30s);
  EXPECT_THAT(Text(), HasSubstr("state=\"CreationInProgress\"} 0\n"));
  EXPECT_THAT(Text(),
              HasSubstr("difftracker_engine_tracked_services_total{state=\"Created\"} 1\n"));
  DeleteService("web");
  Advance(1min);
  EXPECT_THAT(Text(),
              HasSubstr("difftracker_engine_tracked_services_total{state=\"Created\"} 0\n"));
  EXPECT_THAT(Text(), HasSubstr("difftracker_engine_pending_operation_oldest_age_seconds{"
                                "service_type=\"inbound\",state=\"DeletionInProgress\"} 0\n"));
}

TEST_F(DiffTrackerMetrics, FlawTheDurationOfAnOperationCountsFromItsFirstTry) {
  gateway_.fate = [left = 2](const std::string& action, const std::string&) mutable {
    if (action != "PutLoadBalancer" || left-- <= 0) return TestGateway::Fate{};
    return TestGateway::Fate{.error = Error{ErrorClass::kRetry, "Busy", "busy", 409}};
  };
  CreateService("web");
  Advance(1min);
  const std::string text = Text();
  EXPECT_THAT(text, HasSubstr("difftracker_engine_service_operation_duration_seconds_bucket{"
                              "operation=\"create\",service_type=\"inbound\",le=\"2\"} 0\n"));
  EXPECT_THAT(text, HasSubstr("difftracker_engine_service_operation_retries_sum{"
                              "operation=\"create\",service_type=\"inbound\"} 2\n"));
  EXPECT_THAT(text, HasSubstr("error_code=\"Busy\",is_orphan=\"false\",operation=\"create\","
                              "result=\"error\",service_type=\"inbound\"} 2\n"));
}

TEST_F(DiffTrackerMetrics, OrphansAreCounted) {
  Crash();
  gateway_.services["egress-z"] = {.name = "egress-z", .type = cloud::ServiceType::kOutbound};
  Boot();
  Advance(1min);
  EXPECT_THAT(Text(), HasSubstr("difftracker_engine_orphaned_resources_cleaned_total 1\n"));
}

}  // namespace
}  // namespace berth::difftracker
