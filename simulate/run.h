#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "simulate/coverage.h"
#include "simulate/scenario.h"

namespace berth::simulate {

// A simulation by the name that people call it by.
struct Simulation {
  std::string name;
  std::string description;
  struct Variant {
    std::string name;  // what distinguishes it, "" for the only one
    std::function<std::unique_ptr<Scenario>(std::uint64_t seed)> make;
  };
  std::vector<Variant> variants;  // every seed is run with each
  bool system = false;            // proves a system of Berth's, and not the simulation itself
};

const std::vector<Simulation>& Simulations();

struct RunOptions {
  std::uint64_t first = 1;
  std::uint64_t seeds = 1000;
  unsigned jobs = 1;
  std::function<void(const std::string& line)> trace;  // told everything that happens, if set
};

struct Report {
  struct Found {
    std::string variant;
    std::uint64_t seed = 0;
    std::string what;
  };
  std::vector<Found> violations;  // by seed
  std::uint64_t disruptions = 0;  // crashes, pauses and partitions, in all
  Coverage coverage;              // of what users did; empty where they don't count it
};

// Runs all seeds; `on_found` is called for each violation as it is found, from any thread, one at a
// time.
Report RunSeeds(const Simulation& simulation, const RunOptions& options,
                const std::function<void(const Report::Found&)>& on_found);

}  // namespace berth::simulate
