#include <iostream>
#include <utility>

#include "server/options.h"
#include "server/preflight.h"
#include "server/serve.h"
#include "server/simulate_agent.h"
#include "server/simulate_azure.h"
#include "server/simulate_cloud.h"
#include "systems/manifest.h"

int main(int argc, char** argv) {
  using berth::server::CommandLine;
  const auto line = berth::server::ParseCommandLine(argc, argv);
  if (!line) return line.error();
  switch (line->command) {
    case CommandLine::Command::kVersion:
      std::cout << "berth " << BERTH_VERSION << "\n";
      return 0;
    case CommandLine::Command::kServe:
      return berth::server::Serve(line->options);
    case CommandLine::Command::kDemo:
      return berth::server::RunDemo(line->demo);
    case CommandLine::Command::kSimulateCloud:
      return berth::server::SimulateCloud(line->simulate_cloud);
    case CommandLine::Command::kSimulateAzure:
      return berth::server::SimulateAzure(line->simulate_azure);
    case CommandLine::Command::kSimulateAgent:
      return berth::server::SimulateAgent(line->simulate_agent);
    case CommandLine::Command::kManifest:
      return berth::systems::PrintManifests(line->manifest.into);
    case CommandLine::Command::kPreflight:
      return berth::server::RunPreflight(line->preflight);
  }
  std::unreachable();
}
