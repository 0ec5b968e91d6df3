// Reports of an object: its status, its events, and its failures.
#include <utility>

#include "log/format.h"
#include "log/log.h"
#include "reconcile/eip/reconciler.h"
#include "reconcile/eip/refusal.h"

namespace berth::eip {
namespace {

using namespace std::chrono_literals;

// The generation of an object whose user has not touched it since: the first, and
// spec.allocationID.
constexpr std::int64_t kAsCreated = 2;
// How long a refusal counts: one of the spec, and one of the account that may be lifted any time.
constexpr async::Duration kRefusedFor = 5min;
constexpr async::Duration kForbiddenFor = 20s;
// How often it is looked whether Berth has the key of an object's account by now.
constexpr async::Duration kMisplacedFor = 15s;
// A failure that passes within this time is not told of an object that is ready; of others it is
// told not more often.
constexpr async::Duration kBadMinute = 1min;
// A failure that was told and has passed is not told again before this.
constexpr async::Duration kComesAndGoes = 5min;

std::string_view EventFor(std::string_view doing, const Error& error) {
  if (error.error_class == ErrorClass::kThrottled) return "Throttled";
  if (doing == "Create") return "CreateFailed";
  return doing == "Release" ? "ReleaseFailed" : "ReconcileFailed";
}

// Why an object is ready.
std::string RestReason(const Object& object) {
  const std::string& told = object.told_reason;
  if (told == "Created" || told == "Updated") return told;
  if (told == "Updating" || told == "Drifted") return "Updated";
  const bool untouched = told == "Creating" || object.id.generation <= kAsCreated;
  return untouched ? "Created" : "Updated";
}

// The message that was told when it says the same but for the request ID: a condition that changes
// with each try would be written with each.
std::string Unchanged(const Object& object, std::string message) {
  return WithoutRequestId(message) == WithoutRequestId(object.told_message) ? object.told_message
                                                                            : message;
}

}  // namespace

async::Task<Reconciler::Next> Reconciler::Wait(Pass* pass, step::Wait wait) {
  if (wait.quiet) co_return Poll(pass);
  Json facts;
  // An address that is gone is not shown as if it could be used.
  if (wait.reason == "Lost" && !wait.soon &&
      (wait.settles || !pass->object.allocation_id.empty())) {
    facts["eipAddress"] = Json::null();
    facts["status"] = "Lost";
  }
  if (wait.settles && pass->object.attempt) {
    pass->object.attempt.Settle(facts);
    facts["region"] = Json::null();
    facts["account"] = Json::null();
  }
  auto written = co_await Tell(pass,
                               {.synced = pass->sight.asked && (pass->sight.eip || !wait.soon),
                                .progressing = wait.soon,
                                .reason = wait.reason,
                                .message = wait.message},
                               std::move(facts));
  if (!written) co_return std::unexpected(std::move(written.error()));
  if (wait.soon) co_return Poll(pass);
  if (wait.misplaced && !*written) co_return runtime::Requeue{kMisplacedFor};
  const bool deleting = pass->object.id.deleting != 0;
  Record(*pass, kube::EventType::kWarning, deleting ? "ReleaseFailed" : "ReconcileFailed",
         deleting ? "Release" : "Sync", wait.message);
  co_return runtime::Requeue{wait.misplaced ? kMisplacedFor : async::Duration{}};
}

// All is as it should be, or as near to it as it can be.
async::Task<Reconciler::Next> Reconciler::Rest(Pass* pass, std::string unlike) {
  if (pass->object.id.deleting != 0) co_return runtime::Requeue{};
  pass->memory.polls = 0;
  pass->memory.late = 0;
  pass->memory.change.clear();
  pass->memory.failure_events.clear();
  Json facts = Json::Object();
  // Not those that the address had before: others have set them.
  cloud::Tags applied = pass->object.applied_tags;
  std::erase_if(applied, [&](const auto& tag) {
    const auto wanted = pass->object.spec.tags.find(tag.first);
    return wanted == pass->object.spec.tags.end() || wanted->second != tag.second;
  });
  facts["tags"] = applied.empty() ? Json::null() : TextsOf(applied);
  Attempt{.number = pass->object.attempt.number}.Settle(facts);
  if (pass->object.on_foreign != "adopt") facts["adopted"] = Json::null();
  if (pass->object.spec.package.empty()) facts["joinedPackage"] = Json::null();
  Report report{.ready = true,
                .synced = true,
                .reason = RestReason(pass->object),
                .message = pass->object.origin == Origin::kImported
                               ? "EIP imported and in sync with spec"
                               : "EIP allocated and in sync with spec"};
  if (!unlike.empty()) {
    report.synced = false;
    report.reason = "Drifted";
    report.message = unlike;
  }
  auto written = co_await Tell(pass, std::move(report), std::move(facts));
  if (!written) co_return std::unexpected(std::move(written.error()));
  if (*written && !unlike.empty()) {
    Record(*pass, kube::EventType::kWarning, "ReconcileFailed", "Sync", unlike);
  }
  co_return runtime::Requeue{};
}

bool Reconciler::IsToBeTold(const Pass& pass, const Error& error) const {
  if (error.error_class == ErrorClass::kTerminal && !pass.unread) return true;
  const auto now = parts_.executor.Now();
  const Memory& memory = pass.memory;
  if (pass.object.told_ready) {
    // A change or a deletion that cannot be followed is told at once: the status says otherwise.
    if (!pass.object.ToldReadyNow() || pass.object.id.deleting != 0) return true;
    if (now - memory.failing_since.value_or(now) < kBadMinute) return false;
  }
  const auto pause = memory.failure.empty() ? kComesAndGoes : kBadMinute;
  return !memory.told_failure || now - *memory.told_failure >= pause;
}

std::string Reconciler::ReasonFor(const Object& object, const Error& error) {
  if (object.id.deleting != 0) return "Deleting";
  if (error.error_class == ErrorClass::kThrottled) return "Throttled";
  return BlamesSpec(error) ? "InvalidConfig" : "SyncFailed";
}

async::Task<Reconciler::Outcome> Reconciler::Fail(Pass* pass, Error error) {
  // A status that the API server refuses cannot be written there, and is no fault of the cloud's.
  // The object has changed since a call that was not sent, and is looked at anew.
  const bool conflict = error.error_class == ErrorClass::kConflict;
  if (pass->unwritten && error.error_class == ErrorClass::kTerminal && !pass->field.empty()) {
    co_await TellRefusedWrite(pass, error);
    co_return std::unexpected(std::move(error));
  }
  if (pass->unwritten || (conflict && error.reason == cloud::kNotSent)) {
    co_return std::unexpected(std::move(error));
  }
  // A conflict in the cloud, or something that is missing there, is a failure like others.
  if (conflict || error.error_class == ErrorClass::kNotFound) {
    error.error_class = ErrorClass::kRetry;
  }
  // There was no turn for the call: nothing has happened that anybody could be told of.
  if (error.reason == cloud::kNotSent && error.error_class == ErrorClass::kThrottled) {
    co_return runtime::Requeue{error.retry_after};
  }
  Memory& memory = pass->memory;
  const auto now = parts_.executor.Now();
  if (!memory.failing_since) memory.failing_since = now;
  if (const auto& eip = pass->sight.eip; eip && !LockOf(*eip).empty()) {
    error.message += "; " + LockOf(*eip);
  }
  const bool throttled = error.error_class == ErrorClass::kThrottled;
  if (IsOfReach(error) || (pass->unread && !throttled)) cut_off_.insert(pass->object.id.Key());
  if (IsToBeTold(*pass, error)) {
    memory.told_failure = now;
    const std::string sentence = Unchanged(pass->object, Sentence(error));
    RecordFailure(pass, error, sentence);
    // An error that is not about the spec does not clear Ready.
    const bool passing = !BlamesSpec(error);
    const bool stays_ready = pass->object.ToldReadyNow() && pass->object.id.deleting == 0;
    static_cast<void>(
        co_await Tell(pass, {.ready = passing && stays_ready,
                             .progressing = error.error_class != ErrorClass::kTerminal,
                             .reason = ReasonFor(pass->object, error),
                             .message = sentence}));
    memory.failure = sentence;
  }
  if (error.error_class == ErrorClass::kTerminal) {
    const auto hold = IsOfPermission(error) ? kForbiddenFor : kRefusedFor;
    memory.basis = BasisOf(pass->object);
    memory.held_until = now + hold;
    // Comes again by itself, whenever the next resync is.
    error.error_class = ErrorClass::kRetry;
    error.retry_after = std::chrono::ceil<std::chrono::milliseconds>(hold);
  }
  co_return std::unexpected(std::move(error));
}

async::Task<void> Reconciler::TellRefusedWrite(Pass* pass, Error error) {
  const bool deleting = pass->object.id.deleting != 0;
  const std::string sentence = Format(
      "the API server refused Berth's write of {}: {}; let the webhook, the policy or the role "
      "that "
      "refuses it allow it to Berth's service account",
      pass->field, error.message);
  RecordFailure(pass, error, sentence);
  static_cast<void>(co_await Tell(pass, {.ready = pass->object.ToldReadyNow() && !deleting,
                                         .reason = deleting ? "Deleting" : "SyncFailed",
                                         .message = sentence}));
  pass->memory.failure = pass->object.told_message;
}

void Reconciler::RecordFailure(Pass* pass, const Error& error, const std::string& sentence) {
  auto& events = pass->memory.failure_events;
  if (events.size() >= kMostFailureEvents) return;
  const std::string doing = pass->object.id.deleting != 0 ? "Release" : pass->doing;
  if (!events.insert(doing + " " + WithoutRequestId(sentence)).second) return;
  Record(*pass, kube::EventType::kWarning, EventFor(doing, error), doing, sentence);
}

async::Task<Result<bool>> Reconciler::TellTry(Pass* pass, Report report, Json facts) {
  const Object& object = pass->object;
  const std::string failure = pass->memory.failure;
  if (!failure.empty() && failure == object.told_message) {
    report = {.ready = object.told_ready,
              .synced = object.told_synced,
              .progressing = object.told_progressing,
              .reason = object.told_reason,
              .message = object.told_message};
  }
  auto written = co_await Tell(pass, std::move(report), std::move(facts));
  pass->memory.failure = failure;
  co_return written;
}

async::Task<Result<bool>> Reconciler::Tell(Pass* pass, Report report, Json facts) {
  pass->memory.failure.clear();
  report.message = Unchanged(pass->object, std::move(report.message));
  auto status =
      StatusPatch(pass->object, std::move(facts), pass->sight.eip ? &*pass->sight.eip : nullptr,
                  report, parts_.executor.WallNow());
  if (!status) co_return false;
  Json patch = Json::Object();
  patch["status"] = std::move(*status);
  auto written = co_await Patch(pass, std::move(patch), "status");
  if (!written) co_return std::unexpected(std::move(written.error()));
  co_return true;
}

async::Task<Result<void>> Reconciler::Patch(Pass* pass, Json patch, std::string subresource) {
  pass->unwritten = true;
  pass->field.clear();
  Json whole = runtime::PatchOf(pass->object.id);
  for (auto& member : patch.object_range()) {
    if (member.key() == "metadata") {
      for (auto& field : member.value().object_range()) {
        pass->field = "metadata." + std::string(field.key());
        whole["metadata"][field.key()] = std::move(field.value());
      }
    } else {
      if (member.key() == "spec") pass->field = "spec.allocationID";
      whole[member.key()] = std::move(member.value());
    }
  }
  kube::PatchOptions options;
  options.subresource = std::move(subresource);
  const Identity& id = pass->object.id;
  auto answer = co_await parts_.api.Patch(kEips, id.ns, id.name, kube::PatchType::kMerge,
                                          whole.to_string(), options);
  if (!answer) co_return std::unexpected(std::move(answer.error()));
  kube::JsonDocument document;
  const auto parsed = document.Parse(*answer);
  if (!parsed) co_return std::unexpected(parsed.error());
  auto object = Object::From(*parsed);
  if (!object) co_return std::unexpected(std::move(object.error()));
  pass->object = *object;
  pass->unwritten = false;
  if (!pass->field.empty()) pass->memory.failure.clear();
  // An object that has lost its last finalizer is gone.
  if (object->id.deleting == 0 || object->id.finalizer) parts_.latest.Note(std::move(*object));
  co_return Result<void>();
}

void Reconciler::Record(const Pass& pass, kube::EventType type, std::string_view reason,
                        std::string_view action, std::string_view note) {
  parts_.events.Record(pass.object.id.Reference(kEips), type, reason, action, note);
}

}  // namespace berth::eip
