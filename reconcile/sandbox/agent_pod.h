#pragma once

#include "json/json.h"
#include "reconcile/sandbox/objects.h"

namespace berth::sandbox {

// The pod of a new agent of a pool, as fast-sandbox makes it of the template: the same labels,
// environment, mounts and init container. What the template has beside them stays. None of it is
// checked: the API server does that.
Json AgentPodOf(const Pool& pool);

}  // namespace berth::sandbox
