#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "async/executor.h"
#include "json/json.h"
#include "kube/api.h"
#include "kube/conditions.h"
#include "kube/events.h"
#include "kube/informer.h"
#include "kube/leader_election.h"
#include "reconcile/ipam/metrics.h"
#include "reconcile/ipam/objects.h"
#include "reconcile/ipam/space.h"
#include "reconcile/ipam/status_pace.h"
#include "reconcile/runtime/controller.h"
#include "reconcile/runtime/overlay.h"

namespace berth::ipam {

using Outcome = kube::Result<runtime::Requeue>;
using Step = kube::Result<void>;
using runtime::FinalizersOf;
using runtime::IsGone;
using runtime::Overlay;
using runtime::PatchOf;

// A write without an answer may still be carried out this long after it was sent: until it is given
// up by the client, delivered, and given up by the server.
inline constexpr async::Duration kSettled =
    kube::FencedTransport::kLongestWrite + kube::kDelivery + kube::FencedTransport::kLongestWrite;

// The four kinds as the API server has them, with the indexes that reconcilers look up by.
struct Caches {
  Caches(async::Executor& executor, kube::Transport& transport);

  void Start();
  bool synced() const;
  bool fresh() const;
  void Refresh();

  // The Subnet of this uid (its Fingerprint) that holds a block of a pool, whatever its name is;
  // none when the watch has not brought it. O(1); for one that does not have its usual name
  // O(log n).
  const Subnet* SubnetAt(const std::string& pool, const Cidr& block, Owner uid) const;

  kube::Informer<Pool> pools;
  kube::Informer<Subnet> subnets;
  kube::Informer<Claim> claims;
  kube::Informer<PoolClaim> pool_claims;
  // With what was written here and has yet to come back.
  Overlay<Pool> latest_pools;
  Overlay<Subnet> latest_subnets;
  Overlay<Claim> latest_claims;
  Overlay<PoolClaim> latest_pool_claims;
  std::size_t subnets_by_pool;   // "ns/pool"
  std::size_t renamed_by_block;  // Subnets that do not have their usual name
  // By uid of the SubnetClaim: Subnets that name it and that the Space may not have bound to it.
  std::size_t unbound_subnets_by_claim;
  std::size_t pools_by_owner;          // uid of their SubnetPoolClaim
  std::size_t claims_by_owner;         // the same
  std::size_t unbound_claims_by_pool;  // those that wait for something
  std::size_t told_claims_by_pool;     // those whose status names a block
  // Records that wait for something, or are being deleted.
  std::size_t unbound_pool_claims_by_parent;
  std::size_t pool_claims_by_child;  // their uid, and "ns/pool" of the pool in their status
};

// Whether a Subnet is being deleted and its claim is, too, or gone: see Space::Rest.
bool IsGivenBack(const Caches& caches, const Subnet& subnet);

// Shared by the reconcilers of a leader.
struct Context {
  async::Executor& executor;
  kube::Api api;
  kube::EventRecorder& events;
  Caches& caches;
  Space& space;
  Metrics* metrics;  // may be none
  std::string stamp_key;
  StatusPace& pace;
};

// The common part of every status of ours: a phase, a sentence, a Ready condition.
struct Report {
  std::string phase;
  std::string reason;
  std::string message;
  bool ready = false;

  // All of it, and what the status has beside it; see StatusPace.
  std::string Content(std::int64_t generation, std::string_view more) const;
};

// The conditions with Ready as the report has it; none when nothing is new.
std::optional<Json> WithReady(const std::string& conditions, const Report& report,
                              std::int64_t generation, async::WallTime now);

// The patch that adds an owner to those of an object as it was read; refused when the object has
// changed.
Json AdoptionOf(const Identity& id, std::string_view object, const kube::Resource& owner_kind,
                const Identity& owner);

// An object that is made for another one, its owner, and goes when that is gone.
Json ObjectFor(const kube::Resource& resource, const std::string& name,
               const kube::Resource& owner_kind, const Identity& owner);

}  // namespace berth::ipam
