#include "handlers/memory/agent_pods.h"

#include <utility>

#include "kube/json_view.h"
#include "reconcile/sandbox/objects.h"

namespace berth::memory {
namespace {

using namespace std::chrono_literals;

constexpr const char* kAgentPods = "/api/v1/pods?watch=true&labelSelector=app%3Dsandbox-agent";

}  // namespace

void AgentPods::Start(OnChange changed) {
  changed_ = std::move(changed);
  server_.executor().Post([this] { Watch(); });
}

void AgentPods::Watch() {
  const auto again = [this] { again_ = server_.executor().RunAfter(1s, [this] { Watch(); }); };
  server_.Watch({.path = kAgentPods},
                {.on_start =
                     [this, again](const auto& begun) {
                       if (!begun) return again();
                       for (const ServerThread::Line& line : *begun) Notice(*line);
                     },
                 .on_line = [this](const ServerThread::Line& line) { Notice(*line); },
                 .on_end = again});
}

void AgentPods::Notice(std::string_view event) {
  kube::JsonDocument document;
  const auto parsed = document.Parse(event);
  if (!parsed) return;
  const auto pod = sandbox::Pod::From((*parsed)["object"]);
  if (!pod || pod->id.uid.empty()) return;
  if ((*parsed)["type"].StringOr("") == "DELETED") return Forget(pod->id.uid);
  if (pod->ip.empty() || !addresses_.emplace(pod->id.uid, pod->ip).second) return;
  changed_({.gone = false,
            .ip = pod->ip,
            .name = pod->id.name,
            .uid = pod->id.uid,
            .node = pod->node,
            .capacity = static_cast<std::size_t>(pod->capacity)});
}

void AgentPods::Forget(const std::string& uid) {
  const auto address = addresses_.find(uid);
  if (address == addresses_.end()) return;
  changed_({.gone = true, .ip = address->second, .name = {}, .uid = uid, .node = {}});
  addresses_.erase(address);
}

}  // namespace berth::memory
