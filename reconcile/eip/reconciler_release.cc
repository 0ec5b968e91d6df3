// How an object ends: its address is released, or stays.
#include <utility>

#include "log/log.h"
#include "reconcile/eip/reconciler.h"
#include "reconcile/eip/refusal.h"

namespace berth::eip {
namespace {

// An older look at an address is repeated before the address is released.
constexpr auto kFreshLook = std::chrono::seconds(5);

}  // namespace

async::Task<Reconciler::Next> Reconciler::TellDeletion(Pass* pass) {
  auto written = co_await Tell(pass, Report::Of(pass->object));
  if (!written) co_return std::unexpected(std::move(written.error()));
  co_return std::nullopt;
}

void Reconciler::SawDeletion(const std::string& key) {
  std::erase_if(beside_, [](const async::Running& write) { return !write; });
  if (busy_.contains(key)) beside_.push_back(async::Start(TellDeletionBeside(key)));
}

// The writes of the pass are about the object before its deletion, and conflict in any case.
async::Task<void> Reconciler::TellDeletionBeside(std::string key) {
  const Object* object = parts_.latest.Get(key);
  if (!object || !object->told_ready) co_return;
  Memory memory;
  Pass pass{.object = *object, .memory = memory};
  static_cast<void>(co_await TellDeletion(&pass));
}

// Whether the object, as it is now, still asks for the release: its call may have waited a minute,
// and the address have another object's tag meanwhile. If so, the status says that it is sent: the
// next leader cannot know otherwise.
async::Task<bool> Reconciler::IsStillToRelease(Pass* pass) {
  Pass again = *pass;
  const bool old = parts_.executor.Now() - again.looked > kFreshLook;
  if (old && !co_await Look(&again)) co_return false;
  const Object* now = parts_.latest.Get(again.object.id.Key());
  if (!now || now->id.uid != again.object.id.uid) co_return false;
  again.object = *now;
  Claim(&again);
  Perceive(&again);
  if (!std::holds_alternative<step::Release>(Decide(again.object, again.sight))) co_return false;
  if (again.sight.unclaimed || again.object.release_sent) co_return true;
  Json facts = Json::Object();
  facts["releaseSent"] = true;
  const std::string message = again.object.allocation_id + " is being released";
  // Refused if the object has changed since.
  if (!co_await TellTry(&again, {.progressing = true, .reason = "Deleting", .message = message},
                        std::move(facts))) {
    co_return false;
  }
  pass->object = again.object;
  co_return true;
}

async::Task<Reconciler::Next> Reconciler::Release(Pass* pass) {
  pass->doing = "Release";
  const std::string id = pass->object.allocation_id;
  const std::string doubted = std::exchange(pass->memory.doubted_release, id);
  auto released =
      co_await VpcOf(*pass).ReleaseEip(id, [this, pass] { return IsStillToRelease(pass); });
  if (released || !MayBeDone(released.error())) pass->memory.doubted_release = doubted;
  if (!released && released.error().error_class == ErrorClass::kNotFound) {
    co_return co_await Finish(pass, {"AlreadyReleased", id + " was released before"});
  }
  if (!released && pass->object.release_sent && pass->memory.doubted_release != id) {
    Json facts = Json::Object();
    facts["releaseSent"] = Json::null();
    auto told = co_await TellTry(pass, Report::Of(pass->object), std::move(facts));
    if (!told) co_return std::unexpected(std::move(told.error()));
  }
  if (!released) co_return std::unexpected(std::move(released.error()));
  Reached();
  pass->memory.released = id;
  log::Info("eip released", {{"eip", pass->object.id.Key()}, {"address", id}});
  pass->sight.eip.reset();
  Json facts = Json::Object();
  facts["status"] = "Releasing";
  auto written = co_await Tell(
      pass, {.progressing = true, .reason = "Deleting", .message = id + " is being released"},
      std::move(facts));
  if (!written) co_return std::unexpected(std::move(written.error()));
  co_return Poll(pass);
}

async::Task<Reconciler::Next> Reconciler::Finish(Pass* pass, step::Finish how) {
  pass->doing = "Release";
  // Without another finalizer the object is gone with the next write, and its status with it.
  if (!pass->object.id.other_finalizers.empty()) {
    auto told = co_await TellTry(
        pass, {.synced = true, .reason = "Deleted", .message = how.message}, Json::Object());
    if (!told) co_return std::unexpected(std::move(told.error()));
  }
  Json patch = Json::Object();
  patch["metadata"] = Json::Object();
  patch["metadata"]["finalizers"] = runtime::FinalizersOf(pass->object.id, "");
  auto written = co_await Patch(pass, std::move(patch), "");
  if (!written && !runtime::IsGone(written.error())) {
    co_return std::unexpected(std::move(written.error()));
  }
  Record(*pass, kube::EventType::kNormal, how.reason, "Release", how.message);
  co_return runtime::Requeue{};
}

}  // namespace berth::eip
