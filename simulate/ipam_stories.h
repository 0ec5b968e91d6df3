#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "json/json.h"

namespace berth::simulate {

class World;

// An annotation of a claim that a user wrote without a size.
inline constexpr const char* kUnsized = "example.com/unsized";
// On the claim that was told of a block last, of several.
inline constexpr const char* kToldLast = "example.com/told-last";
// On a claim whose user changes the clusterID to this value as soon as its Subnet is made.
inline constexpr const char* kFickle = "example.com/fickle";

// Sequences that users who act one by one rarely come to: each has pools of its own, and goes on
// once its claims are Bound or in Error. They go through the webhooks, which may refuse.
class IpamStories {
 public:
  using Act = std::function<void()>;
  // `restart` ends all replicas at once and starts them anew; `past` does something while
  // the API server calls no webhook.
  IpamStories(World& world, std::string ns, Act restart, std::function<void(const Act&)> past)
      : world_(world),
        ns_(std::move(ns)),
        restart_(std::move(restart)),
        past_webhooks_(std::move(past)) {}

  // Begins one of them.
  void Begin();
  // Begins one that came later than the others, for some seeds.
  void BeginLater(std::uint64_t seed);
  // Objects as plexaubnet leaves them: a pool claim that is Bound to a pool with a name that the
  // API server generated, and a claim with a block of that. Before any replica runs.
  void LeaveAsPlexaubnet();
  // A replica has made this Subnet. See kFickle.
  void SubnetWasMade(const Json& subnet) const;

 private:
  // True when the next one can follow; otherwise it is tried again for a while.
  using Step = std::function<bool()>;
  using Steps = std::vector<Step>;

  Steps GrowChild() const;
  Steps EditChild() const;
  Steps ChildOnBlock() const;
  Steps DeletePoolOfRestingBlocks() const;
  Steps NameClaimInSubnets() const;
  Steps StripOwner() const;
  Steps KeepBlocks() const;
  Steps Shrink() const;
  Steps TwinSubnet() const;
  Steps BorrowOwner() const;
  Steps ReturnPool() const;
  Steps MoveKept() const;
  Steps TakeBlockClaimsName() const;
  Steps RestAndReturn() const;
  Steps ShrinkParent() const;
  Steps StripBlockClaim() const;
  Steps TellTwo(std::uint64_t end) const;
  Steps TwinPools() const;
  Steps BreakPool() const;
  Steps EditCluster() const;

  // In all texts "@" stands for the number of the story.
  std::string Numbered(std::string text) const;
  std::string PathOf(const std::string& kind_and_name) const;
  Step Create(const std::string& kind, const std::string& name, const std::string& spec,
              const std::string& metadata = "") const;
  Step Merge(const std::string& path, const std::string& patch) const;
  Step Delete(const std::string& path) const;
  // All of the steps at once, and no webhook is called.
  Step Past(Steps steps) const;
  void LetGo(const std::string& path) const;
  // A claim or pool claim is Bound or in Error.
  Step Settled(const std::string& path) const;
  void Start(Steps steps);
  void Follow(Steps steps, std::size_t next, int tries);

  World& world_;
  const std::string ns_;
  const Act restart_;
  const std::function<void(const Act&)> past_webhooks_;
  int number_ = 0;
};

}  // namespace berth::simulate
