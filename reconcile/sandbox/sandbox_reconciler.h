#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <unordered_map>

#include "async/executor.h"
#include "async/task.h"
#include "cloud/sandbox_agent.h"
#include "kube/api.h"
#include "kube/events.h"
#include "reconcile/runtime/controller.h"
#include "reconcile/runtime/overlay.h"
#include "reconcile/sandbox/agent_book.h"
#include "reconcile/sandbox/objects.h"
#include "reconcile/sandbox/phases.h"
#include "reconcile/sandbox/registry.h"
#include "reconcile/sandbox/status.h"
#include "reconcile/sandbox/waiting_room.h"

namespace berth::sandbox {

// Brings each Sandbox where Decide says, one action after the other. Status first, then metadata;
// the registry gives a slot away only once the API server knows that the sandbox has left it. Only
// a leader has one.
class SandboxReconciler {
 public:
  using Outcome = kube::Result<runtime::Requeue>;

  struct Parts {
    async::Executor& executor;
    kube::Api api;
    kube::EventRecorder& events;
    runtime::Overlay<Sandbox>& sandboxes;
    cloud::SandboxAgents& agents;
    Registry& registry;
    AgentBook& book;
    WaitingRoom& waiting;
    const std::string& stamp_key;
    std::function<bool(const std::string& pool_key)> pool_exists;
    std::function<bool(const std::string& pod_uid)> pod_exists;
    // The UID of a pod that is an agent of the pool; empty for none.
    std::function<std::string(const std::string& pod_key, const std::string& pool)> agent_uid;
    std::function<void(const std::string& pool_key)> pool_wanted;  // a sandbox found no slot
    std::function<bool()> ready;  // every agent has been asked for its inventory
  };

  explicit SandboxReconciler(Parts parts) : parts_(std::move(parts)) {}

  async::Task<Outcome> Reconcile(std::string key);
  std::size_t Remembered() const { return memories_.size(); }

 private:
  // Knowledge of one attempt beside its status, for as long as this leader leads.
  struct Memory {
    std::string uid;
    std::int64_t attempt = 0;
    bool began = false;     // this leader assigned the attempt: no create of it was sent before
    int creates = 0;        // that may have left something
    bool rejected = false;  // the last create was refused before any side effect
    async::TimePoint not_before{};  // the next call to the agent
    std::string failure;            // of the last create, in the agent's words
    // When the last call to the agent about it ended: an answer to an earlier question proves
    // nothing.
    async::TimePoint acted{};
    // The first question since then that it was not listed in.
    std::optional<async::TimePoint> unlisted;
    // The restarts of the agent when it has last listed it; none when that is in doubt.
    std::optional<int> listed_restarts;
    // When the API server itself has said that the agent has not restarted. The watch may be late.
    async::TimePoint confirmed{};
  };
  struct Pass {
    std::string key;
    Sandbox sandbox;
    Memory& memory;
    async::WallTime now{};
    bool is_in_doubt = false;  // its absence is proven once its pod is confirmed
  };
  // None: to be decided anew.
  using Next = kube::Result<std::optional<runtime::Requeue>>;

  Sight See(Pass* pass) const;
  Sight SeeUnlisted(Pass* pass, const AgentBook::Agent& agent) const;
  // Reads the agent's pod: has it restarted since?
  async::Task<Next> ConfirmPod(Pass* pass);
  Circumstances CircumstancesOf(const Pass& pass) const;
  std::optional<cloud::AgentAddress> AddressOf(const Pass& pass) const;

  // Sees to the owner and the finalizer, before anything else is decided.
  async::Task<kube::Result<void>> Tend(Pass* pass);
  async::Task<Next> Take(Pass* pass, Action action, Wish wish, Sight sight);
  async::Task<kube::Result<void>> Adopt(Pass* pass);
  async::Task<Next> Assign(Pass* pass);
  async::Task<Next> Assigned(Pass* pass, Placement placement, std::string allocation);
  async::Task<Next> Unplace(Pass* pass, Unplaced why);
  // The slot of a valid annotation; none without one, and for one that is not believed.
  std::optional<std::string> BindStamp(Pass* pass);
  async::Task<Next> Create(Pass* pass);
  async::Task<Next> Delete(Pass* pass, Wish wish);
  async::Task<Next> Start(Pass* pass);
  async::Task<Next> Lose(Pass* pass, Sight sight);
  async::Task<Next> Fail(Pass* pass, Sight sight);
  async::Task<Next> Again(Pass* pass);
  async::Task<Next> Free(Pass* pass);
  async::Task<Next> Expire(Pass* pass);
  async::Task<Next> Accept(Pass* pass);
  async::Task<Next> Finish(Pass* pass);
  async::Task<Next> Wait(Pass* pass, Wish wish, Sight sight);
  async::Task<Next> Rest(Pass* pass);

  // The annotation has done its work, or is not believed.
  async::Task<kube::Result<void>> RemoveAnnotation(Pass* pass);
  async::Task<kube::Result<void>> AddFinalizer(Pass* pass);
  async::Task<kube::Result<void>> WriteStatus(Pass* pass, SandboxStatus to);
  async::Task<kube::Result<void>> Patch(Pass* pass, kube::PatchType type, std::string body,
                                        std::string subresource);
  runtime::Requeue UntilNextTime(const Pass& pass, async::Duration at_most) const;
  void Record(const Pass& pass, kube::EventType type, std::string_view reason,
              std::string_view action, std::string_view note);

  Parts parts_;
  std::unordered_map<std::string, Memory> memories_;  // by key
};

}  // namespace berth::sandbox
