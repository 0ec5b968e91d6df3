#include "cloud/simulator/faults.h"

#include <algorithm>

namespace berth::cloud::simulator {

std::optional<Fault> Faults::Take(std::string_view action,
                                  std::initializer_list<Fault::Kind> kinds) {
  const auto found = std::ranges::find_if(faults_, [&](const Fault& fault) {
    return fault.action == action && std::ranges::contains(kinds, fault.kind);
  });
  if (found == faults_.end()) return std::nullopt;
  Fault fault = *found;
  if (--found->count == 0) faults_.erase(found);
  return fault;
}

}  // namespace berth::cloud::simulator
