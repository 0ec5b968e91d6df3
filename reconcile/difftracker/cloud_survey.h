#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "async/task.h"
#include "cloud/service_gateway.h"
#include "reconcile/difftracker/engine.h"
#include "reconcile/difftracker/provisioner.h"

namespace berth::difftracker {

// All that the cloud has of this cluster's services, as lists of it say.
struct CloudPicture {
  std::vector<cloud::GatewayService> registered;  // as they are
  std::vector<CloudService> services;             // registered or with resources of ours
  std::map<std::string, std::vector<std::string>> addresses;  // public ones, by service
};

// The resources that wanted services should have; none for a service that is not wanted, or whose
// spec is refused: then what is there counts as in sync.
struct Expected {
  std::function<std::optional<InboundSpec>(const std::string& key)> inbound;
  std::function<std::optional<OutboundSpec>(const std::string& key)> outbound;
};

// Lists registrations, load balancers, NAT gateways and public IPs. Resources count that are ours
// (Ownership), and are in sync with our tag only. Locations are not read. Its arguments outlive the
// task.
async::Task<Result<CloudPicture>> LookAtCloud(cloud::ServiceGateway* gateway, std::string cluster,
                                              const Expected* expected);

}  // namespace berth::difftracker
