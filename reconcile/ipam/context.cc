#include "reconcile/ipam/context.h"

#include "log/format.h"

#include "reconcile/ipam/given_back.h"

namespace berth::ipam {
namespace {

kube::Reflector::Options Collection(const kube::Resource& resource) {
  return {.path = kube::PathOf(resource, "")};
}

std::string BlockKey(const std::string& pool, const Cidr& block) {
  return pool + " " + block.ToString();
}

std::vector<std::string> KeyIfRenamed(const Subnet& subnet) {
  if (!subnet.cidr || subnet.id.name == SubnetName(subnet.pool, *subnet.cidr)) return {};
  return {BlockKey(subnet.PoolKey(), *subnet.cidr)};
}

// Subnets that users have written, those with another name than usual and those without a block.
std::vector<std::string> ClaimIfNamed(const Subnet& subnet) {
  const bool blockless =
      subnet.phase == SubnetPhase::kPending || subnet.phase == SubnetPhase::kFailed;
  const bool usual = subnet.made && !blockless && KeyIfRenamed(subnet).empty();
  if (usual || subnet.claim_uid.empty()) return {};
  return {subnet.claim_uid};
}

template <typename T>
std::vector<std::string> OwnerOf(const T& object) {
  if (object.owner_uid.empty()) return {};
  return {object.owner_uid};
}

Json OwnerReference(const kube::Resource& owner_kind, const Identity& owner) {
  Json reference;
  reference["apiVersion"] = kApiVersion;
  reference["kind"] = owner_kind.kind;
  reference["name"] = owner.name;
  reference["uid"] = owner.uid;
  reference["controller"] = true;
  return reference;
}

}  // namespace

Caches::Caches(async::Executor& executor, kube::Transport& transport)
    : pools(executor, transport, Collection(kPools)),
      subnets(executor, transport, Collection(kSubnets)),
      claims(executor, transport, Collection(kClaims)),
      pool_claims(executor, transport, Collection(kPoolClaims)),
      latest_pools(executor, pools),
      latest_subnets(executor, subnets),
      latest_claims(executor, claims),
      latest_pool_claims(executor, pool_claims),
      subnets_by_pool(
          subnets.AddIndex([](const Subnet& subnet) { return std::vector{subnet.PoolKey()}; })),
      renamed_by_block(subnets.AddIndex(KeyIfRenamed)),
      unbound_subnets_by_claim(subnets.AddIndex(ClaimIfNamed)),
      pools_by_owner(pools.AddIndex(OwnerOf<Pool>)),
      claims_by_owner(claims.AddIndex(OwnerOf<Claim>)),
      unbound_claims_by_pool(claims.AddIndex([](const Claim& claim) {
        return claim.Bound() ? std::vector<std::string>() : std::vector{claim.PoolKey()};
      })),
      told_claims_by_pool(claims.AddIndex([](const Claim& claim) {
        return claim.allocated.empty() ? std::vector<std::string>() : std::vector{claim.PoolKey()};
      })),
      unbound_pool_claims_by_parent(pool_claims.AddIndex([](const PoolClaim& claim) {
        const bool waits = claim.phase != "Bound" || claim.id.deleting != 0;
        return waits ? std::vector{KeyBeside(claim.id.ns + "/", claim.parent)}
                     : std::vector<std::string>();
      })),
      pool_claims_by_child(pool_claims.AddIndex([](const PoolClaim& claim) {
        return std::vector{claim.id.uid, KeyBeside(claim.id.ns + "/", claim.bound_pool)};
      })) {}

void Caches::Start() {
  pools.Start();
  claims.Start();
  pool_claims.Start();
  subnets.Start();
}

bool Caches::synced() const {
  return pools.HasSynced() && subnets.HasSynced() && claims.HasSynced() && pool_claims.HasSynced();
}

bool Caches::fresh() const {
  return pools.fresh() && subnets.fresh() && claims.fresh() && pool_claims.fresh();
}

void Caches::Refresh() {
  latest_pools.Clear();
  latest_subnets.Clear();
  latest_claims.Clear();
  latest_pool_claims.Clear();
  pools.Refresh();
  subnets.Refresh();
  claims.Refresh();
  pool_claims.Refresh();
}

const Subnet* Caches::SubnetAt(const std::string& pool, const Cidr& block, Owner uid) const {
  const Subnet* usual = subnets.Get(KeyBeside(pool, SubnetName(SplitKey(pool).second, block)));
  if (usual && Fingerprint(usual->id.uid) == uid) return usual;
  const Subnet* renamed = nullptr;
  subnets.ForEachIn(renamed_by_block, BlockKey(pool, block),
                    [&](const std::string&, const Subnet& subnet) {
                      if (Fingerprint(subnet.id.uid) == uid) renamed = &subnet;
                    });
  return renamed;
}

bool IsGivenBack(const Caches& caches, const Subnet& subnet) {
  return IsGivenBack(subnet, caches.claims.Get(KeyBeside(subnet.id.Key(), subnet.claim_name)));
}

std::string Report::Content(std::int64_t generation, std::string_view more) const {
  return Format("{}\n{}\n{}\n{}\n{}\n{}", phase, reason, message, ready, generation, more);
}

std::optional<Json> WithReady(const std::string& conditions, const Report& report,
                              std::int64_t generation, async::WallTime now) {
  Json list = conditions.empty() ? Json::Array() : Json::parse(conditions);
  if (!list.is_array()) list = Json::Array();
  const bool changed = kube::SetCondition(
      list,
      {.type = "Ready",
       .status = report.ready ? kube::ConditionStatus::kTrue : kube::ConditionStatus::kFalse,
       .reason = report.reason,
       .message = report.message,
       .observed_generation = generation},
      now);
  if (!changed) return std::nullopt;
  return list;
}

Json AdoptionOf(const Identity& id, std::string_view object, const kube::Resource& owner_kind,
                const Identity& owner) {
  Json patch = PatchOf(id);
  Json& owners = patch["metadata"]["ownerReferences"];
  owners = Json::parse(object)["metadata"].get_value_or<Json>("ownerReferences", Json::Array());
  Json reference = OwnerReference(owner_kind, owner);
  // An object has one controller at most.
  for (const Json& other : owners.array_range()) {
    if (other.get_value_or<bool>("controller", false)) reference["controller"] = false;
  }
  owners.push_back(std::move(reference));
  return patch;
}

Json ObjectFor(const kube::Resource& resource, const std::string& name,
               const kube::Resource& owner_kind, const Identity& owner) {
  Json metadata;
  metadata["name"] = name;
  metadata["namespace"] = owner.ns;
  metadata["labels"] = Json::Object();
  metadata["labels"][kMadeByLabel] = "true";
  metadata["ownerReferences"] = Json::Array();
  metadata["ownerReferences"].push_back(OwnerReference(owner_kind, owner));
  Json object;
  object["apiVersion"] = kApiVersion;
  object["kind"] = resource.kind;
  object["metadata"] = std::move(metadata);
  object["spec"] = Json::Object();
  return object;
}

}  // namespace berth::ipam
