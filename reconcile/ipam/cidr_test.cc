#include "reconcile/ipam/cidr.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>

namespace berth::ipam {
namespace {

using testing::HasSubstr;

TEST(Cidr, ReadsAndWritesBothFamilies) {
  for (const char* text :
       {"10.0.0.0/16", "0.0.0.0/0", "255.255.255.255/32", "2001:db8::/48", "::/0", "::1/128"}) {
    const auto cidr = Cidr::Parse(text);
    ASSERT_TRUE(cidr) << text << ": " << cidr.error();
    EXPECT_EQ(cidr->ToString(), text);
    EXPECT_TRUE(cidr->IsCanonical()) << text;
  }
}

TEST(Cidr, CanonicalClearsHostBits) {
  const auto cidr = Cidr::Parse("10.0.0.5/16");
  ASSERT_TRUE(cidr);
  EXPECT_FALSE(cidr->IsCanonical());
  EXPECT_EQ(cidr->Canonical().ToString(), "10.0.0.0/16");
  EXPECT_EQ(Cidr::Parse("2001:db8::1/48")->Canonical().ToString(), "2001:db8::/48");
}

TEST(Cidr, SaysWhatIsWrong) {
  EXPECT_THAT(Cidr::Parse("10.0.0.0").error(), HasSubstr("no prefix length"));
  EXPECT_THAT(Cidr::Parse("10.0.0.0/33").error(), HasSubstr("0 to 32"));
  EXPECT_THAT(Cidr::Parse("::/129").error(), HasSubstr("0 to 128"));
  EXPECT_THAT(Cidr::Parse("::ffff:10.0.0.0/104").error(), HasSubstr("IPv4-mapped"));
  for (const char* text : {"", "/", "10.0.0/8", "10.0.0.0/", "10.0.0.0/08", "10.0.0.0/+8",
                           "10.0.0.0/-1", "10.0.0.0/8 ", " 10.0.0.0/8", "010.0.0.0/8",
                           "10.0.0.256/8", "fe80::1%eth0/64", "10.0.0.0/8/8"}) {
    EXPECT_FALSE(Cidr::Parse(text)) << text;
  }
}

TEST(Cidr, CanonicalFormIsAFixedPointThatHoldsTheAddress) {
  EXPECT_TRUE(rc::check([](std::uint64_t high, std::uint64_t low, bool v4) {
    const Family family = v4 ? Family::kIpv4 : Family::kIpv6;
    const Address address =
        v4 ? Address{low & 0xffffffff} : (Address{high | (1ULL << 63)} << 64) | low;
    const int prefix = *rc::gen::inRange(0, Width(family) + 1);
    const Cidr cidr(family, address, prefix);
    const Cidr canonical = cidr.Canonical();
    RC_ASSERT(canonical.IsCanonical());
    RC_ASSERT(canonical.Canonical() == canonical);
    RC_ASSERT(canonical.First() <= address && address <= canonical.Last());
    const auto again = Cidr::Parse(cidr.ToString());
    RC_ASSERT(again.has_value());
    RC_ASSERT(*again == cidr);
  }));
}

TEST(CidrTest, Ipv6IsWrittenWithoutIpv4) {
  EXPECT_EQ(Cidr::Parse("::10.0.0.0/104")->ToString(), "::a00:0/104");
  EXPECT_EQ(Cidr::Parse("::a00:0/104")->ToString(), "::a00:0/104");
  EXPECT_EQ(Cidr(Family::kIpv6, Address{0xffff} << 32, 96).ToString(), "::ffff:0:0/96");
  EXPECT_EQ(Cidr::Parse("64:ff9b::a00:0/104")->ToString(), "64:ff9b::a00:0/104");
}

}  // namespace
}  // namespace berth::ipam
