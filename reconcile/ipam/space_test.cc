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

}  // namespace
}  // namespace berth::ipam
