#include "kube/json_members.h"

#include <gtest/gtest.h>

namespace berth::kube {
namespace {

TEST(JsonMembers, AreFoundInTheOrderOfTheKeys) {
  JsonDocument document;
  const auto object = document.Parse(R"({"a":1,"c":3,"b":2,"a":4})");
  ASSERT_TRUE(object);
  const auto [b, missing, a] = Members(*object, "b", "d", "a");
  EXPECT_EQ(b.Int(), 2);
  EXPECT_FALSE(missing.exists());
  EXPECT_EQ(a.Int(), 1) << "the first of duplicate keys counts";
}

TEST(JsonMembers, OfAnythingButAnObjectAreAbsent) {
  JsonDocument document;
  const auto list = document.Parse(R"(["a"])");
  ASSERT_TRUE(list);
  for (const JsonView view : {*list, JsonView()}) {
    const auto [a] = Members(view, "a");
    EXPECT_FALSE(a.exists());
  }
}

}  // namespace
}  // namespace berth::kube
