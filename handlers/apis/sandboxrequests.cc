#include "handlers/apis/sandboxrequests.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "handlers/apis/digest.h"
#include "kube/names.h"
#include "kube/status.h"
#include "log/escape.h"
#include "log/format.h"
#include "reconcile/sandbox/objects.h"

namespace berth::apis {
namespace {

using sandbox::kSandboxes;
using sandbox::Phase;

constexpr std::size_t kShownHash = 16;  // hex digits of it in a name
const prometheus::Histogram::BucketBoundaries kSeconds = {
    0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 45};
constexpr std::string_view kHex = "0123456789abcdef";

std::string Hex(std::string_view bytes) {
  std::string text;
  text.reserve(2 * bytes.size());
  for (const char byte : bytes) {
    const auto value = static_cast<unsigned char>(byte);
    text += kHex[value >> 4];
    text += kHex[value & 15];
  }
  return text;
}

kube::Status NotNow() {
  kube::Status status = kube::ServiceUnavailable("sandboxes cannot be created now; try again");
  status.details.retry_after_seconds = 1;
  return status;
}

kube::Status Refused(const Action::Call& call, std::string_view reason, std::string message,
                     std::string field) {
  return kube::Invalid("SandboxRequest", kGroup, call.object["metadata"]["name"].StringOr(""),
                       {{std::string(reason), std::move(message), std::move(field)}});
}

// The API server's own answer where it has given one.
kube::Status StatusOf(const kube::Error& error) {
  if (error.code >= 400 && error.code < 500) {
    kube::Status status;
    status.code = error.code;
    status.reason = error.reason;
    status.message = error.message;
    status.details.retry_after_seconds =
        static_cast<int>(std::chrono::ceil<std::chrono::seconds>(error.retry_after).count());
    return status;
  }
  return NotNow();
}

kube::Status TimedOut(std::string message) {
  kube::Status status;
  status.code = 504;
  status.reason = "Timeout";
  status.message = std::move(message);
  return status;
}

// The message of the Ready condition, or nothing.
std::string WhyNotReady(const Json& conditions) {
  if (!conditions.is_array()) return {};
  for (const Json& condition : conditions.array_range()) {
    if (condition["type"] != Json("Ready")) continue;
    return Format(": {}: {}", condition.get_value_or<std::string>("reason", ""),
                  condition.get_value_or<std::string>("message", ""));
  }
  return {};
}

// Members of a Sandbox's spec that are passed on as they are: the API server judges them.
void CopyGiven(kube::JsonView from, Json& to, const char* name) {
  const kube::JsonView given = from[name];
  if (given.exists() && !given.is_null()) to[name] = Json::parse(given.ToJson());
}

Json EnvsOf(kube::JsonView envs) {
  Json list = Json::Array();
  envs.ForEach([&](std::string_view name, kube::JsonView value) {
    Json env;
    env["name"] = name;
    env["value"] = value.StringOr("");
    list.push_back(std::move(env));
  });
  return list;
}

// {"id", "hash"} of the annotation; empty texts for none.
std::pair<std::string, std::string> RequestOf(const Json& stored) {
  const Json& text = stored["metadata"]["annotations"][std::string(SandboxRequests::kAnnotation)];
  if (!text.is_string()) return {};
  const auto request = Json::Parse(text.as<std::string>());
  if (!request || !request->is_object()) return {};
  const auto member = [&](const char* name) {
    const Json* found = request->find(name);
    return found && found->is_string() ? found->as<std::string>() : std::string();
  };
  return {member("id"), member("hash")};
}

std::string TextAt(const Json& object, std::string_view name) {
  const Json* found = object.find(name);
  return found && found->is_string() ? found->as<std::string>() : std::string();
}

}  // namespace

ResourceType SandboxRequestType() {
  ResourceType type("SandboxRequest");
  type.namespaced = true;
  type.action = true;
  type.description =
      "Creates a Sandbox and tells which agent it is on. It is a request and not an object: what "
      "stays is the Sandbox.";
  type.columns = {{"Sandbox", "string", "The Sandbox.", 0},
                  {"Phase", "string", "Its phase.", 0},
                  {"Agent", "string", "The pod of its agent, once it has one.", 0},
                  {"Endpoints", "string", "Where its ports are.", 0}};
  type.properties["spec"] = ObjectSchema(
      "What is asked for.",
      {{"requestID", "string",
        "Makes it idempotent: the same ID and spec get the same Sandbox, another spec a 409."},
       {"consistencyMode", "string",
        "Fast, the default: answer once the Sandbox is stored. Strong: once it runs."},
       {"name", "string", "The Sandbox's name; without it one is made."},
       {"image", "string", "The image."},
       {"poolRef", "string", "The SandboxPool, in the same namespace."},
       {"exposedPorts", "integer[]", "Ports, 1 to 65535.", "int32"},
       {"command", "string[]", "The command, in the image's place."},
       {"args", "string[]", "Its arguments."},
       {"envs", "string{}", "Variables."},
       {"workingDir", "string", "The working directory."},
       {"expireTime", "string", "When the Sandbox ends.", "date-time"},
       {"failurePolicy", "string", "Manual, the default, or AutoRecreate."},
       {"recoveryTimeoutSeconds", "integer", "How long a lost agent is waited for.", "int32"}});
  type.properties["spec"]["required"] = std::vector<std::string>{"image", "poolRef"};
  type.properties["status"] =
      ObjectSchema("What came of it.",
                   {{"sandboxName", "string", "The Sandbox."},
                    {"sandboxUID", "string", "Its UID."},
                    {"sandboxID", "string", "By which the agent knows it, once it has a slot."},
                    {"phase", "string", "Its phase; Pending before it has a slot."},
                    {"agentPod", "string", "The pod of its agent, once it has one."},
                    {"endpoints", "string[]", "Where its ports are, once that is known."}});
  return type;
}

// One call on the control thread.
struct SandboxRequests::Waiter {
  Wish wish;
  async::Executor* home;
  Answer answer;
  async::Running running;
  async::Handle ended;
  bool told = false;

