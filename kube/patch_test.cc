#include "kube/patch.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <string>

#include "kube/memory/patch.h"

namespace berth::kube {
namespace {

std::string Patch(const std::string& from, const std::string& to) {
  const auto patch = MergePatch(Json::parse(from), Json::parse(to));
  return patch ? patch->to_string() : "none";
}

TEST(MergePatch, NothingChangedIsNothingToWrite) {
  EXPECT_EQ(Patch("{}", "{}"), "none");
  EXPECT_EQ(Patch(R"({"a":{"b":[1,{"c":2}]}})", R"({"a":{"b":[1,{"c":2}]}})"), "none");
}

TEST(MergePatch, HasOnlyWhatChanged) {
  EXPECT_EQ(Patch(R"({"spec":{"a":1,"b":2},"status":{"c":3}})",
                  R"({"spec":{"a":1,"b":4},"status":{"c":3}})"),
            R"({"spec":{"b":4}})");
}

TEST(MergePatch, TakesAwayWithNull) {
  EXPECT_EQ(Patch(R"({"a":{"b":1,"c":2}})", R"({"a":{"c":2}})"), R"({"a":{"b":null}})");
}

TEST(MergePatch, ANullIsNothing) {
  EXPECT_EQ(Patch(R"({"a":null})", R"({})"), "none");
  EXPECT_EQ(Patch(R"({})", R"({"a":null})"), "none");
  EXPECT_EQ(Patch(R"({"a":1})", R"({"a":null})"), R"({"a":null})");
  EXPECT_EQ(Patch(R"({"a":null})", R"({"a":1})"), R"({"a":1})");
}

TEST(MergePatch, TheOrderOfMembersIsNoDifference) {
  EXPECT_EQ(Patch(R"({"a":{"b":1,"c":2}})", R"({"a":{"c":2,"b":1}})"), "none");
  EXPECT_EQ(Patch(R"({"a":[{"b":1,"c":2}]})", R"({"a":[{"c":2,"b":1}]})"), "none");
}

TEST(MergePatch, AListIsReplacedAsAWhole) {
  EXPECT_EQ(Patch(R"({"a":[1,2]})", R"({"a":[1,2,3]})"), R"({"a":[1,2,3]})");
  EXPECT_EQ(Patch(R"({"a":[1,2]})", R"({"a":[2,1]})"), R"({"a":[2,1]})");
  EXPECT_EQ(Patch(R"({"a":[{"b":1}]})", R"({"a":[{}]})"), R"({"a":[{}]})");
}

TEST(MergePatch, ATypeMayChange) {
  EXPECT_EQ(Patch(R"({"a":{"b":1}})", R"({"a":[]})"), R"({"a":[]})");
  EXPECT_EQ(Patch(R"({"a":"1"})", R"({"a":1})"), R"({"a":1})");
  EXPECT_EQ(Patch(R"({"a":1})", R"({"a":{}})"), R"({"a":{}})");
}

TEST(MergePatch, FailsIfSomebodyHasWrittenSince) {
  const std::string from = R"({"metadata":{"resourceVersion":"7","labels":{"x":"1"}},"spec":1})";
  EXPECT_EQ(Patch(from, R"({"metadata":{"resourceVersion":"7","labels":{"x":"1"}},"spec":2})"),
            R"({"spec":2,"metadata":{"resourceVersion":"7"}})");
  EXPECT_EQ(Patch(from, R"({"metadata":{"resourceVersion":"7"},"spec":1})"),
            R"({"metadata":{"labels":null,"resourceVersion":"7"}})");
  EXPECT_EQ(Patch(from, from), "none");
}

Json Applied(const Json& document, const Json& patch) {
  auto value = memory::Value::parse(document.to_string());
  memory::MergePatch(value, memory::Value::parse(patch.to_string()));
  return Json::parse(value.to_string());
}

// Small documents without nulls, which a merge patch cannot write.
rc::Gen<Json> Document(int depth) {
  const auto scalar = rc::gen::map(rc::gen::inRange(0, 3), [](int value) { return Json(value); });
  if (depth == 0) return scalar;
  const auto member = rc::gen::pair(rc::gen::elementOf(std::string("abc")),
                                    rc::gen::lazy([depth] { return Document(depth - 1); }));
  const auto object = rc::gen::map(rc::gen::container<std::vector<std::pair<char, Json>>>(member),
                                   [](const auto& members) {
                                     Json made;
                                     for (const auto& [key, value] : members)
                                       made.insert_or_assign(std::string(1, key), value);
                                     return made;
                                   });
  const auto array = rc::gen::map(
      rc::gen::container<std::vector<Json>>(rc::gen::lazy([depth] { return Document(depth - 1); })),
      [](const std::vector<Json>& items) { return Json::Array(items); });
  return rc::gen::oneOf(object, object, array, scalar);
}

TEST(MergePatch, MakesOneDocumentOfTheOther) {
  EXPECT_TRUE(rc::check([] {
    Json from;
    Json to;
    from["x"] = *rc::gen::resize(4, Document(3));
    to["x"] = *rc::gen::resize(4, Document(3));
    const auto patch = MergePatch(from, to);
    if (patch) from = Applied(from, *patch);
    RC_ASSERT(!MergePatch(from, to));
    RC_ASSERT(!MergePatch(to, from));
  }));
}

}  // namespace
}  // namespace berth::kube
