#include "reconcile/eni/collector.h"

#include <utility>

#include "log/log.h"
#include "reconcile/eni/cloud_nic.h"

namespace berth::eni {

Collector::Collector(Parts parts) : parts_(std::move(parts)) { running_ = async::Start(Run()); }

async::Task<void> Collector::Run() {
  while (true) {
    co_await async::Sleep(parts_.executor, kEach);
    co_await Collect();
  }
}

async::Task<void> Collector::Collect() {
  const auto here = co_await parts_.accounts.Here();
  if (!here) co_return;  // the Nodes tell of it
  cloud::Enis& enis = parts_.accounts.In(here->account);
  const auto listed = co_await enis.AvailableTagged(std::string(kClusterTag), parts_.cluster);
  if (!listed) {
    log::Warn("ENIs without a Node cannot be searched for", {{"error", listed.error().message}});
    co_return;
  }
  const auto now = parts_.executor.Now();
  std::map<std::string, async::TimePoint> orphans;
  for (const cloud::Eni& eni : *listed) {
    if (parts_.is_named(eni)) {
      parts_.on_available(eni.id);
      continue;
    }
    if (IsExcluded(eni)) continue;
    const auto since = orphans_.find(eni.id);
    orphans.emplace(eni.id, since == orphans_.end() ? now : since->second);
  }
  orphans_ = std::move(orphans);
  for (const cloud::Eni& eni : *listed) {
    const auto since = orphans_.find(eni.id);
    if (since == orphans_.end() || now - since->second < kOrphanFor) continue;
    const auto deleted = co_await enis.Delete(eni.id, [this, eni] { return IsOrphan(eni); });
    log::Info("ENI without a Node deleted",
              {{"eni", eni.id}, {"error", deleted ? "" : deleted.error().message}});
    if (deleted) parts_.on_deleted();
  }
}

async::Task<bool> Collector::IsOrphan(cloud::Eni eni) { co_return !parts_.is_named(eni); }

}  // namespace berth::eni
