#include "reconcile/ipam/pool_claim_reconciler.h"

#include <algorithm>
#include <utility>

#include "kube/names.h"
#include "kube/object.h"
#include "log/escape.h"
#include "log/format.h"

namespace berth::ipam {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t kLongestLabel = 63;
constexpr std::size_t kMostOfValue = 64;  // in a message

// The reason of the Ready condition; "" if there is none.
std::string ReadyReason(const std::string& conditions) {
  const Json all = conditions.empty() ? Json::Array() : Json::parse(conditions);
  for (const Json& condition : all.array_range()) {
    if (condition.get_value_or<std::string>("type", "") == "Ready") {
      return condition.get_value_or<std::string>("reason", "");
    }
  }
  return "";
}

// Why the block's claim is not bound, in the words of the pool claim.
std::string ParentReason(const Claim& block) {
  const std::string reason = ReadyReason(block.conditions);
  if (reason == "PoolExhausted") return "ParentExhausted";
  if (reason == "PoolNotFound") return "ParentNotFound";
  if (reason == "PoolNotReady") return "ParentNotReady";
  return reason.empty() ? "Pending" : reason;
}

kube::Error ForeignObject(std::string_view kind, std::string_view name) {
  return {kube::ErrorClass::kTerminal,
          "AlreadyExists",
          Format("{} {} exists and was not made for this claim; delete or rename it", kind, name),
          409,
          {}};
}

}  // namespace

bool PoolClaimReconciler::BacksOff(const PoolClaim& claim) const {
  return claim.id.deleting == 0 && refusals_.Waiting(claim.id, context_.executor.Now());
}

async::Task<Outcome> PoolClaimReconciler::Reconcile(std::string key) {
  const PoolClaim* cached = context_.caches.latest_pool_claims.Get(key);
  if (!cached) {
    refusals_.Forget(key);
    // A claim that was removed by force leaves what it had asked for.
    const auto now = context_.executor.Now();
    std::erase_if(settled_, [&](const auto& asked) { return asked.second <= now; });
    co_return runtime::Requeue{.after = settled_.empty() ? async::Duration() : kSettled};
  }
  PoolClaim claim = *cached;
  if (claim.id.deleting != 0) co_return co_await End(std::move(claim));
  if (const auto* refusal = refusals_.Waiting(claim.id, context_.executor.Now())) {
    const Report report{.phase = "Error", .reason = "Refused", .message = refusal->message};
    const auto left = refusal->until - context_.executor.Now();
    co_return co_await Tell(std::move(claim), report, left);
  }
  if (!claim.id.finalizer) {
    if (auto added = co_await SetFinalizer(&claim, true); !added) {
      co_return co_await Refused(std::move(claim), added.error());
    }
  }
  co_return co_await Bind(std::move(claim));
}

async::Task<Outcome> PoolClaimReconciler::Bind(PoolClaim claim) {
  const std::string parent_key = KeyBeside(claim.id.ns + "/", claim.parent);
  const Space::PoolState* parent = context_.space.Find(parent_key);
  const bool bound = claim.phase == "Bound";
  if (!parent && !bound) {
    std::string message = Format("there is no SubnetPool {}", claim.parent);
    co_return co_await Tell(
        std::move(claim),
        {.phase = "Error", .reason = "ParentNotFound", .message = std::move(message)});
  }
  if (parent && parent->rules && !bound && claim.block_size <= parent->rules->range.prefix()) {
    Report report{.phase = "Error", .reason = "InvalidRequest"};
    report.message = Format("a /{} is no part of pool {}, {}", claim.block_size, claim.parent,
                            parent->pool.cidr);
    // The parent may have been larger once.
    const Claim* block = ChildOf(claim) ? nullptr : BlockClaimOf(claim);
    if (!block) co_return co_await Tell(std::move(claim), std::move(report));
    Identity id = block->id;
    co_return co_await DropBlockClaim(std::move(claim), std::move(id), std::move(report));
  }
  const bool known = BlockClaimOf(claim) != nullptr;
  auto block = co_await BlockClaim(claim);
  if (!block) co_return co_await Refused(std::move(claim), block.error());
  if (!ChildOf(claim) && !Serves(*block, claim)) {
    // Of generation 1: it has been so since it was created, and nobody else can correct it.
    const bool on_create = !known && block->id.generation == 1;
    std::string message = Difference(*block, claim, on_create);
    if (on_create) block->id.version.clear();
    co_return co_await DropBlockClaim(
        std::move(claim), block->id,
        {.phase = "Error", .reason = "Refused", .message = std::move(message)}, true);
  }
  if (block->phase == "Error") {
    co_return co_await Tell(
        std::move(claim),
        {.phase = "Error", .reason = ParentReason(*block), .message = block->message});
  }
  if (!block->Bound()) {
    std::string message =
        Format("SubnetClaim {} waits for a block of pool {}", block->id.name, claim.parent);
    co_return co_await Tell(
        std::move(claim), {.phase = "Pending", .reason = "Pending", .message = std::move(message)},
        kLookAgain);
  }
  co_return co_await BindTo(std::move(claim), std::move(*block));
}

