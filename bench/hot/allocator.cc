// The allocator of a pool: a random block is released and one of a random size allocated, at 10,000
// live blocks with gaps among them.
#include "reconcile/ipam/allocator.h"

#include <random>
#include <utility>
#include <vector>

#include "bench/hot/count.h"

namespace {

using namespace berth::ipam;

constexpr int kLargest = 24;
constexpr int kSmallest = 30;
constexpr int kLive = 10'000;
constexpr int kTurns = 20'000;

class Pool {
 public:
  explicit Pool(Strategy strategy)
      : allocator_({.range = Cidr(Family::kIpv4, Address{8} << 24, 5),
                    .strategy = strategy,
                    .min_block = kLargest}) {
    for (int i = 0; i < kLive; ++i) Allocate();
  }

  void Turn() {
    std::swap(live_[random_() % live_.size()], live_.back());
    berth::hot::Require(allocator_.Release(live_.back()), "a block was not held");
    live_.pop_back();
    Allocate();
  }

 private:
  void Allocate() {
    const int prefix = kLargest + static_cast<int>(random_() % (kSmallest - kLargest + 1));
    const auto block = allocator_.Allocate(prefix, Use::kSubnet, 1);
    berth::hot::Require(block.has_value(), "the pool is exhausted");
    live_.push_back(*block);
  }

  Allocator allocator_;
  std::vector<Cidr> live_;
  std::minstd_rand random_;  // the same numbers in every run
};

void Churn(const char* name, Strategy strategy) {
  Pool pool(strategy);
  berth::hot::Count(name, kTurns, [&] {
    for (int i = 0; i < kTurns; ++i) pool.Turn();
  });
}

}  // namespace

int main() {
  Churn("allocate_and_release_linear", Strategy::kLinear);
  Churn("allocate_and_release_buddy", Strategy::kBuddy);
}
