#include "simulate/ipam.h"

#include <algorithm>
#include <array>
#include <functional>
#include <set>
#include <utility>

#include "kube/memory/base64.h"
#include "kube/object.h"
#include "kube/yaml.h"
#include "log/format.h"
#include "reconcile/crds.h"
#include "reconcile/ipam/objects.h"
#include "reconcile/ipam/space.h"
#include "reconcile/ipam/system.h"
#include "simulate/world.h"

namespace berth::simulate {
namespace {

using namespace std::chrono_literals;
using ipam::Cidr;

constexpr const char* kBase = "/apis/plexaubnet.io/v1alpha1/namespaces/default/";
constexpr const char* kMergePatch = "application/merge-patch+json";
constexpr const char* kStampKey = "the simulation's key";

std::string Collection(std::string_view plural) { return std::string(kBase).append(plural); }

std::string ObjectPath(std::string_view plural, std::string_view name) {
  return Collection(plural).append("/").append(name);
}

std::string Text(const Json& object, std::string_view member) {
  return object.get_value_or<std::string>(member, "");
}

Json Part(const Json& object, std::string_view member) {
  return object.get_value_or<Json>(member, Json::Object());
}

std::string NameOf(const Json& object) { return Text(object["metadata"], "name"); }
std::string UidOf(const Json& object) { return Text(object["metadata"], "uid"); }
bool Deleting(const Json& object) { return object["metadata"].contains("deletionTimestamp"); }

ipam::Identity IdentityOf(const Json& object) {
  ipam::Identity id;
  id.name = NameOf(object);
  id.uid = UidOf(object);
  return id;
}

std::string ParentOf(const Json& pool) {
  const std::string parent = Text(Part(pool, "spec"), "parentRef");
  if (!parent.empty()) return parent;
  return Text(Part(pool["metadata"], "labels"), ipam::kParentLabel);
}

void Post(World& world, std::string_view plural, const std::string& kind, const std::string& name,
          const std::string& spec, const std::string& metadata = "") {
  world.Ask({.method = kube::Method::kPost,
             .path = Collection(plural),
             .body = Format(R"({{"apiVersion":"plexaubnet.io/v1alpha1","kind":"{}",)"
                            R"("metadata":{{"name":"{}"{}}},"spec":{}}})",
                            kind, name, metadata, spec)});
}

}  // namespace

class Ipam::Replica : public Program {
 public:
  Replica(Ipam& owner, Process& process, kube::Transport& transport)
      : owner_(owner),
        name_(process.name()),
        leadership_(process, transport,
                    {.ns = "default",
                     .name = "berth",
                     .identity = Format("{}.{}", process.name(), process.life())}),
        system_(process, transport, leadership_, {.stamp_key = kStampKey}) {
    leadership_.Start();
    owner_.running_[name_] = this;
  }
  ~Replica() override { owner_.running_.erase(name_); }
  Replica(const Replica&) = delete;
  Replica& operator=(const Replica&) = delete;

  async::Task<void> Stop() override { return leadership_.Stop(); }
  ipam::System& system() { return system_; }

