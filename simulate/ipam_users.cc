#include "simulate/ipam_users.h"

#include <array>

#include "log/format.h"
#include "reconcile/ipam/objects.h"
#include "simulate/ipam_picture.h"
#include "simulate/objects.h"
#include "simulate/world.h"

namespace berth::simulate {
namespace {

using Texts = std::vector<std::string>;

constexpr std::array kRanges = {"10.0.0.0/26", "10.0.1.0/27", "10.0.0.0/24",
                                "10.9.0.0/28", "fd00::/122",  "10.0.0.64/27"};

constexpr const char* kSite = "p2";
constexpr std::array kParts = {"10.0.0.0/26", "10.0.0.64/27", "10.0.0.0/27", "10.0.0.32/28",
                               "10.0.0.128/26"};

Texts Quoted(std::initializer_list<const char*> texts) {
  Texts quoted;
  for (const char* text : texts) quoted.push_back(Format("\"{}\"", text));
  return quoted;
}

Texts Numbers(int from, int to) {
  Texts numbers;
  for (int i = from; i <= to; ++i) numbers.push_back(std::to_string(i));
  return numbers;
}

Texts Names(const char* prefix, int count) {
  Texts names;
  for (int i = 0; i < count; ++i) names.push_back(Format("{}{}", prefix, i));
  return names;
}

ipam::Identity IdentityOf(const Json& object) {
  ipam::Identity id;
  id.name = NameOf(object);
  id.uid = object["metadata"].get_value_or<std::string>("uid", "");
  return id;
}

// A block that somebody has in the site.
std::optional<std::string> BlockOfSite(World& world, const std::string& ns) {
  for (const Json& subnet : world.List(IpamPicture::Collection(ns, "subnets"))) {
    if (subnet["spec"].get_value_or<std::string>("poolRef", "") == kSite &&
        world.random().Chance(0.5))
      return subnet["spec"].get_value_or<std::string>("cidr", "");
  }
  return std::nullopt;
}

// Twice the range, half of it, or the range beside it.
std::optional<Json> NextRange(const Json& present, Dice& random) {
  const auto range = ipam::Cidr::Parse(present.is_string() ? present.as_string() : "");
  if (!range || range->prefix() == 0) return std::nullopt;
  const int prefix = range->prefix() + (random.Chance(0.7) ? -1 : 1);
  if (prefix > Width(range->family())) return std::nullopt;
  return Json(ipam::Cidr(range->family(), range->First(), prefix).Canonical().ToString());
}

// p2 is often the site that the others are parts of.
Json PoolSpec(World& world, const std::string& ns, const std::string& name) {
  Dice& random = world.random();
  const bool site = name == kSite && random.Chance(0.8);
  const bool child = name != kSite && random.Chance(0.4);
  std::string range = site    ? "10.0.0.0/24"
                      : child ? kParts[random.Below(kParts.size())]
                              : kRanges[random.Below(kRanges.size())];
  if (child && random.Chance(0.2)) range = BlockOfSite(world, ns).value_or(range);
  const bool ipv6 = range.contains(':');
  Json spec;
  spec["cidr"] = range;
  spec["defaultBlockSize"] = ipv6 ? 125 : 29;
  spec["strategy"] = random.Chance(0.5) ? "Buddy" : "Linear";
  if (child) spec["parentRef"] = kSite;
  if (random.Chance(0.15) && !ipv6)
    spec["excludedRanges"] = Json::parse(R"(["10.0.0.2-10.0.0.9"])");
  if (random.Chance(0.15)) spec["reuseGracePeriodSeconds"] = 20;
  if (random.Chance(0.15) && !ipv6)
    spec["preAllocations"] = Json::parse(R"({"c3":"10.0.0.16/29"})");
  return spec;
}

// The name of a pool that is there, or will be.
std::string SomePool(World& world, const std::string& ns) {
  Texts pools = Names("p", 4);
  for (const Json& pool : world.List(IpamPicture::Collection(ns, "subnetpools")))
    pools.push_back(NameOf(pool));
  return pools[world.random().Below(pools.size())];
}

Json ClaimSpec(World& world, const std::string& ns, const std::string&) {
  Dice& random = world.random();
  const auto number = random.Below(12);
  Json spec;
  spec["poolRef"] = SomePool(world, ns);
  spec["clusterID"] = Format("cluster-{}", random.Chance(0.9) ? number : number / 2);
  const auto kind = random.Below(10);
  if (kind < 6) {
    spec["blockSize"] = random.Chance(0.1) ? 122 + random.Below(6) : 26 + random.Below(5);
  } else if (kind < 8) {
    spec["requestedCIDR"] = Format("10.0.0.{}/{}", random.Below(8) * 16, 28 + random.Below(3));
  }
  return spec;
}

Json PoolClaimSpec(World& world, const std::string& ns, const std::string&) {
  Json spec;
  spec["parentPoolRef"] = SomePool(world, ns);
  spec["desiredBlockSize"] = 27 + world.random().Below(2);
  return spec;
}

Json SubnetSpec(World& world, const std::string& ns, const std::string&) {
  Dice& random = world.random();
  Json spec;
  spec["poolRef"] = SomePool(world, ns);
  spec["cidr"] = Format("10.0.0.{}/29", random.Below(8) * 8);
  spec["clusterID"] = Format("cluster-{}", random.Below(20));
  const auto claims = world.List(IpamPicture::Collection(ns, "subnetclaims"));
  if (!claims.empty() && random.Chance(0.2)) {
    const Json& claim = claims[random.Below(claims.size())];
    spec["claimRef"]["name"] = NameOf(claim);
    spec["claimRef"]["uid"] = claim["metadata"]["uid"];
  }
  return spec;
}

// Names of blocks that are free, or taken.
Texts SubnetNames(World& world, const std::string& ns) {
  Texts names;
  for (const Json& pool : world.List(IpamPicture::Collection(ns, "subnetpools"))) {
    const auto range = ipam::Cidr::Parse(pool["spec"].get_value_or<std::string>("cidr", ""));
    if (!range) continue;
    for (const int prefix : {28, 29}) {
      if (range->prefix() > prefix) continue;
      names.push_back(ipam::SubnetName(
          NameOf(pool), ipam::Cidr(range->family(), range->Canonical().First(), prefix)));
    }
  }
  return names;
}

template <auto Name>
Texts NamesForPoolClaims(World& world, const std::string& ns) {
  Texts names;
  for (const Json& claim : world.List(IpamPicture::Collection(ns, "subnetpoolclaims")))
    names.push_back(Name(IdentityOf(claim)));
  return names;
}

UserKind Pools() {
  return {
      .crd = "subnetpools.plexaubnet.io",
      .weight = 3,
      .names = Names("p", 4),
      .generated_names = NamesForPoolClaims<ipam::ChildPoolName>,
      .spec = PoolSpec,
      .values = {{"spec.cidr", Quoted({"10.0.0.0/26", "10.0.0.0/25", "10.0.0.0/24", "10.0.0.0/23",
                                       "10.0.1.0/27", "10.0.1.0/26", "10.9.0.0/28", "10.9.0.0/27",
                                       "fd00::/122", "10.0.0.64/27", "10.0.0.0/27", "10.0.0.32/27",
                                       "10.0.0.5/24", "10.0.0.0/28", "10.0.0.16/28"})},
                 {"spec.parentRef", Quoted({"p0", "p1", "p2", "p3", "nobody"})},
                 {"spec.defaultBlockSize", Numbers(26, 31)},
                 {"spec.minBlockSize", Numbers(24, 30)},
                 {"spec.maxBlockSize", Numbers(26, 32)},
                 {"spec.excludedRanges",
                  {R"(["10.0.0.32/29"])", R"(["10.0.0.0-10.0.0.3","10.0.0.8/32"])", "[]"}},
                 {"spec.reuseGracePeriodSeconds", {"0", "20", "2592000"}},
                 {"spec.preAllocations",
                  {R"({"c3":"10.0.0.16/29"})", R"({"c1":"10.0.0.0/28","c2":"10.0.0.32/29"})",
                   R"({"c3":"10.0.0.24/29"})"}},
                 {"status.allocatedCount", Numbers(0, 3)}},
      .favourite = "spec.cidr",
      .next = NextRange,
      .labels = {{std::string(ipam::kParentLabel), {"p0", "p1", "p2"}}},
      .annotations = {{std::string(ipam::kAllowDeleteAnnotation), {"true", "false"}}}};
}

UserKind Claims() {
  return {.crd = "subnetclaims.plexaubnet.io",
          .weight = 6,
          .names = Names("c", 12),
          .generated_names = NamesForPoolClaims<ipam::ChildClaimName>,
          .spec = ClaimSpec,
          .values = {{"spec.poolRef", Quoted({"p0", "p1", "p2", "p3"})},
                     {"spec.clusterID", Quoted({"cluster-1", "cluster-2", "cluster-3"})},
                     {"spec.blockSize", Numbers(26, 31)},
                     {"spec.requestedCIDR",
                      Quoted({"10.0.0.0/28", "10.0.0.16/29", "10.0.0.64/29", "10.0.0.3/29"})},
                     {"status.phase", Quoted({"Pending", "Bound", "Error"})},
                     {"status.allocatedCIDR", Quoted({"10.0.0.0/29", "10.0.0.16/29", "nonsense"})}},
          .favourite = "",
          .next = {},
          .labels = {},
          .annotations = {{std::string(ipam::kStampAnnotation), {"forged", ""}}}};
}

UserKind PoolClaims() {
  return {.crd = "subnetpoolclaims.plexaubnet.io",
          .weight = 1,
          .names = Names("pc", 2),
          .generated_names = {},
          .spec = PoolClaimSpec,
          .values = {{"spec.parentPoolRef", Quoted({"p0", "p1", "p2", "p3"})},
                     {"spec.desiredBlockSize", Numbers(26, 29)},
                     {"status.boundPoolName", Quoted({"p0", "p1", "nobody"})},
                     {"status.phase", Quoted({"Pending", "Bound", "Error"})}},
          .favourite = "",
          .next = {},
          .labels = {},
          .annotations = {{std::string(ipam::kAllowDeleteAnnotation), {"true", "false"}}}};
}

UserKind Subnets() {
  return {.crd = "subnets.plexaubnet.io",
          .weight = 2,
          .names = Names("s", 3),
          .generated_names = SubnetNames,
          .spec = SubnetSpec,
          .values = {{"spec.poolRef", Quoted({"p0", "p1", "p2", "p3"})},
                     {"spec.cidr", Quoted({"10.0.0.0/29", "10.0.0.0/28", "10.0.0.40/29"})},
                     {"spec.clusterID", Quoted({"cluster-1", "cluster-2"})},
                     {"status.phase", Quoted({"Pending", "Allocated", "Failed"})}},
          .favourite = "",
          .next = {},
          .labels = {},
          .annotations = {}};
}

}  // namespace

std::vector<UserKind> IpamUsers() { return {Pools(), Claims(), PoolClaims(), Subnets()}; }

}  // namespace berth::simulate
