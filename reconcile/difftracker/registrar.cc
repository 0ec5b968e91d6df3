#include "reconcile/difftracker/registrar.h"

#include <algorithm>
#include <set>
#include <utility>

#include "log/format.h"
#include "reconcile/difftracker/objects.h"

namespace berth::difftracker {

bool HasPoolOf(const cloud::GatewayService& service, const std::string& load_balancer) {
  const std::string end =
      LowerCase(Format("/loadBalancers/{}/backendAddressPools/{}", load_balancer, load_balancer));
  return service.backend_pools.size() == 1 &&
         LowerCase(service.backend_pools.front()).ends_with(end);
}

bool HasNatGateway(const cloud::GatewayService& service, const std::string& nat_gateway) {
  return LowerCase(service.nat_gateway_id)
      .ends_with(LowerCase(Format("/natGateways/{}", nat_gateway)));
}

Registrar::Registrar(async::Executor& executor, cloud::ServiceGateway& gateway)
    : executor_(executor), gateway_(gateway), signal_(executor) {
  running_ = async::Start(Run());
}

async::Task<Result<void>> Registrar::Update(cloud::ServiceUpdate update) {
  co_return co_await async::Callback<Result<void>>([&](auto done) {
    auto waiter = std::make_shared<Waiter>(std::move(update), std::move(done));
    waiting_.push_back(waiter);
    signal_.Notify();
    return async::Handle([waiter] { waiter->done = nullptr; });
  });
}

void Registrar::Take(std::uint64_t stamp, const std::vector<cloud::GatewayService>& services) {
  if (stamp != sent_) return;
  services_.clear();
  for (const cloud::GatewayService& service : services) services_.emplace(service.name, service);
  known_ = true;
}

async::Task<Result<void>> Registrar::Refresh() {
  for (int tries = 0; tries < kRefreshTries; ++tries) {
    const std::uint64_t before = sent_;
    const auto read = co_await gateway_.Services();
    if (!read) co_return std::unexpected(read.error());
    if (before != sent_) continue;
    Take(before, *read);
    co_return Result<void>();
  }
  co_return std::unexpected(Error{.error_class = ErrorClass::kRetry,
                                  .message = "the registrations change while they are read"});
}

async::Task<void> Registrar::Run() {
  while (true) {
    co_await signal_.Wait();
    co_await async::Sleep(executor_, kMoment);
    while (!waiting_.empty()) co_await Serve(TakeBatch());
  }
}

Registrar::Waiters Registrar::TakeBatch() {
  Waiters batch;
  std::set<std::string> names;
  for (auto it = waiting_.begin();
       it != waiting_.end() && batch.size() < cloud::ServiceGateway::kMostServices;) {
    if (!(*it)->done) {
      it = waiting_.erase(it);
    } else if (names.insert((*it)->update.name).second) {
      batch.push_back(std::move(*it));
      it = waiting_.erase(it);
    } else {
      ++it;
    }
  }
  return batch;
}

async::Task<void> Registrar::Serve(Waiters waiters) {
  if (!known_) {
    const auto read = co_await gateway_.Services();
    if (!read) {
      Answer(waiters, std::unexpected(read.error()));
      co_return;
    }
    Take(sent_, *read);
  }
  const auto done = std::ranges::stable_partition(
      waiters, [this](const auto& waiter) { return !IsDone(waiter->update); });
  const Waiters nothing_to_do(done.begin(), done.end());
  waiters.erase(done.begin(), done.end());
  Answer(nothing_to_do, {});
  if (!waiters.empty()) co_await Send(std::move(waiters));
}

async::Task<void> Registrar::Send(Waiters waiters) {
  std::vector<cloud::ServiceUpdate> updates;
  updates.reserve(waiters.size());
  for (const auto& waiter : waiters) updates.push_back(waiter->update);
  ++sent_;
  const Result<void> result = co_await gateway_.UpdateServices(updates);
  ++sent_;
  if (!result && result.error().error_class == ErrorClass::kTerminal && waiters.size() > 1 &&
      !cloud::IsForbidden(result.error())) {
    const auto middle = waiters.begin() + std::ssize(waiters) / 2;
    Waiters second(middle, waiters.end());
    waiters.erase(middle, waiters.end());
    co_await Send(std::move(waiters));
    co_await Send(std::move(second));
    co_return;
  }
  if (result) {
    for (const cloud::ServiceUpdate& update : updates) Apply(update);
  } else {
    known_ = false;
  }
  Answer(waiters, result);
}

bool Registrar::IsDone(const cloud::ServiceUpdate& update) const {
  const auto found = services_.find(update.name);
  const bool is_known = found != services_.end();
  if (update.is_delete) return !is_known;
  const bool clears = (update.load_balancer && update.load_balancer->empty()) ||
                      (update.nat_gateway && update.nat_gateway->empty());
  if (!is_known) return clears;
  const cloud::GatewayService& service = found->second;
  if (update.load_balancer &&
      !(update.load_balancer->empty() ? service.backend_pools.empty()
                                      : HasPoolOf(service, *update.load_balancer))) {
    return false;
  }
  if (!update.nat_gateway) return true;
  if (update.nat_gateway->empty()) return service.nat_gateway_id.empty();
  return HasNatGateway(service, *update.nat_gateway);
}

void Registrar::Apply(const cloud::ServiceUpdate& update) {
  if (update.is_delete) {
    services_.erase(update.name);
    return;
  }
  auto& service = services_[update.name];
  service.name = update.name;
  service.type = update.type;
  if (update.load_balancer) {
    service.backend_pools.clear();
    if (!update.load_balancer->empty()) {
      service.backend_pools.push_back(Format("/loadBalancers/{}/backendAddressPools/{}",
                                             *update.load_balancer, *update.load_balancer));
    }
  }
  if (!update.nat_gateway) return;
  service.nat_gateway_id =
      update.nat_gateway->empty() ? "" : Format("/natGateways/{}", *update.nat_gateway);
}

void Registrar::Answer(const Waiters& waiters, const Result<void>& result) {
  for (const auto& waiter : waiters) {
    if (const auto done = std::exchange(waiter->done, nullptr)) done(result);
  }
}

}  // namespace berth::difftracker
