#include "reconcile/ipam/claim_reconciler.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "kube/object.h"
#include "log/format.h"
#include "reconcile/ipam/stamp.h"
#include "reconcile/ipam/wish.h"

namespace berth::ipam {
namespace {

// The name of a block's Subnet is another Subnet's.
constexpr std::string_view kNameTaken = "NameTaken";

constexpr std::string_view kNotAsSpec =
    "; spec asks for another block since: recreate the claim to get one";

constexpr std::string_view kOtherCluster =
    "; spec has another clusterID since: recreate the claim to get a block for that";

kube::Error Denied(const Denial& denial) {
  return {kube::ErrorClass::kTerminal, denial.reason, denial.message, 0, {}};
}

std::string_view EventReason(const std::string& reason) {
  if (reason == "PoolExhausted") return "SubnetPoolExhausted";
  if (reason == "InvalidRequest") return "ValidationFailed";
  if (reason == "ClusterIDConflict" || reason == "RequestedCIDRTaken" ||
      reason == "AllocationLost") {
    return "AllocationConflict";
  }
  return reason;
}

}  // namespace

async::Task<Outcome> ClaimReconciler::Reconcile(std::string key) {
  const Claim* cached = context_.caches.latest_claims.Get(key);
  const Owner owner = cached ? Fingerprint(cached->id.uid) : 0;
  Claim claim = cached ? *cached : Claim{};
  // A write may have been sent, or its refusal answered, after the claim was gone.
  if (!cached) refusals_.Forget(key);
  if (const auto telling = telling_.find(key);
      telling != telling_.end() && (!cached || telling->second.uid != claim.id.uid)) {
    telling_.erase(telling);
  }
  const bool changed = cached && HasChanged(claim, owner);
  const auto settled = co_await Settle(key, changed ? 0 : owner);
  if (!settled || !cached) co_return settled;
  if (changed && OpenUntil(key, owner)) co_return settled;
  if (claim.id.deleting != 0) {
    // Its block stays held until its Subnet is gone.
    if (const auto ended = co_await End(std::move(claim)); !ended) co_return ended;
    co_return co_await Settle(std::move(key), 0);
  }
  auto given = co_await BlockOf(claim, owner);
  // When to come again for what the status does not say yet.
  Outcome told;
  runtime::Requeue again = *settled;
  if (given) {
    refusals_.Forget(key);
    told = co_await ReportBound(std::move(claim), std::move(*given));
  } else if (given.error().code == 0 && !given.error().reason.empty() &&
             given.error().error_class == kube::ErrorClass::kTerminal) {
    // Waits for an event that changes it: room, a pool, a spec.
    told = co_await ReportError(std::move(claim), given.error().reason, given.error().message);
  } else if (given.error().error_class == kube::ErrorClass::kTerminal) {
    const auto now = context_.executor.Now();
    const Refusals::Refusal* refusal = refusals_.Waiting(claim.id, now);
    if (!refusal) refusal = &refusals_.Note(claim.id, given.error().message, now);
    again.after = refusal->until - now;
    told = co_await ReportError(std::move(claim), "SubnetRefused", given.error().message);
  } else {
    co_return std::unexpected(given.error());
  }
  if (told && told->after > again.after.zero()) {
    again.after =
        again.after > again.after.zero() ? std::min(again.after, told->after) : told->after;
  }
  if (!told) co_return told;
  co_return again;
}

async::Task<kube::Result<ClaimReconciler::Given>> ClaimReconciler::BlockOf(Claim claim,
                                                                           Owner owner) {
  const auto* binding =
      context_.space.BindingOf(claim.PoolKey(), claim.cluster, owner, ToldBlock(claim));
  if (binding && binding->claim == owner && binding->subnet != 0) {
    co_return Given{binding->block, SubnetNameOf(claim, *binding)};
  }
  if (const auto* refusal = refusals_.Waiting(claim.id, context_.executor.Now())) {
    co_return std::unexpected(
        kube::Error{kube::ErrorClass::kTerminal, "SubnetRefused", refusal->message, 403, {}});
  }
  co_return co_await Allocate(std::move(claim), owner);
}

// The name of the Subnet that holds the claim's block.
std::string ClaimReconciler::SubnetNameOf(const Claim& claim, const Space::Binding& held) const {
  const Subnet* seen = context_.caches.SubnetAt(claim.PoolKey(), held.block, held.subnet);
  if (seen) return seen->id.name;
  std::string other = OtherSubnetName(claim.pool, held.block);
  const Subnet* made = unseen_(KeyBeside(claim.id.Key(), other));
  if (made && Fingerprint(made->id.uid) == held.subnet) return other;
  return SubnetName(claim.pool, held.block);
}

bool ClaimReconciler::BacksOff(const Claim& claim) const {
  return refusals_.Waiting(claim.id, context_.executor.Now()) != nullptr;
}

// A block is held for what the claim does not ask for any more, or cannot have: its spec was
// changed, or its pool deleted or removed, before there was a Subnet. It is given back, at once or
// when it is certain that no Subnet comes of it.
bool ClaimReconciler::HasChanged(const Claim& claim, Owner owner) {
  const auto wish = WishOf(claim, owner);
  if (!context_.space.AssignmentOf(owner)) return false;
  const Space::PoolState* pool = context_.space.Find(claim.PoolKey());
  // A pool that is being deleted does not wait for a Subnet that cannot be created. A block of a
  // pool that is gone stays held for a claim that was told of it.
  const bool kept = pool ? pool->pool.id.deleting == 0 : wish && wish->promised;
  if (wish && kept && context_.space.Fits(claim.PoolKey(), *wish)) return false;
  const auto attempts = attempts_.find(claim.id.Key());
  if (attempts != attempts_.end() && attempts->second.contains(owner)) return true;
  context_.space.Abandon(owner);
  return false;
}

// Looks after what was asked for by a claim that is gone: the block is given back once it is
// certain that no Subnet came of it.
async::Task<Outcome> ClaimReconciler::Settle(std::string key, Owner except) {
  runtime::Requeue again;
  const auto attempts = attempts_.find(key);
  if (attempts == attempts_.end()) co_return again;
  const std::map<Owner, Attempt> pending = attempts->second;
  for (const auto& [owner, attempt] : pending) {
    const auto left = attempt.settled - context_.executor.Now();
    if (owner == except) {
      if (left <= async::Duration::zero()) attempts_[key].erase(owner);
      continue;
    }
    if (left > async::Duration::zero()) {
      again.after = again.after == async::Duration() ? left : std::min(again.after, left);
      continue;
    }
    const auto ns = std::string(SplitKey(key).first);
    for (auto* name : {SubnetName, OtherSubnetName}) {
      const auto subnet =
          co_await context_.api.Get(kSubnets, ns, name(attempt.pool, attempt.block));
      if (!subnet && !IsGone(subnet.error())) co_return std::unexpected(subnet.error());
      if (subnet) Take(*subnet);
    }
    context_.space.Abandon(owner);
    attempts_[key].erase(owner);
  }
  if (attempts_[key].empty()) attempts_.erase(key);
  co_return again;
}

async::Task<Outcome> ClaimReconciler::End(Claim claim) {
  if (!claim.id.finalizer) co_return runtime::Requeue{};
  Json patch = PatchOf(claim.id);
  patch["metadata"]["finalizers"] = FinalizersOf(claim.id, "");
  const auto removed = co_await context_.api.Patch(kClaims, claim.id.ns, claim.id.name,
                                                   kube::PatchType::kMerge, patch.to_string());
  if (!removed && !IsGone(removed.error())) co_return std::unexpected(removed.error());
  co_return runtime::Requeue{};
}

std::expected<Cidr, Denial> ClaimReconciler::Choose(const Claim& claim, Owner owner) {
  auto wish = WishOf(claim, owner);
  if (!wish) return std::unexpected(wish.error());
  const std::string pool = claim.PoolKey();
  wish->avoid = refusals_.Blocks(claim.id);
  if (wish->promised) return AssignTo(context_.space, claim, *wish);
  const auto stamp =
      ReadStamp(claim.stamp, context_.stamp_key, claim.id.ns, claim.id.name, claim.pool);
  const bool fits = stamp && (!wish->exact || *wish->exact == stamp->block) &&
                    (!wish->size || *wish->size == stamp->block.prefix()) &&
                    (wish->exact || !std::ranges::contains(wish->avoid, stamp->block));
  if (fits) {
    if (auto redeemed = context_.space.Redeem(pool, stamp->token, stamp->block, *wish)) {
      return redeemed;
    }
  } else if (stamp) {
    // The claim has changed since; what was reserved for it must not be in its way.
    context_.space.Abandon(stamp->token);
  }
  return context_.space.Assign(pool, *wish);
}

// Nothing else is to be had, but the cluster's own block from before rests: nobody has to be kept
// from using it before its last user forgets it. True when its rest is ended now.
bool ClaimReconciler::TakesBack(const Claim& claim, Owner owner) {
  const auto wish = WishOf(claim, owner);
  if (!wish) return false;
  const auto resting = context_.space.RestingFor(claim.PoolKey(), *wish);
  return resting && end_rest_(*resting, claim.id.Key());
}

void ClaimReconciler::Arrived(const Claim& claim) {
  if (!claim.stamp.empty()) TakeNow(claim);
}

void ClaimReconciler::TakeNow(const Claim& claim) {
  if (claim.Bound() || claim.id.deleting != 0) return;
  const Owner owner = Fingerprint(claim.id.uid);
  // A claim that has a block already must not get a second one.
  if (!context_.space.BindingsOfClaim(claim.PoolKey(), owner).empty()) return;
  // A claim that cannot be served is told when its turn comes.
  std::ignore = Choose(claim, owner);
}

bool ClaimReconciler::Serve(const Claim& claim) {
  const bool told = claim.phase == "Error" && claim.observed == claim.id.generation &&
                    claim.id.deleting == 0 &&
                    context_.caches.latest_claims.Get(claim.id.Key()) == &claim;
  const Owner owner = Fingerprint(claim.id.uid);
  // A claim that has a block already must not get a second one.
  if (!told || !context_.space.BindingsOfClaim(claim.PoolKey(), owner).empty()) return true;
  const auto given = Choose(claim, owner);
  if (given || given.error().reason != claim.reason || given.error().message != claim.message) {
    return true;
  }
  const auto wish = WishOf(claim, owner);
  return wish && context_.space.RestingFor(claim.PoolKey(), *wish);  // see TakesBack
}

bool ClaimReconciler::HasLeft(const Claim& claim) const {
  const Claim* present = context_.caches.latest_claims.Get(claim.id.Key());
  return !present || present->id.uid != claim.id.uid;
}

void ClaimReconciler::Left(const Claim& claim) {
  refusals_.Forget(claim.id.Key());
  telling_.erase(claim.id.Key());
  const Owner owner = Fingerprint(claim.id.uid);
  const auto attempts = attempts_.find(claim.id.Key());
  if (attempts != attempts_.end() && attempts->second.contains(owner)) return;  // see Settle
  context_.space.Abandon(owner);
}

async::Task<kube::Result<bool>> ClaimReconciler::Exists(Claim claim) {
  const auto read = co_await context_.api.Get(kClaims, claim.id.ns, claim.id.name);
  if (!read) {
    if (IsGone(read.error())) co_return false;
    co_return std::unexpected(read.error());
  }
  const auto present = kube::Decode<Claim>(*read);
  if (!present) co_return std::unexpected(present.error());
  co_return present->id.uid == claim.id.uid && present->id.deleting == 0;
}

async::Task<kube::Result<ClaimReconciler::Given>> ClaimReconciler::Allocate(Claim claim,
                                                                            Owner owner) {
  const auto block = Choose(claim, owner);
  const bool lacks_room = !block && (block.error().reason == "PoolExhausted" ||
                                     block.error().reason == "RequestedCIDRTaken");
  if (lacks_room && TakesBack(claim, owner)) {
    co_return std::unexpected(
        kube::Error{kube::ErrorClass::kConflict, {}, "waits for the end of its block's rest"});
  }
  if (!block) co_return std::unexpected(Denied(block.error()));
  if (!claim.allocated.empty()) {
    // Its Subnet is gone. Most often that is because the claim is, which another watch will tell;
    // the block is given back then.
    const auto exists = co_await Exists(claim);
    if (!exists) co_return std::unexpected(exists.error());
    if (!*exists) {
      if (HasLeft(claim)) Left(claim);
      co_return std::unexpected(
          kube::Error{kube::ErrorClass::kConflict, {}, "the cache is behind: the claim is gone"});
    }
  }
  co_return co_await Make(std::move(claim), owner, *block);
}

std::string ClaimReconciler::BodyOf(const Claim& claim, const Cidr& block,
                                    const std::string& name) const {
  Json body = ObjectFor(kSubnets, name, kClaims, claim.id);
  const Space::PoolState* pool = context_.space.Find(claim.PoolKey());
  if (pool && pool->pool.grace_seconds > 0) {
    // Deleted, it rests before its block is given out again.
    body["metadata"]["finalizers"] = FinalizersOf({}, kFinalizer);
  }
  Json& spec = body["spec"];
  spec["poolRef"] = claim.pool;
  spec["cidr"] = block.ToString();
  spec["clusterID"] = claim.cluster;
  spec["claimRef"] = Json::Object();
  spec["claimRef"]["name"] = claim.id.name;
  spec["claimRef"]["uid"] = claim.id.uid;
  return body.to_string();
}

async::Task<kube::Result<ClaimReconciler::Given>> ClaimReconciler::Make(Claim claim, Owner owner,
                                                                        Cidr block) {
  const std::string usual = SubnetName(claim.pool, block);
  const std::string other = OtherSubnetName(claim.pool, block);
  // A create of the other name that has no answer yet must not leave a second Subnet.
  const bool other_open = OpenName(claim.id.Key(), owner) == other;
  auto made = co_await MakeAs(claim, owner, block, other_open ? other : usual);
  if (!made && made.error().reason == kNameTaken &&
      made.error().error_class == kube::ErrorClass::kTerminal) {
    made = co_await MakeAs(claim, owner, block, other_open ? usual : other);
  }
  // Given back, so that others may try with it, unless the claim was told of it and is still there.
  if (!made && made.error().error_class == kube::ErrorClass::kTerminal &&
      (HasLeft(claim) || PromisedBlock(claim) != block)) {
    // A policy may refuse this block alone: the next try is with another one.
    if (!HasLeft(claim)) {
      std::string& message = made.error().message;
      message = refusals_.NoteBlock(claim.id, claim.pool, block, message, MayAdmitAnother(message));
    }
    context_.space.Abandon(owner);
  }
  co_return made;
}

async::Task<kube::Result<ClaimReconciler::Given>> ClaimReconciler::MakeAs(Claim claim, Owner owner,
                                                                          Cidr block,
                                                                          std::string name) {
  const std::string key = claim.id.Key();
  // The claim may have left while an answer was waited for, and others have the block by now.
  if (context_.space.AssignmentOf(owner) != block) {
    co_return std::unexpected(
        kube::Error{kube::ErrorClass::kConflict, {}, "its block was given back meanwhile"});
  }
  // A try before this one may still be under way, whatever becomes of this one.
  const auto earlier = OpenUntil(key, owner);
  // Noted before it is sent: the coroutine may be destroyed while it waits.
  attempts_[key].insert_or_assign(
      owner, Attempt{claim.pool, block, context_.executor.Now() + kSettled, name});
  auto sent = co_await context_.api.Create(kSubnets, claim.id.ns, BodyOf(claim, block, name));
  if (!sent) sent = std::unexpected(WithWebhooksAsRefusals(std::move(sent.error())));
  if (!sent && sent.error().error_class == kube::ErrorClass::kAmbiguous) {
    co_return std::unexpected(sent.error());
  }
  const bool exists = !sent && sent.error().reason == "AlreadyExists";
  const bool refused =
      !sent && !exists &&
      (sent.error().error_class == kube::ErrorClass::kTerminal || IsGone(sent.error()));
  if (!sent && !exists && !refused) co_return std::unexpected(sent.error());
  Answered(key, owner, earlier);
  if (sent) {
    Take(*sent);
    co_return Given{block, std::move(name)};
  }
  kube::Error error = sent.error();
  if (exists) {
    auto adopted = co_await Adopt(std::move(claim), owner, block, name);
    if (adopted || adopted.error().error_class != kube::ErrorClass::kTerminal) co_return adopted;
    error = adopted.error();
  }
  error.message = ExplainRefusal("Subnet", name, error);
  error.error_class = earlier ? kube::ErrorClass::kRetry : kube::ErrorClass::kTerminal;
  if (error.code == 0) error.code = 409;
  co_return std::unexpected(std::move(error));
}

// Until when a create of the claim's Subnet may be carried out that was not answered.
std::optional<async::TimePoint> ClaimReconciler::OpenUntil(const std::string& key,
                                                           Owner owner) const {
  const auto attempts = attempts_.find(key);
  if (attempts == attempts_.end()) return std::nullopt;
  const auto found = attempts->second.find(owner);
  if (found == attempts->second.end()) return std::nullopt;
  if (found->second.settled <= context_.executor.Now()) return std::nullopt;
  return found->second.settled;
}

// The Subnet's name in that create; "" for none.
std::string ClaimReconciler::OpenName(const std::string& key, Owner owner) const {
  return OpenUntil(key, owner) ? attempts_.at(key).at(owner).subnet : "";
}

// The last try has its answer: what is left open are those before it.
void ClaimReconciler::Answered(const std::string& key, Owner owner,
                               std::optional<async::TimePoint> earlier) {
  const auto attempts = attempts_.find(key);
  if (attempts == attempts_.end()) return;
  const auto tried = attempts->second.find(owner);
  if (tried == attempts->second.end()) return;
  if (earlier) {
    tried->second.settled = *earlier;
    return;
  }
  attempts->second.erase(tried);
  if (attempts->second.empty()) attempts_.erase(attempts);
}

std::optional<async::TimePoint> ClaimReconciler::Keep(const Claim& claim, const Cidr& block) {
  const std::string key = claim.id.Key();
  const Owner owner = Fingerprint(claim.id.uid);
  const auto earlier = OpenUntil(key, owner);
  attempts_[key].insert_or_assign(owner,
                                  Attempt{claim.pool, block, context_.executor.Now() + kSettled});
  return earlier;
}

void ClaimReconciler::Release(const Claim& claim, std::optional<async::TimePoint> earlier) {
  const std::string key = claim.id.Key();
  Answered(key, Fingerprint(claim.id.uid), earlier);
  // The claim may have left meanwhile: its block was kept for this answer alone.
  if (HasLeft(claim)) Left(claim);
}

bool ClaimReconciler::MayReturn(const Subnet& subnet) const {
  const auto attempts = attempts_.find(KeyBeside(subnet.id.Key(), subnet.claim_name));
  if (subnet.claim_uid.empty() || attempts == attempts_.end()) return false;
  const auto tried = attempts->second.find(Fingerprint(subnet.claim_uid));
  // A user's Subnet may name the claim, have its block and be of another pool.
  return tried != attempts->second.end() && tried->second.pool == subnet.pool &&
         tried->second.block == subnet.cidr && tried->second.settled > context_.executor.Now();
}

bool ClaimReconciler::IsTold(const Subnet& subnet) const {
  if (subnet.claim_uid.empty() || !subnet.cidr) return false;
  if (!context_.space.Keeps(subnet.PoolKey(), subnet.claim_name, *subnet.cidr)) return false;
  const std::string key = KeyBeside(subnet.id.Key(), subnet.claim_name);
  const Claim* claim = context_.caches.latest_claims.Get(key);
  if (!claim || claim->id.uid != subnet.claim_uid || claim->pool != subnet.pool) return false;
  const auto telling = telling_.find(key);
  if (telling != telling_.end() && telling->second.uid == claim->id.uid &&
      telling->second.block == subnet.cidr->ToString()) {
    return true;
  }
  return PromisedBlock(*claim) == subnet.cidr;
}

void ClaimReconciler::Reclaim(const Claim& claim) {
  const Owner owner = Fingerprint(claim.id.uid);
  if (!PromisedBlock(claim)) return;
  if (!context_.space.BindingsOfClaim(claim.PoolKey(), owner).empty()) return;
  // A block that somebody else has by now is told of when the claim's turn comes.
  std::ignore = Choose(claim, owner);
}

// There is a Subnet of this name: made by an earlier try of this claim, or somebody else's.
async::Task<kube::Result<ClaimReconciler::Given>> ClaimReconciler::Adopt(Claim claim, Owner owner,
                                                                         Cidr block,
                                                                         std::string name) {
  const auto read = co_await context_.api.Get(kSubnets, claim.id.ns, name);
  if (!read) {
    // Gone again: another try will tell.
    co_return std::unexpected(
        kube::Error{kube::ErrorClass::kRetry, {}, "Subnet: " + read.error().message});
  }
  const auto subnet = kube::Decode<Subnet>(*read);
  if (!subnet) co_return std::unexpected(subnet.error());
  if (subnet->cidr != block || subnet->pool != claim.pool) {
    co_return std::unexpected(
        kube::Error{kube::ErrorClass::kTerminal,
                    std::string(kNameTaken),
                    Format("a Subnet of this name holds {} of pool {}",
                           subnet->cidr ? subnet->cidr->ToString() : "no block", subnet->pool),
                    409,
                    {}});
  }
  if (subnet->made && subnet->claim_uid == claim.id.uid) {
    Take(*read);
    co_return Given{block, std::move(name)};
  }
  context_.space.Abandon(owner);
  Take(*read);
  co_return std::unexpected(kube::Error{
      kube::ErrorClass::kConflict, {}, Format("{} was taken meanwhile", block.ToString())});
}

// A Subnet as the API server has just answered.
void ClaimReconciler::Take(std::string_view body) {
  if (const auto subnet = kube::Decode<Subnet>(body)) on_made_(*subnet);
}

async::Task<Outcome> ClaimReconciler::ReportBound(Claim claim, Given given) {
  const bool news = !claim.Bound();
  const std::string block = given.block.ToString();
  const bool other = context_.space.IsOfAnotherCluster(claim.PoolKey(), claim.cluster,
                                                       Fingerprint(claim.id.uid), given.block);
  const std::string message =
      Format("{} is allocated, as Subnet {}{}{}", block, given.subnet,
             MatchesSpec(claim, given.block) ? "" : kNotAsSpec, other ? kOtherCluster : "");
  auto written = co_await Write(
      &claim, {.phase = "Bound", .reason = "Bound", .message = message, .ready = true}, block);
  if (!written || written->after > written->after.zero()) co_return written;
  if (news) {
    context_.events.Record(claim.id.Reference(kClaims), kube::EventType::kNormal, "SubnetAllocated",
                           "Allocate", message);
  }
  if (claim.stamp.empty()) co_return written;
  if (auto dropped = co_await DropStamp(std::move(claim)); !dropped) {
    co_return std::unexpected(dropped.error());
  }
  co_return written;
}

async::Task<Outcome> ClaimReconciler::ReportError(Claim claim, std::string reason,
                                                  std::string message) {
  const bool news = claim.phase != "Error" || claim.message != message;
  const std::string allocated = PromisedBlock(claim) ? claim.allocated : "";
  auto written = co_await Write(
      &claim, {.phase = "Error", .reason = reason, .message = message, .ready = false}, allocated);
  if (written && written->after == written->after.zero() && news) {
    context_.events.Record(claim.id.Reference(kClaims), kube::EventType::kWarning,
                           EventReason(reason), "Allocate", message);
    if (const auto* pool = context_.space.Find(claim.PoolKey());
        pool && reason == "PoolExhausted") {
      context_.events.Record(pool->pool.id.Reference(kPools), kube::EventType::kWarning,
                             EventReason(reason), "Allocate", "claims wait for room in this pool");
    }
  }
  co_return written;
}

async::Task<Outcome> ClaimReconciler::Write(Claim* claim, Report report, std::string allocated) {
  auto conditions =
      WithReady(claim->conditions, report, claim->id.generation, context_.executor.WallNow());
  const std::string message = report.ready ? "" : report.message;
  if (!conditions && claim->phase == report.phase && claim->allocated == allocated &&
      claim->message == message && claim->observed == claim->id.generation) {
    co_return runtime::Requeue{};
  }
  const std::string content = report.Content(claim->id.generation, allocated);
  if (const auto wait = context_.pace.Wait(claim->id.uid, content); wait > wait.zero()) {
    co_return runtime::Requeue{wait};
  }
  Json patch = PatchOf(claim->id);
  Json& status = patch["status"] = Json::Object();
  status["observedGeneration"] = claim->id.generation;
  status["phase"] = report.phase;
  status["allocatedCIDR"] = allocated.empty() ? Json::null() : Json(allocated);
  status["message"] = message.empty() ? Json::null() : Json(message);
  if (conditions) status["conditions"] = std::move(*conditions);
  const std::string key = claim->id.Key();
  if (!allocated.empty()) telling_[key] = {claim->id.uid, allocated};
  const auto written =
      co_await context_.api.Patch(kClaims, claim->id.ns, claim->id.name, kube::PatchType::kMerge,
                                  patch.to_string(), {.subresource = "status"});
  if (written || written.error().error_class != kube::ErrorClass::kAmbiguous) telling_.erase(key);
  if (!written) co_return std::unexpected(written.error());
  context_.pace.Wrote(claim->id.uid, content);
  auto now = kube::Decode<Claim>(*written);
  if (!now) co_return std::unexpected(now.error());
  *claim = *now;
  context_.caches.latest_claims.Note(std::move(*now));
  co_return runtime::Requeue{};
}

async::Task<Step> ClaimReconciler::DropStamp(Claim claim) {
  Json patch = PatchOf(claim.id);
  Json& annotations = patch["metadata"]["annotations"] = Json::Object();
  annotations[kStampAnnotation] = Json::null();
  const auto written = co_await context_.api.Patch(kClaims, claim.id.ns, claim.id.name,
                                                   kube::PatchType::kMerge, patch.to_string());
  if (!written) co_return std::unexpected(written.error());
  if (auto now = kube::Decode<Claim>(*written)) context_.caches.latest_claims.Note(std::move(*now));
  co_return Step();
}

}  // namespace berth::ipam
