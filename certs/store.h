#pragma once

#include <chrono>
#include <filesystem>

#include "certs/authority.h"
#include "kube/error.h"

namespace berth::certs {

// The serving certificate kept in `dir` (made with mode 0700 when missing) as ca.crt, ca.key,
// tls.crt and tls.key. What is there is used while it is a true pair under its authority, covers
// `names` and has more than a third of its life left; otherwise a leaf is issued for 90 days under
// the same authority, so that clients' CA bundles stay good. A new authority (ten years) is made
// only when a leaf is needed and the old one is missing, unusable or has expired, which is logged.
// Each file is replaced as a whole; after a crash in between, the next call repairs. Files that
// cannot be read or written are an error, never a reason to make new ones. One process at a time
// may use a folder. `now` decides what is old; for tests.
kube::Result<KeyPair> LoadOrMakeServing(
    const std::filesystem::path& dir, const ServingNames& names,
    std::chrono::system_clock::time_point now = std::chrono::system_clock::now());

}  // namespace berth::certs
