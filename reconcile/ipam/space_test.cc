#include "reconcile/ipam/space.h"

#include <gtest/gtest.h>

#include "async/test_executor.h"

namespace berth::ipam {
namespace {

class SpaceTest : public testing::Test {
 protected:
  void AddPool(const std::string& ns, const std::string& name, const std::string& cidr) {
    Pool pool;
    pool.id.ns = ns;
    pool.id.name = name;
    pool.id.uid = ns + name;
    pool.cidr = cidr;
    space_.PutPool(pool);
  }

  async::TestExecutor executor_;
  Space space_{executor_,
               {.on_figures = [](const std::string&) {},
                .on_room = [](const std::string&) {},
                .on_placement = [](const std::string&) {}}};
};

TEST_F(SpaceTest, ASubnetOfAnotherPoolLeavesAnAssignmentAlone) {
  AddPool("one", "p", "10.0.0.0/24");
  AddPool("two", "p", "10.0.0.0/24");
  const Owner claim = Fingerprint("claim-uid");
  const auto block = space_.Assign("one/p", {.claim = "c", .cluster = "c", .owner = claim});
  ASSERT_TRUE(block);
  Subnet subnet;
  subnet.id.ns = "two";
  subnet.id.name = "s";
  subnet.id.uid = "s-uid";
  subnet.pool = "p";
  subnet.cluster = "c";
  subnet.cidr = *block;
  subnet.claim_uid = "claim-uid";
  space_.PutSubnet(subnet);
  EXPECT_EQ(space_.AssignmentOf(claim), *block);
}

// The stray of another pool makes room for the first Subnet, and a child must not take the rest.
TEST_F(SpaceTest, AfterARestartSubnetsHaveTheirBlocksBeforeChildrenDo) {
  const auto pool = [](const std::string& name, const std::string& cidr,
                       const std::string& parent) {
    Pool made;
    made.id.ns = "ns";
    made.id.name = made.id.uid = name;
    made.cidr = cidr;
    made.parent = parent;
    return made;
  };
  const auto subnet = [](const std::string& of, const std::string& cidr, std::int64_t created) {
    Subnet made;
    made.id.ns = "ns";
    made.id.name = made.id.uid = cidr;
    made.id.created = created;
    made.pool = of;
    made.cidr = Cidr::Parse(cidr).value();
    made.cluster = cidr;
    made.phase = SubnetPhase::kAllocated;
    return made;
  };
  const Pool root = pool("root", "10.0.0.0/24", "");
  const Pool child = pool("child", "10.0.0.128/25", "root");
  const Pool shrunk = pool("shrunk", "10.9.0.0/24", "");
  const Subnet stray = subnet("shrunk", "10.0.0.0/24", 1);
  const Subnet first = subnet("root", "10.0.0.0/28", 2);
  const Subnet second = subnet("root", "10.0.0.192/28", 3);
  space_.Rebuild({&root, &child, &shrunk}, {&stray, &first, &second});
  EXPECT_EQ(space_.PlacementOf(second).phase, SubnetPhase::kAllocated);
}

}  // namespace
}  // namespace berth::ipam