async::Task<Outcome> PoolClaimReconciler::BindTo(PoolClaim claim, Claim block) {
  const Pool* child = ChildOf(claim);
  // The claim's word is not enough: its Subnet may be gone, and the block somebody else's.
  const Owner owner = Fingerprint(block.id.uid);
  const auto told = Cidr::Parse(block.allocated);
  const auto* held = context_.space.BindingOf(block.PoolKey(), block.cluster, owner,
                                              told ? std::optional(*told) : std::nullopt);
  if (!child && (!held || held->claim != owner || held->subnet == 0 ||
                 held->block.ToString() != block.allocated)) {
    std::string message = Format("the Subnet of SubnetClaim {} is not there", block.id.name);
    co_return co_await Tell(
        std::move(claim), {.phase = "Pending", .reason = "Pending", .message = std::move(message)},
        kLookAgain);
  }
  std::string message =
      Format("{} is SubnetPool {}", child ? child->cidr : block.allocated, ChildNameOf(claim));
  if (child && child->id.deleting != 0) {
    std::string ends =
        Format("SubnetPool {} is being deleted; it is made again once it is gone", child->id.name);
    co_return co_await Tell(std::move(claim),
                            {.phase = "Pending", .reason = "Pending", .message = std::move(ends)},
                            kLookAgain);
  }
  if (!child) {
    if (auto made = co_await MakeChild(claim, std::move(block)); !made) {
      co_return co_await Refused(std::move(claim), made.error());
    }
  } else if (!claim.bound_pool.empty() && child->id.name != claim.bound_pool) {
    // The watch may not have brought the pool that users were told of.
    const auto read = co_await ReadChild(claim);
    if (!read) co_return std::unexpected(read.error());
    if (read->id.name == claim.bound_pool) co_return runtime::Requeue{kLookAgain};
  }
  if (auto adopted = co_await AdoptChild(claim); !adopted) {
    co_return co_await Refused(std::move(claim), adopted.error());
  }
  refusals_.Forget(claim.id.Key());
  co_return co_await Tell(
      std::move(claim),
      {.phase = "Bound", .reason = "Bound", .message = std::move(message), .ready = true});
}

// Says why the SubnetClaim does not serve, and who may have changed it.
std::string PoolClaimReconciler::Difference(const Claim& block, const PoolClaim& claim,
                                            bool on_create) const {
  const std::string wanted =
      Format("clusterID {} and blockSize {}", ClusterOf(claim), claim.block_size);
  std::string has = Format("clusterID {} and ", log::Prefix(block.cluster, kMostOfValue));
  if (!block.requested.empty()) {
    has += Format("requestedCIDR {}", log::Prefix(block.requested, kMostOfValue));
  } else {
    has += block.block_size ? Format("blockSize {}", *block.block_size) : "no blockSize";
  }
  if (on_create) {
    return Format(
        "SubnetClaim {} was created with {} and has {}: a mutating webhook or policy changed it; "
        "let it leave objects with the label {} alone; Berth tries again within 30 s",
        block.id.name, wanted, has, kMadeByLabel);
  }
  return Format(
      "SubnetClaim {} needs {} and has {}: a user, a controller or a webhook changed one of them; "
      "Berth "
      "deletes the claim and creates it again within 30 s",
      block.id.name, wanted, has);
}

