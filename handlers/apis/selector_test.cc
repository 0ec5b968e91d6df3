#include "handlers/apis/selector.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>

namespace berth::apis {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

bool Matches(std::string_view text, const Labels& labels) {
  const auto selector = Selector::ParseLabels(text);
  EXPECT_TRUE(selector) << text << ": " << selector.error();
  return selector && selector->MatchesLabels(labels);
}

std::string LabelError(std::string_view text) {
  const auto selector = Selector::ParseLabels(text);
  return selector ? "" : selector.error();
}

TEST(LabelSelector, EmptyTextSelectsEverything) {
  for (const char* text : {"", " ", "\t "}) {
    EXPECT_TRUE(Matches(text, {}));
    EXPECT_TRUE(Matches(text, {{"a", "b"}}));
    EXPECT_TRUE(Selector::ParseLabels(text)->empty());
  }
}

TEST(LabelSelector, Equality) {
  for (const char* text : {"app=x", "app==x", " app = x ", "app ==x"}) {
    EXPECT_TRUE(Matches(text, {{"app", "x"}})) << text;
    EXPECT_FALSE(Matches(text, {{"app", "y"}})) << text;
    EXPECT_FALSE(Matches(text, {})) << text;
  }
}

TEST(LabelSelector, InequalityHoldsForAnAbsentLabel) {
  for (const char* text : {"app!=x", "app != x"}) {
    EXPECT_FALSE(Matches(text, {{"app", "x"}})) << text;
    EXPECT_TRUE(Matches(text, {{"app", "y"}})) << text;
    EXPECT_TRUE(Matches(text, {})) << text;
  }
}

TEST(LabelSelector, EmptyValueIsAValue) {
  EXPECT_TRUE(Matches("app=", {{"app", ""}}));
  EXPECT_FALSE(Matches("app=", {{"app", "x"}}));
  EXPECT_FALSE(Matches("app=", {}));
  EXPECT_TRUE(Matches("app!=", {{"app", "x"}}));
}

TEST(LabelSelector, Sets) {
  for (const char* text : {"app in (x,y)", "app in ( x , y )", "app  in(x,y)", "app\tin (x,y)"}) {
    EXPECT_TRUE(Matches(text, {{"app", "x"}})) << text;
    EXPECT_TRUE(Matches(text, {{"app", "y"}})) << text;
    EXPECT_FALSE(Matches(text, {{"app", "z"}})) << text;
    EXPECT_FALSE(Matches(text, {})) << text;
  }
  EXPECT_FALSE(Matches("app notin (x,y)", {{"app", "x"}}));
  EXPECT_TRUE(Matches("app notin (x,y)", {{"app", "z"}}));
  EXPECT_TRUE(Matches("app notin (x,y)", {}));
  EXPECT_TRUE(Matches("in in (in)", {{"in", "in"}}));
  EXPECT_TRUE(Matches("app in ()", {{"app", ""}}));
}

TEST(LabelSelector, Existence) {
  EXPECT_TRUE(Matches("app", {{"app", ""}}));
  EXPECT_FALSE(Matches("app", {{"application", "x"}}));
  EXPECT_TRUE(Matches("!app", {}));
  EXPECT_TRUE(Matches("! app", {{"b", "app"}}));
  EXPECT_FALSE(Matches("!app", {{"app", ""}}));
}

TEST(LabelSelector, RequirementsAreAllNeeded) {
  const char* text = "example.com/app=x,tier in (a,b),!legacy,zone!=z,owner";
  EXPECT_TRUE(Matches(text, {{"example.com/app", "x"}, {"tier", "b"}, {"owner", "me"}}));
  EXPECT_FALSE(Matches(text, {{"example.com/app", "x"}, {"tier", "c"}, {"owner", "me"}}));
  EXPECT_FALSE(Matches(text, {{"example.com/app", "x"}, {"tier", "b"}}));
  EXPECT_FALSE(
      Matches(text, {{"example.com/app", "x"}, {"tier", "b"}, {"owner", ""}, {"zone", "z"}}));
}

TEST(LabelSelector, ErrorsSayWhatIsWrong) {
  EXPECT_THAT(LabelError("a b"), HasSubstr("`a b` is not a label key"));
  EXPECT_THAT(LabelError("a=b c"), HasSubstr("`b c` is not a label value"));
  EXPECT_THAT(LabelError("a within (b)"), HasSubstr("expected `in` or `notin`"));
  EXPECT_THAT(LabelError("in (b)"), HasSubstr("expected `in` or `notin`"));
  EXPECT_THAT(LabelError("a in b)"), HasSubstr("unbalanced parenthesis"));
  EXPECT_THAT(LabelError("a=" + std::string(64, 'x')), HasSubstr("is not a label value"));
  EXPECT_EQ(LabelError("a=" + std::string(63, 'x')), "");
  for (const char* text :
       {",",    "a,",   ",a",      "a,,b",   "=b",         "!=b",          "!",    "a!",    "a=b=c",
        "a=!b", "!a=b", "a in (x", "a in x", "a in (x=y)", "a in (b) (c)", "a),b", "a=b/c", "ä=b",
        "a>1",  "a\n",  "()"}) {
    EXPECT_THAT(LabelError(text), StartsWith("labelSelector: ")) << text;
  }
}

TEST(LabelSelector, IsBounded) {
  const auto repeated = [](std::size_t times, const std::string& part) {
    std::string text = part;
    for (std::size_t i = 1; i < times; ++i) text += "," + part;
    return text;
  };
  EXPECT_EQ(LabelError(repeated(64, "a")), "");
  EXPECT_THAT(LabelError(repeated(65, "a")), HasSubstr("too many requirements"));
  EXPECT_EQ(LabelError("a in (" + repeated(256, "x") + ")"), "");
  EXPECT_THAT(LabelError("a in (" + repeated(257, "x") + ")"), HasSubstr("too many values"));
}

// A requirement as a person would say it; the model answers without any parsing.
struct Said {
  std::string key;
  int form = 0;  // 0 =, 1 ==, 2 !=, 3 in, 4 notin, 5 exists, 6 !exists
  std::vector<std::string> values;

