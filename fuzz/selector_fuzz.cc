// Any text as a selector or a CIDR: an error or a value, never a crash.
#include <cstdint>
#include <string_view>

#include "handlers/apis/render.h"
#include "handlers/apis/selector.h"
#include "reconcile/ipam/cidr.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace berth;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (const auto labels = apis::Selector::ParseLabels(text)) labels->MatchesLabels({{"a", "b"}});
  if (const auto fields = apis::Selector::ParseFields(text, {"status.phase"}))
    fields->MatchesFields({});
  apis::NegotiateForm(text);
  if (const auto cidr = ipam::Cidr::Parse(text); cidr && cidr->Canonical().ToString().empty())
    __builtin_trap();
  return 0;
}
