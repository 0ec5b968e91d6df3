#include <array>
#include <iterator>
#include <utility>

#include "log/format.h"
#include "log/timestamp.h"
#include "simulate/objects.h"
#include "simulate/sandbox.h"
#include "simulate/world.h"

// Users of sandboxes, and the faults of agents.
namespace berth::simulate {
namespace {

using namespace std::chrono_literals;

constexpr const char* kForged =
    R"({\"assignedPod\":\"p0-agent-mine\",\"assignedNode\":\"n0\",\"allocatedAt\":\"2026-01-01T00:00:00Z\"})";

std::string Collection(const std::string& ns, const char* plural) {
  return Format("/apis/sandbox.fast.io/v1alpha1/namespaces/{}/{}", ns, plural);
}

}  // namespace

std::string Sandbox::TimeAfter(async::Duration delay) const {
  return FormatTime(world_->scheduler().WallNow() +
                    std::chrono::duration_cast<async::WallTime::duration>(delay));
}

void Sandbox::Act(World& world) {
  const std::uint64_t kind = Below(20);
  if (kind < 15) return ActOnSandbox(world);
  if (kind < 18) {
    const char* ns = Below(3) == 0 ? "other" : "default";
    return ActOnPool(world, ns, Format("p{}", Below(2)));
  }
  ActOnAgent(world);
}

std::string Sandbox::SpecOf(const std::string& image) {
  std::string spec =
      Format(R"("poolRef":"p{}","image":"{}")", Below(12) == 0 ? 9 : Below(2), image);
  if (Below(3) == 0) spec += Format(R"(,"exposedPorts":[{}])", 8080 + Below(2));
  if (Below(2) == 0) {
    spec += Format(R"(,"failurePolicy":"AutoRecreate","recoveryTimeoutSeconds":{})", 1 + Below(20));
  }
  if (Below(6) == 0) {
    spec += Format(R"(,"expireTime":"{}")",
                   TimeAfter(world_->random().Between(0s, std::chrono::minutes(1))));
  }
  return spec;
}

// The API server may also be asked for a dry run, may commit the object long after its review, and
// may find after the review that there is an object of this name.
void Sandbox::Create(World& world, const std::string& ns, const std::string& name) {
  const std::string named =
      Below(6) == 0 ? R"("generateName":"g-")" : Format(R"("name":"{}")", name);
  std::string metadata = named;
  if (Below(8) == 0) {
    metadata += Format(R"(,"annotations":{{"sandbox.fast.io/allocation":"{}"}})", kForged);
  }
  const std::string image = Format("image-{}", Below(3));
  kube::Request request{.method = kube::Method::kPost,
                        .path = Collection(ns, "sandboxes") + (Below(12) == 0 ? "?dryRun=All" : ""),
                        .body = Format(R"({{"apiVersion":"sandbox.fast.io/v1alpha1",)"
                                       R"("kind":"Sandbox","metadata":{{{}}},"spec":{{{}}}}})",
                                       metadata, SpecOf(image))};
  const bool is_late = Below(10) == 0;
  if (is_late) front_->SetDelay(world.random().Between(0s, 40s));
  world.Handle(request, "user", [](const kube::Response&) {});
  front_->SetDelay({});
}

void Sandbox::ActOnSandbox(World& world) {
  const std::string ns = Below(3) == 0 ? "other" : "default";
  const std::string name = Format("s{}", Below(6));
  const std::string path = Format("{}/{}", Collection(ns, "sandboxes"), name);
  const bool is_there = world.Ask({.path = path}).code == 200;
  if (!is_there || Below(12) == 0) return Create(world, ns, name);
  Change(world, path, name);
}

void Sandbox::Change(World& world, const std::string& path, const std::string& name) {
  const auto merge = [&](const std::string& patch) { world.Merge(path, patch); };
  switch (Below(10)) {
    case 0:
    case 1:
    case 2:
      world.Ask({.method = kube::Method::kDelete, .path = path});
      return;
    case 3:
    case 4:
      return merge(Format(R"({{"spec":{{"resetRevision":"{}"}}}})", TimeAfter({})));
    case 5:
      return merge(Format(R"({{"spec":{{"expireTime":"{}"}}}})",
                          TimeAfter(world.random().Between(0s, 40s))));
    case 6:
      return merge(R"({"spec":{"expireTime":null}})");
    case 7:
      return merge(
          Format(R"({{"metadata":{{"annotations":{{"sandbox.fast.io/allocation":"{}"}}}}}})",
                 Below(2) == 0 ? kForged : "{{{"));
    case 8: {
      // Another's genuine stamp is stolen.
      for (const Json& other : world.List("/apis/sandbox.fast.io/v1alpha1/sandboxes")) {
        const Json stamp = Part(other["metadata"], "annotations");
        if (NameOf(other) == name || !stamp.contains("sandbox.fast.io/allocation")) continue;
        Json patch;
        patch["metadata"]["annotations"] = stamp;
        return merge(patch.to_string());
      }
      return;
    }
    default:
      return merge(Format(R"({{"spec":{{"image":"image-{}","failurePolicy":"{}"}}}})", Below(3),
                          Below(2) == 0 ? "Manual" : "AutoRecreate"));
  }
}

void Sandbox::ActOnPool(World& world, const std::string& ns, const std::string& name) {
  const std::string path = Format("{}/{}", Collection(ns, "sandboxpools"), name);
  const std::uint64_t least = Below(3);
  const std::string capacity =
      Format(R"("capacity":{{"poolMin":{},"poolMax":{},"bufferMin":{},"bufferMax":{}}})", least,
             least + Below(3), Below(3), 2 + Below(4));
  if (world.Ask({.path = path}).code == 404) {
    world.Ask(
        {.method = kube::Method::kPost,
         .path = Collection(ns, "sandboxpools"),
         .body = Format(
             R"({{"apiVersion":"sandbox.fast.io/v1alpha1","kind":"SandboxPool","metadata":{{"name":"{}"}},)"
             R"("spec":{{{},"maxSandboxesPerPod":{},"agentTemplate":{{"spec":{{"containers":[{{"name":"agent","image":"a"}}]}}}}}}}})",
             name, capacity, 1 + Below(3))});
    return;
  }
  if (Below(5) == 0) {
    world.Ask({.method = kube::Method::kDelete, .path = path});
    return;
  }
  world.Merge(path, Format(R"({{"spec":{{{},"maxSandboxesPerPod":{}}}}})", capacity, 1 + Below(3)));
}

void Sandbox::ActOnAgent(World& world) {
  FollowPods(world);
  if (pods_.empty()) return;
  auto chosen = pods_.begin();
  std::advance(chosen, static_cast<std::ptrdiff_t>(Below(pods_.size())));
  const Pod pod = chosen->second;
  const std::uint64_t kind = Below(8);
  world.Trace("agent {} at {}: {}", pod.name, pod.ip, kind);
  agents_.Settle(world.scheduler().WallNow());
  if (kind < 4) {
    for (const Json& object : world.List("/api/v1/pods")) {
      if (UidOf(object) != chosen->first) continue;
      if (kind == 3) return RestartAgent(world, object, pod.ip);
      world.Ask(
          {.method = kube::Method::kDelete,
           .path = Format("/api/v1/namespaces/{}/pods/{}{}", Text(object["metadata"], "namespace"),
                          pod.name, kind == 0 ? "?gracePeriodSeconds=0" : "")});
    }
  } else if (kind < 6) {
    agents_.Hang(
        pod.ip, world.scheduler().WallNow() + std::chrono::duration_cast<async::WallTime::duration>(
                                                  world.random().Between(1s, 60s)));
  } else if (const auto* agent = agents_.Find(pod.ip); agent && !agent->containers().empty()) {
    auto container = agent->containers().begin();
    std::advance(container, static_cast<std::ptrdiff_t>(Below(agent->containers().size())));
    agents_.Exit(pod.ip, std::string(container->first));
  }
  network_->Settle();
}

// The agent's container starts anew, and the kubelet says so a moment later.
void Sandbox::RestartAgent(World& world, const Json& pod, const std::string& ip) {
  Json statuses = Part(pod, "status").get_value_or<Json>("containerStatuses", Json::Array());
  if (statuses.empty()) return;
  agents_.Restart(ip);
  network_->Settle();
  statuses[0]["restartCount"] = statuses[0].get_value_or<int>("restartCount", 0) + 1;
  Json patch;
  patch["metadata"]["uid"] = UidOf(pod);
  patch["status"]["containerStatuses"] = std::move(statuses);
  world.scheduler().After(world.random().Between(0s, 3s),
                          [&world,
                           path = Format("/api/v1/namespaces/{}/pods/{}/status",
                                         Text(pod["metadata"], "namespace"), NameOf(pod)),
                           body = patch.to_string()] { world.Merge(path, body); });
}

void Sandbox::SomeFault() {
  using Kind = cloud::simulator::Fault::Kind;
  static constexpr std::array kActions = {"CreateSandbox", "CreateSandbox", "DeleteSandbox",
                                          "GetAgentStatus"};
  static constexpr std::array kKinds = {Kind::kRefused, Kind::kLostAnswer, Kind::kDelayed};
  auto faults = agents_.faults().all();
  faults.push_back({.action = kActions[Below(kActions.size())],
                    .kind = kKinds[Below(kKinds.size())],
                    .code = "500",
                    .delay = world_->random().Between(0s, 20s),
                    .count = 1 + Below(3)});
  agents_.faults().Set(std::move(faults));
}

}  // namespace berth::simulate