  void Tell(Answered outcome) {
    told = true;
    home->Post([answer = std::move(answer), outcome = std::move(outcome)]() mutable {
      answer(std::move(outcome));
    });
  }
};

SandboxRequests::SandboxRequests(async::Executor& control)
    : control_(control), type_(SandboxRequestType()) {}
SandboxRequests::~SandboxRequests() = default;

std::expected<SandboxRequests::Wish, kube::Status> SandboxRequests::Read(const Call& call) const {
  const kube::JsonView spec = call.object["spec"];
  for (const char* name : {"image", "poolRef"}) {
    if (!spec[name].StringOr("").empty()) continue;
    return std::unexpected(
        Refused(call, "FieldValueRequired", "Required value", Format("spec.{}", name)));
  }
  const std::string_view mode = spec["consistencyMode"].StringOr("Fast");
  if (mode != "Fast" && mode != "Strong") {
    return std::unexpected(Refused(call, "FieldValueNotSupported",
                                   "Unsupported value: supported values: \"Fast\", \"Strong\"",
                                   "spec.consistencyMode"));
  }
  Wish wish{.ns = call.ns,
            .name = std::string(spec["name"].StringOr("")),
            .id = std::string(spec["requestID"].StringOr("")),
            .strong = mode == "Strong",
            .dry_run = call.dry_run};
  wish.given_id = !wish.id.empty();
  if (wish.id.size() > kLongestId) {
    return std::unexpected(Refused(call, "FieldValueTooLong",
                                   Format("Too long: may not be more than {} bytes", kLongestId),
                                   "spec.requestID"));
  }
  for (const char* name : {"image", "poolRef", "command", "args", "workingDir", "exposedPorts",
                           "expireTime", "failurePolicy", "recoveryTimeoutSeconds"}) {
    CopyGiven(spec, wish.spec, name);
  }
  if (spec["envs"].size() != 0) wish.spec["envs"] = EnvsOf(spec["envs"]);
  wish.asked = Json::parse(spec.ToJson());
  wish.hash =
      Hex(Digest(Format("{}\n{}", wish.name, SortedJson::parse(wish.spec.to_string()).to_string())))
          .substr(0, 2 * kShownHash);
  if (wish.name.empty() && wish.given_id) {
    wish.name = "sandbox-" + Hex(Digest(Format("{}/{}", wish.ns, wish.id))).substr(0, kShownHash);
  }
  return wish;
}

void SandboxRequests::Create(const Call& call, async::Executor& home, Answer answer) {
  auto wish = Read(call);
  if (!wish) return answer(std::unexpected(std::move(wish.error())));
  control_.Post([this, wish = *std::move(wish), &home, answer = std::move(answer)]() mutable {
    Begin(std::move(wish), home, std::move(answer));
  });
}

void SandboxRequests::Begin(Wish wish, async::Executor& home, Answer answer) {
  auto waiter = std::make_unique<Waiter>(std::move(wish), &home, std::move(answer));
  if (!system_) return waiter->Tell(std::unexpected(NotNow()));
  if (waiters_.size() >= kMostWaiting) {
    return waiter->Tell(std::unexpected(kube::TooManyRequests(1)));
  }
  Wish& asked = waiter->wish;
  if (asked.name.empty()) {
    asked.name = Format("sandbox-{}{}", kube::NameSuffix(control_.Random()),
                        kube::NameSuffix(control_.Random()));
  }
  if (!asked.given_id) asked.id = Format("{:016x}", control_.Random());
  const auto place = waiters_.insert(waiters_.end(), std::move(waiter));
  Waiter* const kept = place->get();
  kept->running = async::Start(Serve(kept), [this, place] {
    // It must not be destroyed from inside itself.
    (*place)->ended = control_.RunAfter({}, [this, place] {
      const auto gone = std::move(*place);
      waiters_.erase(place);
    });
  });
}

async::Task<void> SandboxRequests::Serve(Waiter* waiter) {
  const async::TimePoint began = control_.Now();
  Answered answer = co_await Carry(&waiter->wish);
  if (durations_ && !waiter->wish.dry_run) {
    const std::chrono::duration<double> took = control_.Now() - began;
    durations_
        ->Add({{"mode", waiter->wish.strong ? "strong" : "fast"},
               {"success", answer ? "true" : "false"}},
              kSeconds)
        .Observe(took.count());
  }
  waiter->Tell(std::move(answer));
}

async::Task<SandboxRequests::Answered> SandboxRequests::Carry(const Wish* wish) {
  const std::string key = Format("{}/{}", wish->ns, wish->id);
  if (const Remembered* known = wish->given_id ? ids_.Find(key) : nullptr) {
    if (known->hash != wish->hash) {
      co_return std::unexpected(kube::Conflict(
          kGroup, type_.plural, log::ToUtf8(wish->id, kLongestId),
          Format("this request ID was used for another spec, of the Sandbox {}", known->name)));
    }
  }
  auto stored = co_await Store(wish);
  if (!stored) co_return std::unexpected(std::move(stored.error()));
  if (wish->dry_run) co_return OutcomeOf(*wish, *stored);
  if (wish->given_id) ids_.Put(key, {wish->hash, wish->name});
  if (wish->strong) co_return co_await AwaitRunning(wish, TextAt((*stored)["metadata"], "uid"));
  co_return OutcomeOf(*wish, *stored);
}

async::Task<std::expected<Json, kube::Status>> SandboxRequests::Store(const Wish* wish) {
  // A create of what exists would reserve a slot before the API server refuses it.
  if (system_->Find(Format("{}/{}", wish->ns, wish->name)) != nullptr) {
    auto found = co_await FindStored(wish);
    if (found || found.error().code != 404) co_return found;
  }
  Json request;
  request["id"] = wish->id;
  request["hash"] = wish->hash;
  Json object;
  object["apiVersion"] = Format("{}/{}", kSandboxes.group, kSandboxes.version);
  object["kind"] = kSandboxes.kind;
  object["metadata"]["name"] = wish->name;
  object["metadata"]["namespace"] = wish->ns;
  object["metadata"]["annotations"][std::string(kAnnotation)] = request.to_string();
  object["spec"] = wish->spec;
  const kube::Api api(*transport_);
  const auto made =
      co_await api.Create(kSandboxes, wish->ns, object.to_string(), {.dry_run = wish->dry_run});
  if (made) {
    auto stored = Json::Parse(*made);
    if (!stored) co_return std::unexpected(NotNow());
    co_return *std::move(stored);
  }
  const kube::Error& error = made.error();
  const bool exists = error.reason == "AlreadyExists";
  // Whether it was stored is not known: look, and if it was not, the client tries again.
  if (!exists && error.error_class != ErrorClass::kAmbiguous) {
    co_return std::unexpected(StatusOf(error));
  }
  auto found = co_await FindStored(wish);
  if (!found && found.error().code == 404) co_return std::unexpected(NotNow());
  co_return found;
}

async::Task<std::expected<Json, kube::Status>> SandboxRequests::FindStored(const Wish* wish) {
  const kube::Api api(*transport_);
  const auto read = co_await api.Get(kSandboxes, wish->ns, wish->name);
  if (!read) co_return std::unexpected(StatusOf(read.error()));
  auto stored = Json::Parse(*read);
  if (!stored) co_return std::unexpected(NotNow());
  const auto [id, hash] = RequestOf(*stored);
  if (id == wish->id && hash == wish->hash) co_return *std::move(stored);
  if (id != wish->id || !wish->given_id) {
    co_return std::unexpected(kube::AlreadyExists(kSandboxes.group, kSandboxes.plural, wish->name));
  }
  co_return std::unexpected(kube::Conflict(
      kGroup, type_.plural, log::ToUtf8(wish->id, kLongestId),
      Format("this request ID was used for another spec, of the Sandbox {}", wish->name)));
}

async::Task<SandboxRequests::Answered> SandboxRequests::AwaitRunning(const Wish* wish,
                                                                     std::string uid) {
  const std::string key = Format("{}/{}", wish->ns, wish->name);
  const async::TimePoint deadline = control_.Now() + kStrongWithin;
  kube::Status why = TimedOut(Format("the Sandbox {} was not seen yet; it stays", wish->name));
  while (control_.Now() < deadline) {
    const sandbox::Sandbox* now = system_->Find(key);
    const bool is_it = now && now->id.uid == uid;
    if (is_it && now->status.phase == Phase::kRunning) {
      Json stored;
      stored["metadata"]["uid"] = uid;
      Json& status = stored["status"];
      status["phase"] = ToString(now->status.phase);
      status["assignedPod"] = now->status.assigned_pod;
      status["sandboxID"] = now->status.sandbox_id;
      status["endpoints"] = now->status.endpoints;
      co_return OutcomeOf(*wish, stored);
    }
    if (is_it) {
      const std::string state =
          Format("the Sandbox {} is {}{}", wish->name, ToString(now->status.phase),
                 WhyNotReady(now->status.conditions));
      const bool has_ended = now->status.phase == Phase::kFailed ||
                             now->status.phase == Phase::kExpired ||
                             now->status.phase == Phase::kTerminating;
      if (has_ended) {
        co_return std::unexpected(kube::Conflict(kGroup, type_.plural, wish->name, state));
      }
      why = TimedOut(state + "; it stays");
    }
    co_await async::Callback<bool>([&](auto done) {
      const auto waits = strong_.emplace(key, [done] { done(true); });
      auto timer = control_.RunAt(deadline, [done] { done(false); });
      return async::Handle([this, waits, timer = std::move(timer)] { strong_.erase(waits); });
    });
  }
  co_return std::unexpected(std::move(why));
}

void SandboxRequests::Notice(const std::string& key) {
  const auto [begin, end] = strong_.equal_range(key);
  if (begin == end) return;
  // Each ends its wait, so none is left to call twice.
  std::vector<std::function<void()>> wake;
  for (auto each = begin; each != end; ++each) wake.push_back(each->second);
  for (const auto& call : wake) call();
}

SandboxRequests::Outcome SandboxRequests::OutcomeOf(const Wish& wish, const Json& stored) const {
  const Json& metadata = stored["metadata"];
  const Json& status = stored["status"];
  std::string pod = TextAt(status, "assignedPod");
  std::string phase = TextAt(status, "phase");
  std::string sandbox_id = TextAt(status, "sandboxID");
  const std::string uid = TextAt(metadata, "uid");
  const std::string stamp =
      TextAt(metadata["annotations"], std::string(sandbox::kAllocationAnnotation));
  Json endpoints = status.contains("endpoints") ? status["endpoints"] : Json::Array();
  if (pod.empty() && !stamp.empty()) {
    // The webhook's: it has let no other into the object that was just stored.
    if (const auto allocation = Json::Parse(stamp); allocation && allocation->is_object()) {
      pod = TextAt(*allocation, "assignedPod");
      sandbox_id = sandbox::AgentIdOf(uid, 1);
      sandbox::Slots* slots = system_ ? system_->slots() : nullptr;
      const auto* agent =
          slots ? slots->registry().FindAgent(TextAt(*allocation, "assignedPodUID")) : nullptr;
      const auto* ports = wish.spec.find("exposedPorts");
      if (agent && ports && ports->is_array()) {
        for (const Json& port : ports->array_range()) {
          endpoints.push_back(Format("{}:{}", agent->ip, port.as<std::string>()));
        }
      }
    }
  }
  if (phase.empty()) phase = ToString(Phase::kPending);

  Outcome outcome;
  outcome.content["spec"] = wish.asked;
  Json& told = outcome.content["status"];
  told["sandboxName"] = wish.name;
  if (!uid.empty() && !wish.dry_run) told["sandboxUID"] = uid;
  told["phase"] = phase;
  if (!sandbox_id.empty() && !wish.dry_run) told["sandboxID"] = sandbox_id;
  if (!pod.empty()) told["agentPod"] = pod;
  if (endpoints.size() != 0) told["endpoints"] = endpoints;
  std::string joined;
  for (const Json& endpoint : endpoints.array_range()) {
    joined += (joined.empty() ? "" : ",") + endpoint.as<std::string>();
  }
  const auto text = [](const std::string& value) {
    return Cell::Text(value.empty() ? "<none>" : value);
  };
  outcome.cells = {text(wish.name), text(phase), text(pod), text(joined)};
  return outcome;
}

void SandboxRequests::Open(sandbox::System& system, kube::Transport& transport,
                           prometheus::Registry* registry) {
  system_ = &system;
  transport_ = &transport;
  durations_ = registry ? &prometheus::BuildHistogram()
                               .Name("fastpath_create_sandbox_duration_seconds")
                               .Help("SandboxRequests, by mode and success.")
                               .Register(*registry)
                        : nullptr;
  listening_ = system.Listen([this](const std::string& key, const sandbox::Sandbox&) {
    // A waiter may ask the system, which is still telling others.
    if (strong_.contains(key)) control_.Post([this, key] { Notice(key); });
  });
}

void SandboxRequests::Close() {
  listening_ = {};
  for (const auto& waiter : waiters_) {
    if (!waiter->told) waiter->Tell(std::unexpected(NotNow()));
  }
  waiters_.clear();
  strong_.clear();
  system_ = nullptr;
  transport_ = nullptr;
  durations_ = nullptr;
}

}  // namespace berth::apis
