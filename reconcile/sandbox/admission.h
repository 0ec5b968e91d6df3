#pragma once

#include "reconcile/runtime/verdict.h"
#include "reconcile/sandbox/objects.h"

namespace berth::sandbox {

// The verdict on a Sandbox to be stored; `before` is null for a create. `by_berth` is whether
// Berth's own account asks: nobody else may set, change or remove the allocation annotation of an
// object that exists. A mistake that it had before is a warning. What a create brings in that
// annotation is stripped by the mutating webhook, and no reason to refuse it. O(size).
runtime::Verdict JudgeSandbox(const Sandbox& now, const Sandbox* before, bool by_berth);

// The verdict on a SandboxPool.
runtime::Verdict JudgePool(const Pool& now, const Pool* before);

}  // namespace berth::sandbox
