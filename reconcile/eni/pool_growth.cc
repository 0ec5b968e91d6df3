#include "reconcile/eni/pool_growth.h"

#include <algorithm>

#include "log/format.h"
#include "reconcile/eni/nic_stock.h"
#include "reconcile/eni/vswitch_choice.h"

namespace berth::eni {
namespace {

// Sizes beyond this are nonsense; sums of them still fit.
constexpr int kMostWanted = 1'000'000;
constexpr int kMostAddressesOfCreate = 50;

int Sane(int size) { return std::clamp(size, 0, kMostWanted); }

// Growth of one lane: a job, nothing while enough is on its way, or why it cannot be.
struct LaneGrowth {
  std::optional<Job> job;
  std::string refusal;
};

// `count` more pods' worth of addresses on Nics of the lane.
std::optional<job::Assign> AssignIn(const PoolState& pool, bool erdma, int count) {
  const NodeSpec& spec = pool.node.spec;
  for (const Nic* nic : PoolNics(pool.status)) {
    if (IsErdma(*nic) != erdma) continue;
    const NicStock stock = NicStock::Of(*nic);
    const int idle = stock.Idle(spec);
    const int wanted = std::min(count, stock.Room(spec));
    if (wanted <= 0) continue;
    const int most = MostOfOneCall(pool.node);
    // Of a pair, one address may be there already.
    const int ipv4 = spec.ipv4 ? wanted - (stock.ipv4.idle - idle) : 0;
    const int ipv6 = spec.ipv6 ? wanted - (stock.ipv6.idle - idle) : 0;
    const int free = FreeAddressesOf(pool.vswitches, nic->vswitch, pool.now);
    if (free == 0) continue;
    job::Assign job{.eni = nic->id};
    if (ipv4 > 0) {
      job.ipv4 = std::min({ipv4, most, free});
    } else {
      job.ipv6 = std::min(ipv6, most);
    }
    return job;
  }
  return std::nullopt;
}

// `free` are the addresses that the vSwitch has.
void SetCounts(const Node& node, int count, int free, cloud::EniRequest& request) {
  const NodeSpec& spec = node.spec;
  const int most = node.backend == Backend::kEflo ? 1 : kMostAddressesOfCreate;
  if (spec.ipv4)
    request.ipv4_addresses = std::max(std::min({count, most, spec.ipv4_per_adapter, free}), 1);
  if (spec.ipv6)
    request.ipv6_addresses = std::min({count, MostOfOneCall(node), spec.ipv6_per_adapter});
}

LaneGrowth CreateIn(const PoolState& pool, Flavors flavors, int count) {
  if (NicStock{}.Room(pool.node.spec) <= 0) {
    return {.job = {},
            .refusal = Format("an ENI of instance type {} has no room for a pod: spec.nodeCap "
                              "says {} IPv4 and {} IPv6 addresses",
                              pool.node.spec.instance_type, pool.node.spec.ipv4_per_adapter,
                              pool.node.spec.ipv6_per_adapter)};
  }
  NewEni eni = MakeEni(pool, flavors);
  if (!eni.request) return {.job = {}, .refusal = std::move(eni.refusal)};
  SetCounts(pool.node, count, eni.free_addresses, *eni.request);
  return {.job = job::Create{.request = std::move(*eni.request)}, .refusal = {}};
}

LaneGrowth GrowLane(const PoolState& pool, bool erdma, int count) {
  if (count <= 0) return {};
  if (auto assign = AssignIn(pool, erdma, count)) return {.job = std::move(*assign), .refusal = {}};
  const int rest = count - (erdma ? pool.survey.erdma : pool.survey.standard).coming_room;
  if (rest <= 0) return {};
  const Flavors flavors =
      erdma ? Flavors{.erdma = true} : Flavors{.trunk = true, .secondary = true};
  return CreateIn(pool, flavors, rest);
}

int StandardDemand(const PoolState& pool) {
  const NodeStatus& status = pool.status;
  const int waiting = Sane(pool.bound.waiting);
  int wanted = std::max(waiting + Sane(pool.node.spec.min_pool) - pool.survey.standard.idle, 0);
  if (!status.warm_up_completed) {
    const int warm_up = Sane(status.warm_up_target) - Sane(status.warm_up_allocated);
    if (warm_up > 0) wanted = std::max(wanted, waiting + warm_up);
  }
  return wanted - pool.survey.standard.coming;
}

bool IsAssign(const std::optional<Job>& job) {
  return job && std::holds_alternative<job::Assign>(*job);
}

}  // namespace

NewEni MakeEni(const PoolState& pool, Flavors flavors) {
  const NodeSpec& spec = pool.node.spec;
  const PoolSurvey& survey = pool.survey;
  const bool trunk = flavors.trunk && survey.trunks > 0;
  const bool erdma = !trunk && flavors.erdma && survey.erdmas > 0;
  if (!trunk && !erdma && !(flavors.secondary && survey.secondaries > 0)) {
    return {.request = {},
            .refusal = Format("no further ENI: the node takes {} beside its primary one, by "
                              "spec.flavor and spec.nodeCap.adapters",
                              survey.most_adapters)};
  }
  VSwitchChoice choice = ChooseVSwitch(spec, pool.vswitches, pool.now, pool.random);
  if (!choice.vswitch) return {.request = {}, .refusal = std::move(choice.refusal)};

  cloud::EniRequest request;
  request.vswitch_id = choice.vswitch->id;
  request.security_group_ids = spec.security_groups;
  request.resource_group_id = spec.resource_group;
  request.tags = spec.tags;
  request.trunk = trunk;
  if (erdma) request.traffic_mode = kHighPerformance;
  if (pool.node.backend == Backend::kEflo) {
    request.instance_id = spec.instance;
    request.zone_id = spec.zone;
    request.vpc_id = choice.vswitch->vpc_id;
  }
  return {.request = std::move(request),
          .free_addresses = FreeAddressesOf(pool.vswitches, choice.vswitch->id, pool.now),
          .refusal = {}};
}

Wanted GrowAddresses(const PoolState& pool) {
  const Lane& lane = pool.survey.standard;
  const bool dry = lane.idle + lane.coming == 0;
  const int count = StandardDemand(pool);
  // Without any address left, growth by one is tried to see whether it could be.
  LaneGrowth standard = GrowLane(pool, false, std::max(count, dry ? 1 : 0));
  if (count <= 0) standard.job.reset();
  LaneGrowth erdma =
      GrowLane(pool, true,
               Sane(pool.bound.waiting_erdma) - pool.survey.erdma.idle - pool.survey.erdma.coming);

  Wanted wanted;
  wanted.refused = !standard.refusal.empty() || !erdma.refusal.empty();
  if (dry || pool.bound.waiting > lane.coming) wanted.insufficient = std::move(standard.refusal);
  if (wanted.insufficient.empty()) wanted.insufficient = std::move(erdma.refusal);
  if (IsAssign(standard.job) || IsAssign(erdma.job)) {
    wanted.job = IsAssign(standard.job) ? std::move(standard.job) : std::move(erdma.job);
    return wanted;
  }
  if (pool.survey.trunks > 0) {
    const int rest = std::max(count - lane.coming_room, 1);
    wanted.job = CreateIn(pool, {.trunk = true}, rest).job;
    if (!wanted.job) wanted.refused = true;
  }
  if (!wanted.job) wanted.job = erdma.job ? std::move(erdma.job) : std::move(standard.job);
  return wanted;
}

}  // namespace berth::eni
