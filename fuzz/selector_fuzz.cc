// Any text as a selector or a CIDR: an error or a value, never a crash.
#include <cstdint>
#include <string_view>

#include "kube/accept.h"
#include "kube/selector.h"
#include "reconcile/ipam/cidr.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace berth;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (const auto labels = kube::Selector::ParseLabels(text))
    labels->Matches(kube::Labels{{"a", "b"}});
  if (const auto fields = kube::Selector::ParseFields(text, {"status.phase"}))
    fields->Matches(kube::Labels{});
  kube::NegotiateForm(text);
  if (const auto cidr = ipam::Cidr::Parse(text); cidr && cidr->Canonical().ToString().empty())
    __builtin_trap();
  return 0;
}
