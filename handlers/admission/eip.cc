#include "handlers/admission/eip.h"

#include <optional>
#include <string>

#include "handlers/admission/rules.h"
#include "reconcile/eip/admission.h"

namespace berth::admission {
namespace {

eip::Knowledge KnownTo(const eip::System& system) {
  return {.holder_of = [&system](const std::string& id, const std::string& except_uid) {
    return system.HolderOf(id, except_uid);
  }};
}

// Updates that leave spec as it is, and those of an object that is being deleted. A user who is
// about to get an object unstuck is told of a misspelt annotation.
std::optional<Response> Pass(const Request& update) {
  if (!update.object["metadata"]["deletionTimestamp"].exists() &&
      update.object["spec"].ToJson() != update.old_object["spec"].ToJson()) {
    return std::nullopt;
  }
  Response response;
  const auto now = eip::Object::From(update.object);
  const auto before = eip::Object::From(update.old_object);
  if (!now || !before) return response;
  if (now->on_lost == before->on_lost && now->on_stuck == before->on_stuck &&
      now->on_foreign == before->on_foreign) {
    return response;
  }
  for (const std::string& warning : eip::UnknownAnnotations(*now)) response.Warn(warning);
  return response;
}

void FillIn(const eip::Object& now, const eip::Object* before, kube::JsonView spec,
            Response& response) {
  for (const auto& [member, value] : eip::Defaults(now, before)) {
    // A value of another type is for the schema to refuse.
    const kube::JsonView given = spec[member];
    if (!given.exists() || given.is_null() || given.is_string()) {
      response.Add("/spec/" + member, value);
    }
  }
}

}  // namespace

void RegisterEip(Webhooks& webhooks, eip::Desk& desk) {
  Rules<eip::System, eip::Knowledge> rules(webhooks, desk, KnownTo, Pass);
  rules.FillIn(eip::kEips, {Operation::kCreate, Operation::kUpdate}, FillIn);
  rules.Judge(eip::kEips, eip::JudgeEip);
}

}  // namespace berth::admission
