#include "reconcile/eip/reconciler.h"

#include <format>
#include <utility>

#include "log/log.h"

namespace berth::eip {
namespace {

using namespace std::chrono_literals;

// More steps than any way through Decide has: against going round in a circle.
constexpr int kMostSteps = 24;
constexpr auto kSoon = 2s;
// An address that is not to be seen for so long is gone.
constexpr auto kVanished = 2min;
// The generation of an object whose user has not touched it since: the first, and
// spec.allocationID.
constexpr std::int64_t kAsCreated = 2;
// How long a refusal counts that neither time nor we can change.
constexpr auto kRefusedFor = 5min;

// Whether the cloud, asked again for an attempt, has said that nothing came of it. Who is not let
// in learns nothing.
bool ProvesNothingAllocated(const Error& error) {
  return error.error_class == ErrorClass::kTerminal && error.code == 400 &&
         !error.reason.starts_with("Forbidden") && !error.reason.starts_with("InvalidAccessKey") &&
         !error.reason.starts_with("InvalidSecurityToken") &&
         error.reason != "IdempotentParameterMismatch";
}

// What a refusal depends on besides time.
std::string BasisOf(const Object& object) {
  return std::format("{} {} {}", object.id.generation, object.on_lost, object.on_stuck);
}

// The error without what is another one each time: a condition that changes is written.
std::string Sentence(const Error& error) {
  return error.message.substr(0, error.message.find(" (request ID"));
}

std::string ReasonFor(const Object& object, const Error& error) {
  if (error.error_class == ErrorClass::kThrottled) return "Throttled";
  if (object.id.deleting != 0) return "Deleting";
  return error.error_class == ErrorClass::kTerminal ? "InvalidConfig" : "SyncFailed";
}

Json Facts() { return Json(jsoncons::json_object_arg); }

Json TextsOf(const cloud::Tags& tags) {
  Json json(jsoncons::json_object_arg);
  for (const auto& [key, value] : tags) json[key] = value;
  return json;
}

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
  Pass pass{.object = *object, .memory = memory};
  const auto now = parts_.executor.Now();
  if (memory.refused_of == BasisOf(pass.object) && now < memory.refused_until) {
    co_return runtime::Requeue{memory.refused_until - now};
  }
  for (int i = 0; i < kMostSteps; ++i) {
    pass.sight.taken_by = TakenBy(pass.object);
    pass.sight.fresh_attempt =
        pass.object.attempt.number == memory.fresh_attempt && memory.fresh_attempt > 0;
    Step step = Decide(pass.object, pass.sight);
    if (!MayTake(key, pass.object, step)) co_return runtime::Requeue{};
    auto next = co_await Take(&pass, std::move(step));
    if (!next) co_return co_await Fail(&pass, std::move(next.error()));
    if (*next) co_return **next;
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

async::Task<Reconciler::Next> Reconciler::Take(Pass* pass, Step step) {
  const std::string& id = pass->object.allocation_id;
  cloud::Vpc& vpc = parts_.vpc;
  if (std::holds_alternative<step::Nothing>(step)) return Rest(pass);
  if (std::holds_alternative<step::Look>(step)) return Look(pass);
  if (std::holds_alternative<step::AddFinalizer>(step)) return AddFinalizer(pass);
  if (auto* begin = std::get_if<step::Begin>(&step)) return Begin(pass, std::move(begin->attempt));
  if (std::holds_alternative<step::Find>(step)) return Find(pass);
  if (std::holds_alternative<step::Allocate>(step)) return Allocate(pass);
  if (auto* import = std::get_if<step::Import>(&step)) {
    return Own(pass, pass->object.spec.allocation_id, std::move(import->address),
               Origin::kImported);
  }
  if (std::holds_alternative<step::WriteSpec>(step)) return WriteSpec(pass);
  if (auto* tag = std::get_if<step::Tag>(&step)) {
    return Change(pass, vpc.TagEips({id}, std::move(tag->tags)), "tags");
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
  // A package's steps are of the generation that asked for them.
  const auto token = [&](std::string_view what) {
    return std::format("berth-{}-{}{}", pass->object.id.uid, what, pass->object.id.generation);
  };
  if (std::holds_alternative<step::Join>(step)) {
    return Change(pass, vpc.JoinPackage(id, pass->object.spec.package, token("j")),
                  "bandwidth package");
  }
  if (auto* leave = std::get_if<step::Leave>(&step)) {
    return Change(pass, vpc.LeavePackage(id, std::move(leave->package), token("l")),
                  "bandwidth package");
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
  co_return std::nullopt;
}

async::Task<Reconciler::Next> Reconciler::Begin(Pass* pass, Attempt attempt) {
  pass->doing = "Create";
  Json facts = Facts();
  facts["attempt"] = attempt.ToJson();
  for (const char* name : {"allocationID", "eipAddress", "status", "origin"}) {
    facts[name] = Json::null();
  }
  auto written = co_await Tell(
      pass, {.progressing = true, .reason = "Creating", .message = "an address is being allocated"},
      std::move(facts));
  if (!written) co_return std::unexpected(std::move(written.error()));
  pass->memory.fresh_attempt = attempt.number;
  pass->memory.missing_since.reset();
  pass->sight = {};
  co_return std::nullopt;
}

async::Task<Reconciler::Next> Reconciler::Find(Pass* pass) {
  pass->doing = "Create";
  auto found = co_await parts_.vpc.EipsTagged(std::string(kOwnerTag), pass->object.id.uid);
  if (!found) co_return std::unexpected(std::move(found.error()));
  pass->sight.asked = true;
  for (const cloud::Eip& eip : *found) {
    if (eip.status == "Releasing") continue;
    co_return co_await Own(pass, eip.allocation_id, eip.address, Origin::kCreated);
  }
  co_return std::nullopt;
}

async::Task<Reconciler::Next> Reconciler::Allocate(Pass* pass) {
  pass->doing = "Create";
  const std::int64_t fresh = std::exchange(pass->memory.fresh_attempt, 0);
  auto made = co_await parts_.vpc.AllocateEip(pass->object.attempt.request);
  if (!made && made.error().reason == cloud::kNotSent) pass->memory.fresh_attempt = fresh;
  if (!made && ProvesNothingAllocated(made.error())) {
    co_return co_await Refused(pass, std::move(made.error()));
  }
  if (!made) co_return std::unexpected(std::move(made.error()));
  Record(*pass, kube::EventType::kNormal, "Created", "Create",
         std::format("{} ({}) was allocated", made->allocation_id, made->address));
  co_return co_await Own(pass, made->allocation_id, made->address, Origin::kCreated);
}

// The attempt is over, and nothing came of it: what comes next is another one.
async::Task<Reconciler::Next> Reconciler::Refused(Pass* pass, Error error) {
  Json facts = Facts();
  facts["attempt"] = Attempt{.number = pass->object.attempt.number, .request = {}}.ToJson();
  auto written =
      co_await Tell(pass, {.reason = ReasonFor(pass->object, error), .message = Sentence(error)},
                    std::move(facts));
  if (!written) co_return std::unexpected(std::move(written.error()));
  if (pass->object.id.deleting != 0) co_return std::nullopt;
  co_return std::unexpected(std::move(error));
}

// Written down before anything is done to it.
async::Task<Reconciler::Next> Reconciler::Own(Pass* pass, std::string id, std::string address,
                                              Origin origin) {
  Json facts = Facts();
  facts["allocationID"] = id;
  facts["eipAddress"] = address;
  facts["origin"] = origin == Origin::kCreated ? "Created" : "Imported";
  if (origin == Origin::kCreated) {
    cloud::Tags given = pass->object.attempt.request.tags;
    given.erase(std::string(kOwnerTag));
    facts["tags"] = given.empty() ? Json::null() : TextsOf(given);
  }
  auto written = co_await Tell(
      pass, {.progressing = true, .reason = "Creating", .message = "it is being set up"},
      std::move(facts));
  if (!written) co_return std::unexpected(std::move(written.error()));
  pass->sight.asked = false;
  co_return std::nullopt;
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

async::Task<Reconciler::Next> Reconciler::Change(Pass* pass, async::Task<Result<void>> change,
                                                 std::string what) {
  pass->doing = pass->object.id.deleting != 0 ? "Release" : "Update";
  auto done = co_await std::move(change);
  const bool gone = !done && done.error().error_class == ErrorClass::kNotFound;
  if (!done && !gone) co_return std::unexpected(std::move(done.error()));
  if (!gone) log::Info("eip changed", {{"eip", pass->object.id.Key()}, {"what", what}});
  // The cloud may take its time to tell of it.
  Report report{.synced = true,
                .progressing = true,
                .reason = pass->object.id.deleting != 0 ? "Deleting" : "Updating",
                .message = std::format("{} is not as it should be and was set", what)};
  if (what == "tags") {
    pass->sight.asked = false;
    co_return std::nullopt;
  }
  auto written = co_await Tell(pass, std::move(report));
  if (!written) co_return std::unexpected(std::move(written.error()));
  Record(*pass, kube::EventType::kNormal, "Updated", "Update", std::format("{} was set", what));
  co_return runtime::Requeue{kSoon};
}

async::Task<Reconciler::Next> Reconciler::Release(Pass* pass) {
  pass->doing = "Release";
  auto released = co_await parts_.vpc.ReleaseEip(pass->object.allocation_id);
  if (!released && released.error().error_class == ErrorClass::kNotFound) {
    co_return co_await Finish(
        pass, {"Released", std::format("{} is released", pass->object.allocation_id)});
  }
  if (!released) co_return std::unexpected(std::move(released.error()));
  auto written = co_await Tell(
      pass, {.progressing = true,
             .reason = "Deleting",
             .message = std::format("{} is being released", pass->object.allocation_id)});
  if (!written) co_return std::unexpected(std::move(written.error()));
  co_return runtime::Requeue{kSoon};
}

async::Task<Reconciler::Next> Reconciler::Finish(Pass* pass, step::Finish how) {
  pass->doing = "Release";
  Json patch = Facts();
  patch["metadata"] = Facts();
  patch["metadata"]["finalizers"] = runtime::FinalizersOf(pass->object.id, "");
  Record(*pass, kube::EventType::kNormal, how.reason, "Release", how.message);
  auto written = co_await Patch(pass, std::move(patch), "");
  if (!written && !runtime::IsGone(written.error())) {
    co_return std::unexpected(std::move(written.error()));
  }
  co_return runtime::Requeue{};
}

async::Task<Reconciler::Next> Reconciler::Wait(Pass* pass, step::Wait wait) {
  auto written = co_await Tell(
      pass,
      {.synced = true, .progressing = wait.soon, .reason = wait.reason, .message = wait.message});
  if (!written) co_return std::unexpected(std::move(written.error()));
  if (!wait.soon) {
    const bool deleting = pass->object.id.deleting != 0;
    Record(*pass, kube::EventType::kWarning, deleting ? "ReleaseFailed" : "ReconcileFailed",
           deleting ? "Release" : "Sync", wait.message);
    co_return runtime::Requeue{};
  }
  co_return runtime::Requeue{kSoon};
}

// All is as it should be.
async::Task<Reconciler::Next> Reconciler::Rest(Pass* pass) {
  if (pass->object.id.deleting != 0) co_return runtime::Requeue{};
  Json facts = Facts();
  facts["tags"] = pass->object.spec.tags.empty() ? Json::null() : TextsOf(pass->object.spec.tags);
  auto written = co_await Tell(
      pass,
      {.ready = true,
       .synced = true,
       .reason = pass->object.id.generation > kAsCreated ? "Updated" : "Created",
       .message = pass->object.origin == Origin::kImported ? "it is imported and as spec says"
                                                           : "it is allocated and as spec says"},
      std::move(facts));
  if (!written) co_return std::unexpected(std::move(written.error()));
  co_return runtime::Requeue{};
}

async::Task<Reconciler::Outcome> Reconciler::Fail(Pass* pass, Error error) {
  // There was no turn for the call: nothing has happened that anybody could be told of.
  if (error.reason == cloud::kNotSent && error.error_class == ErrorClass::kThrottled) {
    co_return runtime::Requeue{error.retry_after};
  }
  if (error.error_class == ErrorClass::kTerminal) {
    pass->memory.refused_of = BasisOf(pass->object);
    pass->memory.refused_until = parts_.executor.Now() + kRefusedFor;
  }
  const bool ours = error.error_class == ErrorClass::kConflict || runtime::IsGone(error);
  if (!ours) {
    const bool throttled = error.error_class == ErrorClass::kThrottled;
    const std::string_view reason = throttled                  ? "Throttled"
                                    : pass->doing == "Create"  ? "CreateFailed"
                                    : pass->doing == "Release" ? "ReleaseFailed"
                                                               : "ReconcileFailed";
    Record(*pass, kube::EventType::kWarning, reason, pass->doing, Sentence(error));
    static_cast<void>(
        co_await Tell(pass, {.progressing = error.error_class != ErrorClass::kTerminal,
                             .reason = ReasonFor(pass->object, error),
                             .message = Sentence(error)}));
  }
  co_return std::unexpected(std::move(error));
}

async::Task<Result<void>> Reconciler::Tell(Pass* pass, Report report, Json facts) {
  auto status =
      StatusPatch(pass->object, std::move(facts), pass->sight.eip ? &*pass->sight.eip : nullptr,
                  report, parts_.executor.WallNow());
  if (!status) co_return Result<void>();
  Json patch = Facts();
  patch["status"] = std::move(*status);
  co_return co_await Patch(pass, std::move(patch), "status");
}

async::Task<Result<void>> Reconciler::Patch(Pass* pass, Json patch, std::string subresource) {
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
  // What has lost its last finalizer is gone.
  if (object->id.deleting == 0 || object->id.finalizer) parts_.latest.Note(std::move(*object));
  co_return Result<void>();
}

void Reconciler::Record(const Pass& pass, kube::EventType type, std::string_view reason,
                        std::string_view action, std::string_view note) {
  parts_.events.Record(pass.object.id.Reference(kEips), type, reason, action, note);
}

std::string Reconciler::TakenBy(const Object& object) const {
  const std::string& id = object.ClaimedId();
  if (id.empty()) return "";
  // Who has it in its status has it; else who is older.
  const auto rank = [](const Object& one) {
    return std::tuple(one.allocation_id.empty(), one.id.created, one.id.uid);
  };
  const Object* first = &object;
  parts_.objects.ForEachIn(parts_.by_address, id, [&](const std::string&, const Object& other) {
    if (other.id.uid != object.id.uid && rank(other) < rank(*first)) first = &other;
  });
  return first == &object ? "" : first->id.Key();
}

}  // namespace berth::eip
