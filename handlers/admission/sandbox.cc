#include "handlers/admission/sandbox.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "handlers/admission/rules.h"
#include "json/json.h"
#include "reconcile/sandbox/admission.h"

namespace berth::admission {
namespace {

using sandbox::Pool;
using sandbox::Sandbox;

// An object as the API server sends it on a create: without a UID, and with generateName without a
// name; its namespace is the review's.
template <typename T>
kube::Result<T> Read(const Request& request, kube::JsonView object) {
  auto read = T::From(object);
  if (read && read->id.ns.empty()) read->id.ns = request.ns;
  return read;
}

template <typename T>
std::optional<T> Before(const Request& request) {
  if (request.operation != Operation::kUpdate) return std::nullopt;
  auto read = Read<T>(request, request.old_object);
  if (!read) return std::nullopt;
  return std::move(*read);
}

bool HasFinalizer(kube::JsonView metadata) {
  bool has = false;
  metadata["finalizers"].ForEachItem(
      [&has](kube::JsonView one) { has = has || one.StringOr("") == sandbox::kFinalizer; });
  return has;
}

void AddFinalizer(const Request& request, Response& response) {
  const kube::JsonView metadata = request.object["metadata"];
  if (HasFinalizer(metadata)) return;
  if (metadata["finalizers"].is_array()) {
    response.Add("/metadata/finalizers/-", sandbox::kFinalizer);
  } else {
    response.Add("/metadata/finalizers", Json::Array({Json(sandbox::kFinalizer)}));
  }
}

std::string AnnotationPath() {
  std::string name(sandbox::kAllocationAnnotation);
  name.replace(name.find('/'), 1, "~1");
  return "/metadata/annotations/" + name;
}

// Sets the annotation in the place of what the object brought, or takes that away.
struct Annotations {
  bool are_there = false;
  bool brings_one = false;

  explicit Annotations(const Request& request) {
    const kube::JsonView annotations = request.object["metadata"]["annotations"];
    are_there = annotations.is_object();
    brings_one = are_there && annotations[sandbox::kAllocationAnnotation].exists();
  }
  void Write(const std::optional<std::string>& stamp, Response& response) const {
    if (stamp && are_there) {
      response.Add(AnnotationPath(), *stamp);
    } else if (stamp) {
      Json annotations = Json::Object();
      annotations[sandbox::kAllocationAnnotation] = *stamp;
      response.Add("/metadata/annotations", std::move(annotations));
    } else if (brings_one) {
      response.Remove(AnnotationPath());
    }
  }
};

// Whether the object gets past the rules, so that a slot for it is not wasted.
bool IsAcceptable(const Sandbox& object) {
  const auto verdict = JudgeSandbox(object, nullptr, true);
  return !verdict.refusal && verdict.causes.empty();
}

void MutateSandbox(sandbox::Desk& desk, const Request& request, async::Executor& home,
                   Webhooks::Reply reply) {
  Response response;
  if (!request.object["metadata"].is_object()) return reply(std::move(response));
  AddFinalizer(request, response);
  const Annotations annotations(request);
  auto object = Read<Sandbox>(request, request.object);
  if (request.dry_run || !object || !IsAcceptable(*object)) {
    annotations.Write(std::nullopt, response);
    return reply(std::move(response));
  }
  desk.AskWithDeadline(
      home,
      [object = std::make_unique<Sandbox>(std::move(*object))](
          sandbox::System* system) -> std::optional<std::string> {
        if (!system) return std::nullopt;
        return system->Stamp(*object);
      },
      [annotations, response = std::move(response),
       reply = std::move(reply)](const std::optional<std::string>& stamp) mutable {
        annotations.Write(stamp, response);
        reply(std::move(response));
      });
}

Response JudgeSandboxReview(const OwnAccount& account, const Request& request) {
  const auto now = Read<Sandbox>(request, request.object);
  // The schema refuses what does not read as a Sandbox.
  if (!now) return Response::Deny(kube::BadRequest(now.error().message));
  const auto before = Before<Sandbox>(request);
  auto verdict = JudgeSandbox(*now, before ? &*before : nullptr, account.Is(request.user));
  if (request.object["metadata"]["deletionTimestamp"].exists() && before &&
      now->allocation == before->allocation) {
    return Response::Allow();  // a finalizer can always be removed
  }
  return ResponseOf(std::move(verdict), sandbox::kSandboxes, request.name);
}

Response JudgePoolReview(const Request& request) {
  if (request.object["metadata"]["deletionTimestamp"].exists()) return Response::Allow();
  const auto now = Read<Pool>(request, request.object);
  if (!now) return Response::Deny(kube::BadRequest(now.error().message));
  const auto before = Before<Pool>(request);
  return ResponseOf(JudgePool(*now, before ? &*before : nullptr), sandbox::kPools, request.name);
}

}  // namespace

void RegisterSandbox(Webhooks& webhooks, sandbox::Desk& desk, const OwnAccount& account,
                     bool enabled) {
  webhooks.On(
      Phase::kMutate, sandbox::kSandboxes, {Operation::kCreate},
      [enabled, &desk](const Request& request, async::Executor& home, Webhooks::Reply reply) {
        if (!enabled) return reply(Response::Allow());
        MutateSandbox(desk, request, home, std::move(reply));
      },
      SideEffects::kNoneOnDryRun);
  webhooks.On(Phase::kValidate, sandbox::kSandboxes, {Operation::kCreate, Operation::kUpdate},
              [enabled, &account](const Request& request, async::Executor&, Webhooks::Reply reply) {
                reply(enabled ? JudgeSandboxReview(account, request) : Response::Allow());
              });
  webhooks.On(Phase::kValidate, sandbox::kPools, {Operation::kCreate, Operation::kUpdate},
              [enabled](const Request& request, async::Executor&, Webhooks::Reply reply) {
                reply(enabled ? JudgePoolReview(request) : Response::Allow());
              });
}

}  // namespace berth::admission
