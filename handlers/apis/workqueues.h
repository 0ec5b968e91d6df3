#pragma once

#include <string>

#include "handlers/apis/live_collection.h"
#include "reconcile/runtime/work_queue.h"

namespace berth::apis {

// The resource `workqueues`: one object a work queue of this process, cluster-wide. It answers "is Berth keeping up, and
// what has waited longest".
ResourceType WorkQueueType();

// Shows a queue's present figures. `now` and `wall` are the same moment on the two clocks, which turn the queue's steady
// times into dates. Called by the queue's owner; nothing is published when nothing has changed.
void PublishWorkQueue(LiveCollection& collection, const std::string& name, const runtime::WorkQueueStats& stats,
                      runtime::TimePoint now, std::int64_t wall);

}  // namespace berth::apis
