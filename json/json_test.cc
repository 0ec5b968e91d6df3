#include "json/json.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <jsoncons/json.hpp>

namespace berth {
namespace {

TEST(JsonTest, KeepsTheOrderGivenOrSorts) {
  constexpr std::string_view kText = R"({"b":1,"a":{"d":[],"c":null}})";
  EXPECT_EQ(Json::parse(kText).to_string(), kText);
  EXPECT_EQ(SortedJson::parse(kText).to_string(), R"({"a":{"c":null,"d":[]},"b":1})");
}

TEST(JsonTest, TheFirstOfMembersWithOneKeyCounts) {
  EXPECT_EQ(Json::parse(R"({"a":1,"b":2,"a":3})").to_string(), R"({"a":1,"b":2})");
}

TEST(JsonTest, NumbersKeepTheirValue) {
  for (const char* text : {"0", "-1", "9223372036854775807", "-9223372036854775808",
                           "18446744073709551615", "0.5", "-2.5e-07"}) {
    EXPECT_EQ(Json::parse(text).to_string(), text);
  }
  EXPECT_EQ(Json::parse("18446744073709551616"), Json(18446744073709551616.0));
  EXPECT_EQ(Json(std::uint64_t{7}), Json(7));
  EXPECT_EQ(Json(7.0), Json(7));
  EXPECT_NE(Json(-1), Json(std::numeric_limits<std::uint64_t>::max()));
  EXPECT_NE(Json(std::numeric_limits<std::int64_t>::max()), Json(std::uint64_t{1} << 63));
  EXPECT_NE(Json(9007199254740993), Json(9007199254740992.0));
  EXPECT_EQ(Json(9007199254740992.0), Json(9007199254740992));
  EXPECT_EQ(Json(std::uint64_t{1} << 63), Json(0x1p63));
  EXPECT_EQ(Json::parse("1e-400"), Json(0.0));
  EXPECT_TRUE(Json(std::uint64_t{7}).is_int64());
  EXPECT_EQ(Json(std::numeric_limits<double>::infinity()).to_string(), "null");
}

TEST(JsonTest, AValueOfAnotherTypeOrTooLargeThrows) {
  EXPECT_THROW(Json("7").as<int>(), JsonError);
  EXPECT_THROW(Json(1.5).as<int>(), JsonError);
  EXPECT_THROW(Json(std::int64_t{1} << 40).as<int>(), JsonError);
  EXPECT_THROW(Json(-1).as<std::uint64_t>(), JsonError);
  EXPECT_THROW(Json(1).as<bool>(), JsonError);
  EXPECT_THROW(Json::Array()[0], JsonError);
  EXPECT_THROW(Json().at("a"), JsonError);
  EXPECT_THROW(Json(1)["a"] = 2, JsonError);
  EXPECT_THROW(Json().push_back(1), JsonError);
  EXPECT_EQ(Json(true).as<std::string>(), "true");
  EXPECT_EQ(Json::parse(R"({"a":1})").get_value_or<int>("b", 2), 2);
}

TEST(JsonTest, AMissingMemberReadsAsAnEmptyObject) {
  const Json json = Json::parse(R"({"a":1})");
  EXPECT_TRUE(json["b"]["c"].is_object());
  EXPECT_EQ(json.size(), 1u);
  Json changed = json;
  changed["b"]["c"] = 2;
  EXPECT_EQ(changed.to_string(), R"({"a":1,"b":{"c":2}})");
}

TEST(JsonTest, APartCanTakeThePlaceOfTheWhole) {
  Json json =
      Json::parse(R"({"a":{"b":[1,{"c":"a text longer than any that is kept in place"}]}})");
  json = std::move(json["a"]["b"][1]);
  EXPECT_EQ(json["c"], "a text longer than any that is kept in place");
  json = json["c"];
  EXPECT_TRUE(json.is_string());
  Json& self = json;
  json = std::move(self);
  EXPECT_TRUE(json.is_string());
}

TEST(JsonTest, ItemsAndMembersComeAndGo) {
  Json list = Json::Array({1, 3});
  list.Insert(1, 2);
  list.EraseAt(0);
  EXPECT_EQ(list.to_string(), "[2,3]");
  EXPECT_THROW(list.EraseAt(2), JsonError);
  EXPECT_THROW(list.Insert(3, 0), JsonError);
  SortedJson object;
  for (const char* key : {"c", "a", "d", "b"}) object.insert_or_assign(key, key);
  object.try_emplace("a", 1);
  object.erase("c");
  object.erase("x");
  EXPECT_EQ(object.to_string(), R"({"a":"a","b":"b","d":"d"})");
}

TEST(JsonTest, ObjectsAreEqualInAnyOrder) {
  EXPECT_EQ(Json::parse(R"({"a":1,"b":[2]})"), Json::parse(R"({"b":[2],"a":1})"));
  EXPECT_NE(Json::parse(R"({"a":1,"b":[2]})"), Json::parse(R"({"b":[2],"c":1})"));
  EXPECT_NE(Json::parse("[1,2]"), Json::parse("[2,1]"));
}

TEST(JsonTest, TextThatIsNotJsonIsRefusedWithItsPlace) {
  EXPECT_NE(Json::Parse("{\"a\":\n 1,}").error().find("line 2"), std::string::npos);
  for (const char* text : {"", " ", "{", "[1,]", "nul", "1 2", "{\"a\"}", "'a'", "\"\x01\"", "01",
                           "1e400", "{\"a\":1/*x*/}", "// c\n1", "\"\xff\""}) {
    EXPECT_FALSE(Json::Parse(text)) << text;
  }
  EXPECT_THROW(Json::parse("{"), JsonError);
}

TEST(JsonTest, DeepTextIsRefused) {
  const auto nested = [](int depth) {
    return std::string(static_cast<std::size_t>(depth), '[') +
           std::string(static_cast<std::size_t>(depth), ']');
  };
  EXPECT_TRUE(Json::Parse(nested(Json::kMaxDepth)));
  EXPECT_FALSE(Json::Parse(nested(Json::kMaxDepth + 1)));
  EXPECT_FALSE(Json::Parse(nested(1'000'000)));
  EXPECT_FALSE(Json::Parse(nested(3), 2));
}

TEST(JsonTest, TextOfManyMembersIsReadInOnePass) {
  constexpr int kMembers = 200'000;
  std::string text = "{";
  for (int i = kMembers; i > 0; --i) text += "\"" + std::to_string(i) + "\":0,";
  text += "\"1\":1}";
  EXPECT_EQ(Json::parse(text).size(), kMembers);
  EXPECT_EQ(SortedJson::parse(text)["1"], 0) << "the first of members with one key counts";
}

TEST(JsonTest, StringsAreUtf8) {
  EXPECT_EQ(Json::parse(R"("\u00e9\ud83d\ude00\u0000")"), std::string_view("é😀\0", 7));
  EXPECT_EQ(Json("é😀\x7f").to_string(), "\"é😀\x7f\"");
  EXPECT_EQ(Json(std::string_view("\b\0", 2)).to_string(), R"("\u0008\u0000")");
}

TEST(JsonTest, HalfASurrogatePairIsRefused) {
  for (const char* text : {R"("\ude00")", R"("\ud83d")", R"({"\udc00":1})", R"("\ud01d\ude00")",
                           R"("\ud83d\ud000")", R"("\ud83d\n")"}) {
    EXPECT_FALSE(Json::Parse(text)) << text;
  }
  EXPECT_TRUE(Json::Parse(R"("\ud01d\ud7ff")")) << "the last character before the surrogates";
}

// Json and jsoncons::ojson read and write the same text.
TEST(JsonTest, ReadsAndWritesAsJsonconsDoes) {
  EXPECT_TRUE(rc::check([](const std::vector<std::pair<std::string, std::int64_t>>& members,
                           const std::vector<double>& numbers) {
    Json json;
    jsoncons::ojson peer;
    for (const auto& [key, value] : members) {
      std::string ascii = key;
      for (char& c : ascii) c &= 0x7f;
      json[ascii] = value;
      peer[ascii] = value;
      json["texts"][ascii] = ascii;
      peer["texts"][ascii] = ascii;
    }
    json["numbers"] = Json::Array({numbers.begin(), numbers.end()});
    peer["numbers"] = numbers;
    RC_ASSERT((Json::parse(peer.to_string()) == json));
    RC_ASSERT((jsoncons::ojson::parse(json.to_string()) == peer));
    RC_ASSERT(Json::parse(json.to_string()).to_string() == json.to_string());
    const Json copy = json;
    RC_ASSERT((copy == json));
  }));
}

}  // namespace
}  // namespace berth
