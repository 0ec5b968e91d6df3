#pragma once

#include "cloud/call_history.h"
#include "handlers/apis/live_collection.h"

namespace berth::apis {

// The resource `cloudcalls`: one object an action of the cloud's API that this process has called,
// cluster-wide. It answers "what did Berth ask of the cloud, and what did the cloud say".
ResourceType CloudCallType();

// Its objects are large and change with every call: a shorter history than others have.
inline constexpr LiveCollection::Limits kCloudCallLimits{.events = 512, .bytes = 2 * 1024 * 1024};

// Shows the actions that were called since the last time. On the control thread. Costs what those
// actions' recent calls come to, and nothing when there was no call.
void PublishCloudCalls(LiveCollection& collection, cloud::CallHistory& history);

}  // namespace berth::apis
