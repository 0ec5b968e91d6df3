#include "kube/age.h"

#include <gtest/gtest.h>

namespace berth::kube {
namespace {

TEST(HumanDuration, AsKubectlShowsAges) {
  constexpr std::int64_t kMinute = 60, kHour = 3600, kDay = 86400, kYear = 365 * kDay;
  const std::vector<std::pair<std::int64_t, const char*>> known = {
      {-1, "0s"},
      {0, "0s"},
      {1, "1s"},
      {119, "119s"},
      {2 * kMinute, "2m"},
      {3 * kMinute + 5, "3m5s"},
      {10 * kMinute - 1, "9m59s"},
      {10 * kMinute + 59, "10m"},
      {3 * kHour - 1, "179m"},
      {3 * kHour, "3h"},
      {3 * kHour + 59 * kMinute + 59, "3h59m"},
      {8 * kHour - 1, "7h59m"},
      {8 * kHour + 59 * kMinute, "8h"},
      {2 * kDay - 1, "47h"},
      {2 * kDay, "2d"},
      {2 * kDay + 23 * kHour + 59, "2d23h"},
      {8 * kDay - 1, "7d23h"},
      {8 * kDay + 23 * kHour, "8d"},
      {2 * kYear - 1, "729d"},
      {2 * kYear, "2y"},
      {2 * kYear + kDay, "2y1d"},
      {8 * kYear - 1, "7y364d"},
      {8 * kYear, "8y"},
      {30 * kYear, "30y"}};
  for (const auto& [seconds, shown] : known) EXPECT_EQ(HumanDuration(seconds), shown) << seconds;
}

TEST(Timestamp, IsRfc3339InUtc) {
  EXPECT_EQ(Timestamp(0), "1970-01-01T00:00:00Z");
  EXPECT_EQ(Timestamp(1794787614), "2026-11-16T00:06:54Z");
  EXPECT_EQ(Timestamp(951782400), "2000-02-29T00:00:00Z");
}

TEST(Timestamp, IsReadBack) {
  for (const std::int64_t seconds : {0L, 1794787614L, 951782400L})
    EXPECT_EQ(ParseTimestamp(Timestamp(seconds)), seconds);
  EXPECT_EQ(ParseTimestamp("1970-01-01T00:00:01.999999Z"), 1);
  for (const char* text :
       {"", "x", "1970-01-01", "1970-01-01T00:00:00", "1970-01-01T00:00:00+01:00"})
    EXPECT_EQ(ParseTimestamp(text), std::nullopt) << text;
}

}  // namespace
}  // namespace berth::kube
