#include <CLI/CLI.hpp>
#include <cstdio>
#include <thread>

#include "log/log.h"
#include "simulate/live.h"
#include "simulate/run.h"

namespace {

using namespace berth::simulate;

const Simulation* Find(const std::string& name) {
  for (const Simulation& simulation : Simulations()) {
    if (simulation.name == name) return &simulation;
  }
  return nullptr;
}

// Prints the result of each variant's runs, where there are several.
void PrintVariants(const Simulation& simulation, const Report& report) {
  if (simulation.variants.size() < 2) return;
  for (const auto& variant : simulation.variants) {
    std::uint64_t first = 0;
    std::uint64_t count = 0;
    for (const auto& found : report.violations) {
      if (found.variant != variant.name) continue;
      if (count++ == 0) first = found.seed;
    }
    if (count == 0) {
      std::printf("%s: nothing found\n", variant.name.c_str());
    } else {
      std::printf("%s: found by %lu seeds, first by seed %lu\n", variant.name.c_str(), count,
                  first);
    }
  }
}

// False when users left something out.
bool PrintCoverage(const Coverage& coverage) {
  std::printf("%s", coverage.Table().c_str());
  const auto gaps = coverage.Gaps();
  for (const std::string& gap : gaps) std::printf("not covered: %s\n", gap.c_str());
  return gaps.empty();
}

std::string Help() {
  std::string text = "Simulations:\n";
  for (const Simulation& simulation : Simulations()) {
    text += "  " + simulation.name + ": " + simulation.description + "\n";
  }
  return text;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Runs controllers in virtual time with faults. One seed is one exact run.");
  app.footer(Help());
  std::string name;
  RunOptions options;
  std::uint64_t seed = 0;
  std::uint64_t shown = 10;
  app.add_option("--show", shown, "violations to print")->capture_default_str();
  options.jobs = std::max(1U, std::thread::hardware_concurrency());
  app.add_option("simulation", name)->required();
  std::string kubeconfig;
  std::string identity = "live";
  app.add_option("--kubeconfig", kubeconfig, "with \"live\": the cluster to run the toy on");
  app.add_option("--identity", identity, "with \"live\": this replica's name");
  app.add_option("--seeds", options.seeds, "how many runs")->capture_default_str();
  auto* one = app.add_option("--seed", seed, "one run, with everything that happens printed");
  app.add_option("--first", options.first, "the first seed")->capture_default_str();
  bool coverage = false;
  app.add_flag(
      "--coverage", coverage,
      "print how often users tried each action on each field; fail when one was not tried");
  app.add_option("--jobs", options.jobs, "runs at a time")->capture_default_str();
  CLI11_PARSE(app, argc, argv);

  if (name == "live") return RunLive(kubeconfig, identity);
  const Simulation* simulation = Find(name);
  if (simulation == nullptr) {
    std::fprintf(stderr, "error: there is no simulation \"%s\"\n%s", name.c_str(), Help().c_str());
    return 2;
  }
  berth::log::SetLevel(*one ? "error" : "off");  // refusals are part of every run
  if (*one) {
    options = {.first = seed, .seeds = 1, .jobs = 1, .trace = [](const std::string& line) {
                 std::printf("%s\n", line.c_str());
               }};
  }
  const Report report = RunSeeds(*simulation, options, [&](const Report::Found& found) {
    if (shown == 0) return;
    --shown;
    const std::string variant = found.variant.empty() ? "" : " (" + found.variant + ")";
    std::printf("violation%s: %s; replay: ./scripts/simulate %s --seed %lu\n", variant.c_str(),
                found.what.c_str(), name.c_str(), found.seed);
    std::fflush(stdout);
  });
  PrintVariants(*simulation, report);
  std::printf("%lu crashes, pauses and partitions\n", report.disruptions);
  const bool covered = !coverage || PrintCoverage(report.coverage);
  std::printf("%lu seeds, %zu violations\n", options.seeds, report.violations.size());
  return report.violations.empty() && covered ? 0 : 1;
}
