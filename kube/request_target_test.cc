#include "kube/request_target.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace berth::kube {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;

TEST(RequestTarget, IsTakenApartAndDecoded) {
  const auto target =
      RequestTarget::Parse("/api/v1//namespaces/a%2Fb/?labelSelector=a%3Db%2Cc+d&watch&limit=5#x");
  ASSERT_TRUE(target);
  EXPECT_THAT(target->path, ElementsAre("api", "v1", "namespaces", "a/b"));
  EXPECT_THAT(target->query,
              ElementsAre(Pair("labelSelector", "a=b,c d"), Pair("watch", ""), Pair("limit", "5")));
  EXPECT_EQ(target->Parameter("limit"), "5");
  EXPECT_EQ(target->Parameter("continue"), "");
}

TEST(RequestTarget, APlusIsASpaceInTheQueryOnly) {
  EXPECT_THAT(RequestTarget::Parse("/a+b")->path, ElementsAre("a+b"));
  EXPECT_THAT(RequestTarget::Parse("/")->path, IsEmpty());
  EXPECT_THAT(RequestTarget::Parse("")->path, IsEmpty());
}

TEST(RequestTarget, FlagsAreReadAsKubeApiserverReadsThem) {
  for (const char* text : {"?watch=true", "?watch=1", "?watch=yes", "?watch", "?watch="})
    EXPECT_TRUE(RequestTarget::Parse(text)->Flag("watch")) << text;
  for (const char* text : {"", "?watch=0", "?watch=false", "?watch=False", "?watcher"})
    EXPECT_FALSE(RequestTarget::Parse(text)->Flag("watch")) << text;
  EXPECT_FALSE(RequestTarget::Parse("?watch=false&watch=true")->Flag("watch"));
}

TEST(RequestTarget, RepeatedParametersAreCounted) {
  const auto target = RequestTarget::Parse("/x?a=1&b=2&%61=3");
  EXPECT_EQ(target->Count("a"), 2u);
  EXPECT_EQ(target->Count("b"), 1u);
  EXPECT_EQ(target->Count("c"), 0u);
}

TEST(RequestTarget, BrokenOrBoundlessOnesAreRefused) {
  for (const char* text : {"/a%", "/a%2", "/a%zz", "/?x=%", "/?%0=1"})
    EXPECT_FALSE(RequestTarget::Parse(text)) << text;
  std::string path, query = "?";
  for (int i = 0; i < 65; ++i) path += "/x", query += "x&";
  EXPECT_FALSE(RequestTarget::Parse(path));
  EXPECT_FALSE(RequestTarget::Parse(query));
}

}  // namespace
}  // namespace berth::kube
