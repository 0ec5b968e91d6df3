#include "kube/yaml.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "log/format.h"

namespace berth::kube {
namespace {

using testing::HasSubstr;

std::string Converted(std::string_view yaml) {
  const auto json = YamlToJson(yaml);
  return json ? json->to_string() : "refused: " + json.error().message;
}

TEST(Yaml, MapsAndSequencesKeepTheirOrder) {
  EXPECT_EQ(Converted("b: [1, {x: y y}]\na:\n  - ~\n  -\n"),
            R"({"b":[1,{"x":"y y"}],"a":[null,null]})");
  EXPECT_EQ(Converted("a: &here {x: 1}\nb: *here\n"), R"({"a":{"x":1},"b":{"x":1}})");
}

TEST(Yaml, PlainScalarsHaveKubectlsTypes) {
  const std::pair<const char*, const char*> cases[] = {
      {"true", "true"},
      {"No", "false"},
      {"on", "true"},
      {"null", "null"},
      {"~", "null"},
      {"0", "0"},
      {"-7", "-7"},
      {"+7", "7"},
      {"0x1F", "31"},
      {"0o17", "15"},
      {"0644", "420"},
      {"0b101", "5"},
      {"1.5", "1.5"},
      {"-1e3", "-1000"},
      {"9e-333", "0"},
      {"9e333", "\"9e333\""},
      {".5", "0.5"},
      {"18446744073709551615", "18446744073709551615"},
      {"1.2.3", "\"1.2.3\""},
      {"v1", "\"v1\""},
      {"inf", "\"inf\""},
      {"nan", "\"nan\""},
      {"e", "\"e\""},
      {"10.0.0.0/16", "\"10.0.0.0/16\""},
      {"Null", "null"},
      {"2001:db8::/48", "\"2001:db8::/48\""},
      {"2026-01-02", "\"2026-01-02\""},
      {"-9223372036854775808", "-9223372036854775808"}};
  for (const auto& [yaml, json] : cases)
    EXPECT_EQ(Converted(Format("- {}", yaml)), Format("[{}]", json));
}

TEST(Yaml, WhatIsQuotedIsAString) {
  EXPECT_EQ(Converted(R"(["True", 'null', "1", "", !!str 5, on])"),
            R"(["True","null","1","","5",true])");
  EXPECT_EQ(Converted("text: >-\n  one\n  two\n"), R"({"text":"one two"})");
  EXPECT_EQ(Converted("1: a\ntrue: b\n"), R"({"1":"a","true":"b"})");
}

TEST(Yaml, RefusalsNameTheLine) {
  EXPECT_THAT(Converted("a: 1\nb: [\n"), HasSubstr("line 3"));
  EXPECT_EQ(Converted("a: 1\nb: 2\na: 3\n"), "refused: line 3: the key \"a\" is there twice");
  EXPECT_EQ(Converted("x: 1\n[a]: 1\n"), "refused: line 2: a key must be a scalar");
  EXPECT_EQ(Converted("x: 1\ny: !secret z\n"), "refused: line 2: the tag is not supported");
  EXPECT_THAT(Converted("a: 1\n---\nb: 2\n"), HasSubstr("2 YAML documents"));
  EXPECT_THAT(Converted(""), HasSubstr("0 YAML documents"));
}

TEST(Yaml, OnlyUtf8IsTaken) {
  EXPECT_EQ(Converted("a: 1\nb: \xff\n"), "refused: line 2: the text is not UTF-8");
  EXPECT_EQ(Converted("\xb8: a\n"), "refused: line 1: the text is not UTF-8");
  EXPECT_EQ(Converted(R"(a: "\N")"), "refused: line 1: the text is not UTF-8");
  EXPECT_EQ(Converted("\xc3\xa9: \xe2\x82\xac"), "{\"\xc3\xa9\":\"\xe2\x82\xac\"}");
}

TEST(Yaml, IsBounded) {
  EXPECT_THAT(Converted(std::string(kMaxYaml + 1, ' ')), HasSubstr("over 1 MiB"));
  EXPECT_THAT(Converted(std::string(65, '[') + std::string(65, ']')), HasSubstr("too deeply"));
  EXPECT_THAT(Converted(std::string(20'000, '[')), HasSubstr("refused"));
  EXPECT_THAT(Converted("a: &a [*a]"), HasSubstr("too deeply"));
  std::string laughs = "a: &a0 [x, x, x, x, x, x, x, x, x, x]\n";
  for (int i = 1; i < 9; ++i) {
    laughs += Format("{}: &a{} [", i, i);
    for (int j = 0; j < 10; ++j) laughs += Format("{}*a{}", j == 0 ? "" : ", ", i - 1);
    laughs += "]\n";
  }
  EXPECT_THAT(Converted(laughs), HasSubstr("too many values"));
  std::string copies = "- &a " + std::string(100'000, 'x') + "\n";
  for (int i = 0; i < 1000; ++i) copies += "- *a\n";
  EXPECT_THAT(Converted(copies), HasSubstr("too many values"));
}

TEST(Yaml, AMapOfManyMembersIsReadInOnePass) {
  constexpr std::size_t kMembers = 90'000;
  std::string text;
  for (std::size_t i = 0; i < kMembers; ++i) text += Format("k{}:\n", i);
  const auto json = YamlToJson(text);
  ASSERT_TRUE(json) << json.error().message;
  EXPECT_EQ(json->size(), kMembers);
}

}  // namespace
}  // namespace berth::kube
