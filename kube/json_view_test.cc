#include "kube/json_view.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <fstream>
#include <iterator>

#include "json/json.h"

namespace berth::kube {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Optional;
using testing::Pair;

// Parses and lets the test go on; the document lives as long as the fixture.
class JsonViewTest : public testing::Test {
 protected:
  JsonView Parse(std::string_view text) {
    auto view = document_.Parse(text);
    EXPECT_TRUE(view) << (view ? "" : view.error().message);
    return view.value_or(JsonView());
  }

  std::string Refused(std::string_view text) {
    auto view = document_.Parse(text);
    EXPECT_FALSE(view) << text;
    if (view) return "";
    EXPECT_EQ(view.error().error_class, ErrorClass::kTerminal);
    EXPECT_EQ(view.error().reason, "BadRequest");
    return view.error().message;
  }

  JsonDocument document_;
};

std::string Nested(std::size_t levels) {
  return std::string(levels, '[') + std::string(levels, ']');
}

TEST_F(JsonViewTest, ReadsEachKind) {
  const JsonView view =
      Parse(R"({"s":"x","i":-7,"d":1.5,"t":true,"f":false,"n":null,"a":[1,2],"o":{"k":"v"}})");
  EXPECT_TRUE(view.is_object());
  EXPECT_EQ(view.size(), 8u);
  EXPECT_THAT(view["s"].String(), Optional(std::string_view("x")));
  EXPECT_THAT(view["i"].Int(), Optional(-7));
  EXPECT_TRUE(view["d"].is_number());
  EXPECT_EQ(view["d"].Int(), std::nullopt);
  EXPECT_THAT(view["t"].Bool(), Optional(true));
  EXPECT_THAT(view["f"].Bool(), Optional(false));
  EXPECT_TRUE(view["f"].is_bool());
  EXPECT_TRUE(view["n"].is_null());
  EXPECT_TRUE(view["n"].exists());
  EXPECT_EQ(view["a"].size(), 2u);
  EXPECT_THAT(view["a"].At(1).Int(), Optional(2));
  EXPECT_EQ(view["o"]["k"].StringOr("none"), "v");
}

TEST_F(JsonViewTest, MembersAreThoseThatAreFoundOneByOne) {
  const auto check = [](JsonView view) {
    const auto [a, bb, c, none] = view.Members("a", "bb", "c", "none");
    EXPECT_EQ(a.ToJson(), view["a"].ToJson());
    EXPECT_EQ(bb.ToJson(), view["bb"].ToJson());
    EXPECT_EQ(c.ToJson(), view["c"].ToJson());
    EXPECT_FALSE(none.exists());
  };
  for (const char* text :
       {R"({"a":1,"bb":2,"c":3})", R"({"c":3,"x":0,"bb":[{"a":7}],"yy":0,"a":1})",
        R"({"a":{"c":1},"a":2,"c":null,"c":3,"bb":"","bb":5})", R"({"bb":2})", "{}", "[1]", "3"}) {
    check(Parse(text));
  }
  check(JsonView());
  const std::string key(65, 'k');  // as many letters as "a" has, modulo 64
  EXPECT_EQ(Parse(R"({")" + key + R"(":1,"a":2})").Members("a")[0].ToJson(), "2");
}

TEST_F(JsonViewTest, WhatIsMissingStaysMissing) {
  const JsonView view = Parse(R"({"s":"x","a":[1]})");
  EXPECT_FALSE(view["no"].exists());
  EXPECT_FALSE(view["no"]["such"]["path"].exists());
  EXPECT_FALSE(view["s"]["x"].exists());
  EXPECT_FALSE(view["a"]["x"].exists());
  EXPECT_FALSE(view["a"].At(1).exists());
  EXPECT_FALSE(view.At(0).exists());
  EXPECT_EQ(view["s"].size(), 0u);
  EXPECT_EQ(view["s"].Int(), std::nullopt);
  EXPECT_EQ(view["s"].Bool(), std::nullopt);
  EXPECT_EQ(view["a"].String(), std::nullopt);
  EXPECT_EQ(view["a"].StringOr("none"), "none");

  const JsonView absent;
  EXPECT_FALSE(absent.exists() || absent.is_null() || absent.is_object() || absent.is_array() ||
               absent.is_string() || absent.is_number() || absent.is_bool());
  EXPECT_EQ(absent.ToJson(), "");
  EXPECT_EQ(absent.size(), 0u);
  absent.ForEach([](std::string_view, JsonView) { FAIL(); });
  absent.ForEachItem([](JsonView) { FAIL(); });
}

TEST_F(JsonViewTest, KeysAndStringsAreUnescaped) {
  const JsonView view = Parse(R"({"a\u002fb":"\ud83d\ude80 \u0000."})");
  EXPECT_THAT(view["a/b"].String(), Optional(std::string_view("\U0001F680 \0.", 7)));
  EXPECT_FALSE(view[R"(a\u002fb)"].exists());
}

TEST_F(JsonViewTest, WalksMembersAndItemsInOrder) {
  const JsonView view = Parse(R"({"b":1,"a":[3,[4],5],"b":2})");
  std::vector<std::pair<std::string, std::string>> members;
  view.ForEach(
      [&](std::string_view key, JsonView value) { members.emplace_back(key, value.ToJson()); });
  EXPECT_THAT(members, ElementsAre(Pair("b", "1"), Pair("a", "[3,[4],5]"), Pair("b", "2")));

  std::vector<std::string> items;
  view["a"].ForEachItem([&](JsonView item) {
    items.push_back(item.ToJson());
    return items.size() < 2;
  });
  EXPECT_THAT(items, ElementsAre("3", "[4]"));
}

TEST_F(JsonViewTest, TheFirstOfDuplicateKeysCountsAsInJson) {
  constexpr std::string_view text = R"({"a":1,"a":2})";
  EXPECT_THAT(Parse(text)["a"].Int(), Optional(1));
  EXPECT_EQ(Json::parse(text)["a"].as<int>(), 1);
}

TEST_F(JsonViewTest, NumbersPast64BitsAreKeptAsWritten) {
  const JsonView view =
      Parse(R"({"max":9223372036854775807,"min":-9223372036854775808,"u":9223372036854775808,)"
            R"("big":123456789012345678901234567890,"after":1})");
  EXPECT_THAT(view["max"].Int(), Optional(std::numeric_limits<std::int64_t>::max()));
  EXPECT_THAT(view["min"].Int(), Optional(std::numeric_limits<std::int64_t>::min()));
  EXPECT_TRUE(view["u"].is_number());
  EXPECT_EQ(view["u"].Int(), std::nullopt);
  EXPECT_TRUE(view["big"].is_number());
  EXPECT_FALSE(view["big"].is_string());
  EXPECT_EQ(view["big"].String(), std::nullopt);
  EXPECT_EQ(view["big"].Int(), std::nullopt);
  EXPECT_EQ(view["big"].ToJson(), "123456789012345678901234567890");
  EXPECT_THAT(view["after"].Int(), Optional(1));
}

TEST_F(JsonViewTest, WholeNumbersOf20DigitsPast64BitsAreDoubles) {
  constexpr std::string_view text =
      R"({"a":[18446744073709551616,99999999999999999999],"u":18446744073709551615,)"
      R"("18446744073709551616":"\"18446744073709551616"})";
  const JsonView view = Parse(text);
  EXPECT_TRUE(view["a"].At(0).is_number());
  EXPECT_EQ(view["a"].At(0).Int(), std::nullopt);
  EXPECT_EQ(view["18446744073709551616"].String(), "\"18446744073709551616");
  EXPECT_EQ(Json::parse(view.ToJson()), Json::parse(text));
}

