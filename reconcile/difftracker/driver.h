#pragma once

#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "async/executor.h"
#include "async/task.h"
#include "cloud/service_gateway.h"
#include "reconcile/difftracker/engine.h"
#include "reconcile/difftracker/metrics.h"
#include "reconcile/difftracker/provisioner.h"
#include "reconcile/difftracker/registrar.h"

namespace berth::difftracker {

// Carries out the engine's operations and location requests, and tells who listens what came of
// them. On the executor's thread.
class Driver {
 public:
  using Addresses = Provisioner::Addresses;

  struct Parts {
    async::Executor& executor;
    Engine& engine;
    cloud::ServiceGateway& gateway;
    std::string cluster;
    // The load balancer that a Service asks for now; an error for one that is refused or gone.
    std::function<Result<InboundSpec>(const std::string& uid)> spec_of;
    // Puts the finalizer on the Service: the first step of a creation.
    std::function<async::Task<Result<void>>(const std::string& uid)> ensure_finalizer;
    std::function<void(const std::string& service)> on_service;  // its view has changed
    std::function<void(const std::string& uid)> on_drained_pod;
    std::function<void(const Notice&)> on_notice;
    Metrics* metrics = nullptr;
  };

  explicit Driver(Parts parts);
  Driver(const Driver&) = delete;
  Driver& operator=(const Driver&) = delete;

  // To be called after every change of the engine; what follows is done in the next turn, once.
  void Wake();

  Registrar& registrar() { return registrar_; }
  // The public addresses of services, as they were last seen.
  const Addresses& AddressesOf(const std::string& service) const;
  // Takes over addresses that were just read, of services that are tracked and had no operation
  // since `stamp`, which is the engine's.
  void SetAddresses(std::uint64_t stamp, std::map<std::string, Addresses> addresses);
  // Services whose views have changed since the last time.
  std::set<std::string> TakeChanged() { return std::exchange(changed_, {}); }
  std::size_t size() const { return running_.size(); }

 private:
  void Work();
  void Tell();
  async::Task<void> Run(Operation operation);
  async::Task<Result<void>> Perform(Operation operation);
  async::Task<void> Sync(LocationWork work);
  async::Task<bool> IsWanted(OperationId id);

  const Parts parts_;
  Registrar registrar_;
  std::map<std::string, Addresses> addresses_;
  std::set<std::string> changed_;
  bool woken_ = false;
  async::Handle wake_;
  async::Handle timer_;
  std::list<async::Running> running_;
};

}  // namespace berth::difftracker
