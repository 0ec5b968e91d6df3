#pragma once

#include <chrono>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "async/executor.h"
#include "async/task.h"
#include "cloud/service_gateway.h"

namespace berth::difftracker {

// Registers services in the gateway, many at once: updates that are asked for while another request
// is under way, or within a moment, share one request. Of a request that the cloud refuses the
// halves are sent, so that only the refused update fails. Keeps the list of services as the cloud
// has it, and sends no update that changes nothing. On the executor's thread.
class Registrar {
 public:
  static constexpr async::Duration kMoment = std::chrono::milliseconds(50);
  static constexpr int kRefreshTries = 5;
  using Services = std::map<std::string, cloud::GatewayService>;

  // The gateway outlives it, and it outlives the tasks that it gave.
  Registrar(async::Executor& executor, cloud::ServiceGateway& gateway);
  Registrar(const Registrar&) = delete;
  Registrar& operator=(const Registrar&) = delete;

  async::Task<Result<void>> Update(cloud::ServiceUpdate update);

  // The list as it was just read; not taken if a request was sent since `stamp`.
  // Reads it now, anew if a request was sent meanwhile.
  async::Task<Result<void>> Refresh();
  std::uint64_t stamp() const { return sent_; }
  void Take(std::uint64_t stamp, const std::vector<cloud::GatewayService>& services);
  const Services& services() const { return services_; }

 private:
  struct Waiter {
    cloud::ServiceUpdate update;
    std::function<void(Result<void>)> done;  // gone when nobody waits any more
  };
  using Waiters = std::vector<std::shared_ptr<Waiter>>;

  async::Task<void> Run();
  async::Task<void> Serve(Waiters waiters);
  async::Task<void> Send(Waiters waiters);
  Waiters TakeBatch();
  bool IsDone(const cloud::ServiceUpdate& update) const;
  void Apply(const cloud::ServiceUpdate& update);
  static void Answer(const Waiters& waiters, const Result<void>& result);

  async::Executor& executor_;
  cloud::ServiceGateway& gateway_;
  Services services_;
  bool known_ = false;  // the list is as the cloud has it
  std::uint64_t sent_ = 0;
  std::list<std::shared_ptr<Waiter>> waiting_;
  async::Signal signal_;
  async::Running running_;
};

// True if the registration's one pool is that of the load balancer.
bool HasPoolOf(const cloud::GatewayService& service, const std::string& load_balancer);
// True if the registration has this NAT gateway.
bool HasNatGateway(const cloud::GatewayService& service, const std::string& nat_gateway);

}  // namespace berth::difftracker
