#pragma once

#include <filesystem>
#include <string>

#include "systems/system.h"

namespace berth::systems {

// A system as the chart has to know it, in YAML: its kinds, with their scope, the verbs that Berth
// needs, and webhooks; its live resources; the cloud that it needs. An entry of `kinds` or `live`
// is a line of JSON. Registers the system with webhooks and an API that are thrown away.
std::string ManifestOf(System& system);

// Writes the manifests of all systems to files of the folder, or to standard output if `into` is
// empty. Returns the exit status.
int PrintManifests(const std::filesystem::path& into);

}  // namespace berth::systems
