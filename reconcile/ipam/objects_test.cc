#include "reconcile/ipam/objects.h"

#include <gtest/gtest.h>

#include "kube/object.h"

namespace berth::ipam {
namespace {

TEST(SubnetName, IsThePoolAndTheBlock) {
  EXPECT_EQ(SubnetName("office", *Cidr::Parse("10.0.0.0/24")), "office-10-0-0-0-24");
  EXPECT_EQ(SubnetName("six", *Cidr::Parse("2001:db8::/48")), "six-2001-db8---48");
}

TEST(SubnetName, IsANameWhereverItIsCut) {
  const std::string name =
      SubnetName(std::string(45, 'a') + ".bbbbbbbbbbbb", *Cidr::Parse("10.0.0.0/24"));
  EXPECT_FALSE(name.contains(".-")) << name;
}

TEST(SubnetName, TheOtherOneTellsPoolsApartThatTheFirstDoesNot) {
  const Cidr one = *Cidr::Parse("1:2:3::/48");
  const Cidr other = *Cidr::Parse("2:3::/48");
  ASSERT_EQ(SubnetName("p", one), SubnetName("p-1", other));
  EXPECT_NE(OtherSubnetName("p", one), OtherSubnetName("p-1", other));
}

TEST(SubnetName, FitsALabelAndStaysTellingApart) {
  const std::string pool(60, 'p');
  const std::string one = SubnetName(pool, *Cidr::Parse("10.0.0.0/24"));
  const std::string other = SubnetName(pool, *Cidr::Parse("10.0.1.0/24"));
  EXPECT_EQ(one.size(), 63u);
  EXPECT_NE(one, other);
  EXPECT_EQ(one, SubnetName(pool, *Cidr::Parse("10.0.0.0/24")));
}

TEST(Pool, ParentIsTheFieldOrTheLabel) {
  const auto by_label = kube::Decode<Pool>(
      R"({"metadata":{"name":"a","labels":{"plexaubnet.io/parent":"p"}},"spec":{}})");
  EXPECT_EQ(by_label->parent, "p");
  const auto by_field = kube::Decode<Pool>(R"({"metadata":{"name":"a"},"spec":{"parentRef":"q"}})");
  EXPECT_EQ(by_field->parent, "q");
}

TEST(Pool, ItsOwnerIsTheControllerAmongPoolClaims) {
  const auto owner = [](std::string references) {
    return kube::Decode<Pool>(R"({"metadata":{"name":"a","ownerReferences":[)" + references +
                              R"(]},"spec":{}})")
        ->owner_uid;
  };
  const std::string made = R"({"kind":"SubnetPoolClaim","uid":"made","controller":true})";
  const std::string added = R"({"kind":"SubnetPoolClaim","uid":"added"})";
  EXPECT_EQ(owner(made + "," + added), "made");
  EXPECT_EQ(owner(added + "," + made), "made");
  EXPECT_EQ(owner(added), "added");
  EXPECT_EQ(owner(R"({"kind":"Team","uid":"other","controller":true})"), "");
}

TEST(Identity, TellsOurFinalizerFromOthers) {
  const auto pool =
      kube::Decode<Pool>(R"({"metadata":{"name":"a","creationTimestamp":"1970-01-02T00:00:01Z",)"
                         R"("finalizers":["x/y","ipam.plexaubnet.io/finalizer"]}})");
  EXPECT_TRUE(pool->id.finalizer);
  EXPECT_EQ(pool->id.other_finalizers, std::vector<std::string>{"x/y"});
  EXPECT_EQ(pool->id.created, 86401);
  EXPECT_EQ(pool->id.deleting, 0);
}

}  // namespace
}  // namespace berth::ipam
