#include "reconcile/eni/cloud_job.h"

#include <algorithm>
#include <utility>

#include "log/format.h"

namespace berth::eni {
namespace {

using cloud::Enis;

// Adds ENIs that are not there yet; the first one to tell of an ENI counts.
void Add(std::map<std::string, cloud::Eni>& all, std::vector<cloud::Eni> enis) {
  for (cloud::Eni& eni : enis) {
    std::string id = eni.id;
    all.try_emplace(std::move(id), std::move(eni));
  }
}

std::vector<std::string> Missing(const std::vector<std::string>& ids,
                                 const std::map<std::string, cloud::Eni>& all) {
  std::vector<std::string> missing;
  std::ranges::copy_if(ids, std::back_inserter(missing),
                       [&](const std::string& id) { return !all.contains(id); });
  return missing;
}

async::Task<Result<CloudView>> Sync(Enis* enis, JobOrder order) {
  const auto& sync = std::get<job::Sync>(order.work);
  std::map<std::string, cloud::Eni> all;
  if (!order.instance.empty()) {  // without one, the cloud would list all that it has
    auto attached = co_await enis->OfInstance(order.instance);
    if (!attached) co_return std::unexpected(attached.error());
    Add(all, std::move(*attached));
  }
  auto tagged = co_await enis->Tagged(std::string(kNodeTag), order.node_uid);
  if (!tagged) co_return std::unexpected(tagged.error());
  Add(all, std::move(*tagged));
  std::vector<std::string> unlisted = Missing(sync.known, all);
  for (std::size_t first = 0; first < unlisted.size(); first += Enis::kMostIds) {
    const auto last = std::min(unlisted.size(), first + Enis::kMostIds);
    auto some = co_await enis->Describe({unlisted.begin() + static_cast<std::ptrdiff_t>(first),
                                         unlisted.begin() + static_cast<std::ptrdiff_t>(last)});
    if (!some) co_return std::unexpected(some.error());
    Add(all, std::move(*some));
  }
  CloudView view;
  for (const std::string& id : Missing(sync.known, all)) {
    auto alone = co_await enis->Describe({id});
    if (!alone) co_return std::unexpected(alone.error());
    if (alone->empty()) view.gone.insert(id);
    Add(all, std::move(*alone));
  }
  std::set<std::string> vswitches;
  for (auto& [id, eni] : all) {
    if (!eni.vswitch_id.empty() && !sync.vswitches.contains(eni.vswitch_id))
      vswitches.insert(eni.vswitch_id);
    view.enis.push_back(std::move(eni));
  }
  auto described = co_await enis->DescribeVSwitches({vswitches.begin(), vswitches.end()});
  if (!described) co_return std::unexpected(described.error());
  for (cloud::VSwitch& vswitch : *described) view.vswitches.emplace(vswitch.id, vswitch);
  co_return view;
}

async::Task<Result<std::optional<cloud::Eni>>> Find(Enis* enis, std::string token) {
  auto tagged = co_await enis->Tagged(std::string(kAttemptTag), std::move(token));
  if (!tagged) co_return std::unexpected(tagged.error());
  if (tagged->empty()) co_return std::nullopt;
  co_return std::move(tagged->front());
}

async::Task<Result<std::vector<std::string>>> Assign(Enis* enis, job::Assign job) {
  // Without a token: whether a call that had no answer was carried out is seen by the next sync.
  if (job.ipv4 > 0) return enis->AssignIpv4(job.eni, job.ipv4, "");
  if (job.ipv4_prefixes > 0) return enis->AssignIpv4Prefixes(job.eni, job.ipv4_prefixes, "");
  if (job.ipv6 > 0) return enis->AssignIpv6(job.eni, job.ipv6, "");
  return enis->AssignIpv6Prefixes(job.eni, job.ipv6_prefixes, "");
}

async::Task<Result<void>> Unassign(Enis* enis, job::Unassign job) {
  if (!job.ipv4.empty()) return enis->UnassignIpv4(job.eni, job.ipv4);
  if (!job.ipv4_prefixes.empty()) return enis->UnassignIpv4Prefixes(job.eni, job.ipv4_prefixes);
  if (!job.ipv6.empty()) return enis->UnassignIpv6(job.eni, job.ipv6);
  return enis->UnassignIpv6Prefixes(job.eni, job.ipv6_prefixes);
}

async::Task<JobResult> Carry(Enis* enis, JobOrder order) {
  if (const auto* sync = std::get_if<job::Sync>(&order.work)) {
    const auto due = sync->due;
    std::string instance = order.instance;
    co_return outcome::Sync{std::move(instance), due, co_await Sync(enis, std::move(order))};
  }
  if (const auto* find = std::get_if<job::Find>(&order.work))
    co_return outcome::Find{find->token, co_await Find(enis, find->token)};
  if (const auto* read = std::get_if<job::ReadVSwitches>(&order.work))
    co_return outcome::ReadVSwitches{read->ids, co_await enis->DescribeVSwitches(read->ids)};
  if (const auto* create = std::get_if<job::Create>(&order.work)) {
    std::string token = create->request.client_token;
    co_return outcome::Create{std::move(token),
                              co_await enis->Create(create->request, std::move(order.wanted))};
  }
  if (const auto* assign = std::get_if<job::Assign>(&order.work))
    co_return outcome::Assign{*assign, co_await Assign(enis, *assign)};
  const auto& unassign = std::get<job::Unassign>(order.work);
  co_return outcome::Unassign{unassign, co_await Unassign(enis, unassign)};
}

}  // namespace

async::Task<JobOutcome> Perform(cloud::EniAccounts* accounts, JobOrder order) {
  auto here = co_await accounts->Here();
  if (!here) co_return JobOutcome{.here = std::unexpected(here.error())};
  const bool is_elsewhere = !order.account.empty() && order.account != here->account;
  const bool is_abroad = !order.region.empty() && order.region != here->region;
  if (is_abroad || is_elsewhere) co_return JobOutcome{.here = *here};
  Enis* enis = &accounts->In(here->account);
  JobResult result = co_await Carry(enis, std::move(order));
  co_return JobOutcome{.here = std::move(*here), .result = std::move(result)};
}

const Error* ErrorOf(const JobOutcome& outcome) {
  if (!outcome.here) return &outcome.here.error();
  if (!outcome.result) return nullptr;
  return std::visit(
      [](const auto& end) -> const Error* { return end.answer ? nullptr : &end.answer.error(); },
      *outcome.result);
}

}  // namespace berth::eni
