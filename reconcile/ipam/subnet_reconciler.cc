#include "reconcile/ipam/subnet_reconciler.h"

#include <algorithm>
#include <utility>

#include "kube/object.h"
#include "log/format.h"
#include "log/timestamp.h"

namespace berth::ipam {
namespace {

using namespace std::chrono_literals;

// A watch that is further behind than this is asked about.
constexpr auto kUnseenFor = 30s;

// Whether it is the block that the claim was told of, without the label and the owner reference
// that say so: a manifest that has the spec alone replaces both.
bool IsLostBlock(const Subnet& subnet, const Claim& claim) {
  return !subnet.made && subnet.cidr && subnet.pool == claim.pool &&
         subnet.cluster == claim.cluster && claim.allocated == subnet.cidr->ToString();
}

// Whether a Subnet that was made for the claim has lost its block, and the claim has another block
// by now. It would get the lost block too, as soon as that is free.
bool IsReplaced(const Context& context, const Subnet& subnet, const Claim& claim) {
  if (!subnet.IsForClaim() || !subnet.cidr || !claim.Bound() ||
      claim.allocated == subnet.cidr->ToString()) {
    return false;
  }
  const std::string& name = subnet.id.name;
  if (name != SubnetName(subnet.pool, *subnet.cidr) &&
      name != OtherSubnetName(subnet.pool, *subnet.cidr)) {
    return false;
  }
  if (context.space.PlacementOf(subnet).phase != SubnetPhase::kFailed) return false;
  const Owner owner = Fingerprint(claim.id.uid);
  return std::ranges::any_of(
      context.space.BindingsOfClaim(subnet.PoolKey(), owner), [&](const Space::Binding* held) {
        return held->subnet != 0 && held->block.ToString() == claim.allocated;
      });
}

// Whether a child pool that its SubnetPoolClaim left stands on the block of the Subnet.
bool IsChildsRange(const Space& space, const Subnet& subnet) {
  if (!subnet.cidr) return false;
  return std::ranges::any_of(space.Overlapping(subnet.id.ns, *subnet.cidr), [&](const auto* pool) {
    const Pool& child = pool->pool;
    return child.parent == subnet.pool && child.owner_uid.empty() && child.id.deleting == 0 &&
           pool->indexed == subnet.cidr;
  });
}

}  // namespace

async::Duration SubnetReconciler::Made(const Subnet& subnet) {
  // The watch is past this version and the cache does not have the Subnet: it was deleted before
  // the answer that tells of it arrived. No event will tell again, so the API server is asked now.
  const bool passed =
      !runtime::IsOlder(context_.caches.subnets.status().version, subnet.id.version);
  const async::Duration wait = passed ? async::Duration::zero() : kUnseenFor;
  unseen_.insert_or_assign(subnet.id.Key(), Unseen{subnet, context_.executor.Now() + wait});
  return wait;
}

void SubnetReconciler::Seen(const Subnet& subnet) {
  const auto found = unseen_.find(subnet.id.Key());
  if (found != unseen_.end() && found->second.subnet.id.uid == subnet.id.uid) unseen_.erase(found);
}

std::optional<std::string> SubnetReconciler::TakeWanted(const std::string& key) {
  const auto found = wanted_.extract(key);
  return found ? std::optional(found.mapped()) : std::nullopt;
}

const Subnet* SubnetReconciler::UnseenAt(const std::string& key) const {
  const auto found = unseen_.find(key);
  return found == unseen_.end() ? nullptr : &found->second.subnet;
}

std::vector<const Subnet*> SubnetReconciler::UnseenOf(const std::string& pool) const {
  std::vector<const Subnet*> subnets;
  for (const auto& [key, unseen] : unseen_) {
    if (unseen.subnet.PoolKey() == pool) subnets.push_back(&unseen.subnet);
  }
  return subnets;
}

async::Task<Outcome> SubnetReconciler::Reconcile(std::string key) {
  if (const auto unseen = unseen_.find(key); unseen != unseen_.end()) {
    const auto left = unseen->second.due - context_.executor.Now();
    if (left > async::Duration::zero()) co_return runtime::Requeue{left};
    Subnet made = unseen->second.subnet;
    co_return co_await LookFor(std::move(key), std::move(made));
  }
  const Subnet* cached = context_.caches.latest_subnets.Get(key);
  if (!cached) {
    refusals_.Forget(key);
    co_return runtime::Requeue{};
  }
  Subnet subnet = *cached;
  if (const auto* refusal = refusals_.Waiting(subnet.id, context_.executor.Now())) {
    const auto left = refusal->until - context_.executor.Now();
    auto told = co_await Report(std::move(subnet));
    if (told) told->after = told->after > left.zero() ? std::min(told->after, left) : left;
    co_return told;
  }
  if (subnet.id.deleting != 0) co_return co_await End(std::move(subnet));
  if (!subnet.claim_uid.empty()) {
    const Claim* claim = context_.caches.claims.Get(KeyBeside(key, subnet.claim_name));
    if (!claim || claim->id.uid != subnet.claim_uid) {
      co_return co_await DropOrphan(std::move(subnet));
    }
    if (IsReplaced(context_, subnet, *claim)) {
      std::string why = Format("SubnetClaim {} has {} instead", claim->id.name, claim->allocated);
      co_return co_await Drop(std::move(subnet), std::move(why));
    }
    if (IsLostBlock(subnet, *claim)) {
      const Identity owner = claim->id;
      if (const auto adopted = co_await Adopt(subnet, owner); !adopted) {
        co_return co_await Refused(std::move(subnet), adopted.error());
      }
      co_return runtime::Requeue{};
    }
  }
  co_return co_await Report(std::move(subnet));
}

async::Task<Outcome> SubnetReconciler::LookFor(std::string key, Subnet made) {
  const auto read = co_await context_.api.Get(kSubnets, made.id.ns, made.id.name);
  if (!read && !IsGone(read.error())) co_return std::unexpected(read.error());
  // The watch may have told of it meanwhile, or another have been made.
  const auto still = unseen_.find(key);
  if (still == unseen_.end() || still->second.subnet.id.uid != made.id.uid) {
    co_return runtime::Requeue{};
  }
  if (read) {
    const auto subnet = kube::Decode<Subnet>(*read);
    if (subnet && subnet->id.uid == made.id.uid) {
      still->second.due = context_.executor.Now() + kUnseenFor;
      co_return runtime::Requeue{kUnseenFor};
    }
  }
  unseen_.erase(still);
  on_gone_(made);
  if (read) co_return runtime::Requeue{std::chrono::milliseconds(1)};  // the other one's turn
  co_return runtime::Requeue{};
}

// Gives the claim's Subnet its label and its owner reference back, and the finalizer by which it
// rests.
async::Task<Step> SubnetReconciler::Adopt(Subnet subnet, Identity claim) {
  const auto read = co_await context_.api.Get(kSubnets, subnet.id.ns, subnet.id.name);
  if (!read && IsGone(read.error())) co_return Step();
  if (!read) co_return std::unexpected(read.error());
  Json patch = AdoptionOf(subnet.id, *read, kClaims, claim);
  patch["metadata"]["labels"] = Json::Object();
  patch["metadata"]["labels"][kMadeByLabel] = "true";
  const Space::PoolState* pool = context_.space.Find(subnet.PoolKey());
  if (pool && pool->pool.grace_seconds > 0) {
    patch["metadata"]["finalizers"] = FinalizersOf(subnet.id, kFinalizer);
  }
  const auto written = co_await context_.api.Patch(kSubnets, subnet.id.ns, subnet.id.name,
                                                   kube::PatchType::kMerge, patch.to_string());
  if (!written && !IsGone(written.error())) {
    co_return std::unexpected(
        Explained(written.error(), kSubnets.kind, subnet.id.name, "given its owner reference"));
  }
  co_return Step();
}

// Whether its cluster wants the block back. A claim that is gone or has another block meanwhile
// wants nothing.
bool SubnetReconciler::IsWanted(const std::string& subnet) {
  const auto wanted = wanted_.find(subnet);
  if (wanted == wanted_.end()) return false;
  const Claim* claim = context_.caches.claims.Get(wanted->second);
  if (claim && claim->id.deleting == 0 &&
      context_.space.BindingsOfClaim(claim->PoolKey(), Fingerprint(claim->id.uid)).empty()) {
    return true;
  }
  wanted_.erase(wanted);
  return false;
}

// How long a Subnet that is being deleted rests yet. A pool that is being deleted, or is gone, has
// no use for a block that nobody else gets, nor a child pool for its own range; a Subnet without a
// block has none to keep.
async::Duration SubnetReconciler::RestOf(const Subnet& subnet) {
  const Space::PoolState* pool = context_.space.Find(subnet.PoolKey());
  if (!pool || pool->pool.id.deleting != 0 || IsWanted(subnet.id.Key())) return {};
  if (context_.space.PlacementOf(subnet).phase != SubnetPhase::kAllocated ||
      IsChildsRange(context_.space, subnet)) {
    return {};
  }
  const auto until =
      async::WallTime(std::chrono::seconds(subnet.id.deleting + pool->pool.grace_seconds));
  return std::chrono::duration_cast<async::Duration>(until - context_.executor.WallNow());
}

async::Task<Outcome> SubnetReconciler::End(Subnet subnet) {
  if (IsGivenBack(context_.caches, subnet)) context_.space.Rest(subnet);
  if (!subnet.id.finalizer) co_return runtime::Requeue{};
  if (const auto left = RestOf(subnet); left > left.zero()) {
    auto told = co_await Report(std::move(subnet));
    if (told) told->after = told->after > left.zero() ? std::min(told->after, left) : left;
    co_return told;
  }
  Json patch = PatchOf(subnet.id);
  patch["metadata"]["finalizers"] = FinalizersOf(subnet.id, "");
  const auto removed = co_await context_.api.Patch(kSubnets, subnet.id.ns, subnet.id.name,
                                                   kube::PatchType::kMerge, patch.to_string());
  if (!removed && !IsGone(removed.error())) {
    auto error = Explained(removed.error(), kSubnets.kind, subnet.id.name, "let go");
    co_return co_await Refused(std::move(subnet), std::move(error));
  }
  co_return runtime::Requeue{};
}

// The cache says that its claim is gone; the API server decides.
async::Task<Outcome> SubnetReconciler::DropOrphan(Subnet subnet) {
  const auto claim = co_await context_.api.Get(kClaims, subnet.id.ns, subnet.claim_name);
  if (!claim && !IsGone(claim.error())) co_return std::unexpected(claim.error());
  if (claim) {
    const auto owner = kube::Decode<Claim>(*claim);
    if (!owner) co_return std::unexpected(owner.error());
    if (owner->id.uid == subnet.claim_uid) co_return runtime::Requeue{1s};
  }
  std::string why = Format("SubnetClaim {} is gone", subnet.claim_name);
  co_return co_await Drop(std::move(subnet), std::move(why));
}

async::Task<Outcome> SubnetReconciler::Drop(Subnet subnet, std::string why) {
  const auto deleted =
      co_await context_.api.Delete(kSubnets, subnet.id.ns, subnet.id.name,
                                   {.uid = subnet.id.uid, .resource_version = {}, .call = {}});
  if (!deleted && !IsGone(deleted.error())) {
    auto error = Explained(deleted.error(), kSubnets.kind, subnet.id.name, "deleted");
    if (error.error_class == kube::ErrorClass::kTerminal) {
      error.message = Format("{}; {}", why, error.message);
    }
    co_return co_await Refused(std::move(subnet), std::move(error));
  }
  co_return runtime::Requeue{};
}

async::Task<Outcome> SubnetReconciler::Refused(Subnet subnet, kube::Error error) {
  if (error.error_class != kube::ErrorClass::kTerminal) co_return std::unexpected(std::move(error));
  const auto now = context_.executor.Now();
  const auto wait = refusals_.Note(subnet.id, std::move(error.message), now).wait;
  auto told = co_await Report(std::move(subnet));
  if (told) told->after = wait;
  co_return told;
}

async::Task<Outcome> SubnetReconciler::Report(Subnet subnet) {
  auto placement = context_.space.PlacementOf(subnet);
  if (const auto* refusal = refusals_.Waiting(subnet.id, context_.executor.Now())) {
    placement.message += (placement.message.empty() ? "" : "; ") + refusal->message;
  } else if (refusals_.Knows(subnet.id.Key())) {
    refusals_.Forget(subnet.id.Key());  // nothing of it is to be written any more
  }
  const bool allocated = placement.phase == SubnetPhase::kAllocated;
  const bool keeps_time = placement.phase != SubnetPhase::kFailed;
  if (subnet.phase == placement.phase && subnet.message == placement.message &&
      (allocated ? subnet.has_allocated_at : keeps_time || !subnet.has_allocated_at)) {
    co_return runtime::Requeue{};
  }
  const std::string content = Format("{}\n{}", Name(placement.phase), placement.message);
  if (const auto wait = context_.pace.Wait(subnet.id.uid, content); wait > wait.zero()) {
    co_return runtime::Requeue{wait};
  }
  Json patch = PatchOf(subnet.id);
  Json& status = patch["status"] = Json::Object();
  status["phase"] = Name(placement.phase);
  status["message"] = placement.message.empty() ? Json::null() : Json(placement.message);
  if (allocated && !subnet.has_allocated_at) {
    status["allocatedAt"] = FormatTime(context_.executor.WallNow());
  } else if (!keeps_time && subnet.has_allocated_at) {
    status["allocatedAt"] = Json::null();
  }
  const auto written =
      co_await context_.api.Patch(kSubnets, subnet.id.ns, subnet.id.name, kube::PatchType::kMerge,
                                  patch.to_string(), {.subresource = "status", .call = {}});
  if (!written) {
    if (IsGone(written.error())) co_return runtime::Requeue{};
    co_return std::unexpected(written.error());
  }
  context_.pace.Wrote(subnet.id.uid, content);
  if (auto now = kube::Decode<Subnet>(*written)) {
    context_.caches.latest_subnets.Note(std::move(*now));
  }
  if (placement.phase == SubnetPhase::kFailed) {
    context_.events.Record(subnet.id.Reference(kSubnets), kube::EventType::kWarning,
                           subnet.cidr ? "AllocationConflict" : "ValidationFailed", "Allocate",
                           placement.message);
  }
  co_return runtime::Requeue{};
}

}  // namespace berth::ipam
