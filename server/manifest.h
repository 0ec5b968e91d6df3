#pragma once

#include <string>

#include "server/options.h"
#include "server/system.h"

namespace berth::server {

// A system as the chart has to know it, in YAML: its kinds, with their scope, the verbs that Berth
// needs, and webhooks; its live resources; the cloud that it needs. An entry of `kinds` or `live`
// is a line of JSON. Registers the system with webhooks and an API that are thrown away.
std::string ManifestOf(System& system);

// Writes the manifests of all systems to standard output, or each to a file. Returns the exit
// status.
int PrintManifests(const ManifestOptions& options);

}  // namespace berth::server