 private:
  Ipam& owner_;
  std::string name_;
  runtime::Leadership leadership_;
  ipam::System system_;
};

Ipam::Ipam() = default;
Ipam::~Ipam() = default;

void Ipam::SetUp(World& world) {
  for (const std::string_view yaml : CustomResourceDefinitions()) {
    world.Must({.method = kube::Method::kPost,
                .path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
                .body = kube::YamlToJson(yaml)->to_string()});
  }
  world.server().AddWebhook({.name = "stamp",
                             .group = "plexaubnet.io",
                             .resources = {"subnetclaims"},
                             .operations = {"CREATE"},
                             .mutating = true,
                             .call = [this, &world](const std::string& review, const auto& answer) {
                               Admit(world, review, answer);
                             }});
  MakePool(world);
  const int actions = 10 + static_cast<int>(world.random().Below(40));
  for (int i = 0; i < actions; ++i) {
    world.scheduler().After(world.random().Between(0s, world.chaos()),
                            [this, &world] { Act(world); });
  }
}

// The webhook of whichever replica it is sent to; sometimes nobody answers.
void Ipam::Admit(World& world, const std::string& review,
                 const std::function<void(kube::Result<std::string>)>& answer) {
  const Json asked = Json::parse(review);
  Json response;
  response["uid"] = asked["request"]["uid"];
  response["allowed"] = true;
  std::optional<std::string> stamp;
  if (!running_.empty() && world.random().Chance(0.8)) {
    auto replica = running_.begin();
    if (running_.size() > 1 && world.random().Chance(0.5)) ++replica;
    if (auto claim = kube::Decode<ipam::Claim>(asked["request"]["object"].to_string())) {
      claim->id.ns = "default";
      stamp = replica->second->system().Stamp(*claim);
    }
  }
  if (stamp) {
    Json patch = Json::Array();
    Json add;
    add["op"] = "add";
    add["path"] = "/metadata/annotations";
    add["value"] = Json::Object();
    add["value"][ipam::kStampAnnotation] = *stamp;
    patch.push_back(std::move(add));
    response["patchType"] = "JSONPatch";
    response["patch"] = kube::memory::EncodeBase64(patch.to_string());
  }
  // The object does not always arrive.
  if (world.random().Chance(0.1)) response["allowed"] = false;
  Json reply;
  reply["apiVersion"] = "admission.k8s.io/v1";
  reply["kind"] = "AdmissionReview";
  reply["response"] = std::move(response);
  answer(reply.to_string());
}

std::unique_ptr<Program> Ipam::Boot(World&, Process& process, kube::Transport& transport) {
  return std::make_unique<Replica>(*this, process, transport);
}

void Ipam::Act(World& world) {
  const auto roll = world.random().Below(100);
  if (roll < 8) return MakePool(world);
  if (roll < 14) return ChangePool(world);
  if (roll < 58) return MakeClaim(world);
  if (roll < 64) return MakePoolClaim(world);
  if (roll < 68) return MakeSubnet(world);
  Drop(world);
}

void Ipam::MakePool(World& world) {
  Dice& random = world.random();
  static constexpr std::array kCidrs = {"10.0.0.0/26", "10.0.1.0/27", "10.0.0.0/24",
                                        "10.9.0.0/28", "fd00::/122",  "10.0.0.64/27"};
  const auto index = random.Below(kCidrs.size());
  const bool ipv6 = std::string_view(kCidrs[index]).contains(':');
  const std::string size = ipv6 ? "125" : "29";
  std::string spec = Format(R"({{"cidr":"{}","defaultBlockSize":{},"strategy":"{}")", kCidrs[index],
                            size, random.Chance(0.5) ? "Buddy" : "Linear");
  if (random.Chance(0.2) && !ipv6) spec += R"(,"excludedRanges":["10.0.0.2-10.0.0.9"])";
  if (random.Chance(0.2)) spec += R"(,"reuseGracePeriodSeconds":20)";
  if (random.Chance(0.2) && !ipv6) spec += R"(,"preAllocations":{"c3":"10.0.0.16/29"})";
  if (random.Chance(0.15)) spec += R"(,"parentRef":"p2")";
  Post(world, "subnetpools", "SubnetPool", Format("p{}", index % 4), spec + "}");
}

void Ipam::ChangePool(World& world) {
  Dice& random = world.random();
  const std::string path = ObjectPath("subnetpools", Format("p{}", random.Below(4)));
  static constexpr std::array kChanges = {
      R"({"spec":{"strategy":"Buddy"}})", R"({"spec":{"cidr":"10.0.0.0/25"}})",
      R"({"spec":{"cidr":"10.9.0.0/27"}})", R"({"spec":{"excludedRanges":["10.0.0.32/29"]}})",
      R"({"spec":{"excludedRanges":null}})"};
  world.Ask({.method = kube::Method::kPatch,
             .path = path,
             .body = kChanges[random.Below(kChanges.size())],
             .content_type = kMergePatch});
}

void Ipam::MakeClaim(World& world) {
  Dice& random = world.random();
  const auto number = random.Below(12);
  std::vector<std::string> pools = {"p0", "p1", "p2", "p3"};
  for (const Json& pool : world.List(Collection("subnetpools"))) pools.push_back(NameOf(pool));
  const std::string& pool = pools[random.Below(pools.size())];
  std::string spec = Format(R"({{"poolRef":"{}","clusterID":"cluster-{}")", pool,
                            random.Chance(0.9) ? number : number / 2);
  const auto kind = random.Below(10);
  if (kind < 6) {
    spec += Format(R"(,"blockSize":{})", pool == "p0" && random.Chance(0.3) ? 122 + random.Below(6)
                                                                            : 26 + random.Below(5));
  } else if (kind < 8) {
    spec +=
        Format(R"(,"requestedCIDR":"10.0.0.{}/{}")", random.Below(8) * 16, 28 + random.Below(3));
  }
  Post(world, "subnetclaims", "SubnetClaim", Format("c{}", number), spec + "}");
}

void Ipam::MakePoolClaim(World& world) {
  Dice& random = world.random();
  Post(world, "subnetpoolclaims", "SubnetPoolClaim", Format("pc{}", random.Below(2)),
       Format(R"({{"parentPoolRef":"p{}","desiredBlockSize":{}}})", random.Below(3),
              27 + random.Below(2)));
}

// By hand, and not always where there is room.
void Ipam::MakeSubnet(World& world) {
  Dice& random = world.random();
  Post(world, "subnets", "Subnet", Format("s{}", random.Below(3)),
       Format(R"({{"poolRef":"p{}","cidr":"10.0.0.{}/29","clusterID":"manual-{}"}})",
              random.Below(3), random.Below(8) * 8, ++last_));
}

void Ipam::Drop(World& world) {
  Dice& random = world.random();
  static constexpr std::array kPlurals = {"subnetclaims", "subnetclaims", "subnetclaims",
                                          "subnets",      "subnetpools",  "subnetpoolclaims"};
  const char* plural = kPlurals[random.Below(kPlurals.size())];
  const auto objects = world.List(Collection(plural));
  if (objects.empty()) return;
  const std::string name = NameOf(objects[random.Below(objects.size())]);
  if (std::string_view(plural).contains("pool") && random.Chance(0.5)) {
    world.Ask({.method = kube::Method::kPatch,
               .path = ObjectPath(plural, name),
               .body = Format(R"({{"metadata":{{"annotations":{{"{}":"true"}}}}}})",
                              ipam::kAllowDeleteAnnotation),
               .content_type = kMergePatch});
  }
  world.Ask({.method = kube::Method::kDelete, .path = ObjectPath(plural, name)});
}

// All there is, as the API server has it.
struct Ipam::Picture {
  struct Block {
    std::string name;
    std::string uid;
    std::string pool;
    std::string cluster;
    std::string claim_uid;
    std::string phase;
    Cidr cidr;
  };