// The child as the API server has it, without a name if there is none. It may have Berth's name
// although the status has another: users can write the status.
async::Task<kube::Result<Pool>> PoolClaimReconciler::ReadChild(PoolClaim claim) {
  std::vector<std::string> names = {ChildNameOf(claim), ChildPoolName(claim.id)};
  // First the pool that users were told of.
  if (kube::SubdomainProblems(claim.bound_pool).empty())
    names.insert(names.begin(), claim.bound_pool);
  for (const std::string& name : names) {
    const auto read = co_await context_.api.Get(kPools, claim.id.ns, name);
    if (!read && !IsGone(read.error())) co_return std::unexpected(read.error());
    if (!read) continue;
    auto child = kube::Decode<Pool>(*read);
    if (!child || IsOwned(*child, claim) || HasLostOwner(*child, claim)) co_return child;
  }
  co_return Pool();
}

// Deletes the SubnetClaim of a block that is of no use, unless a child stands on it that the cache
// does not have yet. One that is made again afterwards may meet the same fate: not at once.
async::Task<Outcome> PoolClaimReconciler::DropBlockClaim(PoolClaim claim, Identity block,
                                                         Report report, bool made_again) {
  if (const auto left = OpenFor(claim); left > left.zero()) {
    co_return co_await Tell(std::move(claim), std::move(report), left);
  }
  const auto child = co_await ReadChild(claim);
  if (!child) co_return std::unexpected(child.error());
  if (!child->id.name.empty()) co_return runtime::Requeue{kLookAgain};
  const auto deleted = co_await context_.api.Delete(
      kClaims, block.ns, block.name,
      {.uid = block.uid, .resource_version = block.version, .call = {}});
  if (!deleted && !IsGone(deleted.error())) {
    auto error = Explained(deleted.error(), kClaims.kind, block.name, "deleted");
    co_return co_await Refused(std::move(claim), std::move(error));
  }
  async::Duration again = kLookAgain;
  if (made_again) again = refusals_.Note(claim.id, report.message, context_.executor.Now()).wait;
  co_return co_await Tell(std::move(claim), std::move(report), again);
}

// How long a create for the claim that was not answered may yet be carried out.
async::Duration PoolClaimReconciler::OpenFor(const PoolClaim& claim) const {
  const auto asked = settled_.find(claim.id.uid);
  return asked == settled_.end() ? async::Duration() : asked->second - context_.executor.Now();
}

// The API server, or somebody's webhook, refuses a write: no event tells when it will not.
async::Task<Outcome> PoolClaimReconciler::Refused(PoolClaim claim, kube::Error error) {
  if (error.error_class != kube::ErrorClass::kTerminal) co_return std::unexpected(std::move(error));
  const auto wait = refusals_.Note(claim.id, error.message, context_.executor.Now()).wait;
  if (claim.id.deleting != 0) {
    co_return co_await TellEnding(std::move(claim), std::move(error.message), wait);
  }
  co_return co_await Tell(
      std::move(claim),
      {.phase = "Error", .reason = "Refused", .message = std::move(error.message)}, wait);
}

std::string PoolClaimReconciler::ClaimBody(const PoolClaim& claim) const {
  Json body = ObjectFor(kClaims, ChildClaimName(claim.id), kPoolClaims, claim.id);
  Json& spec = body["spec"];
  spec["poolRef"] = claim.parent;
  spec["clusterID"] = ClusterOf(claim);
  // Should the block's claim have been deleted under a child that is there: the block is known.
  if (const Pool* child = ChildOf(claim)) {
    spec["requestedCIDR"] = child->cidr;
  } else {
    spec["blockSize"] = claim.block_size;
  }
  return body.to_string();
}

async::Task<kube::Result<std::string>> PoolClaimReconciler::StrayOrNew(PoolClaim claim) {
  if (const Claim* stray = StrayBlockClaimOf(claim)) {
    const Identity id = stray->id;
    co_return co_await context_.api.Get(kClaims, id.ns, id.name);
  }
  std::string name = ChildClaimName(claim.id);
  std::string body = ClaimBody(claim);
  co_return co_await Create(&kClaims, std::move(claim), std::move(name), std::move(body));
}

// The SubnetClaim for the child's block, made when there is none.
async::Task<kube::Result<Claim>> PoolClaimReconciler::BlockClaim(PoolClaim claim) {
  if (const Claim* known = BlockClaimOf(claim)) co_return *known;
  const auto made = co_await StrayOrNew(claim);
  if (!made) co_return std::unexpected(made.error());
  auto block = kube::Decode<Claim>(*made);
  if (!block || IsFor(*block, claim)) co_return block;
  // Its owner reference is lost, or it was made by hand, for the child in any case.
  if (!HasLostOwner(*block, claim) || !Serves(*block, claim)) {
    co_return std::unexpected(ForeignObject("SubnetClaim", block->id.name));
  }
  if (auto adopted = co_await Adopt(&kClaims, claim, block->id, *made); !adopted) {
    co_return std::unexpected(adopted.error());
  }
  co_return block;
}

