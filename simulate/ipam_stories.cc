#include "simulate/ipam_stories.h"

#include <array>
#include <utility>

#include "log/format.h"
#include "reconcile/ipam/objects.h"
#include "simulate/ipam_picture.h"
#include "simulate/objects.h"
#include "simulate/world.h"

namespace berth::simulate {
namespace {

using namespace std::chrono_literals;

// The API server's word for a kind: SubnetPool, subnetpools.
std::string PluralOf(const std::string& kind) {
  std::string plural = kind + "s";
  for (char& c : plural) c = static_cast<char>(std::tolower(c));
  return plural;
}

std::string ClaimSpec(const std::string& pool, const std::string& cluster, int size) {
  return Format(R"("poolRef":"{}","clusterID":"{}","blockSize":{})", pool, cluster, size);
}

constexpr const char* kSite = R"("cidr":"10.0.0.0/24","defaultBlockSize":29)";

}  // namespace

std::function<void()> IpamStories::Create(const std::string& ns, const std::string& kind,
                                          const std::string& name, const std::string& spec,
                                          const std::string& metadata) {
  return [=, this] {
    world_.Ask({.method = kube::Method::kPost,
                .path = IpamPicture::Collection(ns, PluralOf(kind)),
                .body = Format(R"({{"apiVersion":"plexaubnet.io/v1alpha1","kind":"{}",)"
                               R"("metadata":{{"name":"{}"{}}},"spec":{{{}}}}})",
                               kind, name, metadata, spec)});
  };
}

std::function<void()> IpamStories::Merge(const std::string& ns, const std::string& path,
                                         const std::string& patch) {
  return [=, this] {
    world_.Ask({.method = kube::Method::kPatch,
                .path = IpamPicture::Collection(ns, path),
                .body = patch,
                .content_type = "application/merge-patch+json"});
  };
}

std::function<void()> IpamStories::Delete(const std::string& ns, const std::string& path) {
  return [=, this] {
    world_.Ask({.method = kube::Method::kDelete, .path = IpamPicture::Collection(ns, path)});
  };
}

// A child pool grows over blocks that its parent has given out.
IpamStories::Steps IpamStories::GrowChild(const std::string& ns) {
  Steps steps = {
      Create(ns, "SubnetPool", "p2", kSite),
      Create(ns, "SubnetPool", "p0", R"("cidr":"10.0.0.0/28","parentRef":"p2")"),
      Create(ns, "SubnetClaim", "c0", ClaimSpec("p0", "cluster-20", 29)),
      Create(ns, "SubnetClaim", "c1",
             R"("poolRef":"p2","clusterID":"cluster-21","requestedCIDR":"10.0.0.16/29")"),
      Merge(ns, "subnetpools/p0", R"({"spec":{"cidr":"10.0.0.0/27"}})"),
  };
  for (const char* number : {"2", "3", "4"}) {
    steps.push_back(Create(ns, "SubnetClaim", Format("c{}", number),
                           ClaimSpec("p2", Format("cluster-2{}", number), 28)));
  }
  return steps;
}

// A child pool is edited without being moved, beside a Subnet that waits for a part of it.
IpamStories::Steps IpamStories::EditChild(const std::string& ns) {
  return {
      Create(ns, "SubnetPool", "p2", kSite),
      Create(ns, "SubnetPool", "p0", R"("cidr":"10.0.0.0/27","parentRef":"p2")"),
      Create(ns, "Subnet", "s0", R"("poolRef":"p2","cidr":"10.0.0.8/29","clusterID":"cluster-20")"),
      Merge(ns, "subnetpools/p0", R"({"spec":{"defaultBlockSize":30}})"),
      Merge(ns, "subnetpools/p0", R"({"spec":{"defaultBlockSize":28}})"),
      Create(ns, "SubnetClaim", "c0", ClaimSpec("p0", "cluster-21", 29)),
  };
}

// A child pool on a block that a claim has.
IpamStories::Steps IpamStories::ChildOnBlock(const std::string& ns) {
  return {
      Create(ns, "SubnetPool", "p2", kSite),
      Create(ns, "SubnetClaim", "c0",
             R"("poolRef":"p2","clusterID":"cluster-20","requestedCIDR":"10.0.0.32/28")"),
      Create(ns, "SubnetPool", "p1", R"("cidr":"10.0.0.32/28","parentRef":"p2")"),
      Create(ns, "SubnetClaim", "c1", ClaimSpec("p1", "cluster-21", 29)),
      Delete(ns, "subnetclaims/c0"),
  };
}

// A pool whose blocks rest for a month is deleted, and its claim is made again before.
IpamStories::Steps IpamStories::DeletePoolOfRestingBlocks(const std::string& ns) {
  return {
      Create(ns, "SubnetPool", "p3", R"("cidr":"10.9.0.0/28","reuseGracePeriodSeconds":2592000)"),
      Create(ns, "SubnetClaim", "c5", ClaimSpec("p3", "cluster-25", 29)),
      Delete(ns, "subnetclaims/c5"),
      Create(ns, "SubnetClaim", "c5", ClaimSpec("p3", "cluster-25", 29)),
      Delete(ns, "subnetclaims/c5"),
      Delete(ns, "subnetpools/p3"),
  };
}

// Users write Subnets that name a claim which has a block already.
IpamStories::Steps IpamStories::NameClaimInSubnets(const std::string& ns) {
  Steps steps = {Create(ns, "SubnetPool", "p2", kSite),
                 Create(ns, "SubnetClaim", "c6", ClaimSpec("p2", "cluster-26", 28))};
  for (const char* block : {"10.0.0.128/29", "10.0.0.136/29", "10.0.0.144/29"}) {
    steps.emplace_back([=, this] {
      const auto claim = world_.Ask({.path = IpamPicture::Collection(ns, "subnetclaims/c6")});
      if (claim.code != 200) return;
      const auto parsed = ipam::Cidr::Parse(block);
      Create(ns, "Subnet", ipam::SubnetName("p2", *parsed),
             Format(R"("poolRef":"p2","cidr":"{}","clusterID":"cluster-26",)"
                    R"("claimRef":{{"name":"c6","uid":"{}"}})",
                    block, UidOf(claim.body)))();
    });
  }
  steps.push_back(Delete(ns, "subnetclaims/c6"));
  return steps;
}

// The pool of a pool claim loses its owner, and its parent is edited.
IpamStories::Steps IpamStories::StripOwner(const std::string& ns) {
  const auto strip = [=, this] {
    const auto claim = world_.Ask({.path = IpamPicture::Collection(ns, "subnetpoolclaims/pc0")});
    const std::string pool = Text(Part(claim.body, "status"), "boundPoolName");
    if (!pool.empty())
      Merge(ns, "subnetpools/" + pool, R"({"metadata":{"ownerReferences":null}})")();
  };
  return {
      Create(ns, "SubnetPool", "p2", kSite),
      Create(ns, "SubnetPoolClaim", "pc0", R"("parentPoolRef":"p2","desiredBlockSize":27)"),
      strip,
      Merge(ns, "subnetpools/p2", R"({"spec":{"defaultBlockSize":28}})"),
      Delete(ns, "subnets/p2-10-0-0-0-27"),
      Create(ns, "SubnetClaim", "c7", ClaimSpec("p2", "cluster-27", 27)),
  };
}

void IpamStories::Begin(const std::string& ns) {
  using Story = Steps (IpamStories::*)(const std::string&);
  static constexpr std::array<Story, 6> kStories = {
      &IpamStories::GrowChild,          &IpamStories::EditChild,
      &IpamStories::ChildOnBlock,       &IpamStories::DeletePoolOfRestingBlocks,
      &IpamStories::NameClaimInSubnets, &IpamStories::StripOwner};
  Dice& random = world_.random();
  async::Duration after = random.Between(0s, 30s);
  for (auto& step : (this->*kStories[random.Below(kStories.size())])(ns)) {
    world_.scheduler().After(after, std::move(step));
    after += random.Between(100ms, 20s);
  }
}

void IpamStories::LeaveAsPlexaubnet(const std::string& ns) {
  const auto uid = [&](const std::string& path) {
    return UidOf(world_.Ask({.path = IpamPicture::Collection(ns, path)}).body);
  };
  const auto owned = [&](const std::string& kind, const std::string& name) {
    return Format(R"(,"ownerReferences":[{{"apiVersion":"plexaubnet.io/v1alpha1","kind":"{}",)"
                  R"("name":"{}","uid":"{}","controller":true}}])",
                  kind, name, uid(PluralOf(kind) + "/" + name));
  };
  const auto tell = [&](const std::string& path, const std::string& status) {
    Merge(ns, path + "/status", Format(R"({{"status":{}}})", status))();
  };
  const auto bind = [&](const std::string& claim, const std::string& pool, const std::string& cidr,
                        const std::string& cluster) {
    const std::string subnet = ipam::SubnetName(pool, *ipam::Cidr::Parse(cidr));
    Create(ns, "Subnet", subnet,
           Format(R"("poolRef":"{}","cidr":"{}","clusterID":"{}",)"
                  R"("claimRef":{{"name":"{}","uid":"{}"}})",
                  pool, cidr, cluster, claim, uid("subnetclaims/" + claim)),
           owned("SubnetClaim", claim) + R"(,"labels":{"plexaubnet.io/ipam":"true"})")();
    tell("subnets/" + subnet, R"({"phase":"Allocated","allocatedAt":"2026-01-01T00:00:00Z"})");
    tell("subnetclaims/" + claim, Format(R"({{"phase":"Bound","allocatedCIDR":"{}"}})", cidr));
  };
  Create(ns, "SubnetPool", "p2", kSite)();
  Create(ns, "SubnetPoolClaim", "pc1", R"("parentPoolRef":"p2","desiredBlockSize":27)")();
  const std::string owner = owned("SubnetPoolClaim", "pc1");
  const std::string cluster = uid("subnetpoolclaims/pc1");
  Create(ns, "SubnetClaim", "pc1-x7k2p", ClaimSpec("p2", cluster, 27), owner)();
  bind("pc1-x7k2p", "p2", "10.0.0.192/27", cluster);
  Create(ns, "SubnetPool", "pc1-bvd2g", R"("cidr":"10.0.0.192/27","defaultBlockSize":29)",
         owner + R"(,"labels":{"plexaubnet.io/parent":"p2"})")();
  tell("subnetpoolclaims/pc1", R"({"phase":"Bound","boundPoolName":"pc1-bvd2g"})");
  Create(ns, "SubnetClaim", "c8", ClaimSpec("pc1-bvd2g", "cluster-28", 29))();
  bind("c8", "pc1-bvd2g", "10.0.0.192/29", "cluster-28");
}

}  // namespace berth::simulate