  bool Holds(const Labels& labels) const {
    const auto label = labels.find(key);
    const bool there = label != labels.end();
    bool listed = false;
    for (const auto& value : values) listed = listed || (there && label->second == value);
    switch (form) {
      case 2:
      case 4:
        return !listed;
      case 5:
        return there;
      case 6:
        return !there;
      default:
        return listed;
    }
  }

  std::string Write(const std::function<std::string()>& space) const {
    switch (form) {
      case 0:
        return key + space() + "=" + space() + values[0];
      case 1:
        return key + space() + "==" + space() + values[0];
      case 2:
        return key + space() + "!=" + space() + values[0];
      case 5:
        return key;
      case 6:
        return "!" + space() + key;
      default:
        break;
    }
    std::string text = key + (form == 3 ? " in" : " notin") + space() + "(";
    for (std::size_t i = 0; i < values.size(); ++i)
      text += (i ? "," : "") + space() + values[i] + space();
    return text + ")";
  }
};

TEST(LabelSelector, AgreesWithANaiveModel) {
  const auto key = rc::gen::element<std::string>("a", "b", "in", "notin", "x.io/k-1");
  const auto value = rc::gen::element<std::string>("", "a", "b", "in", "B_1.2-c");
  const auto space = [] { return *rc::gen::element<std::string>("", "", " ", " \t"); };
  EXPECT_TRUE(rc::check([&] {
    std::string text;
    std::vector<Said> said;
    for (int i = *rc::gen::inRange(0, 5); i > 0; --i) {
      said.push_back({*key, *rc::gen::inRange(0, 7),
                      *rc::gen::nonEmpty(rc::gen::container<std::vector<std::string>>(value))});
      if (said.back().form < 3) said.back().values.resize(1);
      text += (text.empty() ? "" : ",") + space() + said.back().Write(space) + space();
    }
    const auto selector = Selector::ParseLabels(text);
    if (!selector) RC_FAIL(text + ": " + selector.error());
    for (int i = 0; i < 8; ++i) {
      Labels given;
      for (int j = *rc::gen::inRange(0, 4); j > 0; --j) given[*key] = *value;
      const bool expected =
          std::ranges::all_of(said, [&](const Said& one) { return one.Holds(given); });
      RC_ASSERT(selector->MatchesLabels(given) == expected);
    }
  }));
}

TEST(LabelSelector, AnyTextIsParsedOrRefusedInOneSentence) {
  const auto character =
      rc::gen::element('a', 'b', '=', '!', ',', '(', ')', ' ', 'i', 'n', '/', '-', '\0', '\xff');
  EXPECT_TRUE(rc::check([&] {
    const auto text = *rc::gen::container<std::string>(character);
    const auto selector = Selector::ParseLabels(text);
    if (!selector) RC_ASSERT(selector.error().starts_with("labelSelector: "));
  }));
}

Object Sample() {
  Object object;
  object.ns = "default";
  object.name = "g1";
  object.fields["status.phase"] = "Ready";
  return object;
}

bool MatchesField(std::string_view text) {
  const auto selector = Selector::ParseFields(text, {"status.phase", "status.absent"});
  EXPECT_TRUE(selector) << text << ": " << selector.error();
  return selector && selector->MatchesFields(Sample());
}

TEST(FieldSelector, MetadataAndSelectableFields) {
  for (const char* text : {"", "metadata.name=g1", "metadata.name==g1",
                           "metadata.namespace=default", "status.phase=Ready", "metadata.name!=g2",
                           "metadata.name=g1,status.phase!=Failed", "status.absent!=x"}) {
    EXPECT_TRUE(MatchesField(text)) << text;
  }
  for (const char* text :
       {"metadata.name=g2", "metadata.name!=g1", "metadata.namespace=kube-system",
        "status.phase=ready", "metadata.name=g1,status.phase=Failed", "status.absent=x",
        "metadata.name="}) {
    EXPECT_FALSE(MatchesField(text)) << text;
  }
}

TEST(FieldSelector, ErrorsSayWhatIsWrong) {
  const auto error = [](std::string_view text) {
    const auto selector = Selector::ParseFields(text, {"status.phase"});
    return selector ? "" : selector.error();
  };
  EXPECT_EQ(error("spec.size=1"), "fieldSelector: field label not supported: spec.size");
  EXPECT_EQ(error("metadata.name"), "fieldSelector: expected field=value");
  EXPECT_EQ(error("metadata.name in (a,b)"), "fieldSelector: expected field=value");
  EXPECT_EQ(error("=x"), "fieldSelector: expected field=value");
  EXPECT_THAT(error("metadata.name=a,"), StartsWith("fieldSelector: "));
  std::string many = "metadata.name=a";
  for (int i = 0; i < 64; ++i) many += ",metadata.name=a";
  EXPECT_EQ(error(many), "fieldSelector: too many requirements");
}

}  // namespace
}  // namespace berth::apis
