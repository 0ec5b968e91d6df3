#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "async/executor.h"
#include "async/task.h"
#include "cloud/vpc.h"
#include "kube/api.h"
#include "kube/events.h"
#include "kube/informer.h"
#include "reconcile/eip/lookout.h"
#include "reconcile/eip/objects.h"
#include "reconcile/eip/plan.h"
#include "reconcile/eip/status.h"
#include "reconcile/eip/turnstile.h"
#include "reconcile/runtime/controller.h"
#include "reconcile/runtime/overlay.h"

namespace berth::eip {

// Keeps addresses as their objects say: does what Decide says, one step after the other, and tells
// of it in the status, which is written only when something has changed. Only a leader has one.
class Reconciler {
 public:
  using Outcome = kube::Result<runtime::Requeue>;

  struct Parts {
    async::Executor& executor;
    kube::Api api;
    kube::EventRecorder& events;
    kube::Informer<Object>& objects;
    runtime::Overlay<Object>& latest;
    std::size_t by_address;  // the informer's index of ClaimedId
    cloud::Vpc& vpc;
    std::function<void(const std::string& key)> again;  // has it reconciled soon
  };

  // How many wait for the cloud to allocate, or to release, at once. Enough that there is always
  // one whose turn it is; the others do not even begin.
  static constexpr std::size_t kInLine = 50;

  explicit Reconciler(Parts parts)
      : parts_(std::move(parts)),
        lookout_(parts_.executor, parts_.vpc),
        allocating_(kInLine, parts_.again),
        releasing_(kInLine, parts_.again) {}

  async::Task<Outcome> Reconcile(std::string key);

 private:
  // What is known of an object beside what is written down, for as long as this leader leads.
  struct Memory {
    std::string uid;
    std::int64_t fresh_attempt = 0;  // its number; written by us and not yet sent
    std::optional<async::TimePoint> missing_since;
    // Of a refusal that will not get better by itself: not before the object or the time changes.
    std::string refused_of;
    async::TimePoint refused_until{};
  };
  // One pass over one object.
  struct Pass {
    Object object;
    Memory& memory;
    Sight sight = {};
    std::string doing = "Sync";  // what was tried last
  };
  // None: to be decided anew.
  using Next = Result<std::optional<runtime::Requeue>>;

  async::Task<Next> Take(Pass* pass, Step step);
  async::Task<Next> Look(Pass* pass);
  async::Task<Next> AddFinalizer(Pass* pass);
  async::Task<Next> Begin(Pass* pass, Attempt attempt);
  async::Task<Next> Find(Pass* pass);
  async::Task<Next> Allocate(Pass* pass);
  async::Task<Next> Refused(Pass* pass, Error error);
  async::Task<Next> Own(Pass* pass, std::string id, std::string address, Origin origin);
  async::Task<Next> WriteSpec(Pass* pass);
  async::Task<Next> Change(Pass* pass, async::Task<Result<void>> change, std::string what);
  async::Task<Next> Release(Pass* pass);
  async::Task<Next> Finish(Pass* pass, step::Finish how);
  async::Task<Next> Wait(Pass* pass, step::Wait wait);
  async::Task<Next> Rest(Pass* pass);
  async::Task<Outcome> Fail(Pass* pass, Error error);

  async::Task<Result<void>> Tell(Pass* pass, Report report,
                                 Json facts = Json(jsoncons::json_object_arg));
  async::Task<Result<void>> Patch(Pass* pass, Json patch, std::string subresource);
  void Record(const Pass& pass, kube::EventType type, std::string_view reason,
              std::string_view action, std::string_view note);
  std::string TakenBy(const Object& object) const;
  // Whether a step may be taken now. If not, the key will be reconciled again when it may.
  bool MayTake(const std::string& key, const Object& object, const Step& step);
  void Leave(const std::string& key);

  Parts parts_;
  Lookout lookout_;
  Turnstile allocating_;
  Turnstile releasing_;
  std::unordered_map<std::string, Memory> memories_;  // by key
};

}  // namespace berth::eip
