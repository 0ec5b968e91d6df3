#include "reconcile/sandbox/stamp.h"

#include <openssl/crypto.h>
#include <openssl/hmac.h>

#include <array>
#include <chrono>
#include <optional>

#include "json/json.h"
#include "kube/json_view.h"
#include "log/format.h"
#include "log/timestamp.h"

namespace berth::sandbox {
namespace {

// RFC 3339 with nine digits, as Go's RFC3339Nano writes a time that has as many.
std::string NanoTime(async::WallTime time) {
  const auto nanos = std::chrono::duration_cast<std::chrono::nanoseconds>(time.time_since_epoch()) %
                     std::chrono::seconds(1);
  std::string text = FormatTime(time);
  text.pop_back();
  return text + Format(".{:09}Z", nanos.count());
}

// Each text is preceded by its length: no two stamps give the same.
std::string Sign(const Stamp& stamp, std::string_view key, std::string_view ns,
                 std::string_view pool) {
  const std::string allocated = NanoTime(stamp.allocated_at);
  const std::string expires = FormatMilliTime(stamp.expires);
  std::string text = "sandbox.fast.io/allocation\n";
  for (const std::string_view part :
       {ns, pool, std::string_view(stamp.reservation), std::string_view(stamp.pod),
        std::string_view(stamp.pod_uid), std::string_view(stamp.node),
        std::string_view(stamp.spec_hash), std::string_view(allocated),
        std::string_view(expires)}) {
    text += Format("{}:", part.size());
    text += part;
  }
  std::array<unsigned char, 32> mac{};
  unsigned size = 0;
  HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()),
       reinterpret_cast<const unsigned char*>(text.data()), text.size(), mac.data(), &size);
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string hex;
  hex.reserve(2 * mac.size());
  for (const unsigned char byte : mac) {
    hex += kDigits[byte >> 4];
    hex += kDigits[byte & 0xf];
  }
  return hex;
}

bool Same(std::string_view left, std::string_view right) {
  return left.size() == right.size() && CRYPTO_memcmp(left.data(), right.data(), left.size()) == 0;
}

struct Parsed {
  Stamp stamp;
  std::string mac;
};

// None unless the text is an object with all members of a stamp, each a text.
std::optional<Parsed> Parse(std::string_view text) {
  if (text.size() > kMaxStamp) return std::nullopt;
  kube::JsonDocument document;
  const auto object = document.Parse(text);
  if (!object || !object->is_object()) return std::nullopt;
  const auto members = object->Members("assignedPod", "assignedNode", "allocatedAt", "allocationID",
                                       "assignedPodUID", "specHash", "expiresAt", "signature");
  for (const kube::JsonView member : members) {
    if (!member.is_string()) return std::nullopt;
  }
  const auto& [pod, node, allocated, id, uid, hash, expires, mac] = members;
  const auto allocated_at = ParseTime(allocated.StringOr(""));
  const auto expires_at = ParseTime(expires.StringOr(""));
  if (!allocated_at || !expires_at) return std::nullopt;
  return Parsed{.stamp = {.reservation = std::string(id.StringOr("")),
                          .pod = std::string(pod.StringOr("")),
                          .pod_uid = std::string(uid.StringOr("")),
                          .node = std::string(node.StringOr("")),
                          .spec_hash = std::string(hash.StringOr("")),
                          .allocated_at = *allocated_at,
                          .expires = *expires_at},
                .mac = std::string(mac.StringOr(""))};
}

}  // namespace

std::string WriteStamp(const Stamp& stamp, std::string_view key, std::string_view ns,
                       std::string_view pool) {
  Json json;
  json["assignedPod"] = stamp.pod;
  json["assignedNode"] = stamp.node;
  json["allocatedAt"] = NanoTime(stamp.allocated_at);
  json["allocationID"] = stamp.reservation;
  json["assignedPodUID"] = stamp.pod_uid;
  json["specHash"] = stamp.spec_hash;
  json["expiresAt"] = FormatMilliTime(stamp.expires);
  json["signature"] = Sign(stamp, key, ns, pool);
  return json.to_string();
}

std::expected<Stamp, StampFault> ReadStamp(std::string_view text, std::string_view key,
                                           std::string_view ns, std::string_view pool,
                                           std::string_view spec_hash, async::WallTime now) {
  auto parsed = Parse(text);
  if (!parsed) return std::unexpected(StampFault::kCorrupt);
  Stamp& stamp = parsed->stamp;
  if (key.empty() || !Same(parsed->mac, Sign(stamp, key, ns, pool))) {
    return std::unexpected(StampFault::kForged);
  }
  if (stamp.spec_hash != spec_hash) return std::unexpected(StampFault::kOtherSpec);
  if (stamp.expires <= now) return std::unexpected(StampFault::kExpired);
  return std::move(stamp);
}

}  // namespace berth::sandbox
