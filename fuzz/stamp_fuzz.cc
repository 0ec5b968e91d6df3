// Any text as a CIDR and as the stamp of a claim. A CIDR that is read is written in one way, and
// without the key nobody makes a stamp that is believed, nor changes one.
#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>

#include "fuzz/require.h"
#include "reconcile/ipam/stamp.h"

namespace {

using namespace berth::ipam;

constexpr std::string_view kKey = "a key that the fuzzer does not have";

void CheckCidr(const Cidr& cidr) {
  const auto again = Cidr::Parse(cidr.ToString());
  Require(again && *again == cidr, "a written CIDR reads as the same CIDR");
  const Cidr canonical = cidr.Canonical();
  Require(canonical.IsCanonical() && canonical.Contains(cidr) && cidr.Contains(canonical),
          "a CIDR and its canonical form are the same block");
  Require(cidr.First() <= cidr.address() && cidr.address() <= cidr.Last(),
          "a CIDR contains its address");
}

void CheckStamp(const Cidr& block, std::uint64_t token) {
  const std::string stamp = WriteStamp({block, token}, kKey, "ns", "claim", "pool");
  const auto read = ReadStamp(stamp, kKey, "ns", "claim", "pool");
  Require(read && read->token == token && read->block == block, "a stamp is believed");
  Require(!ReadStamp(stamp, kKey, "ns", "other", "pool"), "a stamp is of one claim");
  Require(!ReadStamp(stamp, kKey, "ns", "claim", "other"), "a stamp is of one pool");
}

// The input written over a part of a true stamp.
void CheckForgery(std::string_view input, std::size_t at) {
  const Cidr block = Cidr::Parse("10.0.0.0/24").value();
  static const std::string kTrue = WriteStamp({block, 0xab}, kKey, "ns", "claim", "pool");
  std::string forged = kTrue;
  forged.replace(std::min(at, forged.size()), input.size(), input);
  const auto read = ReadStamp(forged, kKey, "ns", "claim", "pool");
  Require(!read || (read->block == block && read->token == 0xab),
          "a changed stamp is not believed");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  Require(!ReadStamp(text, kKey, "ns", "claim", "pool"), "no stamp is believed without the key");
  if (const auto cidr = Cidr::Parse(text.substr(0, text.find(' ')))) {
    CheckCidr(*cidr);
    CheckStamp(cidr->Canonical(), size);
  }
  if (size > 0) CheckForgery(text.substr(1), data[0]);
  return 0;
}
