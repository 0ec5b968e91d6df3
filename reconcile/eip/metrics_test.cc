#include "reconcile/eip/metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <prometheus/text_serializer.h>

#include "kube/object.h"

namespace berth::eip {
namespace {

using testing::HasSubstr;

constexpr std::int64_t kCreated = 1'767'323'045;  // 2026-01-02T03:04:05Z

Object Made(const std::string& name, const std::string& status, const std::string& metadata = "") {
  return kube::Decode<Object>(R"({"metadata":{"name":")" + name + R"(","uid":")" + name +
                              R"(","creationTimestamp":"2026-01-02T03:04:05Z")" + metadata +
                              R"(},"spec":{},"status":{)" + status + "}}")
      .value();
}

std::string Conditions(const std::string& ready, const std::string& reason,
                       const std::string& progressing) {
  return R"("conditions":[{"type":"Ready","status":")" + ready + R"(","reason":")" + reason +
         R"(","lastTransitionTime":"2026-01-02T03:05:05Z"},{"type":"Progressing","status":")" +
         progressing + R"("}])";
}

class EipMetrics : public testing::Test {
 protected:
  std::string Text(std::int64_t now = kCreated + 100) {
    metrics_.Show(async::WallTime(std::chrono::seconds(now)));
    return prometheus::TextSerializer().Serialize(registry_.Collect());
  }

  prometheus::Registry registry_;
  Metrics metrics_{registry_};
  const Object pending_ = Made("pending", "");
  const Object ready_ =
      Made("ready", R"("status":"Available",)" + Conditions("True", "Created", "False"));
  const Object lost_ =
      Made("lost", R"("status":"Available",)" + Conditions("False", "Lost", "False"));
  const Object stuck_ =
      Made("stuck", R"("status":"InUse",)" + Conditions("False", "Deleting", "False"),
           R"(,"deletionTimestamp":"2026-01-02T03:05:05Z")");
  const Object going_ =
      Made("going", R"("status":"Releasing",)" + Conditions("False", "Deleting", "True"),
           R"(,"deletionTimestamp":"2026-01-02T03:05:05Z")");
};

TEST_F(EipMetrics, ObjectsAreCountedByStatus) {
  for (const Object* object : {&pending_, &ready_, &lost_, &stuck_, &going_}) {
    metrics_.Put(object->id.name, *object);
  }
  metrics_.Put("odd", Made("odd", R"("status":"Beyond")"));
  const std::string text = Text();
  for (const char* line :
       {"{status=\"Available\"} 1\n", "{status=\"InUse\"} 1\n", "{status=\"Releasing\"} 1\n",
        "{status=\"Pending\"} 1\n", "{status=\"Lost\"} 1\n", "{status=\"Other\"} 1\n",
        "{status=\"Associating\"} 0\n"}) {
    EXPECT_THAT(text, HasSubstr(std::string("berth_eip_objects") + line));
  }
  EXPECT_THAT(text, HasSubstr("berth_eip_not_ready 5\n"));
  EXPECT_THAT(text, HasSubstr("berth_eip_releases_stuck 1\n"));
}

TEST_F(EipMetrics, TheOldestIsTheOneThatHasLongestNotBeenReady) {
  EXPECT_THAT(Text(), HasSubstr("berth_eip_oldest_not_ready_seconds 0\n"));
  metrics_.Put("ready", ready_);
  EXPECT_THAT(Text(), HasSubstr("berth_eip_oldest_not_ready_seconds 0\n"));
  metrics_.Put("lost", lost_);
  EXPECT_THAT(Text(), HasSubstr("berth_eip_oldest_not_ready_seconds 40\n"));
  metrics_.Put("pending", pending_);
  EXPECT_THAT(Text(), HasSubstr("berth_eip_oldest_not_ready_seconds 100\n"));
  EXPECT_THAT(Text(kCreated + 160), HasSubstr("berth_eip_oldest_not_ready_seconds 160\n"));
  metrics_.Remove("pending");
  EXPECT_THAT(Text(), HasSubstr("berth_eip_oldest_not_ready_seconds 40\n"));
}

TEST_F(EipMetrics, WhatChangesOrGoesIsCountedNoMore) {
  metrics_.Put("web", pending_);
  metrics_.Put("web", ready_);
  EXPECT_THAT(Text(), HasSubstr("berth_eip_objects{status=\"Pending\"} 0\n"));
  EXPECT_THAT(Text(), HasSubstr("berth_eip_objects{status=\"Available\"} 1\n"));
  EXPECT_THAT(Text(), HasSubstr("berth_eip_not_ready 0\n"));
  for (const Object* object : {&stuck_, &going_, &lost_, &ready_}) metrics_.Put("web", *object);
  metrics_.Put("web", stuck_);
  metrics_.Remove("web");
  metrics_.Remove("web");
  Text();
  for (const auto& family : registry_.Collect()) {
    for (const auto& metric : family.metric) EXPECT_EQ(metric.gauge.value, 0) << family.name;
  }
}

}  // namespace
}  // namespace berth::eip
