#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "kube/json_view.h"
#include "reconcile/ipam/objects.h"
#include "reconcile/ipam/space.h"
#include "reconcile/ipam/verdict.h"

// Whether an object may be stored as somebody proposes it: the rules of admission, on the control
// thread where the spaces are, and nothing of webhooks. In an update the object as it was goes
// along: what was wrong with it then and still is becomes a warning. An update that changes
// nothing of what is judged here is for the caller to let pass unasked.
namespace berth::ipam {

// Facts that are known when an object is judged. Without a space only the object itself is.
struct Knowledge {
  const Space* space = nullptr;
  // As System::SubnetsOf.
  std::function<std::vector<const Subnet*>(const std::string& pool, std::size_t most)> subnets_of =
      [](const std::string&, std::size_t) { return std::vector<const Subnet*>(); };
};

// A pool as it is proposed: its parent can be named in two places.
struct PoolProposal {
  Pool pool;
  std::string parent_label;
  std::string parent_ref;

  static kube::Result<PoolProposal> From(kube::JsonView object);
};

// A Subnet as it is proposed: its CIDR may be none.
struct SubnetProposal {
  Subnet subnet;
  std::string cidr;

  static kube::Result<SubnetProposal> From(kube::JsonView object);
};

inline Identity& IdentityOf(PoolProposal& proposal) { return proposal.pool.id; }
inline Identity& IdentityOf(SubnetProposal& proposal) { return proposal.subnet.id; }

// Each with the object as it was, none when it is created. For a pool O(L log P + pools and blocks
// that overlap it) as in Space, O(log n) for the others. A claim that finds no room costs what
// Space::Check does.
Verdict JudgePool(const PoolProposal& now, const PoolProposal* before, const Knowledge& known);
Verdict JudgeSubnet(const SubnetProposal& now, const SubnetProposal* before,
                    const Knowledge& known);
Verdict JudgeClaim(const Claim& now, const Claim* before, const Knowledge& known);
Verdict JudgePoolClaim(const PoolClaim& now, const PoolClaim* before, const Knowledge& known);

// A pool in use stays, unless its annotation says otherwise; so does the claim of a pool in use.
Verdict JudgePoolDeletion(const Pool& pool, const Knowledge& known);
Verdict JudgePoolClaimDeletion(const PoolClaim& claim, const Knowledge& known);

// The value of spec.defaultBlockSize when it is not given: the usual size of the family, within the
// pool's range and bounds. None when the CIDR is none.
std::optional<int> DefaultBlockSize(const Pool& pool);
// The value of spec.blockSize when a claim says neither what size nor which block: the size of the
// block that its pool keeps for it, or the pool's default. None when the claim says it, and when
// the pool is not known.
std::optional<int> DefaultBlockSize(const Claim& claim, const Knowledge& known);

}  // namespace berth::ipam
