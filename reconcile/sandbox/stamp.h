#pragma once

#include <cstdint>
#include <expected>
#include <string>
#include <string_view>

#include "async/executor.h"

namespace berth::sandbox {

// The content of the allocation annotation: a reservation, and for which object it was made.
struct Stamp {
  std::string reservation;
  std::string pod;
  std::string pod_uid;
  std::string node;
  std::string spec_hash;           // SpecHashOf the object
  async::WallTime allocated_at{};  // nanoseconds are kept
  async::WallTime expires{};       // whole milliseconds
  friend bool operator==(const Stamp&, const Stamp&) = default;
};

// Why an annotation is not believed.
enum class StampFault : std::uint8_t {
  kCorrupt,    // it is no JSON object with all members, or longer than kMaxStamp
  kForged,     // it was not written with this key for an object of this namespace and pool
  kOtherSpec,  // it is genuine, but the object is another one, or was changed since
  kExpired,    // it is genuine, but came too late
};

inline constexpr std::size_t kMaxStamp = 4096;

// The annotation's JSON: {"assignedPod","assignedNode","allocatedAt"} as fast-sandbox's readers
// know it, and Berth's members. `key` signs all of it and the namespace and pool of the object.
std::string WriteStamp(const Stamp& stamp, std::string_view key, std::string_view ns,
                       std::string_view pool);

// The stamp of an object with this namespace, pool and spec hash, if it is genuine and `now` is
// before its end. The text of fast-sandbox, which has no signature, is kCorrupt. An empty key
// believes nothing. O(size).
std::expected<Stamp, StampFault> ReadStamp(std::string_view text, std::string_view key,
                                           std::string_view ns, std::string_view pool,
                                           std::string_view spec_hash, async::WallTime now);

}  // namespace berth::sandbox
