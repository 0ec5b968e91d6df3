#include "kube/selector.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>

namespace berth::kube {
namespace {

using testing::HasSubstr;

bool Matches(std::string_view text, const Labels& labels) {
  const auto selector = Selector::ParseLabels(text);
  EXPECT_TRUE(selector) << text << ": " << selector.error();
  return selector && selector->Matches(labels);
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
  EXPECT_TRUE(Matches("app in (,)", {{"app", ""}}));
  EXPECT_TRUE(Matches("app in (x,)", {{"app", ""}}));
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

TEST(LabelSelector, NumbersCompare) {
  EXPECT_TRUE(Matches("size>1,size<3", {{"size", "2"}}));
  EXPECT_FALSE(Matches("size>2", {{"size", "2"}}));
  EXPECT_FALSE(Matches("size>1", {{"size", "many"}}));
  EXPECT_FALSE(Matches("size<1", {}));
}

TEST(LabelSelector, ErrorsSayWhatIsWrong) {
  EXPECT_EQ(LabelError("a b"),
            "unable to parse requirement: found 'b', expected: in, notin, =, ==, !=, gt, lt");
  EXPECT_EQ(LabelError("a=b c"), "found 'c', expected: ',' or 'end of string'");
  EXPECT_EQ(LabelError("a in b)"), "unable to parse requirement: found 'b' expected: '('");
  EXPECT_EQ(LabelError("a,"), "found '', expected: identifier after ','");
  EXPECT_EQ(LabelError(","), "found ',', expected: !, identifier, or 'end of string'");
  EXPECT_THAT(LabelError("a=b_"), HasSubstr(R"(values[0][a]: Invalid value: "b_": a valid label)"));
  EXPECT_THAT(LabelError("a>b"), HasSubstr("the value must be an integer"));
  EXPECT_THAT(LabelError("a in ()"), HasSubstr("values set can't be empty"));
  EXPECT_THAT(LabelError("a=" + std::string(64, 'x')), HasSubstr("no more than 63 bytes"));
  EXPECT_EQ(LabelError("a=" + std::string(63, 'x')), "");
  for (const char* text :
       {",", "a,", ",a", "a,,b", "=b", "!=b", "!", "a!", "a=b=c", "a=!b", "!a=b", "a in (x",
        "a in x", "a in (x=y)", "a in (b) (c)", "a),b", "a=b/c", "ä=b", "()"}) {
    EXPECT_NE(LabelError(text), "") << text;
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
      // A set of nothing but the empty value is refused, as kube-apiserver does.
      if (said.back().values == std::vector<std::string>{""}) said.back().values = {"a"};
      text += (text.empty() ? "" : ",") + space() + said.back().Write(space) + space();
    }
    const auto selector = Selector::ParseLabels(text);
    if (!selector) RC_FAIL(text + ": " + selector.error());
    for (int i = 0; i < 8; ++i) {
      Labels given;
      for (int j = *rc::gen::inRange(0, 4); j > 0; --j) given[*key] = *value;
      const bool expected =
          std::ranges::all_of(said, [&](const Said& one) { return one.Holds(given); });
      RC_ASSERT(selector->Matches(given) == expected);
    }
  }));
}

TEST(LabelSelector, AnyTextIsParsedOrRefusedInOneSentence) {
  const auto character =
      rc::gen::element('a', 'b', '=', '!', ',', '(', ')', ' ', 'i', 'n', '/', '-', '\0', '\xff');
  EXPECT_TRUE(rc::check([&] {
    const auto text = *rc::gen::container<std::string>(character);
    const auto selector = Selector::ParseLabels(text);
    if (!selector) RC_ASSERT(!selector.error().empty());
  }));
}

bool MatchesField(std::string_view text) {
  const auto selector = Selector::ParseFields(text, {"status.phase", "status.absent"});
  EXPECT_TRUE(selector) << text << ": " << selector.error();
  return selector && selector->Matches(Labels{{"metadata.name", "g1"},
                                              {"metadata.namespace", "default"},
                                              {"status.phase", "Ready"}});
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

TEST(FieldSelector, ABackslashMeansTheSignItself) {
  const auto selector = Selector::ParseFields(R"(status.phase=a\,b\=c\\)", {"status.phase"});
  ASSERT_TRUE(selector) << selector.error();
  EXPECT_TRUE(selector->Matches(Labels{{"status.phase", R"(a,b=c\)"}}));
}

TEST(FieldSelector, AWrongEscapeIsRefused) {
  for (const char* text :
       {R"(status.phase=a\)", R"(\)", R"(status.phase=a,status.phase=b\)", R"(status.phase=a\b)"}) {
    EXPECT_FALSE(Selector::ParseFields(text, {"status.phase"})) << text;
  }
}

TEST(FieldSelector, ErrorsSayWhatIsWrong) {
  const auto error = [](std::string_view text) {
    const auto selector = Selector::ParseFields(text, {"status.phase"});
    return selector ? "" : selector.error();
  };
  EXPECT_EQ(error("spec.size=1"), "field label not supported: spec.size");
  EXPECT_EQ(error("metadata.name"),
            "invalid selector: 'metadata.name'; can't understand 'metadata.name'");
  EXPECT_EQ(error("a=b=c"), "invalid selector: 'a=b=c'; can't understand 'a=b=c'");
  EXPECT_EQ(error("=x"), "field label not supported: ");
  std::string many = "metadata.name=a";
  for (int i = 0; i < 64; ++i) many += ",metadata.name=a";
  EXPECT_EQ(error(many), "too many requirements");
}

}  // namespace
}  // namespace berth::kube
