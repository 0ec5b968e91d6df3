#include "reconcile/eni/go_duration.h"

#include <gtest/gtest.h>

namespace berth::eni {
namespace {

using namespace std::chrono_literals;

TEST(GoDuration, IsReadAsGoWritesIt) {
  EXPECT_EQ(ParseGoDuration("2m"), 2min);
  EXPECT_EQ(ParseGoDuration("10m30s"), 10min + 30s);
  EXPECT_EQ(ParseGoDuration("1h0m0.5s"), 1h + 500ms);
  EXPECT_EQ(ParseGoDuration("1.5h"), 90min);
  EXPECT_EQ(ParseGoDuration(".5s"), 500ms);
  EXPECT_EQ(ParseGoDuration("1.s"), 1s);
  EXPECT_EQ(ParseGoDuration("+300ms"), 300ms);
  EXPECT_EQ(ParseGoDuration("7us"), 7us);
  EXPECT_EQ(ParseGoDuration("7\u00b5s"), 7us);
  EXPECT_EQ(ParseGoDuration("7\u03bcs"), 7us);
  EXPECT_EQ(ParseGoDuration("100ns"), 100ns);
  EXPECT_EQ(ParseGoDuration("0"), 0s);
  EXPECT_EQ(ParseGoDuration("0s"), 0s);
}

TEST(GoDuration, RefusesAnyOtherText) {
  for (const char* text : {"", "5", "m", "5 m", "5d", "1m5", "-5m", "+", "1..5s", ".s", "1e3s",
                           "5M", "0x5s", "infs", "nans", "5m ", "99999999999999h", "1s\u00b5"})
    EXPECT_EQ(ParseGoDuration(text), std::nullopt) << text;
}

}  // namespace
}  // namespace berth::eni
