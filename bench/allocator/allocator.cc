// The allocator of a pool by itself, at several numbers of live blocks. The peer is here too: the
// recount over all live blocks that a status without incremental figures needs.
#include "reconcile/ipam/allocator.h"

#include <benchmark/benchmark.h>

#include <random>
#include <vector>

namespace {

using namespace berth::ipam;

constexpr int kLargest = 24;
constexpr int kSmallest = 30;
const Cidr kRange(Family::kIpv4, Address{8} << 24, 5);  // 2^27 addresses: twice what is needed

// A live block in few bytes: the bench's own list should not be what misses the cache.
struct Live {
  explicit Live(const Cidr& cidr)
      : address(static_cast<std::uint32_t>(cidr.First())),
        prefix(static_cast<std::uint8_t>(cidr.prefix())) {}
  Cidr block() const { return Cidr(Family::kIpv4, address, prefix); }

  std::uint32_t address;
  std::uint8_t prefix;
};

class Pool {
 public:
  explicit Pool(Strategy strategy)
      : allocator_({.range = kRange, .strategy = strategy, .min_block = kLargest}) {}

  // All sizes are as likely.
  int RandomPrefix() { return kLargest + static_cast<int>(random_() % (kSmallest - kLargest + 1)); }

  bool Allocate() {
    const auto block = allocator_.Allocate(RandomPrefix(), Use::kSubnet, 1);
    if (block) live_.emplace_back(*block);
    return block.has_value();
  }

  // As a claim does it: reserved first, with an end, a subnet later.
  bool Claim() {
    const auto block = allocator_.Allocate(RandomPrefix(), Use::kReserved, 1);
    if (!block) return false;
    allocator_.ExpireAt(*block, TimePoint{});
    allocator_.Change(*block, Use::kSubnet, 1);
    live_.emplace_back(*block);
    return true;
  }

  // A random one, drawn a turn ahead: its cache miss would be the bench's, not the allocator's.
  bool ReleaseOne() {
    std::swap(live_[next_ % live_.size()], live_.back());
    const Cidr block = live_.back().block();
    live_.pop_back();
    next_ = random_() % live_.size();
    __builtin_prefetch(&live_[next_]);
    return allocator_.Release(block);
  }

  // So many live blocks, with gaps among them as time makes them.
  bool Age(std::size_t count) {
    while (live_.size() < count + count / 4) {
      if (!Allocate()) return false;
    }
    while (live_.size() > count) ReleaseOne();
    for (std::size_t i = 0; i < 2 * count; ++i) {
      if (!Turn(count, &Pool::Allocate)) return false;
    }
    return true;
  }

  bool Turn(std::size_t count, bool (Pool::*allocate)()) {
    const bool grow =
        live_.size() < count * 9 / 10 || (live_.size() < count * 11 / 10 && random_() / 4 % 2 == 0);
    return grow ? (this->*allocate)() : ReleaseOne();
  }

  const Allocator& allocator() const { return allocator_; }
  const std::vector<Live>& live() const { return live_; }

 private:
  Allocator allocator_;
  std::vector<Live> live_;
  std::minstd_rand random_;
  std::size_t next_ = 0;
};

constexpr std::size_t kMost = 1'000'000;

void Fill(benchmark::State& state, Strategy strategy) {
  Pool pool(strategy);
  for (auto _ : state) {
    if (!pool.Allocate()) return state.SkipWithError("the pool is exhausted");
  }
  state.SetItemsProcessed(state.iterations());
}

// Blocks come and go at random, between 90 and 110 per cent of the number asked for.
void Churn(benchmark::State& state, Strategy strategy, bool (Pool::*allocate)()) {
  Pool pool(strategy);
  const auto count = static_cast<std::size_t>(state.range(0));
  if (!pool.Age(count)) return state.SkipWithError("exhausted");
  for (auto _ : state) {
    if (!pool.Turn(count, allocate)) return state.SkipWithError("exhausted");
  }
  state.SetItemsProcessed(state.iterations());
}

BENCHMARK_CAPTURE(Fill, linear, Strategy::kLinear)->Iterations(kMost)->MeasureProcessCPUTime();
BENCHMARK_CAPTURE(Fill, buddy, Strategy::kBuddy)->Iterations(kMost)->MeasureProcessCPUTime();

void Sizes(benchmark::internal::Benchmark* bench) {
  bench->RangeMultiplier(10)->Range(1000, kMost)->Iterations(300'000)->MeasureProcessCPUTime();
}
BENCHMARK_CAPTURE(Churn, linear, Strategy::kLinear, &Pool::Allocate)->Apply(Sizes);
BENCHMARK_CAPTURE(Churn, buddy, Strategy::kBuddy, &Pool::Allocate)->Apply(Sizes);
BENCHMARK_CAPTURE(Churn, claim, Strategy::kLinear, &Pool::Claim)->Apply(Sizes);

// All figures of a status: how many blocks of each size are free.
void Status(benchmark::State& state) {
  Pool pool(Strategy::kLinear);
  if (!pool.Age(static_cast<std::size_t>(state.range(0)))) return state.SkipWithError("exhausted");
  for (auto _ : state) {
    for (int prefix = kRange.prefix(); prefix <= kSmallest; ++prefix) {
      benchmark::DoNotOptimize(pool.allocator().Free(prefix));
    }
  }
}
BENCHMARK(Status)->RangeMultiplier(10)->Range(1000, kMost)->MeasureProcessCPUTime();

// The same for who keeps no figures: every block is looked at again.
void Recount(benchmark::State& state) {
  Pool pool(Strategy::kLinear);
  if (!pool.Age(static_cast<std::size_t>(state.range(0)))) return state.SkipWithError("exhausted");
  for (auto _ : state) {
    FreeSpace free(kRange);
    for (const Live& live : pool.live()) free.Take(live.block());
    for (int prefix = kRange.prefix(); prefix <= kSmallest; ++prefix) {
      benchmark::DoNotOptimize(free.Count(prefix));
    }
  }
}
BENCHMARK(Recount)
    ->RangeMultiplier(100)
    ->Range(1000, 100'000)
    ->Iterations(3)
    ->MeasureProcessCPUTime();

}  // namespace

BENCHMARK_MAIN();