// Creates what has a name of its own, or reads what has it.
async::Task<kube::Result<std::string>> PoolClaimReconciler::Create(const kube::Resource* resource,
                                                                   PoolClaim claim,
                                                                   std::string name,
                                                                   std::string body) {
  const std::string& uid = claim.id.uid;
  const auto now = context_.executor.Now();
  // A create before this one may still be under way, whatever becomes of this one.
  const auto open = settled_.find(uid);
  const auto earlier = open == settled_.end() ? now : open->second;
  settled_[uid] = now + kSettled;
  auto made = co_await context_.api.Create(*resource, claim.id.ns, std::move(body));
  if (!made && made.error().error_class == kube::ErrorClass::kAmbiguous) {
    co_return std::unexpected(made.error());
  }
  if (earlier > context_.executor.Now()) {
    settled_[uid] = earlier;
  } else {
    settled_.erase(uid);
  }
  if (!made && made.error().reason == "AlreadyExists") {
    co_return co_await context_.api.Get(*resource, claim.id.ns, name);
  }
  if (!made) made = std::unexpected(Explained(made.error(), resource->kind, name, "created"));
  co_return made;
}

std::string PoolClaimReconciler::PoolBody(const PoolClaim& claim, const std::string& cidr) const {
  Json body = ObjectFor(kPools, ChildNameOf(claim), kPoolClaims, claim.id);
  // A name that is too long for a label stands in spec.parentRef alone.
  if (claim.parent.size() <= kLongestLabel) body["metadata"]["labels"][kParentLabel] = claim.parent;
  body["metadata"]["finalizers"] = FinalizersOf({}, kFinalizer);
  Json& spec = body["spec"];
  spec["cidr"] = cidr;
  spec["parentRef"] = claim.parent;
  const auto* parent = context_.space.Find(KeyBeside(claim.id.ns + "/", claim.parent));
  if (parent && parent->rules) {
    const PoolRules& rules = *parent->rules;
    spec["strategy"] = rules.strategy == Strategy::kBuddy ? "Buddy" : "Linear";
    spec["defaultBlockSize"] = std::max(rules.default_block, claim.block_size);
    if (parent->pool.max_block) {
      spec["maxBlockSize"] = std::max(rules.max_block, claim.block_size);
    }
  }
  return body.to_string();
}

async::Task<Step> PoolClaimReconciler::MakeChild(PoolClaim claim, Claim block) {
  const std::string name = ChildNameOf(claim);
  const auto cidr = Cidr::Parse(block.allocated);
  if (!cidr) co_return std::unexpected(kube::Error{kube::ErrorClass::kRetry, {}, cidr.error()});
  if (name != ChildPoolName(claim.id)) {
    // Two creates of Berth's own name collide; one of another name may make a second child.
    const auto child = co_await ReadChild(claim);
    if (!child) co_return std::unexpected(child.error());
    if (child->parent == claim.parent) {
      co_return std::unexpected(
          kube::Error{kube::ErrorClass::kRetry, {}, "the cache is behind: there is a child"});
    }
  }
  const auto kept = claims_.Keep(block, *cidr);
  const auto made = co_await Create(&kPools, claim, name, PoolBody(claim, block.allocated));
  if (made || made.error().error_class != kube::ErrorClass::kAmbiguous) {
    claims_.Release(block, kept);
  }
  if (!made) co_return std::unexpected(made.error());
  const auto pool = kube::Decode<Pool>(*made);
  if (!pool) co_return std::unexpected(pool.error());
  if (IsOwned(*pool, claim)) co_return Step();
  // The cache is behind: the child has lost its owner reference.
  if (HasLostOwner(*pool, claim) && pool->id.deleting == 0 && pool->cidr == block.allocated) {
    co_return co_await Adopt(&kPools, std::move(claim), pool->id, *made);
  }
  co_return std::unexpected(ForeignObject("SubnetPool", name));
}

