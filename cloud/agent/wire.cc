#include "cloud/agent/wire.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <optional>
#include <utility>

#include "log/escape.h"
#include "log/format.h"

namespace berth::cloud::agent {
namespace {

constexpr std::size_t kLongestWord = 64;  // of an agent's, in a message

// Phases by the agent's words, for both `phase` and `message`.
constexpr std::array kPhases = {AgentPhase::kCreating,    AgentPhase::kRunning,
                                AgentPhase::kTerminating, AgentPhase::kStopped,
                                AgentPhase::kFailed,      AgentPhase::kTerminated};

AgentPhase PhaseNamed(std::string_view word) {
  const auto* found = std::ranges::find(kPhases, word, &Name);
  return found == kPhases.end() ? AgentPhase::kUnknown : *found;
}

bool HasEnded(AgentPhase phase) {
  return phase == AgentPhase::kStopped || phase == AgentPhase::kFailed ||
         phase == AgentPhase::kTerminated;
}

// The message is the container's state, but only "running" and the ends are: all else is prose.
AgentPhase PhaseOf(const Json& entry) {
  const AgentPhase phase = PhaseNamed(Text(entry, "phase"));
  const AgentPhase container = PhaseNamed(Text(entry, "message"));
  return phase == AgentPhase::kRunning && HasEnded(container) ? container : phase;
}

Error UnreadableAnswer(std::string why, ErrorClass error_class, int code) {
  return {.error_class = error_class,
          .reason = std::string(kUnreadable),
          .message = std::move(why),
          .code = code};
}

// The agent's words for people, without what a terminal would obey.
std::string Told(const Json& body, std::string_view otherwise) {
  std::string message = log::ToUtf8(Text(body, "message"), kMaxMessage);
  return message.empty() ? std::string(otherwise) : message;
}

// The error of a status code that is no success. `body` is an object, or null.
Error Refused(const http::Response& response, const Json& body, bool writes) {
  const int code = response.code;
  const std::string reason = Text(body, "code");
  if (code == 409 && (reason == kCapacityRejected || reason == kStaleAssignment)) {
    return {ErrorClass::kConflict, reason, Told(body, "refused"), code};
  }
  const ErrorClass unsure = writes ? ErrorClass::kAmbiguous : ErrorClass::kRetry;
  if (code == 429) {
    return {ErrorClass::kThrottled, std::string(kUnreadable), "too many requests", code,
            RetryAfter(response)};
  }
  if (code >= 300 && code < 500 && code != 408 && code != 409) {
    return UnreadableAnswer(Format("no answer of an agent: HTTP status {}", code),
                            ErrorClass::kTerminal, code);
  }
  return UnreadableAnswer(Told(body, Format("HTTP status {}", code)), unsure, code);
}

// The object of an answer of 200; the error of all else.
Result<Json> ReadObject(const Result<http::Response>& response, bool writes) {
  if (!response) {
    const bool is_final = response.error().error_class == ErrorClass::kTerminal ||
                          response.error().error_class == ErrorClass::kThrottled;
    return std::unexpected(is_final ? response.error() : NoAnswer(response.error(), writes, {}));
  }
  auto body = ParseObject(response->body, kMaxStatus);
  if (response->code != 200) {
    return std::unexpected(Refused(*response, body ? *body : Json::null(), writes));
  }
  if (!body) {
    const bool is_long = response->body.size() > kMaxStatus;
    return std::unexpected(
        UnreadableAnswer(is_long ? "the answer is over 1 MiB" : "the answer is no JSON object",
                         writes ? ErrorClass::kAmbiguous : ErrorClass::kRetry, response->code));
  }
  return *std::move(body);
}

bool SaysNo(const Json& body) {
  const Json& success = Member(body, "success");
  return success.is_bool() && !success.as<bool>();
}

std::optional<async::WallTime> TimeOf(const Json& seconds) {
  constexpr std::int64_t kLatest = 253'402'300'799;  // the end of the year 9999
  if (!seconds.is_int64()) return std::nullopt;
  const auto value = seconds.as<std::int64_t>();
  if (value <= 0 || value > kLatest) return std::nullopt;
  return async::WallTime(std::chrono::seconds(value));
}

std::size_t CountOf(const Json& body, std::string_view name) {
  const Json& value = Member(body, name);
  if (!value.is_int64()) return 0;
  return static_cast<std::size_t>(std::max<std::int64_t>(0, value.as<std::int64_t>()));
}

void Put(Json& json, std::string_view name, const std::string& text) {
  if (!text.empty()) json[name] = text;
}

}  // namespace

std::string CreateBody(const SandboxRequest& request) {
  Json sandbox;
  sandbox["sandboxId"] = request.sandbox_id;
  sandbox["claimUid"] = request.claim_uid;
  Put(sandbox, "claimName", request.claim_name);
  sandbox["image"] = request.image;
  Put(sandbox, "cpu", request.cpu);
  Put(sandbox, "memory", request.memory);
  if (!request.command.empty()) sandbox["command"] = request.command;
  if (!request.args.empty()) sandbox["args"] = request.args;
  for (const auto& [name, value] : request.env) sandbox["env"][name] = value;
  Put(sandbox, "workingDir", request.working_dir);
  Put(sandbox, "podUID", request.pod_uid);
  if (request.attempt != 0) sandbox["attempt"] = request.attempt;
  Json body;
  body["sandbox"] = std::move(sandbox);
  return body.to_string();
}

std::string DeleteBody(const std::string& sandbox_id) {
  Json body;
  body["sandboxId"] = sandbox_id;
  return body.to_string();
}

Answer ReadCreated(const Result<http::Response>& response, std::string_view sandbox_id) {
  auto body = ReadObject(response, true);
  if (!body) {
    if (body.error().code == 500) body.error().reason = kCreateFailed;
    return {std::unexpected(std::move(body.error())), {}};
  }
  const int code = response->code;
  if (SaysNo(*body)) {
    return {std::unexpected(Error{ErrorClass::kAmbiguous, std::string(kCreateFailed),
                                  Told(*body, "the create failed"), code}),
            {}};
  }
  const std::string told = Text(*body, "sandboxId");
  if (!told.empty() && told != sandbox_id) {
    return {std::unexpected(UnreadableAnswer(Format("the answer is for another sandbox, \"{}\"",
                                                    log::ToUtf8(told, kLongestWord)),
                                             ErrorClass::kAmbiguous, code)),
            {}};
  }
  return {Json(), {}};
}

Answer ReadDeleted(const Result<http::Response>& response) {
  auto body = ReadObject(response, true);
  if (!body) return {std::unexpected(std::move(body.error())), {}};
  if (SaysNo(*body)) {
    return {std::unexpected(Error{ErrorClass::kAmbiguous, "DeleteFailed",
                                  Told(*body, "the delete failed"), response->code}),
            {}};
  }
  return {Json(), {}};
}

Answer ReadStatus(const Result<http::Response>& response) {
  auto body = ReadObject(response, false);
  if (!body) return {std::unexpected(std::move(body.error())), {}};
  return {*std::move(body), {}};
}

Result<AgentStatus> StatusOf(const Json& body) {
  const auto unreadable = [](std::string why) {
    return std::unexpected(UnreadableAnswer(std::move(why), ErrorClass::kRetry, 200));
  };
  const Json* list = body.find("sandboxStatuses");
  // Go writes an empty list as null.
  if (!list || !(list->is_array() || list->is_null())) {
    return unreadable("the status has no list of sandboxes");
  }
  AgentStatus status{.agent_id = Text(body, "agentId"),
                     .node_name = Text(body, "nodeName"),
                     .capacity = CountOf(body, "capacity"),
                     .allocated = CountOf(body, "allocated")};
  if (const Json& images = Member(body, "images"); images.is_array()) {
    status.images.reserve(images.size());
    for (const Json& image : images.array_range()) {
      if (image.is_string()) status.images.push_back(image.as<std::string>());
    }
  }
  if (list->is_null()) return status;
  status.sandboxes.reserve(list->size());
  for (const Json& entry : list->array_range()) {
    AgentSandbox sandbox{.sandbox_id = Text(entry, "sandboxId"),
                         .claim_uid = Text(entry, "claimUid"),
                         .phase = PhaseOf(entry),
                         .created_at = TimeOf(Member(entry, "createdAt"))};
    if (sandbox.sandbox_id.empty()) return unreadable("a sandbox in the status has no ID");
    status.sandboxes.push_back(std::move(sandbox));
  }
  return status;
}

}  // namespace berth::cloud::agent
