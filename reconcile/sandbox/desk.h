#pragma once

#include "reconcile/runtime/desk.h"
#include "reconcile/sandbox/system.h"

namespace berth::sandbox {

using Desk = runtime::Desk<System>;

}  // namespace berth::sandbox
