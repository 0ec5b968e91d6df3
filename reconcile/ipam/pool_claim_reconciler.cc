#include "reconcile/ipam/pool_claim_reconciler.h"

#include <algorithm>
#include <utility>

#include "kube/object.h"
#include "log/format.h"

namespace berth::ipam {
namespace {

using namespace std::chrono_literals;

// How soon to look again at what another controller has to do first; events come sooner.
constexpr auto kLookAgain = 10s;
constexpr auto kRefusedAgain = 30s;

// Why the block's claim is not bound, in the words of the pool claim.
std::string ParentReason(const Claim& block) {
  const Json conditions = block.conditions.empty() ? Json::Array() : Json::parse(block.conditions);
  for (const Json& condition : conditions.array_range()) {
    if (condition.get_value_or<std::string>("type", "") != "Ready") continue;
    const auto reason = condition.get_value_or<std::string>("reason", "");
    if (reason == "PoolExhausted") return "ParentExhausted";
    if (reason == "PoolNotFound") return "ParentNotFound";
    if (reason == "PoolNotReady") return "ParentNotReady";
    return reason;
  }
  return "Pending";
}

bool AlreadyExists(const kube::Error& error) { return error.reason == "AlreadyExists"; }

}  // namespace

async::Task<Outcome> PoolClaimReconciler::Reconcile(std::string key) {
  const PoolClaim* cached = context_.caches.latest_pool_claims.Get(key);
  if (!cached) co_return runtime::Requeue{};
  PoolClaim claim = *cached;
  if (claim.id.deleting != 0) co_return co_await End(std::move(claim));
  if (!claim.id.finalizer) {
    if (auto added = co_await SetFinalizer(&claim, true); !added) {
      co_return std::unexpected(added.error());
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
    std::string message = Format("a /{} is no part of pool {}, {}", claim.block_size, claim.parent,
                                 parent->pool.cidr);
    co_return co_await Tell(
        std::move(claim),
        {.phase = "Error", .reason = "InvalidRequest", .message = std::move(message)});
  }
  const auto block = co_await BlockClaim(claim);
  if (!block) co_return co_await Refused(std::move(claim), block.error());
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
  // The claim's word is not enough: its Subnet may be gone, and the block somebody else's.
  const bool child =
      context_.caches.pools.Get(KeyBeside(claim.id.ns + "/", ChildPoolName(claim.id)));
  const Owner owner = Fingerprint(block->id.uid);
  const auto* held = context_.space.BindingOf(block->PoolKey(), block->cluster, owner);
  if (!child && (!held || held->claim != owner || held->subnet == 0 ||
                 held->block.ToString() != block->allocated)) {
    std::string message = Format("the Subnet of SubnetClaim {} is not there", block->id.name);
    co_return co_await Tell(
        std::move(claim), {.phase = "Pending", .reason = "Pending", .message = std::move(message)},
        kLookAgain);
  }
  if (!child) on_making_(*block, held->block);
  if (auto made = co_await MakeChild(claim, block->allocated); !made) {
    co_return co_await Refused(std::move(claim), made.error());
  }
  std::string message = Format("{} is SubnetPool {}", block->allocated, ChildPoolName(claim.id));
  co_return co_await Tell(
      std::move(claim),
      {.phase = "Bound", .reason = "Bound", .message = std::move(message), .ready = true});
}

// The API server, or somebody's webhook, does not let it be made: no event tells when it will.
async::Task<Outcome> PoolClaimReconciler::Refused(PoolClaim claim, kube::Error error) {
  if (error.error_class != kube::ErrorClass::kTerminal) co_return std::unexpected(std::move(error));
  co_return co_await Tell(
      std::move(claim),
      {.phase = "Error", .reason = "Refused", .message = std::move(error.message)}, kRefusedAgain);
}

std::string PoolClaimReconciler::ClaimBody(const PoolClaim& claim) const {
  Json body = ObjectFor(kClaims, ChildClaimName(claim.id), kPoolClaims, claim.id);
  Json& spec = body["spec"];
  spec["poolRef"] = claim.parent;
  spec["clusterID"] = ChildPoolName(claim.id);
  // Should the block's claim have been deleted under a child that is there: the block is known.
  const Pool* child =
      context_.caches.pools.Get(KeyBeside(claim.id.ns + "/", ChildPoolName(claim.id)));
  if (child) {
    spec["requestedCIDR"] = child->cidr;
  } else {
    spec["blockSize"] = claim.block_size;
  }
  return body.to_string();
}

// The SubnetClaim for the child's block, made when there is none.
async::Task<kube::Result<Claim>> PoolClaimReconciler::BlockClaim(PoolClaim claim) {
  const std::string name = ChildClaimName(claim.id);
  if (const Claim* cached = context_.caches.claims.Get(KeyBeside(claim.id.ns + "/", name))) {
    co_return *cached;
  }
  settled_[claim.id.uid] = context_.executor.Now() + kSettled;
  auto made = co_await context_.api.Create(kClaims, claim.id.ns, ClaimBody(claim));
  if (!made && AlreadyExists(made.error())) {
    made = co_await context_.api.Get(kClaims, claim.id.ns, name);
  }
  if (!made) co_return std::unexpected(made.error());
  co_return kube::Decode<Claim>(*made);
}

std::string PoolClaimReconciler::PoolBody(const PoolClaim& claim, const std::string& cidr) const {
  Json body = ObjectFor(kPools, ChildPoolName(claim.id), kPoolClaims, claim.id);
  body["metadata"]["labels"][kParentLabel] = claim.parent;
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

async::Task<Step> PoolClaimReconciler::MakeChild(PoolClaim claim, std::string cidr) {
  const std::string key = KeyBeside(claim.id.ns + "/", ChildPoolName(claim.id));
  if (const Pool* child = context_.caches.pools.Get(key); child && child->id.deleting == 0) {
    co_return Step();
  }
  settled_[claim.id.uid] = context_.executor.Now() + kSettled;
  const auto made = co_await context_.api.Create(kPools, claim.id.ns, PoolBody(claim, cidr));
  if (made || AlreadyExists(made.error())) co_return Step();
  co_return std::unexpected(made.error());
}

async::Task<Outcome> PoolClaimReconciler::End(PoolClaim claim) {
  if (!claim.id.finalizer) co_return runtime::Requeue{};
  // What was asked for without an answer must not come to be after it was looked for.
  if (const auto asked = settled_.find(claim.id.uid); asked != settled_.end()) {
    const auto left = asked->second - context_.executor.Now();
    if (left > async::Duration::zero()) co_return runtime::Requeue{left};
  }
  const std::string child = ChildPoolName(claim.id);
  if (claim.allow_delete) {
    if (auto allowed = co_await AllowDelete(claim); !allowed) {
      co_return std::unexpected(allowed.error());
    }
  }
  const auto no_child = co_await Gone(&kPools, claim, child);
  if (!no_child) co_return std::unexpected(no_child.error());
  if (!*no_child) {
    std::string phase = claim.phase.empty() ? "Pending" : claim.phase;
    co_return co_await Tell(std::move(claim),
                            {.phase = std::move(phase),
                             .reason = "Deleting",
                             .message = Format("SubnetPool {} has to go first", child)},
                            kLookAgain);
  }
  const auto no_block = co_await Gone(&kClaims, claim, ChildClaimName(claim.id));
  if (!no_block) co_return std::unexpected(no_block.error());
  if (!*no_block) co_return runtime::Requeue{1s};
  const std::string uid = claim.id.uid;
  if (auto removed = co_await SetFinalizer(&claim, false); !removed) {
    co_return std::unexpected(removed.error());
  }
  settled_.erase(uid);
  co_return runtime::Requeue{};
}

// Asks for the end of what was made for the claim; true once the API server has it no more.
async::Task<kube::Result<bool>> PoolClaimReconciler::Gone(const kube::Resource* resource,
                                                          PoolClaim claim, std::string name) {
  const auto read = co_await context_.api.Get(*resource, claim.id.ns, name);
  if (!read) {
    if (IsGone(read.error())) co_return true;
    co_return std::unexpected(read.error());
  }
  kube::JsonDocument document;
  const auto object = document.Parse(*read);
  if (!object) co_return std::unexpected(object.error());
  const Identity id = Identity::From(*object, kFinalizer);
  if (id.deleting != 0) co_return false;
  const auto deleted = co_await context_.api.Delete(
      *resource, id.ns, id.name, {.uid = id.uid, .resource_version = {}, .call = {}});
  if (!deleted && !IsGone(deleted.error())) co_return std::unexpected(deleted.error());
  co_return false;
}

// The escape holds for the child pool, too.
async::Task<Step> PoolClaimReconciler::AllowDelete(PoolClaim claim) {
  const std::string name = ChildPoolName(claim.id);
  const Pool* child = context_.caches.pools.Get(KeyBeside(claim.id.ns + "/", name));
  if (!child || child->allow_delete) co_return Step();
  Json patch;
  patch["metadata"] = Json::Object();
  patch["metadata"]["annotations"] = Json::Object();
  patch["metadata"]["annotations"][kAllowDeleteAnnotation] = "true";
  const auto written = co_await context_.api.Patch(kPools, claim.id.ns, name,
                                                   kube::PatchType::kMerge, patch.to_string());
  if (!written && !IsGone(written.error())) co_return std::unexpected(written.error());
  co_return Step();
}

async::Task<Step> PoolClaimReconciler::SetFinalizer(PoolClaim* claim, bool wanted) {
  Json patch = PatchOf(claim->id);
  patch["metadata"]["finalizers"] = FinalizersOf(claim->id, wanted ? kFinalizer : "");
  const auto written = co_await context_.api.Patch(kPoolClaims, claim->id.ns, claim->id.name,
                                                   kube::PatchType::kMerge, patch.to_string());
  if (!written) {
    if (!wanted && IsGone(written.error())) co_return Step();
    co_return std::unexpected(written.error());
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
  const std::string bound = report.ready ? ChildPoolName(claim.id) : claim.bound_pool;
  const bool news = claim.phase != report.phase;
  if (!conditions && !news && claim.message == message && claim.bound_pool == bound &&
      claim.observed == claim.id.generation) {
    co_return runtime::Requeue{again};
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
