// Random pools and Subnets, changed, moved and removed in any order, against the naive view: sets
// of addresses.
#include <gtest/gtest.h>

#include <map>
#include <random>
#include <string>
#include <vector>

#include "async/sanitized.h"
#include "async/test_executor.h"
#include "log/format.h"
#include "reconcile/ipam/space.h"

namespace berth::ipam {
namespace {

using namespace std::chrono_literals;

constexpr int kBits = 5;  // of the world's addresses
constexpr int kNames = 5;
constexpr const char* kBlockClaim = "pc-block";  // the SubnetClaim of the SubnetPoolClaim "pc"

class World {
 public:
  explicit World(unsigned seed) : random_(seed) {}

  void Step() {
    switch (Below(12)) {
      case 0:
      case 1:
        return PutPool();
      case 2:
      case 3:
        return ChangePool();
      case 4:
        return RemovePool();
      case 5:
      case 6:
        return PutSubnet();
      case 7:
        return RemoveSubnet();
      case 8:
        return Reserve();
      case 9:
        return Below(3) == 0 ? Rebuild() : Expire();
      default:
        return Claim();
    }
  }

  // The first difference from the model; empty for none.
  std::string Check() const {
    for (Address at = 0; at < Address{1} << kBits; ++at) {
      const Cidr address(Family::kIpv4, at, 32);
      std::string giver;
      for (const auto& [key, pool] : pools_) {
        if (!Gives(space_, key, address)) continue;
        if (!giver.empty()) {
          return Format("{} is assignable from {} and {}", address.ToString(), giver, key);
        }
        giver = key;
      }
      if (giver.empty()) continue;
      for (const auto& [key, subnet] : subnets_) {
        // One whose pool is gone has its block, too.
        if (subnet.has_allocated_at && subnet.cidr->Contains(address) &&
            !StandsFor(subnet, giver)) {
          return Format("{} is assignable from {} and in Subnet {} of {}", address.ToString(),
                        giver, key, subnet.pool);
        }
      }
    }
    return CheckRebuilt();
  }

  const std::string& trace() const { return trace_; }

 private:
  int Below(int bound) { return static_cast<int>(random_() % static_cast<unsigned>(bound)); }
  std::string Name() { return Format("p{}", Below(kNames)); }
  Cidr Block(int shortest) {
    const int prefix = shortest + Below(33 - shortest);
    return Cidr(Family::kIpv4, static_cast<Address>(Below(1 << kBits)), prefix).Canonical();
  }
  void Note(const std::string& what) { trace_ += what + "\n"; }

  // Whether the Subnet is the block of a pool that the giver is, or is below.
  bool StandsFor(const Subnet& subnet, const std::string& giver) const {
    for (const auto& [key, pool] : pools_) {
      if (key != giver && !space_.IsAncestor(key, giver)) continue;
      if (pool.parent == subnet.pool && !pool.owner_uid.empty() && pool.id.name == subnet.cluster &&
          pool.block_claim == subnet.claim_name && pool.cidr == subnet.cidr->ToString()) {
        return true;
      }
    }
    return false;
  }

  static bool Gives(const Space& space, const std::string& pool, const Cidr& block) {
    return space
        .Check(pool, {.claim = "x", .cluster = "nobody", .size = {}, .exact = block, .owner = 1})
        .has_value();
  }

  // Mostly inside its parent.
  Cidr RangeIn(const std::string& parent) {
    const auto found = pools_.find("ns/" + parent);
    const auto outer = found == pools_.end() ? std::nullopt : RangeOf(found->second);
    if (!outer || Below(3) == 0) return Block(32 - kBits);
    const Cidr range = Block(outer->prefix());
    const Address within = range.address() & (outer->Last() - outer->First());
    return Cidr(range.family(), outer->First() | within, range.prefix());
  }
  static std::optional<Cidr> RangeOf(const Pool& pool) {
    const auto range = Cidr::Parse(pool.cidr);
    return range ? std::optional(*range) : std::nullopt;
  }

  void Spec(Pool& pool) {
    pool.parent = Below(3) == 0 ? "" : Name();
    pool.cidr = Below(20) == 0 ? "nonsense" : RangeIn(pool.parent).ToString();
    pool.max_block = Below(20) == 0 ? std::optional(1) : std::nullopt;  // not valid
    ++pool.id.generation;
  }

  void Put(const Pool& pool) {
    Note(Format("pool {} {} in {} {}", pool.id.name, pool.cidr, pool.parent, pool.id.uid));
    pools_[pool.id.Key()] = pool;
    space_.PutPool(pool);
    Report();
  }

  void PutPool() {
    Pool pool;
    pool.id.ns = "ns";
    pool.id.name = Name();
    pool.id.uid = Format("u{}", ++last_);
    pool.id.created = last_;
    if (Below(4) == 0) {
      pool.owner_uid = "pc";
      pool.block_claim = kBlockClaim;
    }
    Spec(pool);
    Put(pool);  // perhaps over one of the name, as when its end was not seen
  }

  void ChangePool() {
    if (pools_.empty()) return;
    Pool pool = std::next(pools_.begin(), Below(static_cast<int>(pools_.size())))->second;
    const Pool before = pool;
    Spec(pool);
    if (Below(2) == 0) pool.parent = before.parent;
    if (Below(4) == 0) pool.cidr = before.cidr;
    Put(pool);
  }

  // As the System does it.
  void RemovePool() {
    const std::string key = "ns/" + Name();
    if (pools_.erase(key) == 0) return;
    Note("remove " + key);
    std::vector<const Subnet*> subnets;
    for (const auto& [name, subnet] : subnets_) {
      if (subnet.PoolKey() == key) subnets.push_back(&subnet);
    }
    for (const Subnet* subnet : subnets) space_.RemoveSubnet(*subnet);
    space_.RemovePool(key);
    for (const Subnet* subnet : subnets) space_.PutSubnet(*subnet);
    Report();
  }

