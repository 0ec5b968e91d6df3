#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "reconcile/eni/nic_stock.h"
#include "reconcile/eni/pool.h"
#include "reconcile/eni/pool_growth.h"

namespace berth::eni {
namespace {

std::vector<std::string> Deleting(const std::map<std::string, Ip>& addresses, std::size_t most) {
  std::vector<std::string> result;
  for (const auto& [address, ip] : addresses) {
    if (result.size() == most) break;
    if (ip.status == kDeleting && ip.pod.empty() && !ip.primary) result.push_back(address);
  }
  return result;
}

std::vector<std::string> Deleting(const std::vector<Prefix>& prefixes,
                                  const std::set<std::string>& held, std::size_t most) {
  std::vector<std::string> result;
  for (const Prefix& prefix : prefixes) {
    if (result.size() == most) break;
    if (prefix.status == kDeleting && !held.contains(prefix.prefix))
      result.push_back(prefix.prefix);
  }
  return result;
}

std::optional<Job> GiveBack(const Node& node, const NodeStatus& status, const Bound& bound) {
  const auto most = static_cast<std::size_t>(MostOfOneCall(node));
  for (const auto& [id, nic] : status.nics) {
    if (!IsInPool(nic)) continue;
    job::Unassign job{.eni = id};
    // A call takes one kind.
    job.ipv4 = Deleting(nic.ipv4, most);
    if (!job.ipv4.empty()) return job;
    job.ipv6 = Deleting(nic.ipv6, most);
    if (!job.ipv6.empty()) return job;
    job.ipv4_prefixes = Deleting(nic.ipv4_prefixes, bound.held, most);
    if (!job.ipv4_prefixes.empty()) return job;
    job.ipv6_prefixes = Deleting(nic.ipv6_prefixes, bound.held, most);
    if (!job.ipv6_prefixes.empty()) return job;
  }
  return std::nullopt;
}

}  // namespace

Wanted NextJob(const Node& node, const NodeStatus& status, const Bound& bound,
               const VSwitches& vswitches, async::WallTime now, double random) {
  const PoolState pool{.node = node,
                       .status = status,
                       .bound = bound,
                       .vswitches = vswitches,
                       .now = now,
                       .random = random,
                       .survey = PoolSurvey::Of(node, status)};
  Wanted wanted = InPrefixMode(node) ? GrowPrefixes(pool) : GrowAddresses(pool);
  if (auto job = GiveBack(node, status, bound)) wanted.job = std::move(job);
  return wanted;
}

}  // namespace berth::eni