// Writes the owner reference that a child pool has lost. Its block must be the claim's: a status
// that names somebody's pool does not make the pool the claim's. A claim that is being deleted does
// not adopt: its child was orphaned on purpose.
async::Task<Step> PoolClaimReconciler::AdoptChild(PoolClaim claim) {
  const Pool* child = ChildOf(claim);
  const Claim* block = BlockClaimOf(claim);
  if (!child || IsOwned(*child, claim) || child->id.deleting != 0) co_return Step();
  if (!block || block->allocated != child->cidr) co_return Step();
  const Identity id = child->id;
  const auto read = co_await context_.api.Get(kPools, id.ns, id.name);
  if (!read) co_return std::unexpected(read.error());
  co_return co_await Adopt(&kPools, std::move(claim), id, *read);
}

// Adds the claim to the owners of an object that was read.
async::Task<Step> PoolClaimReconciler::Adopt(const kube::Resource* resource, PoolClaim claim,
                                             Identity id, std::string object) {
  const Json patch = AdoptionOf(id, object, kPoolClaims, claim.id);
  const auto written = co_await context_.api.Patch(*resource, id.ns, id.name,
                                                   kube::PatchType::kMerge, patch.to_string());
  if (!written && !IsGone(written.error())) {
    co_return std::unexpected(
        Explained(written.error(), resource->kind, id.name, "given its owner reference"));
  }
  co_return Step();
}

async::Task<Step> PoolClaimReconciler::SetFinalizer(PoolClaim* claim, bool wanted) {
  Json patch = PatchOf(claim->id);
  patch["metadata"]["finalizers"] = FinalizersOf(claim->id, wanted ? kFinalizer : "");
  const auto written = co_await context_.api.Patch(kPoolClaims, claim->id.ns, claim->id.name,
                                                   kube::PatchType::kMerge, patch.to_string());
  if (!written) {
    if (!wanted && IsGone(written.error())) co_return Step();
    co_return std::unexpected(Explained(written.error(), kPoolClaims.kind, claim->id.name,
                                        wanted ? "given its finalizer" : "let go"));
  }
  if (!wanted) co_return Step();
  auto now = kube::Decode<PoolClaim>(*written);
  if (!now) co_return std::unexpected(now.error());
  *claim = *now;
  context_.caches.latest_pool_claims.Note(std::move(*now));
  co_return Step();
}

async::Task<Outcome> PoolClaimReconciler::Tell(PoolClaim claim, Report report,
                                               async::Duration again) {
  auto conditions =
      WithReady(claim.conditions, report, claim.id.generation, context_.executor.WallNow());
  const std::string message = report.ready ? "" : report.message;
  const std::string bound = report.ready || ChildOf(claim) ? ChildNameOf(claim) : claim.bound_pool;
  const bool news = claim.phase != report.phase || ReadyReason(claim.conditions) != report.reason;
  if (!conditions && !news && claim.message == message && claim.bound_pool == bound &&
      claim.observed == claim.id.generation) {
    co_return runtime::Requeue{again};
  }
  const std::string content = report.Content(claim.id.generation, bound);
  if (const auto wait = context_.pace.Wait(claim.id.uid, content); wait > wait.zero()) {
    co_return runtime::Requeue{again > again.zero() ? std::min(again, wait) : wait};
  }
  Json patch = PatchOf(claim.id);
  Json& status = patch["status"] = Json::Object();
  status["observedGeneration"] = claim.id.generation;
  status["phase"] = report.phase;
  status["boundPoolName"] = bound.empty() ? Json::null() : Json(bound);
  status["message"] = message.empty() ? Json::null() : Json(message);
  if (conditions) status["conditions"] = std::move(*conditions);
  const auto written =
      co_await context_.api.Patch(kPoolClaims, claim.id.ns, claim.id.name, kube::PatchType::kMerge,
                                  patch.to_string(), {.subresource = "status", .call = {}});
  if (!written) co_return std::unexpected(written.error());
  context_.pace.Wrote(claim.id.uid, content);
  if (auto now = kube::Decode<PoolClaim>(*written))
    context_.caches.latest_pool_claims.Note(std::move(*now));
  if (news) {
    context_.events.Record(
        claim.id.Reference(kPoolClaims),
        report.phase == "Error" ? kube::EventType::kWarning : kube::EventType::kNormal,
        report.ready ? "SubnetPoolBound" : report.reason, "Allocate", report.message);
  }
  co_return runtime::Requeue{again};
}

}  // namespace berth::ipam