TEST_F(JsonViewTest, WholeNumbersBeyondADoublesRangeAreRefused) {
  for (const std::size_t blanks : {0, 1, 100, 307, 308, 309}) {
    const std::string indent(blanks, ' ');
    EXPECT_THAT(Refused(indent + std::string(310, '9')), HasSubstr("out of range"));
    EXPECT_THAT(Refused(indent + "[-1" + std::string(309, '0') + "]"), HasSubstr("out of range"));
    const std::string largest = indent + "[17" + std::string(307, '0') + "]";
    EXPECT_EQ(Json::parse(Parse(largest).ToJson()), Json::parse(largest));
    EXPECT_TRUE(document_.Parse(indent + '"' + std::string(1000, '7') + '"'));
  }
}

TEST_F(JsonViewTest, LargeWholeNumbersReadAsTheyAreWritten) {
  const std::string written = Parse("[18446744073709551616," + std::string(100, '7') + ",\"" +
                                    std::string(400, '7') + "\"]")
                                  .ToJson();
  EXPECT_EQ(Parse(written).ToJson(), written);
}

TEST_F(JsonViewTest, DepthIsBounded) {
  EXPECT_TRUE(document_.Parse(Nested(JsonDocument::kMaxDepth)));
  EXPECT_THAT(Refused(Nested(JsonDocument::kMaxDepth + 1)), HasSubstr("too deep"));
  EXPECT_THAT(Refused(Nested(1'000'000)), HasSubstr("too deep"));
  // A grown parser keeps the bound.
  EXPECT_TRUE(document_.Parse("[" + std::string(3 << 20, ' ') + "]"));
  EXPECT_THAT(Refused(Nested(JsonDocument::kMaxDepth + 1)), HasSubstr("too deep"));
  EXPECT_TRUE(document_.Parse(R"({"still":"works"})"));
}

