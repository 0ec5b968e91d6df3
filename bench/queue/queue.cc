// The work queue by itself: what bench/peers/queue does with client-go's, loop by loop.
#include <benchmark/benchmark.h>
#include <malloc.h>

#include <cstdlib>
#include <new>
#include <string>
#include <vector>

#include "log/format.h"
#include "reconcile/runtime/work_queue.h"

namespace {

using namespace berth::runtime;

std::size_t allocations = 0;
std::size_t allocated_bytes = 0;

constexpr int kKeys = 10'000;

std::vector<std::string> Keys() {
  std::vector<std::string> keys;
  for (int i = 0; i < kKeys; ++i) keys.push_back(berth::Format("namespace-{}/name-{}", i % 100, i));
  return keys;
}

// Runs `round`, which works off every key once, as often as the library asks; the first is not
// measured. None of the others may allocate.
template <typename Round>
void Repeat(benchmark::State& state, Round round) {
  round();
  const std::size_t before = allocations;
  for (auto _ : state) round();
  if (allocations != before) state.SkipWithError("the queue allocates when warm");
  state.SetItemsProcessed(state.iterations() * kKeys);
}

// All keys are added, then all are worked off.
void Burst(benchmark::State& state) {
  const std::vector<std::string> keys = Keys();
  WorkQueue queue("bench");
  const TimePoint now{};
  Repeat(state, [&] {
    for (const std::string& key : keys) queue.Add(key, now);
    while (const auto item = queue.Get(now)) queue.Done(*item);
  });
}

// Each key is worked off as soon as it is added.
void Single(benchmark::State& state) {
  const std::vector<std::string> keys = Keys();
  WorkQueue queue("bench");
  const TimePoint now{};
  Repeat(state, [&] {
    for (const std::string& key : keys) {
      queue.Add(key, now);
      queue.Done(*queue.Get(now));
    }
  });
}

// Each key fails once, waits for the shortest time there is, and then succeeds.
void RateLimited(benchmark::State& state) {
  const std::vector<std::string> keys = Keys();
  const Duration shortest(1);
  WorkQueue queue("bench", {.base = shortest, .max = shortest}, {.interval = Duration(0)});
  TimePoint now{};
  Repeat(state, [&] {
    for (const std::string& key : keys) queue.Add(key, now);
    while (const auto item = queue.Get(now)) {
      queue.AddRateLimited(*item, now);
      queue.Done(*item);
    }
    now += shortest;
    while (const auto item = queue.Get(now)) {
      queue.Forget(*item);
      queue.Done(*item);
    }
  });
}

// Memory of a key that waits, its own bytes included.
void Memory(benchmark::State& state) {
  const std::vector<std::string> keys = Keys();
  std::size_t bytes = 0;
  for (auto _ : state) {
    const std::size_t before = allocated_bytes;
    WorkQueue queue("bench");
    for (const std::string& key : keys) queue.Add(key, TimePoint{});
    bytes = allocated_bytes - before;
  }
  state.counters["bytes_per_key"] = static_cast<double>(bytes) / kKeys;
}

BENCHMARK(Burst)->MeasureProcessCPUTime();
BENCHMARK(Single)->MeasureProcessCPUTime();
BENCHMARK(RateLimited)->MeasureProcessCPUTime();
BENCHMARK(Memory)->Iterations(1);

}  // namespace

void* operator new(std::size_t size) {
  void* memory = std::malloc(size);
  if (!memory) throw std::bad_alloc();
  ++allocations;
  allocated_bytes += malloc_usable_size(memory);
  return memory;
}

void operator delete(void* memory) noexcept {
  allocated_bytes -= malloc_usable_size(memory);
  std::free(memory);
}

void operator delete(void* memory, std::size_t) noexcept { operator delete(memory); }

BENCHMARK_MAIN();
