#include "reconcile/ipam/stamp.h"

#include <gtest/gtest.h>

namespace berth::ipam {
namespace {

const Stamp kStamp{.block = *Cidr::Parse("10.0.0.0/24"), .token = 0xabc};

TEST(Stamp, IsReadByWhoHasTheKeyForTheClaimItWasWrittenFor) {
  const std::string text = WriteStamp(kStamp, "key", "ns", "claim", "pool");
  const auto read = ReadStamp(text, "key", "ns", "claim", "pool");
  ASSERT_TRUE(read);
  EXPECT_EQ(read->block, kStamp.block);
  EXPECT_EQ(read->token, kStamp.token);
}

TEST(Stamp, IsNobodyElses) {
  const std::string text = WriteStamp(kStamp, "key", "ns", "claim", "pool");
  EXPECT_FALSE(ReadStamp(text, "another", "ns", "claim", "pool"));
  EXPECT_FALSE(ReadStamp(text, "", "ns", "claim", "pool"));
  EXPECT_FALSE(ReadStamp(text, "key", "other", "claim", "pool"));
  EXPECT_FALSE(ReadStamp(text, "key", "ns", "other", "pool"));
  EXPECT_FALSE(ReadStamp(text, "key", "ns", "claim", "other"));
  EXPECT_FALSE(ReadStamp("10.0.1.0/24" + text.substr(11), "key", "ns", "claim", "pool"));
}

TEST(Stamp, OfAClaimWithAGeneratedNameIsReadUnderThatName) {
  const std::string text = WriteStamp(kStamp, "key", "ns", "", "pool");
  EXPECT_TRUE(ReadStamp(text, "key", "ns", "claim-x7f2q", "pool"));
}

TEST(Stamp, NonsenseIsNone) {
  for (const char* text : {"", " ", "  ", "10.0.0.0/24", "10.0.0.0/24 1", "10.0.0.0/24 x y",
                           "10.0.0.1/24 1 00", "10.0.0.0/24 1 "}) {
    EXPECT_FALSE(ReadStamp(text, "key", "ns", "claim", "pool")) << text;
  }
}

}  // namespace
}  // namespace berth::ipam
