#include "reconcile/difftracker/driver.h"

#include <utility>

#include "log/log.h"

namespace berth::difftracker {
namespace {

const Driver::Addresses kNoAddresses;

}  // namespace

Driver::Driver(Parts parts)
    : parts_(std::move(parts)), registrar_(parts_.executor, parts_.gateway) {}

void Driver::Wake() {
  if (woken_) return;
  woken_ = true;
  wake_ = parts_.executor.RunAfter({}, [this] {
    woken_ = false;
    Work();
  });
}

const Driver::Addresses& Driver::AddressesOf(const std::string& service) const {
  const auto found = addresses_.find(service);
  return found == addresses_.end() ? kNoAddresses : found->second;
}

void Driver::SetAddresses(std::uint64_t stamp, std::map<std::string, Addresses> addresses) {
  for (auto& [service, seen] : addresses) {
    if (!parts_.engine.IsUnchangedSince(stamp, service) || AddressesOf(service) == seen) continue;
    addresses_.insert_or_assign(service, std::move(seen));
    changed_.insert(service);
    parts_.on_service(service);
  }
}

void Driver::Work() {
  std::erase_if(running_, [](const async::Running& task) { return !task; });
  const auto now = parts_.executor.Now();
  for (Operation& operation : parts_.engine.TakeOperations(now)) {
    if (parts_.metrics) parts_.metrics->Began(operation, now);
    running_.push_back(async::Start(Run(std::move(operation))));
  }
  if (auto work = parts_.engine.TakeLocationWork(now)) {
    running_.push_back(async::Start(Sync(std::move(*work))));
  }
  Tell();
  timer_ = {};
  if (const auto next = parts_.engine.next_wake(now)) {
    timer_ = parts_.executor.RunAt(*next, [this] { Wake(); });
  }
}

void Driver::Tell() {
  for (const ServiceChange& change : parts_.engine.TakeServiceChanges()) {
    if (!change.view) {
      addresses_.erase(change.name);
      if (parts_.metrics) parts_.metrics->Forgotten(change.name);
    }
    changed_.insert(change.name);
    parts_.on_service(change.name);
  }
  for (const std::string& pod : parts_.engine.TakeDrainedPods()) parts_.on_drained_pod(pod);
  for (const Notice& notice : parts_.engine.TakeNotices()) parts_.on_notice(notice);
}

async::Task<bool> Driver::IsWanted(OperationId id) { co_return parts_.engine.IsWanted(id); }

async::Task<void> Driver::Run(Operation operation) {
  const Result<void> result = co_await Perform(operation);
  const auto now = parts_.executor.Now();
  if (parts_.metrics) parts_.metrics->Ended(operation, result, now);
  if (!result) {
    log::Warn("operation of a service failed", {{"service", operation.id.service},
                                                {"operation", ToString(operation.kind)},
                                                {"attempt", operation.attempt},
                                                {"error", result.error().message}});
  }
  parts_.engine.Completed(operation.id, result, now);
  Wake();
}

async::Task<Result<void>> Driver::Perform(Operation operation) {
  const OperationId id = operation.id;
  const bool is_inbound = operation.direction == Direction::kInbound;
  Provisioner provisioner({.gateway = parts_.gateway,
                           .registrar = registrar_,
                           .cluster = parts_.cluster,
                           .is_wanted = [this, id] { return IsWanted(id); }});
  if (operation.kind == OperationKind::kDelete) {
    co_return co_await (is_inbound ? provisioner.RemoveInbound(id.service)
                                   : provisioner.RemoveOutbound(id.service));
  }
  Result<Addresses> made;
  if (is_inbound) {
    auto spec = parts_.spec_of(id.service);
    if (!spec) co_return std::unexpected(spec.error());
    if (const auto added = co_await parts_.ensure_finalizer(id.service); !added)
      co_return std::unexpected(added.error());
    made = co_await provisioner.Provide(std::move(*spec));
  } else {
    made = co_await provisioner.Provide(
        OutboundSpec{.key = id.service, .ipv4 = operation.ipv4, .ipv6 = operation.ipv6});
  }
  if (!made) co_return std::unexpected(made.error());
  addresses_.insert_or_assign(id.service, std::move(*made));
  changed_.insert(id.service);
  co_return Result<void>();
}

async::Task<void> Driver::Sync(LocationWork work) {
  const auto began = parts_.executor.Now();
  if (work.read) {
    const auto locations = co_await parts_.gateway.Locations();
    if (!locations) {
      log::Warn("locations cannot be read", {{"error", locations.error().message}});
    }
    parts_.engine.Read(work.generation, locations, parts_.executor.Now());
  } else {
    const auto result = co_await parts_.gateway.UpdateLocations(std::move(work.updates));
    if (!result) log::Warn("locations not synced", {{"error", result.error().message}});
    if (parts_.metrics) parts_.metrics->Synced(parts_.executor.Now() - began);
    parts_.engine.Synced(work.generation, result, parts_.executor.Now());
  }
  Wake();
}

}  // namespace berth::difftracker