  explicit Picture(World& world) {
    for (Json& pool : world.List(Collection("subnetpools"))) {
      pools.emplace(NameOf(pool), std::move(pool));
    }
    for (const Json& subnet : world.List(Collection("subnets"))) {
      const Json spec = Part(subnet, "spec");
      const Json claim = Part(spec, "claimRef");
      const auto cidr = Cidr::Parse(Text(spec, "cidr"));
      if (!cidr) continue;
      blocks.push_back({.name = NameOf(subnet),
                        .uid = UidOf(subnet),
                        .pool = Text(spec, "poolRef"),
                        .cluster = Text(spec, "clusterID"),
                        .claim_uid = Text(claim, "uid"),
                        .phase = Text(Part(subnet, "status"), "phase"),
                        .cidr = *cidr});
    }
  }

  bool IsAncestor(const std::string& ancestor, std::string pool) const {
    for (int i = 0; i < 10; ++i) {
      const auto found = pools.find(pool);
      if (found == pools.end()) return false;
      pool = ParentOf(found->second);
      if (pool == ancestor) return true;
    }
    return false;
  }

  std::optional<Cidr> RangeOf(const std::string& pool) const {
    const auto found = pools.find(pool);
    if (found == pools.end()) return std::nullopt;
    const auto range = Cidr::Parse(Text(Part(found->second, "spec"), "cidr"));
    return range ? std::optional(*range) : std::nullopt;
  }

  // Whether somebody else has a right to a part of the block.
  bool Used(const std::string& pool, const Cidr& block, bool with_children) const {
    // Blocks of children that are not in their place, and of pools whose range was moved, are held
    // in others, too.
    const bool held = std::ranges::any_of(blocks, [&](const Block& other) {
      return (other.pool == pool || with_children) && other.cidr.Overlaps(block) &&
             other.phase != "Failed";
    });
    if (held || !with_children) return held;
    return std::ranges::any_of(pools, [&](const auto& child) {
      const auto range = RangeOf(child.first);
      return ParentOf(child.second) == pool && range && range->Overlaps(block);
    });
  }

  bool Taken(const Block& block) const {
    const bool child = std::ranges::any_of(pools, [&](const auto& pool) {
      const auto range = RangeOf(pool.first);
      return ParentOf(pool.second) == block.pool && range && range->Overlaps(block.cidr);
    });
    return child || std::ranges::any_of(blocks, [&](const Block& other) {
             return other.pool == block.pool && other.uid != block.uid &&
                    other.phase == "Allocated" && other.cidr.Overlaps(block.cidr);
           });
  }

