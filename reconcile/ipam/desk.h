#pragma once

#include "reconcile/ipam/system.h"
#include "reconcile/runtime/desk.h"

namespace berth::ipam {

using Desk = runtime::Desk<System>;

}  // namespace berth::ipam
