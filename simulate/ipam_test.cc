#include "simulate/ipam.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "log/log.h"
#include "simulate/world.h"

namespace berth::simulate {
namespace {

using testing::HasSubstr;

// Replicas make Subnets with a time limit in the query of the path.
TEST(Simulation, AScenarioSeesTheWritesOfReplicasByTheirPath) {
  class Seeing : public Ipam {
   public:
    std::optional<std::string> Check(World& world, const std::string& writer,
                                     const kube::Request& request) override {
      if (writer != "user") paths.insert(request.path);
      return Ipam::Check(world, writer, request);
    }
    std::set<std::string> paths;
  };
  log::SetLevel("error");
  Seeing scenario;
  World world({.seed = 1, .faults = false}, scenario);
  EXPECT_EQ(world.Run(), std::nullopt);
  EXPECT_THAT(scenario.paths, testing::Contains(testing::EndsWith("/namespaces/default/subnets")));
  EXPECT_THAT(scenario.paths, testing::Not(testing::Contains(HasSubstr("?"))));
}

}  // namespace
}  // namespace berth::simulate
