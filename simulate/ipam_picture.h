#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "json/json.h"
#include "reconcile/ipam/cidr.h"
#include "simulate/documents.h"

namespace berth::simulate {

class World;

// A namespace's pools, Subnets and claims as the API server has them, and what is wrong with them.
// Naive on purpose: it walks over everything.
class IpamPicture {
 public:
  struct Block {
    std::string name;
    std::string uid;
    std::string pool;
    std::string cluster;
    std::string claim_uid;  // if Berth made it for a claim
    std::string named_uid;  // of the claim that it names
    std::string phase;
    bool deleting = false;
    ipam::Cidr cidr;
  };
  using Wrong = std::optional<std::string>;
  // The SubnetClaims that Berth made for pool claims, by uid.
  struct Maker {
    std::string uid;
    std::string maker_path;
  };
  using InternalClaims = std::map<std::string, Maker>;

  IpamPicture(World& world, std::string ns);

  // The collection of a kind in a namespace.
  static std::string Collection(std::string_view ns, std::string_view plural);

  // A Subnet was made for a claim: no other claim has one of its addresses, unless as the block
  // that the Subnet's pool is made of, nor was told of one (`told`: see CheckStatus).
  Wrong CheckNew(const std::string& subnet, const std::map<std::string, std::string>& told) const;
  // A replica deleted the pool or the claim, "plural/name": it was made for a pool claim.
  Wrong CheckDeletion(std::string_view path) const;
  // A replica wrote the status of an object. A claim does not leave a block, nor a pool claim a
  // pool, that it was told of and still has; `told` remembers it by uid. The claim that was told of
  // a block last does not lose it to another claim, nor to a user's Subnet. A Subnet is not given a
  // part of a child pool that gives out blocks.
  Wrong CheckStatus(std::string_view plural, std::string_view name,
                    std::map<std::string, std::string>& told) const;
  // A replica wrote the status of a Subnet. It was not given addresses that a Subnet of another
  // pool has, unless one of the pools is above the other. Of statuses that users wrote nothing is
  // said.
  Wrong CheckRivals(std::string_view subnet, const std::set<std::string>& tampered) const;
  // In the end. `by_hand` are the uids of Subnets that users have written.
  Wrong CheckAll(const std::set<std::string>& by_hand, const InternalClaims& internal) const;
  // Whether there is anything.
  Wrong CheckEmpty() const;

 private:
  Wrong CheckPromised(const Block& made, const std::map<std::string, std::string>& told) const;
  bool IsAncestor(const std::string& ancestor, std::string pool) const;
  std::optional<ipam::Cidr> RangeOf(const std::string& pool) const;
  bool Used(const std::string& pool, const ipam::Cidr& block, bool with_children) const;
  bool Taken(const Block& block) const;
  bool IsBaseOf(const Block& block, const std::string& pool) const;
  bool WasBaseOf(const Block& block, const std::string& pool) const;
  bool KeepsForOther(const std::string& pool, const std::string& claim,
                     const ipam::Cidr& block) const;
  Wrong CheckChild(const std::string& name, const Json& pool) const;
  bool Rests(const Block& block) const;
  Wrong CheckReason(const Json& claim) const;
  Wrong CheckMove(const Json& claim, std::map<std::string, std::string>& told) const;
  Wrong CheckUnsized(const Json& claim) const;
  Wrong CheckLost(const Json& claim, std::map<std::string, std::string>& told) const;
  Wrong CheckByHand(const Block& block, const std::map<std::string, std::string>& told) const;
  Wrong CheckPlaced(const Block& block) const;
  Wrong CheckBound(const Json& claim) const;
  Wrong CheckWaiting(const Block& block) const;
  Wrong CheckClaim(const Json& claim, bool held) const;
  Wrong CheckClaims(const std::set<std::string>& by_hand) const;
  bool IsBoundElsewhere(const Block& block) const;
  Wrong CheckPool(const std::string& name, const Json& pool) const;
  Wrong CheckPoolClaims() const;
  Wrong CheckInternal(const InternalClaims& internal) const;

  std::string ns_;
  std::map<std::string, Json> pools_;
  std::vector<Block> blocks_;
  Documents subnets_;
  Documents claims_;
  Documents pool_claims_;
};

}  // namespace berth::simulate
