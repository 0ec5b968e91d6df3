#include "reconcile/ipam/objects.h"

#include <algorithm>

#include "kube/age.h"
#include "log/format.h"

namespace berth::ipam {
namespace {

std::string Text(kube::JsonView view) { return std::string(view.StringOr("")); }

std::optional<int> Prefix(kube::JsonView view) {
  const auto number = view.Int();
  if (!number || *number < 0 || *number > 128) return std::nullopt;
  return static_cast<int>(*number);
}

bool IsTrue(kube::JsonView annotation) { return annotation.StringOr("") == "true"; }

// The controller among the owners if it is of this kind, else the first owner that is.
kube::JsonView OwnerOf(kube::JsonView metadata, std::string_view kind) {
  kube::JsonView owner;
  bool found = false;
  metadata["ownerReferences"].ForEachItem([&](kube::JsonView reference) {
    if (reference["kind"].StringOr("") != kind) return;
    if (!found || reference["controller"].Bool().value_or(false)) owner = reference;
    found = true;
  });
  return owner;
}

// Whether a Subnet was made for the claim that it names: the claim owns it, or its label says so.
bool IsMade(kube::JsonView metadata, std::string_view claim_uid) {
  if (metadata["labels"][kMadeByLabel].StringOr("") == "true") return true;
  return !claim_uid.empty() && OwnerOf(metadata, "SubnetClaim")["uid"].StringOr("") == claim_uid;
}

std::string LongSubnetName(std::string_view pool, const Cidr& block) {
  std::string address = block.ToString();
  std::ranges::replace_if(address, [](char c) { return c == '.' || c == '/' || c == ':'; }, '-');
  return Format("{}-{}", pool, address);
}

std::string Shortened(std::string name) {
  constexpr std::size_t kLongest = 63;
  if (name.size() <= kLongest) return name;
  const std::string hash = Format("-{:016x}", Fingerprint(name));
  name.resize(kLongest - hash.size());
  // A dot before the hyphen would make it no name.
  while (name.ends_with('.')) name.pop_back();
  return name + hash;
}

kube::JsonView ReadyOf(kube::JsonView conditions) {
  kube::JsonView ready;
  conditions.ForEachItem([&](kube::JsonView condition) {
    if (condition["type"].StringOr("") == "Ready") ready = condition;
  });
  return ready;
}

}  // namespace

kube::Result<Pool> Pool::From(kube::JsonView object) {
  const kube::JsonView metadata = object["metadata"];
  const kube::JsonView owner = OwnerOf(metadata, kPoolClaims.kind);
  const auto [cidr, default_block, excluded, max_block, min_block, parent, kept, grace, strategy] =
      object["spec"].Members("cidr", "defaultBlockSize", "excludedRanges", "maxBlockSize",
                             "minBlockSize", "parentRef", "preAllocations",
                             "reuseGracePeriodSeconds", "strategy");
  Pool pool{.id = Identity::From(object, kFinalizer),
            .cidr = Text(cidr),
            .parent = Text(parent),
            .strategy = Text(strategy),
            .default_block = Prefix(default_block),
            .min_block = Prefix(min_block),
            .max_block = Prefix(max_block),
            .excluded = {},
            .pre_allocations = {},
            .grace_seconds = std::max<std::int64_t>(grace.Int().value_or(0), 0),
            .allow_delete = IsTrue(metadata["annotations"][kAllowDeleteAnnotation]),
            .owner_uid = Text(owner["uid"]),
            .block_claim = {},
            .status = object["status"].ToJson()};
  if (pool.parent.empty()) pool.parent = Text(metadata["labels"][kParentLabel]);
  if (!pool.owner_uid.empty()) {
    Identity pool_claim;
    pool_claim.name = Text(owner["name"]);
    pool_claim.uid = pool.owner_uid;
    pool.block_claim = ChildClaimName(pool_claim);
  }
  excluded.ForEachItem([&](kube::JsonView range) { pool.excluded.push_back(Text(range)); });
  kept.ForEach([&](std::string_view claim, kube::JsonView block) {
    pool.pre_allocations.emplace(claim, Text(block));
  });
  return pool;
}

std::string_view Name(SubnetPhase phase) {
  switch (phase) {
    case SubnetPhase::kPending:
      return "Pending";
    case SubnetPhase::kAllocated:
      return "Allocated";
    case SubnetPhase::kFailed:
      return "Failed";
    default:
      return "";
  }
}

kube::Result<Subnet> Subnet::From(kube::JsonView object) {
  const kube::JsonView metadata = object["metadata"];
  const kube::JsonView status = object["status"];
  const auto [block, claim, cluster, pool] =
      object["spec"].Members("cidr", "claimRef", "clusterID", "poolRef");
  const std::string_view claim_uid = claim["uid"].StringOr("");
  Subnet subnet{.id = Identity::From(object, kFinalizer),
                .pool = Text(pool),
                .cidr = std::nullopt,
                .cluster = Text(cluster),
                .claim_name = Text(claim["name"]),
                .claim_uid = {},
                .made = IsMade(metadata, claim_uid),
                .phase = SubnetPhase::kNone,
                .has_allocated_at = status["allocatedAt"].exists(),
                .message = Text(status["message"])};
  // Without a name nothing can be asked about the claim.
  if (!subnet.claim_name.empty()) subnet.claim_uid = claim_uid;
  if (const auto cidr = Cidr::Parse(block.StringOr("")); cidr && cidr->IsCanonical()) {
    subnet.cidr = *cidr;
  }
  const std::string_view phase = status["phase"].StringOr("");
  for (const auto known : {SubnetPhase::kPending, SubnetPhase::kAllocated, SubnetPhase::kFailed}) {
    if (phase == Name(known)) subnet.phase = known;
  }
  return subnet;
}

kube::Result<Claim> Claim::From(kube::JsonView object) {
  const kube::JsonView metadata = object["metadata"];
  const kube::JsonView owner = OwnerOf(metadata, kPoolClaims.kind);
  const auto [block_size, cluster, pool, requested] =
      object["spec"].Members("blockSize", "clusterID", "poolRef", "requestedCIDR");
  const auto [allocated, conditions, message, observed, phase] = object["status"].Members(
      "allocatedCIDR", "conditions", "message", "observedGeneration", "phase");
  const auto [changed, reason] = ReadyOf(conditions).Members("lastTransitionTime", "reason");
  return Claim{.id = Identity::From(object, kFinalizer),
               .pool = Text(pool),
               .cluster = Text(cluster),
               .block_size = Prefix(block_size),
               .requested = Text(requested),
               .stamp = Text(metadata["annotations"][kStampAnnotation]),
               .owner_name = Text(owner["name"]),
               .owner_uid = Text(owner["uid"]),
               .phase = Text(phase),
               .allocated = Text(allocated),
               .message = Text(message),
               .observed = observed.Int().value_or(0),
               .conditions = conditions.ToJson(),
               .ready_changed = kube::ParseTimestamp(changed.StringOr("")).value_or(0),
               .reason = Text(reason)};
}

kube::Result<PoolClaim> PoolClaim::From(kube::JsonView object) {
  const kube::JsonView metadata = object["metadata"];
  const kube::JsonView spec = object["spec"];
  const auto [bound_pool, conditions, message, observed, phase] = object["status"].Members(
      "boundPoolName", "conditions", "message", "observedGeneration", "phase");
  return PoolClaim{.id = Identity::From(object, kFinalizer),
                   .parent = Text(spec["parentPoolRef"]),
                   .block_size = Prefix(spec["desiredBlockSize"]).value_or(0),
                   .allow_delete = IsTrue(metadata["annotations"][kAllowDeleteAnnotation]),
                   .phase = Text(phase),
                   .bound_pool = Text(bound_pool),
                   .message = Text(message),
                   .observed = observed.Int().value_or(0),
                   .conditions = conditions.ToJson()};
}

std::string SubnetName(std::string_view pool, const Cidr& block) {
  return Shortened(LongSubnetName(pool, block));
}

std::string OtherSubnetName(std::string_view pool, const Cidr& block) {
  // Not of the long name: "p" with 1::/48 and "p-1" with ::/48 have the same.
  const auto both = Fingerprint(Format("{}\n{}", pool, block.ToString()));
  return Shortened(Format("{}-{:05x}", LongSubnetName(pool, block), both & 0xfffff));
}

std::string ChildPoolName(const Identity& pool_claim) {
  return Shortened(Format("{}-{:05x}", pool_claim.name, Fingerprint(pool_claim.uid) & 0xfffff));
}

std::string ChildClaimName(const Identity& pool_claim) { return ChildPoolName(pool_claim); }

// FNV-1a: the same in every process and version, since names are made of it.
std::uint64_t Fingerprint(std::string_view text) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const char c : text) {
    hash ^= static_cast<unsigned char>(c);
    hash *= 0x100000001b3;
  }
  return hash == 0 ? 1 : hash;
}

}  // namespace berth::ipam
