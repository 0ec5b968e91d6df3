// Several claims have been told of one block.
#include "log/format.h"
#include "reconcile/ipam/objects.h"
#include "simulate/ipam_objects.h"
#include "simulate/ipam_stories.h"
#include "simulate/objects.h"
#include "simulate/world.h"

namespace berth::simulate {

// The SubnetClaim that Berth makes for a pool claim loses its owner reference just before the pool
// claim is deleted.
IpamStories::Steps IpamStories::StripBlockClaim() const {
  const auto strip = [this, path = PathOf("subnetpoolclaims/bare@"),
                      remove = Delete("subnetpoolclaims/bare@")] {
    const auto claim = world_.Ask({.path = path});
    if (claim.code != 200) return true;
    Merge("subnetclaims/" + BlockClaimOf(claim.body()),
          R"({"metadata":{"ownerReferences":null}})")();
    return remove();
  };
  return {Create("SubnetPool", "site@", R"("cidr":"10.7.@.0/24","defaultBlockSize":29)"),
          Create("SubnetPoolClaim", "bare@", R"("parentPoolRef":"site@","desiredBlockSize":27)"),
          Settled("subnetpoolclaims/bare@"), strip,
          Create("SubnetClaim", "next@", R"("poolRef":"site@","clusterID":"next","blockSize":24)")};
}

// Two claims are told of one block, one after the other, because their pool is made anew. Then the
// last one loses its Subnet while nobody leads, or both lose their pool.
IpamStories::Steps IpamStories::TellTwo(std::uint64_t end) const {
  const auto pool = [this](const std::string& more) {
    return Create("SubnetPool", "two@", R"("cidr":"10.7.@.0/28","defaultBlockSize":29)" + more);
  };
  const auto claim = [this](const std::string& name, const std::string& metadata) {
    return Create(
        "SubnetClaim", name + "@",
        Format(R"("poolRef":"two@","clusterID":"{}@","requestedCIDR":"10.7.@.0/29")", name),
        metadata);
  };
  const Step allow =
      Merge("subnetpools/two@",
            R"({"metadata":{"annotations":{"ipam.plexaubnet.io/allow-delete":"true"}}})");
  const Step gone = [this, path = PathOf("subnetpools/two@")] {
    return world_.Ask({.path = path}).code == 404;
  };
  const Step no_subnet = Delete("subnets/two@-10-7-@-0-29");
  const Step by_force = [strip = Merge("subnetpools/two@", R"({"metadata":{"finalizers":null}})"),
                         remove = Delete("subnetpools/two@")] { return strip() && remove(); };
  Steps steps = {pool(""),
                 claim("first", ""),
                 Settled("subnetclaims/first@"),
                 allow,
                 Delete("subnetpools/two@"),
                 gone,
                 pool(R"(,"preAllocations":{"last@":"10.7.@.0/29"})"),
                 claim("last", Format(R"(,"annotations":{{"{}":"true"}})", kToldLast)),
                 Settled("subnetclaims/last@"),
                 Merge("subnetpools/two@", R"({"spec":{"preAllocations":null}})")};
  switch (end % 4) {
    case 0:
      steps.emplace_back([this, no_subnet] {
        const bool deleted = no_subnet();
        if (deleted) restart_();
        return deleted;
      });
      break;
    case 1:
      steps.insert(steps.end(), {by_force, pool("")});
      break;
    case 2:
      steps.emplace_back([by_force, no_subnet] { return no_subnet() && by_force(); });
      steps.push_back(pool(""));
      break;
    default:
      steps.insert(steps.end(),
                   {allow, Delete("subnetpools/two@"), gone,
                    Create("Subnet", "hand@",
                           R"("poolRef":"two@","cidr":"10.7.@.0/29","clusterID":"hand@")"),
                    pool("")});
  }
  return steps;
}

}  // namespace berth::simulate
