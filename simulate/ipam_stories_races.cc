// Acts of several users at the same moment, and of users between two writes of Berth.
#include "log/format.h"
#include "simulate/ipam_objects.h"
#include "simulate/ipam_stories.h"
#include "simulate/objects.h"
#include "simulate/world.h"

namespace berth::simulate {

IpamStories::Step IpamStories::Past(Steps steps) const {
  return [this, steps = std::move(steps)] {
    bool done = true;
    past_webhooks_([&] {
      for (const Step& step : steps) done = step() && done;
    });
    return done;
  };
}

// Two users create a pool of one range at the same moment; each writes Subnets into his own, and
// one of these goes.
IpamStories::Steps IpamStories::TwinPools() const {
  const auto subnet = [this](const std::string& name, const std::string& pool,
                             const std::string& block) {
    return Create(
        "Subnet", name + "@",
        Format(R"("poolRef":"{}@","cidr":"10.7.@.{}","clusterID":"{}")", pool, block, name));
  };
  const std::string range = R"("cidr":"10.7.@.0/24","defaultBlockSize":29)";
  return {Past({Create("SubnetPool", "west@", range), Create("SubnetPool", "east@", range)}),
          subnet("one", "west", "0/28"),
          Past({subnet("two", "east", "0/28")}),
          subnet("three", "east", "8/29"),
          Create("SubnetClaim", "next@", R"("poolRef":"west@","clusterID":"next","blockSize":28)"),
          Past({subnet("four", "west", "32/28"), subnet("five", "east", "32/27")}),
          Delete("subnets/one@")};
}

// The pool of a claim gets a spec that is not valid, past the webhooks, and Subnets of users.
IpamStories::Steps IpamStories::BreakPool() const {
  return {
      Create("SubnetPool", "broken@", R"("cidr":"10.7.@.0/24","defaultBlockSize":29)"),
      Create("SubnetClaim", "first@", R"("poolRef":"broken@","clusterID":"first","blockSize":28)"),
      Settled("subnetclaims/first@"),
      Past({Merge("subnetpools/broken@", R"({"spec":{"maxBlockSize":20}})")}),
      Create("Subnet", "late@", R"("poolRef":"broken@","cidr":"10.7.@.64/28","clusterID":"late")"),
      Settled("subnetclaims/first@"),
      Past({Merge("subnetpools/broken@", R"({"spec":{"maxBlockSize":32}})")})};
}

// A claim gets another clusterID between the creation of its Subnet and its status; another claim
// has that clusterID, too.
IpamStories::Steps IpamStories::EditCluster() const {
  return {
      Create("SubnetPool", "site@", R"("cidr":"10.7.@.0/24","defaultBlockSize":29)"),
      Create("SubnetClaim", "fickle@", R"("poolRef":"site@","clusterID":"before@","blockSize":28)",
             Format(R"(,"annotations":{{"{}":"after@"}})", kFickle)),
      Settled("subnetclaims/fickle@"),
      Create("SubnetClaim", "steady@", R"("poolRef":"site@","clusterID":"after@","blockSize":28)"),
      Settled("subnetclaims/steady@")};
}

void IpamStories::SubnetWasMade(const Json& subnet) const {
  const std::string name = Text(Part(Part(subnet, "spec"), "claimRef"), "name");
  const std::string path = PathOf("subnetclaims/" + name);
  const auto claim = world_.Ask({.path = path});
  if (claim.code != 200) return;
  const std::string cluster = Text(Part(claim.body()["metadata"], "annotations"), kFickle);
  if (cluster.empty()) return;
  world_.scheduler().After(
      world_.random().Between(async::Duration(), std::chrono::milliseconds(30)),
      [this, path, cluster] {
        world_.Merge(path, Format(R"({{"spec":{{"clusterID":"{}"}}}})", cluster));
      });
}

}  // namespace berth::simulate
