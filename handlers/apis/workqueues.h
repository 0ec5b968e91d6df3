#pragma once

#include <chrono>
#include <string>

#include "handlers/apis/live_collection.h"
#include "reconcile/runtime/work_queue.h"

namespace berth::apis {

// The resource `workqueues`: one object a work queue of this process, cluster-wide. It answers "is
// Berth keeping up, and what has waited longest".
ResourceType WorkQueueType();

// Shows a queue's present figures. `origin` is the date of the queue's clock's zero: the same in
// every call, so that a key's date stays what it is. Called by the queue's owner; nothing is
// published when nothing has changed.
void PublishWorkQueue(LiveCollection& collection, const std::string& name,
                      const runtime::WorkQueueStats& stats,
                      std::chrono::system_clock::time_point origin);

}  // namespace berth::apis
