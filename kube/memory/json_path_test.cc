#include "kube/memory/json_path.h"

#include <gtest/gtest.h>

namespace berth::kube::memory {
namespace {

std::string At(std::string_view path) {
  static const Value kValue = *Decoder().Decode(
      R"({"a":{"b":1,"c.d":2},"l":[{"t":"x","v":3},{"t":"y","v":4}],"m":{"x.dev/y":5}})");
  const Value* found = JsonPath::Parse(path).First(kValue);
  return found ? found->to_string() : "nothing";
}

TEST(JsonPath, FindsTheFirst) {
  EXPECT_EQ(At(".a.b"), "1");
  EXPECT_EQ(At("{.a.b}"), "1");
  EXPECT_EQ(At(".a['c.d']"), "2");
  EXPECT_EQ(At(R"(.m.x\.dev/y)"), "5");
  EXPECT_EQ(At(".l[1].v"), "4");
  EXPECT_EQ(At(".l[*].v"), "3");
  EXPECT_EQ(At(R"(.l[?(@.t=="y")].v)"), "4");
  EXPECT_EQ(At(R"(.l[?(@.t == 'y')].v)"), "4");
}

TEST(JsonPath, FindsNothingWhereNothingIs) {
  for (const char* path : {".a.x", ".a.b.c", ".l[2]", ".l[x]", ".l[?(@.t==\"z\")].v", "a.b", ".l[",
                           ".a[0]", ".l[?(@.t)]"})
    EXPECT_EQ(At(path), "nothing") << path;
}

}  // namespace
}  // namespace berth::kube::memory