TEST_F(JsonViewTest, TheNumberOfValuesIsBounded) {
  const auto numbers = [](std::size_t count) {
    std::string text = "[1";
    for (std::size_t i = 1; i < count; ++i) text += ",1";
    return text + "]";
  };
  EXPECT_TRUE(JsonDocument().Parse(numbers(1'000'000)));
  const auto refused = JsonDocument().Parse(numbers(2'000'000));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().reason, "BadRequest");
  // Only its values count, not its size.
  EXPECT_TRUE(JsonDocument().Parse("[\"" + std::string(8'000'000, 'x') + "\"]"));
}

TEST_F(JsonViewTest, WhatIsNoJsonIsRefusedInWords) {
  EXPECT_THAT(Refused(""), HasSubstr("empty"));
  EXPECT_THAT(Refused(" \n\t "), HasSubstr("empty"));
  EXPECT_THAT(Refused("{\"a\":\"\xff\"}"), HasSubstr("not UTF-8"));
  EXPECT_THAT(Refused(R"({"a":"\ud800"})"), HasSubstr("malformed"));
  EXPECT_THAT(Refused(R"({"a":"open)"), HasSubstr("malformed"));
  EXPECT_THAT(Refused("{\"a\":\"line\nbreak\"}"), HasSubstr("malformed"));
  EXPECT_THAT(Refused(R"({"a":1e999})"), HasSubstr("number"));
  for (const char* text : {"{", "[1,]", R"({"a":1}x)", R"({"a" 1})", "nul", "01", "{'a':1}",
                           "[1 2]", "NaN", "{\"a\":1}{\"b\":2}"}) {
    EXPECT_THAT(Refused(text), HasSubstr("malformed")) << text;
  }
  EXPECT_THAT(Refused(std::string(JsonDocument::kMaxSize + 1, ' ')), HasSubstr("too long"));
}

TEST_F(JsonViewTest, AFailureDoesNotSpoilTheNextDocument) {
  Refused("[1,2");
  EXPECT_EQ(Parse("[1,2]").ToJson(), "[1,2]");
  JsonDocument moved = std::move(document_);
  EXPECT_EQ(moved.Parse("{}")->ToJson(), "{}");
}

TEST_F(JsonViewTest, TheInputMayEndAfterParsing) {
  auto text = std::make_unique<std::string>(R"({"name":"a string past the small-string buffer"})");
  const JsonView view = Parse(*text);
  text.reset();
  EXPECT_EQ(view["name"].StringOr(""), "a string past the small-string buffer");
}

TEST_F(JsonViewTest, AgreesWithJsonOnWhatJsonWrites) {
  EXPECT_TRUE(rc::check([this](std::vector<std::string> words) {
    Json json;
    for (auto& word : words) {
      for (char& c : word) c &= 0x7F;
      json[word] = Json::Array({word, words.size()});
    }
    const auto view = document_.Parse(json.as<std::string>());
    RC_ASSERT(view.has_value());
    RC_ASSERT(view->size() == json.size());
    for (const auto& word : words) {
      RC_ASSERT((*view)[word].At(0).StringOr("absent") == word);
    }
    const bool same = Json::parse(view->ToJson()) == json;
    RC_ASSERT(same);
  }));
}

}  // namespace
}  // namespace berth::kube
