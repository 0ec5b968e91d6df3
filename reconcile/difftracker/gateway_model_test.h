#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "cloud/service_gateway.h"
#include "http/error.h"
#include "reconcile/difftracker/engine.h"

namespace berth::difftracker {

inline std::unexpected<Error> Failure(ErrorClass error_class, std::string reason = {},
                                      int code = 0) {
  return std::unexpected(Error{
      .error_class = error_class, .reason = reason, .message = "it: " + reason, .code = code});
}

// A naive service gateway that keeps Azure's rules, and counts what breaks an invariant.
struct GatewayModel {
  using Addresses = std::map<std::string, std::set<std::string>>;

  std::set<std::string> registered;
  std::set<std::string> resources;  // services that have a public IP, a load balancer, …
  std::map<std::string, Addresses> locations;
  std::set<std::string> refused;  // addresses
  bool others = false;            // write, too
  std::vector<std::string> violations;

  bool Names(const std::string& service) const {
    for (const auto& [node, addresses] : locations) {
      for (const auto& [address, services] : addresses) {
        if (services.contains(service)) return true;
      }
    }
    return false;
  }

  // One step of an operation: each leaves something behind that a crash does not clean up.
  Result<void> Run(const Operation& operation, int steps) {
    const std::string& name = operation.id.service;
    if (operation.kind == OperationKind::kDelete) {
      if (Names(name)) {
        violations.push_back("deletion of " + name + ", which locations name");
        return Failure(ErrorClass::kTerminal, "ServiceWithOverlayMappingsCannotBeDeleted", 400);
      }
      if (steps > 0) registered.erase(name);
      if (steps > 1) resources.erase(name);
    } else {
      if (steps > 0) resources.insert(name);
      if (steps > 1) registered.insert(name);
    }
    if (steps < 2) return Failure(ErrorClass::kRetry, "Half", 500);
    return {};
  }

  Result<void> Update(const std::vector<cloud::LocationUpdate>& updates) {
    for (const cloud::LocationUpdate& update : updates) {
      for (const auto& [address, services] : update.location.addresses) {
        if (refused.contains(address)) return Failure(ErrorClass::kTerminal, "BadAddress", 400);
        for (const std::string& service : services) {
          if (registered.contains(service)) continue;
          violations.push_back("a location names " + service + ", which is not registered");
          return Failure(ErrorClass::kTerminal, "UnknownService", 400);
        }
      }
    }
    for (const cloud::LocationUpdate& update : updates) Apply(update);
    return {};
  }

  void Apply(const cloud::LocationUpdate& update) {
    const std::string& node = update.location.node_ip;
    if (!update.full && !others && !locations.contains(node)) {
      violations.push_back("partial of a new " + node);
    }
    Addresses& addresses = locations[node];
    if (update.full) addresses.clear();
    for (const auto& [address, services] : update.location.addresses) {
      if (services.empty()) {
        addresses.erase(address);
      } else {
        addresses[address] = {services.begin(), services.end()};
      }
    }
    if (update.full && addresses.empty()) locations.erase(node);
  }

  std::vector<cloud::Location> Read() const {
    std::vector<cloud::Location> read;
    for (const auto& [node, addresses] : locations) {
      cloud::Location location{.node_ip = node, .addresses = {}};
      for (const auto& [address, services] : addresses) {
        location.addresses.push_back({address, {services.begin(), services.end()}});
      }
      read.push_back(location);
    }
    return read;
  }

  std::vector<CloudService> List() const {
    std::vector<CloudService> list;
    list.reserve(resources.size());
    for (const std::string& name : resources) {
      list.push_back({.name = name,
                      .type = name.starts_with("egress") ? cloud::ServiceType::kOutbound
                                                         : cloud::ServiceType::kInbound,
                      .registered = registered.contains(name),
                      .is_default = false,
                      .in_sync = true});
    }
    return list;
  }
};

}  // namespace berth::difftracker
