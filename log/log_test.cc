#include "log/log.h"

#include <gtest/gtest.h>

#include <rapidcheck.h>
#include <cmath>
#include <limits>

#include "json/json.h"
#include "log/escape.h"

namespace berth::log {
namespace {

constexpr std::string_view kTime = "2026-11-16T02:10:00.123Z";

std::string JsonOf(std::string_view message, Fields fields = {}) {
  return Line(LineFormat::kJson, Level::kInfo, kTime, message, fields);
}

std::string TextOf(std::string_view message, Fields fields = {}) {
  return Line(LineFormat::kText, Level::kInfo, kTime, message, fields);
}

// The standard error of the calls in `body`.
template <typename Body>
std::string Captured(Body body) {
  testing::internal::CaptureStderr();
  body();
  return testing::internal::GetCapturedStderr();
}

class LogTest : public testing::Test {
 protected:
  void TearDown() override {
    SetLevel("info");
    SetFormat("json");
  }
};

TEST_F(LogTest, JsonHasTimeLevelMessageThenFieldsInOrder) {
  EXPECT_EQ(JsonOf("listening", {{"listener", "webhook"}, {"port", 8443}, {"tls", true}}),
            R"({"ts":"2026-11-16T02:10:00.123Z","level":"info","msg":"listening",)"
            R"("listener":"webhook","port":8443,"tls":true})");
}

TEST_F(LogTest, TextQuotesOnlyWhatNeedsIt) {
  EXPECT_EQ(TextOf("pool is full", {{"pool", "team-a"},
                                    {"why", "no block left"},
                                    {"free", 0},
                                    {"none", ""},
                                    {"said", "a=\"b\""}}),
            "2026-11-16T02:10:00.123Z INFO  pool is full pool=team-a why=\"no block left\" free=0 "
            "none=\"\" said=\"a=\\\"b\\\"\"");
}

TEST_F(LogTest, LevelsAreNamedInBothForms) {
  EXPECT_NE(Line(LineFormat::kText, Level::kWarn, kTime, "m", {}).find("Z WARN  m"),
            std::string::npos);
  EXPECT_NE(Line(LineFormat::kText, Level::kError, kTime, "m", {}).find("Z ERROR m"),
            std::string::npos);
  EXPECT_NE(Line(LineFormat::kJson, Level::kDebug, kTime, "m", {}).find(R"("level":"debug")"),
            std::string::npos);
}

TEST_F(LogTest, AMessageCannotForgeALineOrDriveTheTerminal) {
  const std::string_view hostile =
      "a\nb\x1b[31m\xc2\x9b"
      "2J\x7f";
  EXPECT_EQ(TextOf(hostile).substr(kTime.size()), " INFO  a\\nb\\u001b[31m\\u009b2J\\u007f");
  EXPECT_EQ(TextOf("m", {{"k", hostile}}).substr(kTime.size()),
            " INFO  m k=\"a\\nb\\u001b[31m\\u009b2J\\u007f\"");
}

TEST_F(LogTest, BytesThatAreNotUtf8AreReplaced) {
  EXPECT_EQ(TextOf("a\xff"
                   "b\xed\xa0\x80"
                   "c\xc0\xaf\xe2\x82")
                .substr(kTime.size() + 7),
            "a\uFFFDb\uFFFD\uFFFD\uFFFDc\uFFFD\uFFFD\uFFFD\uFFFD");
  EXPECT_EQ(TextOf("gr\u00fc\u00df \u4e16 \U0001F680").substr(kTime.size() + 7),
            "gr\u00fc\u00df \u4e16 \U0001F680");
}

TEST_F(LogTest, LongValuesAreCutAtACharacterAndMarked) {
  const std::string exact(kMaxValue, 'x');
  EXPECT_TRUE(TextOf("m", {{"k", exact}}).ends_with("k=" + exact));
  EXPECT_TRUE(TextOf("m", {{"k", exact + "yz"}}).ends_with("k=" + exact + "…(+2 bytes)"));
  const std::string before(kMaxValue - 1, 'x');
  EXPECT_TRUE(JsonOf("m", {{"k", before + "\u00fc"}}).ends_with(before + "…(+2 bytes)\"}"));
  EXPECT_LT(JsonOf(std::string(1 << 20, 'x')).size(), kMaxValue + 200);
}

TEST_F(LogTest, NumbersThatJsonLacksAreText) {
  EXPECT_TRUE(JsonOf("m", {{"v", 0.5}}).ends_with(R"("v":0.5})"));
  EXPECT_TRUE(JsonOf("m", {{"v", std::nan("")}}).ends_with(R"("v":"nan"})"));
  EXPECT_TRUE(
      JsonOf("m", {{"v", -std::numeric_limits<double>::infinity()}}).ends_with(R"("v":"-inf"})"));
  EXPECT_TRUE(JsonOf("m", {{"v", std::numeric_limits<std::uint64_t>::max()}})
                  .ends_with(R"("v":18446744073709551615})"));
}

TEST_F(LogTest, AnyBytesGiveOneLineOfValidJson) {
  EXPECT_TRUE(rc::check([](const std::string& message, const std::string& value) {
    const std::string line = JsonOf(message, {{"k", value}});
    RC_ASSERT(line.find('\n') == std::string::npos);
    const auto json = Json::parse(line);
    RC_ASSERT(json["msg"].is_string());
    std::string again;
    AppendEscaped(again, json["k"].as<std::string>());
    std::string once;
    AppendEscaped(once, value);
    RC_ASSERT(again == once);
  }));
}

TEST_F(LogTest, PrefixEndsBetweenCharacters) {
  EXPECT_EQ(Prefix("a\u00fc", 2), "a");
  EXPECT_EQ(Prefix("a\u00fc", 3), "a\u00fc");
  EXPECT_EQ(Prefix("\U0001F680", 3), "");
  EXPECT_EQ(Prefix("\x80\x80\x80\x80\x80\x80", 5).size(), 5u);
}

TEST_F(LogTest, ToUtf8GivesWholeCharactersOnly) {
  EXPECT_EQ(ToUtf8("a\u00fc", 3), "a\u00fc");
  EXPECT_EQ(ToUtf8("a\u00fcb", 2), "a");
  EXPECT_EQ(ToUtf8("a\xff\u00fc", 9), "a\uFFFD\u00fc");
  EXPECT_EQ(ToUtf8("\xff\xff", 5), "\uFFFD");
}

TEST_F(LogTest, WritesOneLineWithAUtcTimestamp) {
  std::string line = Captured([] { Info("ready", {{"port", 1}}); });
  for (char& c : line) {
    if (c >= '0' && c <= '9') c = '#';
  }
  EXPECT_EQ(line,
            "{\"ts\":\"####-##-##T##:##:##.###Z\",\"level\":\"info\",\"msg\":\"ready\","
            "\"port\":#}\n");
}

TEST_F(LogTest, LevelAndFormatAreChosenByName) {
  EXPECT_EQ(Captured([] { Debug("hidden"); }), "");
  ASSERT_TRUE(SetLevel("error"));
  ASSERT_TRUE(SetFormat("text"));
  EXPECT_EQ(Captured([] { Warn("hidden"); }), "");
  EXPECT_NE(Captured([] { Error("shown"); }).find(" ERROR shown\n"), std::string::npos);
  EXPECT_FALSE(SetLevel("loud"));
  EXPECT_FALSE(SetFormat("xml"));
  EXPECT_FALSE(Enabled(Level::kWarn));
  EXPECT_NE(Captured([] { Error("still text"); }).find(" ERROR still text\n"), std::string::npos);
}

}  // namespace
}  // namespace berth::log
