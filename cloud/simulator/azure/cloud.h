#pragma once

#include <cstdint>
#include <map>
#include <random>
#include <string>

#include "cloud/simulator/azure/gateway.h"
#include "cloud/simulator/azure/limits.h"
#include "cloud/simulator/azure/login.h"
#include "cloud/simulator/azure/operations.h"
#include "cloud/simulator/azure/resource_group.h"
#include "cloud/simulator/faults.h"
#include "cloud/simulator/ids.h"
#include "cloud/simulator/server.h"

namespace berth::cloud::simulator::azure {

// Azure as it answers on the wire: one resource group with one service gateway, and the authority
// of tokens. A long-running write of a resource is visible at once as Updating or Deleting; one of
// the gateway takes effect at its end. One thread at a time.
class Cloud : public Server {
 public:
  struct Options {
    std::uint64_t seed = 1;
    std::string subscription = "00000000-0000-0000-0000-00000000beef";
    std::string resource_group = "berth";
    std::string gateway = "servicegateway";
    std::string location = "westeurope";
    // A long-running operation takes from `least` to `most`; 0 and 0: none is long.
    async::Duration least_operation{};
    async::Duration most_operation{};
    double posts_done_at_once = 0;  // part of the POSTs that are answered 200
    std::size_t page = 100;
    RateLimits limits;
  };
  using Calls = CallCounts;

  explicit Cloud(Options options);
  Cloud(const Cloud&) = delete;
  Cloud& operator=(const Cloud&) = delete;

  http::Response Answer(const http::Request& request, async::WallTime now) override;
  http::Response Decline(const http::Request& request, const Refusal& refusal) override;
  std::string ActionOf(const http::Request& request) const override;
  Refusal RefusalWith(std::string code) const override;
  void EmptyLists(http::Response& response) const override;
  Faults& faults() override { return faults_; }

  // Controls that a client does not have.
  Login& login() { return login_; }
  ResourceGroup& group() { return group_; }
  const ResourceGroup& group() const { return group_; }
  Gateway& gateway() { return gateway_; }
  const Gateway& gateway() const { return gateway_; }
  // Lets the time pass.
  void Settle(async::WallTime now) { operations_.Settle(now); }
  std::size_t operations_under_way() const { return operations_.under_way(); }
  const std::map<std::string, Calls>& calls() const { return calls_; }
  const Options& options() const { return options_; }

 private:
  struct Call;

  http::Response Carry(const Call& call);
  Or<http::Response> Route(const Call& call);
  http::Response OnOperation(const Call& call) const;
  Or<http::Response> OnResource(const Call& call);
  Or<http::Response> OnGateway(const Call& call);
  Or<http::Response> Write(const Call& call);
  Or<http::Response> Post(const Call& call);
  Or<Json> GatewayJson() const;
  // `after` of the next page is the key that the last item's name gives.
  http::Response Page(const Call& call, std::vector<Json> items, std::string_view name) const;
  http::Response Begun(const Call& call, const Accepted& accepted) const;
  Plan Draw(const std::string& action, async::WallTime now);

  const Options options_;
  Ids ids_;
  std::mt19937_64 random_;
  Faults faults_;
  Limits limits_;
  Login login_;
  Operations operations_;
  ResourceGroup group_;
  Gateway gateway_;
  async::WallTime last_update_{};  // of the gateway: updates end in the order they began
  std::map<std::string, Calls> calls_;
};

}  // namespace berth::cloud::simulator::azure