  void Put(Subnet subnet) {
    subnet.id.ns = "ns";
    subnet.id.name = Format("s{}", ++last_);
    subnet.id.uid = subnet.id.name;
    subnet.id.created = last_;
    Note(Format("subnet {} {} of {} for {}", subnet.id.name, subnet.cidr->ToString(), subnet.pool,
                subnet.cluster));
    subnets_[subnet.id.Key()] = subnet;
    space_.PutSubnet(subnet);
    Report();
  }

  void PutSubnet() {
    Subnet subnet;
    subnet.pool = Name();
    subnet.cidr = Block(32 - kBits);
    subnet.cluster = Below(3) == 0 ? Name() : Format("c{}", last_);
    Put(std::move(subnet));
  }

  void RemoveSubnet() {
    if (subnets_.empty()) return;
    const auto found = std::next(subnets_.begin(), Below(static_cast<int>(subnets_.size())));
    Note("remove " + found->first);
    const Subnet subnet = found->second;
    subnets_.erase(found);
    space_.RemoveSubnet(subnet);
    Report();
  }

  // A claim that gets its block, and mostly its Subnet, too.
  void Claim() {
    const std::string pool = Name();
    const std::string uid = Format("claim{}", ++last_);
    Wish wish{.claim = uid, .cluster = uid, .size = 32 - Below(kBits), .owner = Fingerprint(uid)};
    if (Below(4) == 0) wish.cluster = Name();
    if (Below(2) == 0) wish.claim = kBlockClaim;
    if (Below(2) == 0) wish.exact = Block(32 - kBits);
    const auto block = space_.Assign("ns/" + pool, wish);
    if (!block) return;
    Note(Format("assign {} of {} for {}", block->ToString(), pool, wish.cluster));
    if (Below(6) == 0) {
      Note("abandon");
      space_.Abandon(wish.owner);
      return Report();
    }
    Subnet subnet;
    subnet.pool = pool;
    subnet.cidr = *block;
    subnet.cluster = wish.cluster;
    subnet.claim_name = wish.claim;
    subnet.claim_uid = uid;
    subnet.made = true;
    Put(std::move(subnet));
  }

  void Reserve() {
    const std::string pool = Name();
    const Wish wish{.claim = "r",
                    .cluster = Format("r{}", ++last_),
                    .size = 32 - Below(kBits),
                    .exact = {},
                    .owner = static_cast<Owner>(last_)};
    const auto block = space_.Reserve("ns/" + pool, wish, executor_.Now() + 5s);
    if (block) Note(Format("reserve {} of {}", block->ToString(), pool));
  }

  void Expire() {
    Note("expire");
    executor_.Advance(6s);
    space_.Expire();
    Report();
  }

  void Fill(Space& space) const {
    std::vector<const Pool*> pools;
    std::vector<const Subnet*> subnets;
    for (const auto& [key, pool] : pools_) pools.push_back(&pool);
    for (const auto& [key, subnet] : subnets_) subnets.push_back(&subnet);
    space.Rebuild(pools, std::move(subnets));
  }

  void Rebuild() {
    Note("rebuild");
    Fill(space_);
    Report();
  }

  // Phases are written down, as the reconcilers do it.
  void Report() {
    for (auto& [key, subnet] : subnets_) {
      subnet.phase = space_.PlacementOf(subnet).phase;
      if (subnet.phase == SubnetPhase::kAllocated) subnet.has_allocated_at = true;
      if (subnet.phase == SubnetPhase::kFailed) subnet.has_allocated_at = false;
    }
  }

  // The next leader finds the same, where no pool is in the way of another.
  std::string CheckRebuilt() const {
    async::TestExecutor executor;
    Space rebuilt(executor, Silent());
    Fill(rebuilt);
    for (const auto& [key, subnet] : subnets_) {
      const auto phase = rebuilt.PlacementOf(subnet).phase;
      if (subnet.phase == SubnetPhase::kAllocated && phase != subnet.phase) {
        return "Subnet " + key + " loses its block at a restart";
      }
    }
    for (const auto& [key, pool] : pools_) {
      if (space_.Find(key)->problem || !space_.Find(key)->space) return "";
      if (space_.Find(key)->space->Count(Use::kReserved) > 0) return "";
    }
    for (const auto& [key, pool] : pools_) {
      for (Address at = 0; at < Address{1} << kBits; ++at) {
        const Cidr address(Family::kIpv4, at, 32);
        if (Gives(space_, key, address) != Gives(rebuilt, key, address)) {
          return Format("{} of {} is otherwise after a restart", address.ToString(), key);
        }
      }
    }
    return "";
  }

  static Space::Callbacks Silent() {
    return {.on_figures = [](const std::string&) {},
            .on_room = [](const std::string&) {},
            .on_placement = [](const std::string&) {}};
  }

  std::minstd_rand random_;
  async::TestExecutor executor_;
  Space space_{executor_, Silent()};
  std::map<std::string, Pool> pools_;
  std::map<std::string, Subnet> subnets_;
  int last_ = 0;
  std::string trace_;
};

TEST(SpaceProperty, NoAddressIsGivenOutByTwoPools) {
  constexpr unsigned kSeeds = kSanitized ? 100 : 1000;
  for (unsigned seed = 1; seed <= kSeeds; ++seed) {
    World world(seed);
    for (int i = 0; i < 40; ++i) {
      world.Step();
      const std::string wrong = world.Check();
      ASSERT_EQ(wrong, "") << "seed " << seed << "\n" << world.trace();
    }
  }
}

}  // namespace
}  // namespace berth::ipam
