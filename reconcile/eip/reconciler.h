#pragma once

#include <functional>
#include <list>
#include <map>
#include <optional>
#include <set>
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
    std::size_t by_uid;
    cloud::Vpcs& vpcs;
    std::function<void(const std::string& key)> again;  // has it reconciled soon
  };

  // How many wait for the cloud to allocate, or to release, at once. Enough that there is always
  // one whose turn it is; the others do not even begin.
  static constexpr std::size_t kInLine = 50;

  // Events of distinct failures of one object, until it is in sync or changes.
  static constexpr std::size_t kMostFailureEvents = 8;

  explicit Reconciler(Parts parts)
      : parts_(std::move(parts)),
        allocating_(kInLine, parts_.again),
        releasing_(kInLine, parts_.again) {}

  async::Task<Outcome> Reconcile(std::string key);

  // The object came into being while this leader leads: no other can have begun an attempt for it.
  void SawCreation(const std::string& key, const std::string& uid) { created_[key] = uid; }

  // The object is being deleted: its status says so at once, though its pass may wait a minute for
  // a turn at the cloud.
  void SawDeletion(const std::string& key);

  // Entries of all tables by object. None is left when all objects are gone.
  std::size_t Remembered() const;

 private:
  // Knowledge of an object beside its status, for as long as this leader leads.
  struct Memory {
    std::string uid;
    std::string basis;              // what the following eight are of: a change of it ends them
    int polls = 0;                  // in a row
    int late = 0;                   // changes that came too late by the cloud's word, in a row
    std::string change;             // that the cloud accepted last, until all is in sync
    int repeats = 0;                // of it
    async::TimePoint held_until{};  // after a refusal that neither time nor we can change
    std::optional<async::TimePoint> told_failure;
    std::string failure;  // the message that tells of it; empty once something has succeeded
    // Failures that have had their event since all was well, without request IDs; at most
    // kMostFailureEvents.
    std::set<std::string> failure_events;

    // The number of the object's last attempt, if no request of any attempt can have come to an
    // address that the status lacks; none when that is not certain.
    std::optional<std::int64_t> accounted = {};
    // Since when an object without an attempt is not found by its tag.
    std::optional<async::TimePoint> unfound_since = {};
    std::string unlisted = {};       // the address that we have allocated, until the cloud lists it
    std::int64_t fresh_attempt = 0;  // its number; written by us and not yet sent
    // The attempt of which every request was ours and was answered; for another one, since when
    // that may not be so.
    std::int64_t certain_attempt = 0;
    // The attempt that was refused, and why: not sent again, as the write that says so may be under
    // way.
    std::int64_t over_attempt = 0;
    Error over_error = {};
    std::int64_t doubted_attempt = 0;
    async::TimePoint doubted_since{};
    std::string doubted_code;  // with which all its requests since then were refused, if any was
    // The address of a deleted object's attempt, of which its status does not say.
    std::string unclaimed;
    cloud::Place unclaimed_in;
    std::string released;         // the address whose release the cloud has taken
    std::string doubted_release;  // the address whose release may have been sent, with no answer
    std::optional<async::TimePoint> missing_since;
    std::optional<async::TimePoint> failing_since;
  };
  // One pass over one object.
  struct Pass {
    Object object;
    Memory& memory;
    Sight sight = {};
    cloud::Place here = {};      // without an account: not known yet
    std::string doing = "Sync";  // what was tried last
    bool tagged = false;
    bool allocated = false;     // the cloud has answered the request for an address with one
    async::TimePoint looked{};  // when the cloud was asked for its address
    bool unread = false;        // the cloud did not answer a question
    bool unwritten = false;     // the API server did not take what was to be written
    // The field of metadata or spec that was written last; empty when the status was.
    std::string field = {};
  };
  // None: to be decided anew.
  using Next = Result<std::optional<runtime::Requeue>>;

  async::Task<Next> Take(Pass* pass, Step step);
  async::Task<Next> TellDeletion(Pass* pass);
  async::Task<void> TellDeletionBeside(std::string key);
  async::Task<Next> Locate(Pass* pass);
  async::Task<Next> Look(Pass* pass);
  async::Task<Next> NotePlace(Pass* pass);
  async::Task<Next> AddFinalizer(Pass* pass);
  async::Task<Next> Begin(Pass* pass, Attempt attempt);
  async::Task<Next> Find(Pass* pass);
  async::Task<Next> Allocate(Pass* pass);
  async::Task<bool> IsStillWanted(const Pass* pass);
  // The same when the request is about to be sent: from now on it is in doubt.
  async::Task<bool> IsToBeSent(const Pass* pass);
  async::Task<Next> Allocated(Pass* pass, cloud::AllocatedEip eip);
  async::Task<Next> NotAllocated(Pass* pass, Error error, bool certain);
  async::Task<Next> EndAttempt(Pass* pass, Error error);
  async::Task<Next> Import(Pass* pass, step::Import import);
  // `tags` are those that it is known to have.
  async::Task<Next> Own(Pass* pass, std::string id, std::string address, Origin origin,
                        cloud::Tags tags = {});
  async::Task<Next> Probe(Pass* pass);
  async::Task<Next> WriteSpec(Pass* pass);
  async::Task<Next> Tag(Pass* pass, cloud::Tags tags);
  async::Task<Next> Join(Pass* pass);
  // An error if the cloud has accepted the change again and again, and does not show it.
  static Result<void> CountRepeat(Pass* pass, const std::string& done, bool late);
  async::Task<Next> Modify(Pass* pass, cloud::EipChange change);
  // Whether a change was refused because it is so already, or the address is gone: the next look
  // will show it. Not again and again: an address that is still there lacks something else.
  static bool IsLate(Pass* pass, const Error& error);
  // `done` is what will have been done, as in "moved to resource group rg-1".
  async::Task<Next> Change(Pass* pass, async::Task<Result<void>> change, std::string done);
  // A change's turn at the cloud may come a minute later: not sent if users have changed the spec,
  // the annotations, or deleted the object since.
  async::Task<bool> IsUnchanged(const Pass* pass);
  cloud::Vpc::Wanted IfUnchanged(const Pass* pass);
  async::Task<bool> IsStillToRelease(Pass* pass);
  async::Task<Next> Release(Pass* pass);
  async::Task<Next> Finish(Pass* pass, step::Finish how);
  async::Task<Next> Wait(Pass* pass, step::Wait wait);
  async::Task<Next> Rest(Pass* pass, std::string unlike);
  async::Task<Outcome> Fail(Pass* pass, Error error);
  // The API server refuses a write of metadata or spec, as a webhook or a policy may.
  async::Task<void> TellRefusedWrite(Pass* pass, Error error);

  cloud::Vpc& VpcOf(const Pass& pass) { return parts_.vpcs.In(pass.here.account); }
  Lookout& LookoutOf(const Pass& pass);
  // A call that only asks the cloud has failed.
  static std::unexpected<Error> Unread(Pass* pass, Error error);
  // A call has succeeded: whoever could not reach the cloud tries again.
  void Reached();

  // Whether there was anything to tell.
  async::Task<Result<bool>> Tell(Pass* pass, Report report, Json facts = Json::Object());
  // The same before a call. A failure stays told while its retries go on.
  async::Task<Result<bool>> TellTry(Pass* pass, Report report, Json facts);
  async::Task<Result<void>> Patch(Pass* pass, Json patch, std::string subresource);
  void Record(const Pass& pass, kube::EventType type, std::string_view reason,
              std::string_view action, std::string_view note);
  // The spec and annotations that a refusal was decided by: another basis is tried at once.
  static std::string BasisOf(const Object& object);
  // Why an object is not ready after a failure.
  static std::string ReasonFor(const Object& object, const Error& error);
  // Whether a failure is worth a write: not each one of a cloud that has a bad minute.
  bool IsToBeTold(const Pass& pass, const Error& error) const;
  // One event for each distinct failure, however often it is met.
  void RecordFailure(Pass* pass, const Error& error, const std::string& sentence);
  // Later and later, so that all who wait together stay below what the cloud takes.
  static runtime::Requeue Poll(Pass* pass);
  // A deleted object has the address that its attempt came to, of which its status does not say.
  static void Claim(Pass* pass);
  void Perceive(Pass* pass) const;
  std::string TakenBy(const Object& object) const;
  // With `owned`, the address has the object's own tag.
  std::string WantedBy(const Object& object, bool owned) const;
  std::string TaggedFor(const Pass& pass) const;
  // Whether a step may be taken now. If not, the key will be reconciled again when it may.
  bool MayTake(const std::string& key, const Object& object, const Step& step);
  void Leave(const std::string& key);

  Parts parts_;
  Turnstile allocating_;
  Turnstile releasing_;
  std::unordered_map<std::string, Memory> memories_;      // by key
  std::unordered_map<std::string, std::string> created_;  // key to uid; until the first reconcile
  std::map<std::string, Lookout> lookouts_;               // by account
  std::set<std::string> cut_off_;                         // keys that could not reach the cloud
  std::set<std::string> busy_;                            // keys that a pass is over
  std::list<async::Running> beside_;                      // writes beside a pass
  async::Handle wake_;
};

}  // namespace berth::eip
