#include "handlers/admission/eip.h"

#include <optional>
#include <string>
#include <utility>

#include "handlers/admission/judgement.h"
#include "reconcile/eip/admission.h"

namespace berth::admission {
namespace {

eip::Knowledge KnownTo(const eip::System* system) {
  if (!system || !system->synced()) return {};
  return {.holder_of = [system](const std::string& id, const std::string& except_uid) {
    return system->HolderOf(id, except_uid);
  }};
}

bool PassesUnasked(const Request& request) {
  if (request.operation != Operation::kUpdate) return false;
  return request.object["metadata"]["deletionTimestamp"].exists() ||
         request.object["spec"].ToJson() == request.old_object["spec"].ToJson();
}

// Somebody who is about to get an object unstuck should know when he has misspelt it.
Response PassWithWarnings(const Request& request) {
  Response response;
  const auto now = eip::Object::From(request.object);
  const auto before = eip::Object::From(request.old_object);
  if (!now || !before) return response;
  if (now->on_lost == before->on_lost && now->on_stuck == before->on_stuck &&
      now->on_foreign == before->on_foreign) {
    return response;
  }
  for (const std::string& warning : eip::UnknownAnnotations(*now)) response.Warn(warning);
  return response;
}

Webhooks::Handler Validate(eip::Desk& desk) {
  return [&desk](const Request& request, async::Executor& home, Webhooks::Reply reply) {
    if (PassesUnasked(request)) return reply(PassWithWarnings(request));
    auto now = eip::Proposal::From(request.object);
    if (!now) return reply(Unreadable(now.error()));
    std::optional<eip::Proposal> before;
    if (request.operation == Operation::kUpdate) {
      if (auto read = eip::Proposal::From(request.old_object)) before = std::move(*read);
    }
    struct Judged {
      eip::Verdict verdict;
      bool alone;  // nothing was known of other objects
    };
    desk.AskWithDeadline(
        home,
        [now = std::move(*now), before = std::move(before)](eip::System* system) {
          const eip::Knowledge known = KnownTo(system);
          return Judged{eip::JudgeEip(now, before ? &*before : nullptr, known), !known.holder_of};
        },
        [name = std::string(request.name), reply = std::move(reply)](Judged judged) mutable {
          Response response = ResponseOf(std::move(judged.verdict), eip::kEips, name);
          if (judged.alone) response.Warn(kNotReady);
          reply(std::move(response));
        });
  };
}

void FillIn(const Request& request, async::Executor&, Webhooks::Reply reply) {
  Response response;
  const auto now = eip::Object::From(request.object);
  if (PassesUnasked(request) || !now || !request.object["spec"].is_object()) {
    return reply(std::move(response));
  }
  std::optional<eip::Object> before;
  if (auto read = eip::Object::From(request.old_object);
      read && request.operation == Operation::kUpdate) {
    before = std::move(*read);
  }
  for (const auto& [member, value] : eip::Defaults(*now, before ? &*before : nullptr)) {
    // A value of another type is for the schema to refuse.
    const kube::JsonView given = request.object["spec"][member];
    if (!given.exists() || given.is_null() || given.is_string()) {
      response.Add("/spec/" + member, value);
    }
  }
  reply(std::move(response));
}

}  // namespace

void RegisterEip(Webhooks& webhooks, eip::Desk& desk) {
  const auto writes = {Operation::kCreate, Operation::kUpdate};
  webhooks.On(Phase::kMutate, eip::kEips, writes, FillIn);
  webhooks.On(Phase::kValidate, eip::kEips, writes, Validate(desk));
}

}  // namespace berth::admission
