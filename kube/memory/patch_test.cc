#include "kube/memory/patch.h"

#include <gtest/gtest.h>

#include <string>

#include "log/format.h"

namespace berth::kube::memory {
namespace {

Value Decode(const std::string& text) { return Decoder().Decode(text).value(); }

Value Operations(int count, const std::string& before, const std::string& after) {
  std::string text;
  for (int i = 0; i < count; ++i)
    text += (text.empty() ? "[" : ",") + before + std::to_string(i) + after;
  return Decode(text + "]");
}

TEST(JsonPatch, CopiesAreBounded) {
  const std::string copy = R"({"op":"copy","from":"/a","path":"/a/)";
  Value object = Decode(R"({"a":{"b":1}})");
  EXPECT_TRUE(JsonPatch(object, Operations(10, copy, "\"}")));
  EXPECT_EQ(object["a"].size(), 11);
  EXPECT_FALSE(JsonPatch(object, Operations(40, copy, "\"}")));
  EXPECT_LT(object.to_string().size(), std::size_t{16} << 20);
}

TEST(JsonPatch, AnObjectStaysAsShallowAsOneThatIsRead) {
  Value object = Decode(R"({"a":{}})");
  std::string path = "/a";
  const auto add = [&] {
    path += "/b";
    return Decode(Format(R"([{{"op":"add","path":"{}","value":{{}}}}])", path));
  };
  for (std::size_t depth = 3; depth <= Decoder::kMaxDepth; ++depth)
    ASSERT_TRUE(JsonPatch(object, add())) << depth;
  EXPECT_TRUE(Decoder().Decode(object.to_string()));
  EXPECT_FALSE(JsonPatch(object, add()));
  EXPECT_FALSE(JsonPatch(object, Decode(R"([{"op":"copy","from":"/a","path":"/a/c"}])")));
  EXPECT_FALSE(JsonPatch(object, Decode(R"([{"op":"move","from":"/a","path":"/a/c"}])")));
}

TEST(JsonPatch, AMoveTakesItsValueAlong) {
  Value object = Decode(R"({"a":[{"b":1},2]})");
  EXPECT_TRUE(JsonPatch(object, Decode(R"([{"op":"move","from":"/a/0","path":"/c"}])")));
  EXPECT_EQ(object.to_string(), R"({"a":[2],"c":{"b":1}})");
}

}  // namespace
}  // namespace berth::kube::memory