  std::optional<std::string> CheckReason(const Json& claim) const;
  std::optional<std::string> CheckClaim(const Json& claim, bool held) const;
  std::optional<std::string> CheckClaims(const std::vector<Json>& claims) const;
  std::optional<std::string> CheckPool(const std::string& name, const Json& pool) const;
  std::optional<std::string> CheckPoolClaims(const std::vector<Json>& claims) const;

  std::map<std::string, Json> pools;
  std::vector<Block> blocks;
};

std::optional<std::string> Ipam::Check(World& world, const std::string&,
                                       const kube::Request& request) {
  if (!request.path.contains("/subnets")) return std::nullopt;
  const Picture picture(world);
  for (const auto& one : picture.blocks) {
    for (const auto& other : picture.blocks) {
      if (&one >= &other || !one.cidr.Overlaps(other.cidr)) continue;
      const bool made = !one.claim_uid.empty() && !other.claim_uid.empty();
      const bool both = one.phase == "Allocated" && other.phase == "Allocated";
      if (one.pool == other.pool ? !(made || both) : !made) continue;
      if (picture.IsAncestor(one.pool, other.pool) || picture.IsAncestor(other.pool, one.pool)) {
        continue;
      }
      // A pool that is gone, or named anew, tells nothing of who was whose parent.
      if (one.pool != other.pool) continue;
      return Format("Subnets {} and {} overlap: {} and {}", one.name, other.name,
                    one.cidr.ToString(), other.cidr.ToString());
    }
  }
  return std::nullopt;
}

namespace {

using Wrong = std::optional<std::string>;

// How many blocks of a size the naive way finds free.
std::int64_t CountFree(const Cidr& range, int prefix,
                       const std::function<bool(const Cidr&)>& used) {
  if (prefix < range.prefix() || prefix > Width(range.family())) return 0;
  std::int64_t free = 0;
  const ipam::Address step = ipam::Address{1} << (Width(range.family()) - prefix);
  for (ipam::Address at = range.First(); at <= range.Last(); at += step) {
    free += !used(Cidr(range.family(), at, prefix));
  }
  return free;
}

std::string ReasonOf(const Json& object) {
  const Json status = Part(object, "status");
  for (const Json& condition :
       status.get_value_or<Json>("conditions", Json::Array()).array_range()) {
    if (Text(condition, "type") == "Ready") return Text(condition, "reason");
  }
  return "";
}

std::int64_t Number(const Json& object, std::string_view member) {
  return object.get_value_or<std::int64_t>(member, -1);
}

// What is kept from claims makes the naive count another one.
bool KeepsSome(const Json& pool) {
  const Json spec = Part(pool, "spec");
  return spec.contains("excludedRanges") || spec.contains("preAllocations");
}

}  // namespace

// Whether the reason that a claim in Error gives is true.
Wrong Ipam::Picture::CheckReason(const Json& claim) const {
  const Json spec = Part(claim, "spec");
  const std::string name = NameOf(claim);
  const std::string pool = Text(spec, "poolRef");
  const std::string reason = ReasonOf(claim);
  const auto range = RangeOf(pool);
  if ((reason == "PoolNotFound") != !range) {
    return Format("claim {}: {}, and the pool {}", name, reason, range ? "is" : "is not");
  }
  if (reason == "PoolExhausted" && range && !KeepsSome(pools.at(pool))) {
    const auto size = spec.get_value_or<std::int64_t>(
        "blockSize", Number(Part(pools.at(pool), "spec"), "defaultBlockSize"));
    if (CountFree(*range, static_cast<int>(size),
                  [&](const Cidr& block) { return Used(pool, block, true); }) > 0) {
      return Format("claim {} is told that {} is exhausted, which it is not", name, pool);
    }
  }
  if (reason == "ClusterIDConflict" && std::ranges::none_of(blocks, [&](const Block& block) {
        return block.pool == pool && block.cluster == Text(spec, "clusterID");
      })) {
    return Format("claim {} is told of a conflict that there is not", name);
  }
  return std::nullopt;
}

Wrong Ipam::Picture::CheckClaim(const Json& claim, bool held) const {
  const std::string name = NameOf(claim);
  const std::string phase = Text(Part(claim, "status"), "phase");
  if (Deleting(claim)) return "claim " + name + " is still being deleted";
  if (phase == "Bound") {
    if (!held) return "claim " + name + " is Bound and has no Subnet";
    if (Part(claim["metadata"], "annotations").contains(ipam::kStampAnnotation)) {
      return "claim " + name + " still has its stamp";
    }
    return std::nullopt;
  }
  if (phase != "Error") return Format("claim {} is {}", name, phase);
  if (held) return "claim " + name + " is in Error and has a Subnet";
  return CheckReason(claim);
}

Wrong Ipam::Picture::CheckClaims(const std::vector<Json>& claims) const {
  std::set<std::string> uids;
  std::set<std::string> held;
  for (const Json& claim : claims) uids.insert(UidOf(claim));
  for (const Block& block : blocks) {
    if (block.claim_uid.empty()) continue;
    if (!uids.contains(block.claim_uid)) return "Subnet " + block.name + " is of no claim";
    const auto range = RangeOf(block.pool);
    if (block.phase != "Allocated") {
      // Its pool was replaced by another one of the name.
      if (!range || !range->Contains(block.cidr) || Taken(block)) continue;
      return Format("Subnet {} is {}", block.name, block.phase);
    }
    if (!held.insert(block.claim_uid).second) {
      return "two Subnets are of the claim of " + block.name;
    }
  }
  for (const Json& claim : claims) {
    if (auto wrong = CheckClaim(claim, held.contains(UidOf(claim)))) return wrong;
  }
  return std::nullopt;
}

Wrong Ipam::Picture::CheckPool(const std::string& name, const Json& pool) const {
  const Json status = Part(pool, "status");
  const auto of_pool = [&](const Block& block) { return block.pool == name; };
  const auto child = [&](const auto& other) { return ParentOf(other.second) == name; };
  if (Deleting(pool) && std::ranges::none_of(blocks, of_pool) &&
      std::ranges::none_of(pools, child)) {
    return "pool " + name + " is still being deleted";
  }
  const auto count = std::ranges::count_if(
      blocks, [&](const Block& block) { return of_pool(block) && block.phase == "Allocated"; });
  if (Number(status, "allocatedCount") != count) {
    return Format("pool {} shows {} blocks and has {}", name, Number(status, "allocatedCount"),
                  count);
  }
  if (Number(status, "observedGeneration") != Number(pool["metadata"], "generation")) {
    return "pool " + name + " has a status of an earlier generation";
  }
  if (KeepsSome(pool)) return std::nullopt;
  const auto cidr = Cidr::Parse(Text(Part(pool, "spec"), "cidr"));
  if (!cidr) return "pool " + name + " has no range";
  const Cidr& range = *cidr;
  const Json free = Part(status, "freeCountBySize");
  for (int prefix = range.prefix(); prefix <= std::min(Width(range.family()), range.prefix() + 6);
       ++prefix) {
    const auto blocks_free =
        CountFree(range, prefix, [&](const Cidr& block) { return Used(name, block, false); });
    const auto shown = Number(free, Format("/{}", prefix));
    if (shown != blocks_free) {
      return Format("pool {} shows {} free /{} and has {}", name, shown, prefix, blocks_free);
    }
  }
  return std::nullopt;
}

Wrong Ipam::Picture::CheckPoolClaims(const std::vector<Json>& claims) const {
  std::set<std::string> uids;
  for (const Json& claim : claims) {
    const std::string phase = Text(Part(claim, "status"), "phase");
    const std::string bound = Text(Part(claim, "status"), "boundPoolName");
    uids.insert(UidOf(claim));
    if (Deleting(claim)) {
      // It may wait for who uses its pool.
      if (!pools.contains(ipam::ChildPoolName(IdentityOf(claim)))) {
        return NameOf(claim) + " is still being deleted";
      }
      continue;
    }
    if (phase != "Bound" && phase != "Error") return Format("{} is {}", NameOf(claim), phase);
    if (phase == "Bound" && !pools.contains(bound)) return NameOf(claim) + " is Bound to no pool";
  }
  for (const auto& [name, pool] : pools) {
    const Json references = pool["metadata"].get_value_or<Json>("ownerReferences", Json::Array());
    for (const Json& owner : references.array_range()) {
      if (!uids.contains(Text(owner, "uid"))) return "pool " + name + " is of no pool claim";
    }
  }
  return std::nullopt;
}

std::optional<std::string> Ipam::Unsettled(World& world) {
  const Picture picture(world);
  if (auto wrong = picture.CheckClaims(world.List(Collection("subnetclaims")))) return wrong;
  for (const auto& [name, pool] : picture.pools) {
    if (auto wrong = picture.CheckPool(name, pool)) return wrong;
  }
  return picture.CheckPoolClaims(world.List(Collection("subnetpoolclaims")));
}

}  // namespace berth::simulate
