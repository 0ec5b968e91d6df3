#include "reconcile/eip/reconciler.h"

#include <utility>

#include "log/format.h"
#include "log/log.h"
#include "reconcile/eip/refusal.h"

namespace berth::eip {
namespace {

using namespace std::chrono_literals;

// More steps than any way through Decide has: against going round in a circle.
constexpr int kMostSteps = 24;
constexpr async::Duration kFirstPoll = 2s;
constexpr async::Duration kLastPoll = 30s;
// An address that is not to be seen for so long is told to be lost.
constexpr auto kVanished = 2min;
// The generation of an object whose user has not touched it since: the first, and
// spec.allocationID.
constexpr std::int64_t kAsCreated = 2;
// How long a refusal counts: one of the spec, and one of us that may be lifted any time.
constexpr async::Duration kRefusedFor = 5min;
constexpr async::Duration kForbiddenFor = 1min;
// What goes wrong for less than this is not told of an object that is ready, and of others not more
// often.
constexpr auto kBadMinute = 1min;

// What a refusal depends on besides time.
std::string BasisOf(const Object& object) {
  return Format("{} {} {} {} {}", object.id.generation, object.id.deleting != 0, object.on_lost,
                object.on_stuck, object.on_foreign);
}

std::string_view EventFor(std::string_view doing, const Error& error) {
  if (error.error_class == ErrorClass::kThrottled) return "Throttled";
  if (doing == "Create") return "CreateFailed";
  return doing == "Release" ? "ReleaseFailed" : "ReconcileFailed";
}

// It was as spec says now.
bool WasRight(const Object& object) {
  return object.told_ready && object.told_generation == object.id.generation;
}

// Why an object is not ready while it is being changed.
std::string ChangeReason(const Object& object) {
  if (object.id.deleting != 0) return "Deleting";
  if (object.told_reason == "Creating" || object.told_reason == "Drifted") {
    return object.told_reason;
  }
  return WasRight(object) ? "Drifted" : "Updating";
}

// Why an object is ready.
std::string RestReason(const Object& object) {
  const std::string& told = object.told_reason;
  if (told == "Created" || told == "Updated") return told;
  if (told == "Updating" || told == "Drifted") return "Updated";
  const bool untouched = told == "Creating" || object.id.generation <= kAsCreated;
  return untouched ? "Created" : "Updated";
}

Json Facts() { return Json::Object(); }

}  // namespace

async::Task<Reconciler::Outcome> Reconciler::Reconcile(std::string key) {
  const async::Handle at_the_end([this, &key] { Leave(key); });
  const Object* object = parts_.latest.Get(key);
  if (!object) {
    memories_.erase(key);
    co_return runtime::Requeue{};
  }
  Memory& memory = memories_[key];
  if (memory.uid != object->id.uid) memory = Memory{.uid = object->id.uid};
  if (memory.basis != BasisOf(*object)) {
    memory.basis = BasisOf(*object);
    memory.polls = 0;
    memory.held_until = {};
  }
  const auto now = parts_.executor.Now();
  if (now < memory.held_until) co_return runtime::Requeue{memory.held_until - now};
  Pass pass{.object = *object, .memory = memory};
  for (int i = 0; i < kMostSteps; ++i) {
    Perceive(&pass);
    Step step = Decide(pass.object, pass.sight);
    if (!MayTake(key, pass.object, step)) co_return runtime::Requeue{};
    auto next = co_await Take(&pass, std::move(step));
    if (!next) co_return co_await Fail(&pass, std::move(next.error()));
    if (!*next) continue;
    memory.failing_since.reset();
    co_return **next;
  }
  co_return std::unexpected(Error{ErrorClass::kRetry, {}, "too many steps"});
}

bool Reconciler::MayTake(const std::string& key, const Object& object, const Step& step) {
  const bool allocates =
      std::holds_alternative<step::Begin>(step) || std::holds_alternative<step::Find>(step) ||
      std::holds_alternative<step::Allocate>(step) ||
      (std::holds_alternative<step::AddFinalizer>(step) && object.ClaimedId().empty());
  if (allocates) return allocating_.Enter(key);
  if (std::holds_alternative<step::Release>(step)) return releasing_.Enter(key);
  if (!object.allocation_id.empty()) allocating_.Leave(key);
  return true;
}

void Reconciler::Leave(const std::string& key) {
  allocating_.Leave(key);
  releasing_.Leave(key);
}

void Reconciler::Perceive(Pass* pass) const {
  Sight& sight = pass->sight;
  sight.newborn = pass->newborn;
  sight.taken_by = TakenBy(pass->object);
  sight.wanted_by = WantedBy(pass->object);
  sight.tagged_for = TaggedFor(*pass);
  const std::int64_t fresh = pass->memory.fresh_attempt;
  sight.fresh_attempt = fresh > 0 && fresh == pass->object.attempt.number;
}

async::Task<Reconciler::Next> Reconciler::Take(Pass* pass, Step step) {
  const std::string& id = pass->object.allocation_id;
  cloud::Vpc& vpc = parts_.vpc;
  if (auto* nothing = std::get_if<step::Nothing>(&step)) {
    return Rest(pass, std::move(nothing->unlike));
  }
  if (std::holds_alternative<step::Look>(step)) return Look(pass);
  if (std::holds_alternative<step::AddFinalizer>(step)) return AddFinalizer(pass);
  if (auto* begin = std::get_if<step::Begin>(&step)) return Begin(pass, std::move(begin->attempt));
  if (std::holds_alternative<step::Find>(step)) return Find(pass);
  if (std::holds_alternative<step::Allocate>(step)) return Allocate(pass);
  if (auto* import = std::get_if<step::Import>(&step)) {
    return Own(pass, pass->object.spec.allocation_id, std::move(import->address), import->origin);
  }
  if (std::holds_alternative<step::Probe>(step)) return Probe(pass);
  if (std::holds_alternative<step::WriteSpec>(step)) return WriteSpec(pass);
  if (auto* tag = std::get_if<step::Tag>(&step)) {
    return Tag(pass, std::move(tag->tags));
  }
  if (auto* untag = std::get_if<step::Untag>(&step)) {
    return Change(pass, vpc.UntagEips({id}, std::move(untag->keys)), "tags");
  }
  if (auto* modify = std::get_if<step::Modify>(&step)) {
    std::string what = modify->change.bandwidth ? "bandwidth" : "name and description";
    return Change(pass, vpc.ModifyEip(id, std::move(modify->change)), std::move(what));
  }
  if (std::holds_alternative<step::Move>(step)) {
    return Change(pass, vpc.MoveEip(id, pass->object.spec.resource_group), "resource group");
  }
  // Without a token: the cloud would answer the same step of another day with what it said then.
  if (std::holds_alternative<step::Join>(step)) {
    return Change(pass, vpc.JoinPackage(id, pass->object.spec.package, ""), "bandwidth package");
  }
  if (auto* leave = std::get_if<step::Leave>(&step)) {
    return Change(pass, vpc.LeavePackage(id, std::move(leave->package), ""), "bandwidth package");
  }
  if (std::holds_alternative<step::Unassociate>(step)) {
    return Change(pass, vpc.UnassociateEip(id), "association");
  }
  if (std::holds_alternative<step::Release>(step)) return Release(pass);
  if (auto* finish = std::get_if<step::Finish>(&step)) return Finish(pass, std::move(*finish));
  return Wait(pass, std::move(std::get<step::Wait>(step)));
}

async::Task<Reconciler::Next> Reconciler::Look(Pass* pass) {
  pass->doing = "Sync";
  auto seen = co_await lookout_.See(pass->object.ClaimedId());
  if (!seen) co_return std::unexpected(std::move(seen.error()));
  auto& since = pass->memory.missing_since;
  if (*seen) {
    since.reset();
  } else if (!since) {
    since = parts_.executor.Now();
  }
  pass->sight.asked = true;
  pass->sight.vanished = since && parts_.executor.Now() - *since >= kVanished;
  pass->sight.eip = std::move(*seen);
  co_return std::nullopt;
}

async::Task<Reconciler::Next> Reconciler::AddFinalizer(Pass* pass) {
  pass->doing = "Create";
  Json patch = Facts();
  patch["metadata"] = Facts();
  patch["metadata"]["finalizers"] = runtime::FinalizersOf(pass->object.id, kFinalizer);
  auto written = co_await Patch(pass, std::move(patch), "");
  if (!written) co_return std::unexpected(std::move(written.error()));
  pass->newborn = true;
  co_return std::nullopt;
}

// Tagging changes nothing about an address of ours, and an address that is gone cannot be tagged.
async::Task<Reconciler::Next> Reconciler::Probe(Pass* pass) {
  pass->doing = "Create";
  const std::string id = pass->object.allocation_id;
  auto tagged = co_await parts_.vpc.TagEips({id}, {{std::string(kOwnerTag), pass->object.id.uid}});
  if (!tagged && tagged.error().error_class == ErrorClass::kNotFound) {
    pass->sight.gone = true;
    co_return std::nullopt;
  }
  if (!tagged) co_return std::unexpected(std::move(tagged.error()));
  co_return co_await Wait(pass,
                          {"SyncFailed", id + " exists, and the cloud does not show it", true});
}

async::Task<Reconciler::Next> Reconciler::WriteSpec(Pass* pass) {
  pass->doing = "Create";
  Json patch = Facts();
  patch["spec"] = Facts();
  patch["spec"]["allocationID"] = pass->object.allocation_id;
  auto written = co_await Patch(pass, std::move(patch), "");
  if (!written) co_return std::unexpected(std::move(written.error()));
  co_return std::nullopt;
}

async::Task<Reconciler::Next> Reconciler::Tag(Pass* pass, cloud::Tags tags) {
  pass->doing = "Update";
  // Not again and again in one pass: the cloud may take its time to show them.
  if (std::exchange(pass->tagged, true)) co_return Poll(pass);
  // Written down first: what is on the address and not known here would never be taken off.
  cloud::Tags applied = pass->object.applied_tags;
  for (const auto& [key, value] : tags) {
    if (key != kOwnerTag) applied.insert_or_assign(key, value);
  }
  Json facts = Facts();
  if (!applied.empty()) facts["tags"] = TextsOf(applied);
  auto written = co_await Tell(pass,
                               {.synced = true,
                                .progressing = true,
                                .reason = ChangeReason(pass->object),
                                .message = "tags are being set"},
                               std::move(facts));
  if (!written) co_return std::unexpected(std::move(written.error()));
  auto done = co_await parts_.vpc.TagEips({pass->object.allocation_id}, std::move(tags));
  if (!done && done.error().error_class != ErrorClass::kNotFound) {
    co_return std::unexpected(std::move(done.error()));
  }
  pass->sight = {};
  co_return std::nullopt;
}

async::Task<Reconciler::Next> Reconciler::Change(Pass* pass, async::Task<Result<void>> change,
                                                 std::string what) {
  const bool deleting = pass->object.id.deleting != 0;
  pass->doing = deleting ? "Release" : "Update";
  auto done = co_await std::move(change);
  // What is said to be so already, or to be gone, the next look will show.
  const bool late = !done && (done.error().error_class == ErrorClass::kNotFound ||
                              done.error().reason == "IpInstanceId.AlreadyInBandwidthPackage");
  if (!done && !late) co_return std::unexpected(std::move(done.error()));
  const std::string reason = ChangeReason(pass->object);
  auto written = co_await Tell(pass, {.synced = true,
                                      .progressing = true,
                                      .reason = reason,
                                      .message = what + " is not as it should be and was set"});
  if (!written) co_return std::unexpected(std::move(written.error()));
  if (!late) {
    log::Info("eip changed", {{"eip", pass->object.id.Key()}, {"what", what}});
    Record(*pass, kube::EventType::kNormal, "Updated", deleting ? "Release" : "Update",
           reason == "Drifted" ? what + " was changed in the cloud, and was set again"
                               : what + " was set");
  }
  co_return Poll(pass);
}

async::Task<Reconciler::Next> Reconciler::Release(Pass* pass) {
  pass->doing = "Release";
  const std::string id = pass->object.allocation_id;
  auto released = co_await parts_.vpc.ReleaseEip(id);
  if (!released && released.error().error_class == ErrorClass::kNotFound) {
    const bool by_us = pass->object.cloud_status == "Releasing";
    co_return co_await Finish(pass, by_us ? step::Finish{"Released", id + " is released"}
                                          : step::Finish{"AlreadyReleased", id + " was gone"});
  }
  if (!released) co_return std::unexpected(std::move(released.error()));
  log::Info("eip released", {{"eip", pass->object.id.Key()}, {"address", id}});
  pass->sight.eip.reset();
  Json facts = Facts();
  facts["status"] = "Releasing";
  auto written = co_await Tell(
      pass, {.progressing = true, .reason = "Deleting", .message = id + " is being released"},
      std::move(facts));
  if (!written) co_return std::unexpected(std::move(written.error()));
  co_return Poll(pass);
}

async::Task<Reconciler::Next> Reconciler::Finish(Pass* pass, step::Finish how) {
  pass->doing = "Release";
  // Who is not kept by others is gone with the next write, and nobody would see it.
  if (!pass->object.id.other_finalizers.empty()) {
    auto told = co_await Tell(pass, {.synced = true, .reason = "Deleted", .message = how.message});
    if (!told) co_return std::unexpected(std::move(told.error()));
  }
  Json patch = Facts();
  patch["metadata"] = Facts();
  patch["metadata"]["finalizers"] = runtime::FinalizersOf(pass->object.id, "");
  auto written = co_await Patch(pass, std::move(patch), "");
  if (!written && !runtime::IsGone(written.error())) {
    co_return std::unexpected(std::move(written.error()));
  }
  Record(*pass, kube::EventType::kNormal, how.reason, "Release", how.message);
  co_return runtime::Requeue{};
}

async::Task<Reconciler::Next> Reconciler::Wait(Pass* pass, step::Wait wait) {
  auto written = co_await Tell(pass, {.synced = pass->sight.asked,
                                      .progressing = wait.soon,
                                      .reason = wait.reason,
                                      .message = wait.message});
  if (!written) co_return std::unexpected(std::move(written.error()));
  if (wait.soon) co_return Poll(pass);
  const bool deleting = pass->object.id.deleting != 0;
  Record(*pass, kube::EventType::kWarning, deleting ? "ReleaseFailed" : "ReconcileFailed",
         deleting ? "Release" : "Sync", wait.message);
  co_return runtime::Requeue{};
}

// All is as it should be, or as near to it as it can be.
async::Task<Reconciler::Next> Reconciler::Rest(Pass* pass, std::string unlike) {
  if (pass->object.id.deleting != 0) co_return runtime::Requeue{};
  pass->memory.polls = 0;
  Json facts = Facts();
  facts["tags"] = pass->object.spec.tags.empty() ? Json::null() : TextsOf(pass->object.spec.tags);
  Report report{.ready = true,
                .synced = true,
                .reason = RestReason(pass->object),
                .message = pass->object.origin == Origin::kImported
                               ? "it is imported and as spec says"
                               : "it is allocated and as spec says"};
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
  if (error.error_class == ErrorClass::kTerminal) return true;
  const auto now = parts_.executor.Now();
  const Memory& memory = pass.memory;
  if (pass.object.told_ready && now - memory.failing_since.value_or(now) < kBadMinute) return false;
  return !memory.told_failure || now - *memory.told_failure >= kBadMinute;
}

std::string Reconciler::ReasonFor(const Object& object, const Error& error) {
  if (error.error_class == ErrorClass::kThrottled) return "Throttled";
  if (object.id.deleting != 0) return "Deleting";
  return BlamesSpec(error) ? "InvalidConfig" : "SyncFailed";
}

async::Task<Reconciler::Outcome> Reconciler::Fail(Pass* pass, Error error) {
  // What the API server does not take cannot be told there, and is no fault of the cloud's.
  const bool conflict = error.error_class == ErrorClass::kConflict || runtime::IsGone(error);
  if (pass->unwritten || conflict) co_return std::unexpected(std::move(error));
  // There was no turn for the call: nothing has happened that anybody could be told of.
  if (error.reason == cloud::kNotSent && error.error_class == ErrorClass::kThrottled) {
    co_return runtime::Requeue{error.retry_after};
  }
  Memory& memory = pass->memory;
  const auto now = parts_.executor.Now();
  if (!memory.failing_since) memory.failing_since = now;
  if (IsToBeTold(*pass, error)) {
    memory.told_failure = now;
    const std::string sentence = Sentence(error);
    Record(*pass, kube::EventType::kWarning, EventFor(pass->doing, error), pass->doing, sentence);
    // Who cannot be asked about an address does not make it a worse one.
    const bool passing = error.error_class != ErrorClass::kTerminal;
    static_cast<void>(co_await Tell(pass, {.ready = passing && WasRight(pass->object),
                                           .progressing = passing,
                                           .reason = ReasonFor(pass->object, error),
                                           .message = sentence}));
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

async::Task<Result<bool>> Reconciler::Tell(Pass* pass, Report report, Json facts) {
  auto status =
      StatusPatch(pass->object, std::move(facts), pass->sight.eip ? &*pass->sight.eip : nullptr,
                  report, parts_.executor.WallNow());
  if (!status) co_return false;
  Json patch = Facts();
  patch["status"] = std::move(*status);
  auto written = co_await Patch(pass, std::move(patch), "status");
  if (!written) co_return std::unexpected(std::move(written.error()));
  co_return true;
}

async::Task<Result<void>> Reconciler::Patch(Pass* pass, Json patch, std::string subresource) {
  pass->unwritten = true;
  Json whole = runtime::PatchOf(pass->object.id);
  for (auto& member : patch.object_range()) {
    if (member.key() == "metadata") {
      for (auto& field : member.value().object_range()) {
        whole["metadata"][field.key()] = std::move(field.value());
      }
    } else {
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
  // What has lost its last finalizer is gone.
  if (object->id.deleting == 0 || object->id.finalizer) parts_.latest.Note(std::move(*object));
  co_return Result<void>();
}

void Reconciler::Record(const Pass& pass, kube::EventType type, std::string_view reason,
                        std::string_view action, std::string_view note) {
  parts_.events.Record(pass.object.id.Reference(kEips), type, reason, action, note);
}

runtime::Requeue Reconciler::Poll(Pass* pass) {
  const int polls = std::min(pass->memory.polls++, 4);
  return {std::min(kFirstPoll * (1 << polls), kLastPoll)};
}

std::string Reconciler::TakenBy(const Object& object) const {
  const std::string& id = object.ClaimedId();
  if (id.empty()) return "";
  // Who has it in its status has it; else who is older.
  const auto rank = [](const Object& one) {
    return std::tuple(one.allocation_id.empty(), one.origin != Origin::kCreated, one.id.created,
                      one.id.uid);
  };
  const Object* first = &object;
  parts_.objects.ForEachIn(parts_.by_address, id, [&](const std::string&, const Object& other) {
    if (other.id.uid != object.id.uid && rank(other) < rank(*first)) first = &other;
  });
  return first == &object ? "" : first->id.Key();
}

std::string Reconciler::WantedBy(const Object& object) const {
  std::string who;
  parts_.objects.ForEachIn(parts_.by_address, object.allocation_id,
                           [&](const std::string& key, const Object& other) {
                             if (other.id.uid != object.id.uid && other.id.deleting == 0) who = key;
                           });
  return who;
}

std::string Reconciler::TaggedFor(const Pass& pass) const {
  if (!pass.sight.eip) return "";
  const auto owner = pass.sight.eip->tags.find(std::string(kOwnerTag));
  std::string who;
  if (owner == pass.sight.eip->tags.end() || owner->second == pass.object.id.uid) return who;
  parts_.objects.ForEachIn(parts_.by_uid, owner->second,
                           [&](const std::string& key, const Object&) { who = key; });
  return who;
}

}  // namespace berth::eip
