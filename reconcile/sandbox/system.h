#pragma once

#include <prometheus/registry.h>

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "async/executor.h"
#include "cloud/sandbox_agent.h"
#include "kube/transport.h"
#include "reconcile/runtime/controller.h"
#include "reconcile/runtime/leadership.h"
#include "reconcile/sandbox/objects.h"
#include "reconcile/sandbox/slots.h"

namespace berth::sandbox {

// Sandboxes, whole: the caches of Sandboxes, SandboxPools and pods, always; the registry of slots,
// the reconcilers and the probes of agents while this replica leads. On the control thread.
class System {
 public:
  struct Options {
    std::string stamp_key;  // signs allocation annotations; the same for all replicas
    // Objects are looked at again after so long.
    async::Duration resync = std::chrono::minutes(10);
    async::Duration probe_each = std::chrono::seconds(2);
    // Metrics, none without one.
    prometheus::Registry* registry = nullptr;
  };

  // Joins the leadership, which outlives it and has not started; so do the agents.
  System(async::Executor& executor, kube::Transport& transport, runtime::Leadership& leadership,
         cloud::SandboxAgents& agents, Options options);
  ~System();
  System(const System&) = delete;
  System& operator=(const System&) = delete;

  bool synced() const;
  // The registry is rebuilt, and the reconcilers are at work.
  bool leading() const;

  // A reservation for a Sandbox that is being created, as the value of its allocation annotation;
  // none when this replica does not lead or there is no slot: then the object is admitted without
  // it, and its status tells. Deduplicated by namespace, name and spec. Never in a dry run. O(1)
  // but for Registry::Reserve.
  std::optional<std::string> Stamp(const Sandbox& sandbox);
  // Ends the reservation of an annotation that Stamp made and that will not be stored. Nothing for
  // any other text.
  void Withdraw(const std::string& annotation);

  // The slots while leading, null otherwise.
  Slots* slots();
  // By "namespace/name", as it was last seen or written; null for none. Good until the next turn of
  // the executor.
  const Sandbox* Find(const std::string& key);
  const Pool* FindPool(const std::string& key) const;
  // Calls `changed` with each Sandbox that the watch brings, for who waits for one: FastPath's
  // Strong. Until the handle ends.
  async::Handle Listen(std::function<void(const std::string& key, const Sandbox& now)> changed);

  // The controllers while leading, none otherwise.
  std::vector<const runtime::Controller*> controllers() const;
  // Entries of all tables by object. None is left when all objects are gone.
  std::size_t Remembered() const;

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace berth::sandbox
