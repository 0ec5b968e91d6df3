#pragma once

#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "async/task.h"
#include "cloud/service_gateway.h"
#include "reconcile/difftracker/ownership.h"
#include "reconcile/difftracker/registrar.h"

namespace berth::difftracker {

// The reason of an error: a resource of the name is there and somebody else's.
inline constexpr std::string_view kNotOurs = "NotOurs";

// A load balancer as it should be. Its name is the key.
struct InboundSpec {
  std::string key;
  bool ipv6 = false;
  std::vector<cloud::LoadBalancerRule> rules;  // sorted

  friend bool operator==(const InboundSpec&, const InboundSpec&) = default;
};

// A NAT gateway as it should be, with a public IP for each family.
struct OutboundSpec {
  std::string key;
  bool ipv4 = false;
  bool ipv6 = false;

  friend bool operator==(const OutboundSpec&, const OutboundSpec&) = default;
};

inline std::string PublicIpName(const std::string& key, bool ipv6) {
  return key + (ipv6 ? "-pip-v6" : "-pip");
}

// Makes and removes the resources of a service in the order that the cloud asks for. Every step
// looks at the resource first and does nothing when it is as it should be, so that a task that
// failed or was cut off anywhere is begun anew. A step that fails ends the task with its error.
// Resources that are not ours (Ownership) are never changed, nor is a registration whose resources
// carry the tag of another cluster. An adopted resource gets our tag with the first operation. All
// parts outlive the tasks.
class Provisioner {
 public:
  using Addresses = std::vector<std::string>;

  struct Parts {
    cloud::ServiceGateway& gateway;
    Registrar& registrar;
    std::string cluster;      // the value of kClusterTag
    cloud::Wanted is_wanted;  // whether the next write is still worth it
  };
  explicit Provisioner(Parts parts)
      : parts_(std::move(parts)), owners_(parts_.cluster, parts_.registrar.services()) {}

  // Public IP, load balancer or NAT gateway, registration. Gives the public addresses.
  async::Task<Result<Addresses>> Provide(InboundSpec wanted);
  async::Task<Result<Addresses>> Provide(OutboundSpec wanted);

  // No location may name the service. Inbound: pools cleared, load balancer, registration, public
  // IPs. Outbound: NAT gateway off the registration, off the gateway, registration, NAT gateway,
  // public IPs.
  async::Task<Result<void>> RemoveInbound(std::string key);
  async::Task<Result<void>> RemoveOutbound(std::string key);

 private:
  // Judges by the registrations as they were last read, and once more by those of now before a
  // resource without a tag is another's: others may have registered it since.
  async::Task<Result<bool>> IsOurs(const cloud::LoadBalancer* balancer);
  async::Task<Result<bool>> IsOurs(const cloud::NatGateway* nat);
  async::Task<Result<bool>> IsOurs(const cloud::PublicIp* ip, std::string key);
  async::Task<Result<void>> Reread(const cloud::Tags* tags);
  async::Task<Result<std::string>> ProvideIp(std::string key, bool ipv6);
  async::Task<Result<void>> ProvideBalancer(InboundSpec wanted);
  async::Task<Result<void>> ProvideNat(OutboundSpec wanted);
  async::Task<Result<void>> RemoveIp(std::string key, bool ipv6);
  async::Task<Result<void>> RemoveIps(std::string key);
  // Gives resources that are ours by the registration alone our tag: it is about to go.
  async::Task<Result<void>> TagIp(std::string key, bool ipv6);
  async::Task<Result<void>> TagIps(std::string key);
  async::Task<Result<void>> LeaveGateway(std::string key);
  // True if another cluster has tagged the load balancer, or the NAT gateway: the registration is
  // that cluster's. One that is ours has our tag afterwards.
  async::Task<Result<bool>> KeepsBalancer(std::string key);
  async::Task<Result<bool>> KeepsNat(std::string key);
  async::Task<Result<void>> RemoveBalancer(std::string key);
  async::Task<Result<void>> RemoveNat(std::string key);

  const Parts parts_;
  const Ownership owners_;
  // Public IPs that were ours when this began: they may lose their tag until they are deleted.
  std::set<std::string> own_ips_;
};

}  // namespace berth::difftracker
