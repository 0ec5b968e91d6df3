#include "reconcile/eip/reconciler.h"

#include <utility>

#include "log/format.h"
#include "log/log.h"
#include "reconcile/eip/precedence.h"
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
// A key that no address has.
constexpr std::string_view kNoTag = "berth.dev/no-such-tag";
// How long after the first call that succeeds the objects that could not reach the cloud try again.
constexpr auto kWakeAfter = 5s;

// Whether a deletion is to be told before the step, which has to wait for the cloud.
bool IsUntoldDeletion(const Object& object, const Step& step) {
  return object.id.deleting != 0 && object.told_ready &&
         !std::holds_alternative<step::Nothing>(step) &&
         !std::holds_alternative<step::Finish>(step) && !std::holds_alternative<step::Wait>(step);
}

}  // namespace

std::string Reconciler::BasisOf(const Object& object) {
  return Format("{} {} {} {} {}", object.id.generation, object.id.deleting != 0, object.on_lost,
                object.on_stuck, object.on_foreign);
}

async::Task<Reconciler::Outcome> Reconciler::Reconcile(std::string key) {
  const async::Handle at_the_end([this, &key] { Leave(key); });
  busy_.insert(key);
  const Object* object = parts_.latest.Get(key);
  const auto created = created_.extract(key);
  if (!object) {
    memories_.erase(key);
    cut_off_.erase(key);
    co_return runtime::Requeue{};
  }
  Memory& memory = memories_[key];
  if (memory.uid != object->id.uid) {
    memory = Memory{.uid = object->id.uid};
    if (created && created.mapped() == memory.uid) memory.accounted = 0;
    // By a leader before this one, which may not have had the answer.
    if (object->release_sent) memory.doubted_release = object->allocation_id;
  }
  if (memory.basis != BasisOf(*object)) {
    memory.basis = BasisOf(*object);
    memory.polls = 0;
    memory.late = 0;
    memory.change.clear();
    memory.held_until = {};
    memory.told_failure.reset();
    memory.failure.clear();
    memory.failure_events.clear();
  }
  const auto now = parts_.executor.Now();
  if (now < memory.held_until) co_return runtime::Requeue{memory.held_until - now};
  Pass pass{.object = *object, .memory = memory};
  Claim(&pass);
  for (int i = 0; i < kMostSteps; ++i) {
    Perceive(&pass);
    Step step = Decide(pass.object, pass.sight);
    const bool untold = IsUntoldDeletion(pass.object, step);
    if (!untold && !MayTake(key, pass.object, step)) co_return runtime::Requeue{};
    auto next = untold ? co_await TellDeletion(&pass) : co_await Take(&pass, std::move(step));
    if (!next) co_return co_await Fail(&pass, std::move(next.error()));
    if (!*next) continue;
    memory.failing_since.reset();
    cut_off_.erase(key);
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
  busy_.erase(key);
}

void Reconciler::Claim(Pass* pass) {
  const Memory& memory = pass->memory;
  Object& object = pass->object;
  if (object.id.deleting == 0 || !object.allocation_id.empty() || memory.unclaimed.empty()) return;
  object.allocation_id = memory.unclaimed;
  object.origin = Origin::kCreated;
  object.place = memory.unclaimed_in;
  pass->sight.unclaimed = true;
}

void Reconciler::Perceive(Pass* pass) const {
  Sight& sight = pass->sight;
  sight.taken_by = TakenBy(pass->object);
  sight.wanted_by = WantedBy(pass->object, sight.owned);
  sight.tagged_for = TaggedFor(*pass);
  const std::int64_t fresh = pass->memory.fresh_attempt;
  const std::int64_t number = pass->object.attempt.number;
  sight.fresh_attempt = fresh > 0 && fresh == number;
  sight.accounted = pass->memory.accounted == number;
  sight.here = pass->here;
  Memory& memory = pass->memory;
  if (memory.doubted_attempt != number) {
    memory.doubted_attempt = number;
    memory.doubted_since = parts_.executor.Now();
    memory.doubted_code.clear();
  }
  sight.refused = number > 0 && memory.certain_attempt == number;
  sight.doubt_over = parts_.executor.Now() - memory.doubted_since >= kDoubted;
  const std::string& id = pass->object.allocation_id;
  sight.unlisted = !id.empty() && memory.unlisted == id;
  const bool listed = sight.eip && sight.eip->status != "Releasing";
  sight.released =
      !id.empty() && !listed && (memory.released == id || pass->object.cloud_status == "Releasing");
  sight.doubted_release = !id.empty() && memory.doubted_release == id;
}

Lookout& Reconciler::LookoutOf(const Pass& pass) {
  return lookouts_.try_emplace(pass.here.account, parts_.executor, VpcOf(pass)).first->second;
}

void Reconciler::Reached() {
  if (cut_off_.empty() || wake_) return;
  wake_ = parts_.executor.RunAfter(kWakeAfter, [this] {
    wake_ = {};
    for (const std::string& key : std::exchange(cut_off_, {})) parts_.again(key);
  });
}

std::size_t Reconciler::Remembered() const {
  std::size_t entries = memories_.size() + created_.size() + cut_off_.size() + busy_.size();
  for (const Turnstile* turnstile : {&allocating_, &releasing_}) {
    entries += turnstile->inside() + turnstile->waiting();
  }
  for (const auto& [account, lookout] : lookouts_) entries += lookout.waiting();
  return entries;
}

async::Task<Reconciler::Next> Reconciler::Take(Pass* pass, Step step) {
  const std::string& id = pass->object.allocation_id;
  const Spec& spec = pass->object.spec;
  if (auto* nothing = std::get_if<step::Nothing>(&step)) {
    return Rest(pass, std::move(nothing->unlike));
  }
  if (std::holds_alternative<step::Locate>(step)) return Locate(pass);
  if (std::holds_alternative<step::Look>(step)) return Look(pass);
  if (std::holds_alternative<step::NotePlace>(step)) return NotePlace(pass);
  if (std::holds_alternative<step::AddFinalizer>(step)) return AddFinalizer(pass);
  if (auto* begin = std::get_if<step::Begin>(&step)) return Begin(pass, std::move(begin->attempt));
  if (std::holds_alternative<step::Find>(step)) return Find(pass);
  if (std::holds_alternative<step::Allocate>(step)) return Allocate(pass);
  if (auto* import = std::get_if<step::Import>(&step)) return Import(pass, std::move(*import));
  if (std::holds_alternative<step::Probe>(step)) return Probe(pass);
  if (std::holds_alternative<step::WriteSpec>(step)) return WriteSpec(pass);
  if (auto* tag = std::get_if<step::Tag>(&step)) {
    return Tag(pass, std::move(tag->tags));
  }
  if (auto* untag = std::get_if<step::Untag>(&step)) {
    std::string done = "removed tags " + Joined(untag->keys);
    return Change(pass, VpcOf(*pass).UntagEips({id}, std::move(untag->keys), IfUnchanged(pass)),
                  std::move(done));
  }
  if (auto* modify = std::get_if<step::Modify>(&step)) {
    return Modify(pass, std::move(modify->change));
  }
  if (std::holds_alternative<step::Move>(step)) {
    return Change(pass, VpcOf(*pass).MoveEip(id, spec.resource_group, IfUnchanged(pass)),
                  "moved to resource group " + spec.resource_group);
  }
  if (std::holds_alternative<step::Join>(step)) return Join(pass);
  if (auto* leave = std::get_if<step::Leave>(&step)) {
    return Change(pass, VpcOf(*pass).LeavePackage(id, leave->package, "", IfUnchanged(pass)),
                  "removed from bandwidth package " + leave->package);
  }
  if (std::holds_alternative<step::Unassociate>(step)) {
    const cloud::Eip eip = pass->sight.eip.value_or(cloud::Eip());
    return Change(pass, VpcOf(*pass).UnassociateEip(id, IfUnchanged(pass)),
                  Format("unassociated from {} {}", eip.instance_type, eip.instance_id));
  }
  if (std::holds_alternative<step::Release>(step)) return Release(pass);
  if (auto* finish = std::get_if<step::Finish>(&step)) return Finish(pass, std::move(*finish));
  return Wait(pass, std::move(std::get<step::Wait>(step)));
}

// A question asks for nothing of the spec, and one answer is for many objects: a refusal of it is
// never a refusal of the spec, and passes. A missing permission is told as ever.
std::unexpected<Error> Reconciler::Unread(Pass* pass, Error error) {
  pass->unread = true;
  if (BlamesSpec(error)) error.error_class = ErrorClass::kRetry;
  return std::unexpected(std::move(error));
}

async::Task<Reconciler::Next> Reconciler::Locate(Pass* pass) {
  auto here = co_await parts_.vpcs.Here();
  if (!here) co_return Unread(pass, std::move(here.error()));
  pass->here = std::move(*here);
  co_return std::nullopt;
}

async::Task<Reconciler::Next> Reconciler::NotePlace(Pass* pass) {
  Json facts;
  facts["region"] = pass->here.region;
  facts["account"] = pass->here.account;
  auto written = co_await TellTry(pass, Report::Of(pass->object), std::move(facts));
  if (!written) co_return std::unexpected(std::move(written.error()));
  co_return std::nullopt;
}

async::Task<Reconciler::Next> Reconciler::Look(Pass* pass) {
  pass->doing = "Sync";
  auto seen = co_await LookoutOf(*pass).See(pass->object.ClaimedId());
  if (!seen) co_return Unread(pass, std::move(seen.error()));
  pass->looked = parts_.executor.Now();
  Reached();
  auto& since = pass->memory.missing_since;
  if (*seen) {
    since.reset();
  } else if (!since) {
    since = parts_.executor.Now();
  }
  pass->sight.asked = true;
  pass->sight.vanished = since && parts_.executor.Now() - *since >= kVanished;
  pass->sight.eip = std::move(*seen);
  if (!pass->sight.eip) co_return std::nullopt;
  pass->memory.unlisted.clear();
  // The cloud has taken the request, and the address is there all the same.
  const std::string& id = pass->object.allocation_id;
  const bool released = pass->memory.released == id || pass->object.cloud_status == "Releasing";
  if (!id.empty() && released && pass->sight.eip->status != "Releasing") {
    pass->memory.released.clear();
    pass->memory.doubted_release = id;
  }
  co_return std::nullopt;
}

async::Task<Reconciler::Next> Reconciler::AddFinalizer(Pass* pass) {
  pass->doing = "Create";
  Json patch = Json::Object();
  patch["metadata"] = Json::Object();
  patch["metadata"]["finalizers"] = runtime::FinalizersOf(pass->object.id, kFinalizer);
  auto written = co_await Patch(pass, std::move(patch), "");
  if (!written) co_return std::unexpected(std::move(written.error()));
  co_return std::nullopt;
}

// Taking off a tag that it does not have changes nothing about an address, and the cloud refuses
// that of one which is gone.
async::Task<Reconciler::Next> Reconciler::Probe(Pass* pass) {
  pass->doing = "Create";
  const std::string id = pass->object.ClaimedId();
  const bool deleting = pass->object.id.deleting != 0;
  auto untagged = co_await VpcOf(*pass).UntagEips({id}, {std::string(kNoTag)}, {});
  if (!untagged && untagged.error().error_class == ErrorClass::kNotFound) {
    pass->sight.gone = true;
    co_return std::nullopt;
  }
  if (!untagged) co_return std::unexpected(std::move(untagged.error()));
  co_return co_await Wait(pass, {deleting ? "Deleting" : "SyncFailed",
                                 id + " exists, but the cloud does not list it", true});
}

async::Task<Reconciler::Next> Reconciler::WriteSpec(Pass* pass) {
  pass->doing = "Create";
  Json patch = Json::Object();
  patch["spec"] = Json::Object();
  patch["spec"]["allocationID"] = pass->object.allocation_id;
  auto written = co_await Patch(pass, std::move(patch), "");
  if (!written) co_return std::unexpected(std::move(written.error()));
  co_return std::nullopt;
}

runtime::Requeue Reconciler::Poll(Pass* pass) {
  const int polls = std::min(pass->memory.polls++, 4);
  return {std::min(kFirstPoll * (1 << polls), kLastPoll)};
}

std::string Reconciler::TakenBy(const Object& object) const {
  const std::string& id = object.ClaimedId();
  if (id.empty()) return "";
  const Object* first = &object;
  parts_.objects.ForEachIn(parts_.by_address, id, [&](const std::string&, const Object& other) {
    // A status whose address spec does not name may be a copy.
    if (object.IsNamedBySpec() && !other.IsNamedBySpec()) return;
    if (other.id.uid != object.id.uid && GoesBefore(other, *first)) first = &other;
  });
  return first == &object ? "" : first->id.Key();
}

std::string Reconciler::WantedBy(const Object& object, bool owned) const {
  std::string who;
  parts_.objects.ForEachIn(parts_.by_address, object.allocation_id,
                           [&](const std::string& key, const Object& other) {
                             if (other.id.uid == object.id.uid || other.id.deleting != 0) return;
                             if (!owned || other.IsNamedBySpec()) who = key;
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
