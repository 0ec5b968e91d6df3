#pragma once

#include <string>

#include "reconcile/eni/pool.h"

namespace berth::eni {

// The addresses that a vSwitch has left: none while it is passed over, very many if it is not
// known.
int FreeAddressesOf(const VSwitches& vswitches, const std::string& id, async::WallTime now);

// A vSwitch for a new ENI, by spec.eni.vSwitchSelectPolicy: of the instance's zone, with free
// addresses and, where pods need them, IPv6. O(v log v) for v of them.
struct VSwitchChoice {
  const cloud::VSwitch* vswitch = nullptr;  // null for none
  std::string refusal;                      // then: why
};
VSwitchChoice ChooseVSwitch(const NodeSpec& spec, const VSwitches& vswitches, async::WallTime now,
                            double random);

}  // namespace berth::eni
