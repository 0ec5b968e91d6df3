#pragma once

#include "reconcile/eip/system.h"
#include "reconcile/runtime/desk.h"

namespace berth::eip {

using Desk = runtime::Desk<System>;

}  // namespace berth::eip
