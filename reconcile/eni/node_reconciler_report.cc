#include <algorithm>
#include <ranges>
#include <utility>

#include "kube/conditions.h"
#include "log/format.h"
#include "log/timestamp.h"
#include "reconcile/eni/node_reconciler.h"

namespace berth::eni {
namespace {

// A cloud that fails now and then is no trouble: it is told from the third failure in a row on.
constexpr int kToldFailures = 3;
// A write that the watch does not show yet is not repeated for this time.
constexpr auto kToldFor = std::chrono::minutes(1);

std::string Count(std::size_t count, std::string_view what) {
  return Format("{} {}{}", count, what, count == 1 ? "" : "s");
}

std::size_t CountOf(const NodeStatus& status, std::string_view wanted) {
  return static_cast<std::size_t>(std::ranges::count_if(
      status.nics, [&](const auto& entry) { return entry.second.status == wanted; }));
}

// The work under way, as the condition Progressing tells it.
std::string WorkOf(const NodeStatus& status) {
  std::vector<std::string> parts;
  if (!status.attempts.empty())
    parts.push_back(Count(status.attempts.size(), "ENI") + " to create");
  if (const auto attaching = CountOf(status, kAttaching))
    parts.push_back(Count(attaching, "ENI") + " to attach");
  if (const auto deleting = CountOf(status, kDeleting))
    parts.push_back(Count(deleting, "ENI") + " to delete");
  return parts | std::views::join_with(std::string_view(", ")) | std::ranges::to<std::string>();
}

}  // namespace

std::optional<NodeReconciler::Trouble> NodeReconciler::TroubleOf(const Pass& pass) const {
  const Node& node = pass.node;
  const Memory& memory = pass.memory;
  std::optional<Trouble> trouble;
  if (node.unsupported) {
    trouble = {"Unsupported",
               "Berth does not look after hdeni: remove the annotation "
               "k8s.aliyun.com/eno-api, or leave this Node to Terway's controller"};
  } else if (!AccountsOf(node)) {
    trouble = {"Unsupported", "this Berth has no access to EFLO: see --aliyun-eflo-endpoint"};
  } else if (!pass.rival.empty()) {
    trouble = {"InstanceTaken", Format("Node {} has the instance {}: delete one of them",
                                       pass.rival, node.spec.instance)};
  } else if (memory.elsewhere && memory.elsewhere->region != node.spec.region) {
    trouble = {"WrongRegion", Format("the Node is in region {}, and Berth's access key works in {}",
                                     node.spec.region, memory.elsewhere->region)};
  } else if (memory.elsewhere) {
    trouble = {
        "WrongAccount",
        Format("the ENIs are in account {}, and Berth's access key is of account {}: give it "
               "a key of the former",
               pass.to.account, memory.elsewhere->account)};
  } else if (memory.failure && (memory.failures >= kToldFailures ||
                                memory.failure->error_class == ErrorClass::kTerminal)) {
    trouble = {"CloudRefused", memory.failure->message};
  } else if (IsInstanceLost(pass)) {
    trouble = {
        "InstanceNotFound",
        Format("the cloud has no ENI of instance {} in account {}, not even its primary one: "
               "no ENIs are made for it",
               node.spec.instance, pass.to.account)};
  } else if (pass.held_back) {
    trouble = {
        "AttachFailed",
        Format("{} in a row, the last one: {}; the next one comes later, or when spec changes",
               Format("{} failed attaches", memory.failed_attaches), memory.attach_error)};
  }
  if (node.id.deleting != 0) {
    std::string message = "it waits for its ENIs to be deleted";
    if (const std::string work = WorkOf(pass.to); !work.empty()) message += ": " + work;
    if (trouble) message += "; " + trouble->message;
    return Trouble{"Deleting", std::move(message)};
  }
  if (trouble) return trouble;
  for (const auto& [id, nic] : pass.to.nics) {
    const auto error = nic.conditions.find("OperationErr");
    if (nic.status != kAttaching || error == nic.conditions.end()) continue;
    return Trouble{"AttachFailed",
                   Format("{}, which pods have addresses of, cannot be attached: {}", id,
                          error->second.message)};
  }
  if (pass.to.account.empty()) return Trouble{"NotSynced", "the cloud has not been asked yet"};
  if (!IsOfInstance(pass)) {
    return Trouble{
        "NotSynced",
        Format("the cloud has not been asked yet for the ENIs of instance {}", node.spec.instance)};
  }
  if (!pass.wanted.insufficient.empty()) return Trouble{"InsufficientIP", pass.wanted.insufficient};
  if (pass.waiting > 0) {
    const auto pods = static_cast<std::size_t>(pass.waiting);
    return Trouble{"PodsWaiting",
                   Count(pods, "pod") + " without an address; more are on their way"};
  }
  if (!node.spec.mistakes.empty()) return Trouble{"InvalidSpec", node.spec.mistakes.front()};
  return std::nullopt;
}

void NodeReconciler::SetConditions(Pass& pass) const {
  using kube::ConditionStatus;
  const auto now = parts_.executor.WallNow();
  const auto generation = pass.node.id.generation;
  Json& conditions = pass.to.conditions;
  if (!conditions.is_array()) conditions = Json::Array();
  const auto trouble = TroubleOf(pass);
  kube::SetCondition(conditions,
                     {.type = "Ready",
                      .status = trouble ? ConditionStatus::kFalse : ConditionStatus::kTrue,
                      .reason = trouble ? trouble->reason : "Ready",
                      .message = trouble ? trouble->message : "pods get addresses",
                      .observed_generation = generation},
                     now);
  const bool is_of_instance = IsOfInstance(pass);
  const bool synced = !pass.to.account.empty() && !pass.memory.sync_wanted && is_of_instance &&
                      !IsSyncFailing(pass.memory);
  kube::SetCondition(conditions,
                     {.type = "Synced",
                      .status = synced ? ConditionStatus::kTrue : ConditionStatus::kFalse,
                      .reason = synced           ? std::string("Synced")
                                : is_of_instance ? std::string("SyncDue")
                                                 : std::string(kInstanceChanged),
                      .message = synced ? "status shows the ENIs as the cloud does"
                                        : "the cloud is to be asked again",
                      .observed_generation = generation},
                     now);
  const std::string work = WorkOf(pass.to);
  kube::SetCondition(conditions,
                     {.type = "Progressing",
                      .status = work.empty() ? ConditionStatus::kFalse : ConditionStatus::kTrue,
                      .reason = work.empty() ? "Idle" : "Working",
                      .message = work.empty() ? "no ENI is on its way" : work,
                      .observed_generation = generation},
                     now);
}

void NodeReconciler::Record(const Pass& pass, const Note& note) {
  parts_.events.Record(pass.node.id.Reference(kNodes),
                       note.succeeded ? kube::EventType::kNormal : kube::EventType::kWarning,
                       note.what + (note.succeeded ? "Succeed" : "Failed"), note.what, note.text);
}

async::Task<kube::Result<void>> NodeReconciler::TellCoreNode(Pass* pass) {
  const CoreNode* core = parts_.caches.core_nodes.Get(pass->key);
  if (!core || pass->to.account.empty() || !IsOfInstance(*pass)) co_return kube::Result<void>();
  const std::string& lack = pass->wanted.insufficient;
  const bool sufficient = lack.empty();
  const std::string message = sufficient ? "pods get addresses" : lack;
  if (core->sufficient == sufficient && core->sufficient_message == message)
    co_return kube::Result<void>();
  auto& told = pass->memory.told;
  if (told && told->core_uid == core->id.uid && told->message == message &&
      parts_.executor.Now() - told->when < kToldFor) {
    co_return kube::Result<void>();
  }
  told = {core->id.uid, message, parts_.executor.Now()};
  const std::string now = FormatTime(parts_.executor.WallNow());
  Json condition;
  condition["type"] = "SufficientIP";
  condition["status"] = sufficient ? "True" : "False";
  condition["reason"] = sufficient ? "SufficientIP" : "InsufficientIP";
  condition["message"] = message;
  condition["lastHeartbeatTime"] = now;
  if (core->sufficient != sufficient) condition["lastTransitionTime"] = now;
  Json patch;
  patch["status"] = Json::Object();
  patch["status"]["conditions"] = Json::Array();
  patch["status"]["conditions"].push_back(std::move(condition));
  const auto written =
      co_await parts_.api.Patch(kCoreNodes, "", pass->node.id.name, kube::PatchType::kStrategic,
                                patch.to_string(), {.subresource = "status", .call = {}});
  if (!written) {
    told.reset();
    if (!runtime::IsGone(written.error())) co_return std::unexpected(written.error());
  }
  co_return kube::Result<void>();
}

}  // namespace berth::eni
