// Answers of the cloud to what a pool has asked for: ended tasks and jobs.
#include <algorithm>
#include <chrono>
#include <string>

#include "reconcile/eni/cloud_nic.h"
#include "reconcile/eni/nic_stock.h"
#include "reconcile/eni/pool.h"

namespace berth::eni {
namespace {

using namespace std::chrono_literals;

constexpr std::string_view kOperationErr = "OperationErr";
constexpr std::size_t kMostMessage = 256;

void TakeAttached(const Node& node, NodeStatus& status, const cloud::Eni& eni,
                  const PodAddresses& pods) {
  if (const auto tag = eni.tags.find(std::string(kAttemptTag)); tag != eni.tags.end())
    status.attempts.erase(tag->second);
  const auto known = status.nics.find(eni.id);
  const bool is_new = known == status.nics.end();
  Nic& nic = is_new ? status.nics[eni.id] : known->second;
  if (is_new) nic.status = kAttaching;
  MergeEni(nic, eni, pods);
  nic.unschedulable = IsUnschedulable(node, eni, is_new ? nullptr : &nic);
  nic.conditions.erase(std::string(kOperationErr));
  if (nic.status != kDeleting || pods.HasAnyOf(nic)) BeginUse(status, nic);
}

void TakeFailedAttach(NodeStatus& status, const Task& task, const PodAddresses& pods,
                      async::WallTime now) {
  const auto known = status.nics.find(task.eni);
  if (known == status.nics.end() || known->second.status != kAttaching) return;
  Nic& nic = known->second;
  // InUse here would have been the end that was asked for: another instance has it.
  if (task.cloud_status == kInUse) return LoseNic(status, task.eni, pods);
  if (nic.unschedulable) return;
  if (!pods.HasAnyOf(nic)) {
    nic.status = kDeleting;
    return;
  }
  // The task has asked for this ENI alone, and the cloud has none.
  if (task.state == State::kFailed && task.cloud_status.empty())
    return LoseNic(status, task.eni, pods);
  NicCondition& condition = nic.conditions[std::string(kOperationErr)];
  const std::string message = task.error.substr(0, kMostMessage);
  // A time that changes alone would be a change that leads to the next.
  if (condition.message != message) condition = {.message = message, .observed = now};
}

void AddAssigned(std::map<std::string, Ip>& addresses, const std::vector<std::string>& assigned) {
  for (const std::string& address : assigned) {
    Ip& ip = addresses[address];
    ip.address = address;
    ip.status = kValid;
  }
}

void AddAssigned(std::vector<Prefix>& prefixes, const std::vector<std::string>& assigned) {
  for (const std::string& value : assigned) {
    std::erase_if(prefixes, [&value](const Prefix& prefix) { return prefix.prefix == value; });
    prefixes.push_back({.prefix = value, .status = std::string(kValid), .frozen_until = {}});
  }
}

void Invalidate(std::map<std::string, Ip>& addresses, const std::vector<std::string>& unassigned) {
  for (const std::string& address : unassigned) {
    if (const auto found = addresses.find(address); found != addresses.end())
      found->second.status = kInvalid;
  }
}

void Invalidate(std::vector<Prefix>& prefixes, const std::vector<std::string>& unassigned) {
  const std::set<std::string> gone(unassigned.begin(), unassigned.end());
  for (Prefix& prefix : prefixes) {
    if (gone.contains(prefix.prefix)) prefix.status = kInvalid;
  }
}

}  // namespace

void TakeTask(const Node& node, NodeStatus& status, const Task& task, const PodsView& pods,
              async::WallTime now) {
  if (!task.ended()) return;
  const PodAddresses addresses(pods);
  const bool completed = task.state == State::kCompleted;
  switch (task.operation) {
    case Operation::kAttach:
      if (completed && task.result) return TakeAttached(node, status, *task.result, addresses);
      return TakeFailedAttach(status, task, addresses, now);
    case Operation::kDetach:
      return;  // the deletion follows
    case Operation::kDelete:
      if (completed && status.nics.contains(task.eni)) LoseNic(status, task.eni, addresses);
      return;
  }
}

void TakeCreated(const Node& node, NodeStatus& status, const std::string& token,
                 const cloud::Eni& eni, const VSwitches& vswitches) {
  const auto attempt = status.attempts.find(token);
  const bool is_new = !status.nics.contains(eni.id);
  Nic& nic = status.nics[eni.id];
  if (is_new) {
    nic.status = kAttaching;
    nic.type = kSecondaryType;
    nic.traffic_mode = kStandard;
    if (attempt != status.attempts.end()) {
      const cloud::EniRequest& request = attempt->second.request;
      if (request.trunk) nic.type = kTrunkType;
      if (!request.traffic_mode.empty()) nic.traffic_mode = request.traffic_mode;
      nic.vswitch = request.vswitch_id;
      nic.security_groups = request.security_group_ids;
    }
    MergeEni(nic, eni, PodAddresses({}));
    MergeVSwitch(nic, vswitches.known);
    nic.unschedulable = nic.traffic_mode == kHighPerformance && !node.spec.erdma;
  }
  if (attempt != status.attempts.end()) status.attempts.erase(attempt);
}

void TakeAssigned(const Node& node, NodeStatus& status, const job::Assign& job,
                  const std::vector<std::string>& assigned) {
  const auto known = status.nics.find(job.eni);
  if (known == status.nics.end()) return;
  Nic& nic = known->second;
  if (job.ipv4 > 0) {
    AddAssigned(nic.ipv4, assigned);
  } else if (job.ipv6 > 0) {
    AddAssigned(nic.ipv6, assigned);
  } else {
    AddAssigned(job.ipv4_prefixes > 0 ? nic.ipv4_prefixes : nic.ipv6_prefixes, assigned);
  }
  // Of a pair the IPv4 address counts.
  if (job.ipv4 > 0 || (job.ipv6 > 0 && !node.spec.ipv4))
    CountWarmUp(status, static_cast<int>(assigned.size()));
}

void TakeUnassigned(NodeStatus& status, const job::Unassign& job, async::WallTime now) {
  const auto known = status.nics.find(job.eni);
  if (known == status.nics.end()) return;
  Nic& nic = known->second;
  Invalidate(nic.ipv4, job.ipv4);
  Invalidate(nic.ipv6, job.ipv6);
  Invalidate(nic.ipv4_prefixes, job.ipv4_prefixes);
  Invalidate(nic.ipv6_prefixes, job.ipv6_prefixes);
  const async::WallTime soon = now + 30s;
  if (!status.next_sync || *status.next_sync > soon) status.next_sync = soon;
}

PoolFigures FiguresOf(const NodeStatus& status) {
  PoolFigures figures;
  for (const auto& [id, nic] : status.nics) {
    if (nic.status == kInvalid) continue;
    ++figures.enis;
    figures.attaching += nic.status == kAttaching;
    const NicStock stock = NicStock::Of(nic);
    // A pair counts once, and an IPv4 address that is there because each ENI has one counts for
    // nothing beside IPv6 ones.
    const FamilyStock& family = stock.ipv6.held > stock.ipv4.held ? stock.ipv6 : stock.ipv4;
    figures.addresses += family.held;
    if (IsInPool(nic)) figures.idle += family.idle;
  }
  return figures;
}

}  // namespace berth::eni
