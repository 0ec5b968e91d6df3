// How an object ends: its address is released, or stays.
#include <utility>

#include "log/log.h"
#include "reconcile/eip/reconciler.h"

namespace berth::eip {

// Whether the object, as it is now, still asks for the release: its call may have waited a minute.
bool Reconciler::IsStillToRelease(const Pass& pass) {
  const Object* now = parts_.latest.Get(pass.object.id.Key());
  if (!now || now->id.uid != pass.object.id.uid) return false;
  Pass again = pass;
  again.object = *now;
  Claim(&again);
  Perceive(&again);
  return std::holds_alternative<step::Release>(Decide(again.object, again.sight));
}

async::Task<Reconciler::Next> Reconciler::Release(Pass* pass) {
  pass->doing = "Release";
  const std::string id = pass->object.allocation_id;
  auto released =
      co_await VpcOf(*pass).ReleaseEip(id, [this, pass] { return IsStillToRelease(*pass); });
  if (!released && released.error().error_class == ErrorClass::kNotFound) {
    co_return co_await Finish(pass, {"AlreadyReleased", id + " was released before"});
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
