#include "simulate/run.h"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <thread>
#include <utility>

#include "simulate/cache.h"
#include "simulate/difftracker.h"
#include "simulate/eip.h"
#include "simulate/eni.h"
#include "simulate/ipam.h"
#include "simulate/leadership.h"
#include "simulate/sandbox.h"
#include "simulate/toy.h"
#include "simulate/world.h"

namespace berth::simulate {
namespace {

Simulation::Variant ToyVariant(std::string name, ToyBug bug) {
  // Every other run has two replicas, of which one leads.
  return {std::move(name),
          [bug](std::uint64_t seed) { return std::make_unique<Toy>(bug, seed % 2 == 0); }};
}

Simulation::Variant LeadershipVariant(bool fenced) {
  return {"", [fenced](std::uint64_t) { return std::make_unique<Leadership>(fenced); }};
}

}  // namespace

const std::vector<Simulation>& Simulations() {
  static const std::vector<Simulation> all = {
      {"toy", "a small controller that is right", {ToyVariant("", ToyBug::kNone)}},
      {"toy-buggy",
       "the same with one of three bugs at a time",
       {ToyVariant("acts on a stale cache", ToyBug::kActsOnStaleCache),
        ToyVariant("forgets in a crash", ToyBug::kForgetsInACrash),
        ToyVariant("misses a delete", ToyBug::kMissesADelete)}},
      {"cache",
       "an informer whose watch is cut, stale, repeated and expired",
       {{"streamed", [](std::uint64_t) { return std::make_unique<Cache>(false); }},
        {"listed", [](std::uint64_t) { return std::make_unique<Cache>(true); }}}},
      {"ipam",
       "pools, Subnets, claims and pool claims",
       {{"", [](std::uint64_t) { return std::make_unique<Ipam>(); }}},
       true},
      {"eip",
       "elastic IPs on a simulated Alibaba Cloud",
       {{"", [](std::uint64_t seed) { return std::make_unique<Eip>(seed); }}},
       true},
      {"eni",
       "network interfaces on a simulated Alibaba Cloud",
       {{"", [](std::uint64_t seed) { return std::make_unique<Eni>(seed); }}},
       true},
      {"difftracker",
       "load balancers and NAT gateways on a simulated Azure",
       {{"", [](std::uint64_t seed) { return std::make_unique<DiffTracker>(seed); }}}},
      {"sandbox",
       "sandboxes on simulated agents",
       {{"", [](std::uint64_t seed) { return std::make_unique<Sandbox>(seed); }}}},
      {"leadership",
       "three replicas of which only the leader may write",
       {LeadershipVariant(true)}},
      {"leadership-unfenced",
       "the same without the fence: two write at a time",
       {LeadershipVariant(false)}},
  };
  return all;
}

Report RunSeeds(const Simulation& simulation, const RunOptions& options,
                const std::function<void(const Report::Found&)>& on_found) {
  Report report;
  std::mutex mutex;
  std::atomic<std::uint64_t> next = options.first;
  auto work = [&] {
    for (auto seed = next++; seed < options.first + options.seeds; seed = next++) {
      for (const auto& variant : simulation.variants) {
        const auto scenario = variant.make(seed);
        World world({.seed = seed, .trace = options.trace}, *scenario);
        auto wrong = world.Run();
        const std::lock_guard lock(mutex);
        report.disruptions += world.disruptions();
        if (const Coverage* coverage = scenario->coverage()) report.coverage.Merge(*coverage);
        if (!wrong) continue;
        report.violations.push_back({variant.name, seed, std::move(*wrong)});
        on_found(report.violations.back());
      }
    }
  };
  {
    std::vector<std::jthread> threads;
    threads.reserve(options.jobs);
    for (unsigned i = 0; i < options.jobs; ++i) threads.emplace_back(work);
  }
  std::ranges::sort(report.violations, {}, &Report::Found::seed);
  return report;
}

}  // namespace berth::simulate
