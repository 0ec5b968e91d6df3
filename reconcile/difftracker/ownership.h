#pragma once

#include <string>
#include <string_view>

#include "cloud/service_gateway.h"
#include "reconcile/difftracker/registrar.h"

namespace berth::difftracker {

// The tag of all that Berth made, with the uid of the namespace kube-system: a resource group may
// have resources of several clusters.
inline constexpr std::string_view kClusterTag = "berth.dev/cluster";

// Says whose a resource of the resource group is. With a tag it belongs to the tag's cluster.
// Without one it is adopted if our gateway has it registered under its name, as that which carries
// the traffic: cloud-provider-azure made it. To be in the gateway is not enough, anybody may put a
// NAT gateway there. A public IP without a tag is adopted with the resource that uses it. All O(log
// services).
class Ownership {
 public:
  using Services = Registrar::Services;

  // `services` are the registrations as they are now, and outlive this.
  Ownership(std::string cluster, const Services& services)
      : cluster_(std::move(cluster)), services_(services) {}

  bool IsTagged(const cloud::Tags& tags) const;
  // It carries the tag of another cluster.
  bool IsOfAnother(const cloud::Tags& tags) const;
  cloud::Tags WithTag(cloud::Tags tags) const;

  bool IsOurs(const cloud::LoadBalancer& balancer) const;
  bool IsOurs(const cloud::NatGateway& nat) const;
  // `key` is the service that the public IP is named after.
  bool IsOurs(const cloud::PublicIp& ip, const std::string& key) const;

 private:
  const cloud::GatewayService* Registered(const std::string& key) const;

  const std::string cluster_;
  const Services& services_;
};

}  // namespace berth::difftracker
