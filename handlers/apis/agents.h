#pragma once

#include <map>
#include <memory>
#include <string>

#include "async/executor.h"
#include "handlers/apis/live_collection.h"
#include "reconcile/sandbox/slots.h"

namespace berth::apis {

// The resource `agents`: one object an agent of sandboxes, of its pod's name and namespace. It
// answers "which slots are taken, and since when has the agent been silent". Only the leading
// replica has any. When an agent has answered is refreshed every kSeenEach only, or each of them
// would change with each probe.
class Agents {
 public:
  static constexpr std::chrono::seconds kSeenEach{10};

  // Outlived by `control`.
  explicit Agents(async::Executor& control);

  ResourceStore& store() { return agents_; }

  // Shows the agents that changed since the last time. On the control thread, now and then. Null
  // while this replica does not lead: then there are none. Costs what the changes come to, and
  // every kSeenEach O(agents).
  void Publish(sandbox::Slots* slots);

 private:
  void Show(sandbox::Slots& slots, const std::string& pod_uid);

  async::Executor& control_;
  LiveCollection agents_;
  std::weak_ptr<const void> shown_;        // the slots that the objects are of
  std::map<std::string, ListKey> names_;   // by pod UID
  std::map<ListKey, std::string> owners_;  // the pod UID that an object is of
  async::TimePoint seen_again_{};
};

ResourceType AgentType();

}  // namespace berth::apis
