#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "async/task.h"
#include "cloud/service_gateway.h"
#include "reconcile/difftracker/registrar.h"

namespace berth::difftracker {

// The tag of all that Berth made, with the uid of the namespace kube-system: a resource group may
// have resources of several clusters.
inline constexpr std::string_view kClusterTag = "berth.dev/cluster";
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
// Resources that carry neither our tag nor belong to our gateway are never changed. All parts
// outlive the tasks.
class Provisioner {
 public:
  using Addresses = std::vector<std::string>;

  struct Parts {
    cloud::ServiceGateway& gateway;
    Registrar& registrar;
    std::string cluster;      // the value of kClusterTag
    cloud::Wanted is_wanted;  // whether the next write is still worth it
  };
  explicit Provisioner(Parts parts) : parts_(std::move(parts)) {}

  // Public IP, load balancer or NAT gateway, registration. Gives the public addresses.
  async::Task<Result<Addresses>> Provide(InboundSpec wanted);
  async::Task<Result<Addresses>> Provide(OutboundSpec wanted);

  // No location may name the service. Inbound: pools cleared, load balancer, registration, public
  // IPs. Outbound: NAT gateway off the registration, off the gateway, registration, NAT gateway,
  // public IPs.
  async::Task<Result<void>> RemoveInbound(std::string key);
  async::Task<Result<void>> RemoveOutbound(std::string key);

  // Whether the resource carries the tag of this cluster.
  bool IsTagged(const cloud::Tags& tags) const;

 private:
  bool IsOurs(const cloud::LoadBalancer& balancer) const;
  bool IsOurs(const cloud::NatGateway& nat) const;
  bool IsOurs(const cloud::PublicIp& ip, std::string_view key) const;

  cloud::Tags OwnTags(cloud::Tags tags) const;
  async::Task<Result<std::string>> ProvideIp(std::string key, bool ipv6);
  async::Task<Result<void>> ProvideBalancer(InboundSpec wanted);
  async::Task<Result<void>> ProvideNat(OutboundSpec wanted);
  async::Task<Result<void>> RemoveIp(std::string key, bool ipv6);
  async::Task<Result<void>> RemoveIps(std::string key);
  // Gives resources that are ours by the gateway alone our tag: the gateway is about to let go.
  async::Task<Result<void>> TagIps(std::string key);
  async::Task<Result<void>> TagBalancer(std::string key);
  async::Task<Result<void>> LeaveGateway(std::string key);

  const Parts parts_;
};

}  // namespace berth::difftracker
