#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "async/task.h"
#include "cloud/account.h"
#include "http/error.h"

namespace berth::cloud {

// The direction of traffic of a gateway's service.
enum class ServiceType : std::uint8_t { kInbound, kOutbound, kInboundOutbound, kUnknown };

// A service registered in the gateway. Names are lower case: Azure compares them without case.
struct GatewayService {
  std::string name;
  ServiceType type = ServiceType::kInbound;
  bool is_default = false;                 // Azure's own: never changed
  std::vector<std::string> backend_pools;  // resource IDs
  std::string nat_gateway_id;

  friend bool operator==(const GatewayService&, const GatewayService&) = default;
};

// A change of one registration. Absent members stay as they are.
struct ServiceUpdate {
  std::string name;
  bool is_delete = false;
  ServiceType type = ServiceType::kInbound;
  // The load balancer whose one pool, of its own name, carries the traffic; empty clears the pools.
  std::optional<std::string> load_balancer;
  // The NAT gateway's name; empty clears it.
  std::optional<std::string> nat_gateway;

  friend bool operator==(const ServiceUpdate&, const ServiceUpdate&) = default;
};

// An address of a pod and the services that it belongs to, by name.
struct LocatedAddress {
  std::string address;  // canonical
  std::vector<std::string> services;

  friend bool operator==(const LocatedAddress&, const LocatedAddress&) = default;
};

// The addresses behind one node IP, all of its family.
struct Location {
  std::string node_ip;  // canonical
  std::vector<LocatedAddress> addresses;

  friend bool operator==(const Location&, const Location&) = default;
};

// A change of one location. In a full update the addresses replace all; without any of them the
// location goes. Else each address gets the services listed; without any of them it goes.
struct LocationUpdate {
  Location location;
  bool full = false;

  friend bool operator==(const LocationUpdate&, const LocationUpdate&) = default;
};

struct PublicIp {
  std::string name;
  std::string etag;  // of the last read; empty for a resource to create
  Tags tags;
  bool ipv6 = false;
  std::string address;    // the cloud's
  std::string used_by;    // the resource ID of its user, from the cloud; empty when free
  bool succeeded = true;  // the provisioning state, from the cloud
  friend bool operator==(const PublicIp&, const PublicIp&) = default;
};

struct LoadBalancerRule {
  bool udp = false;
  int frontend_port = 0;
  int backend_port = 0;
  int idle_timeout_minutes = 4;

  friend auto operator<=>(const LoadBalancerRule&, const LoadBalancerRule&) = default;
};

// A load balancer of the SKU Service: one frontend, one pool of its own name.
struct LoadBalancer {
  std::string name;
  std::string etag;
  Tags tags;
  std::string public_ip;                // its name
  std::vector<LoadBalancerRule> rules;  // sorted
  bool succeeded = true;

  friend bool operator==(const LoadBalancer&, const LoadBalancer&) = default;
};

struct NatGateway {
  std::string name;
  std::string etag;
  Tags tags;
  bool in_gateway = false;                 // it belongs to our service gateway
  std::vector<std::string> public_ips;     // names
  std::vector<std::string> public_ips_v6;  // names
  bool succeeded = true;

  friend bool operator==(const NatGateway&, const NatGateway&) = default;
};

// One service gateway and the resource group of its load balancers, NAT gateways and public IPs.
// A write returns when its long-running operation has ended. Errors are classed:
//
//   kThrottled    the rate limit; the error says how long to wait
//   kRetry        passes by itself; nothing was changed, or trying again is safe
//   kAmbiguous    the write may have been applied, or may still be: read before the next one
//   kConflict     the resource is not as the caller read it (its etag), or exists already; read
//   kNotFound     the resource is not there
//   kTerminal     will not get better by itself; see IsQuota, IsForbidden and HasMappings
//
// An error's reason is the cloud's code; its message begins with the action, the resource and the
// code and ends with the request ID. Calls of a kind wait for their turn when there are more than
// the cloud takes. Of the control thread.
class ServiceGateway {
 public:
  static constexpr std::size_t kMostAddresses = 1'000;  // of one UpdateLocations
  static constexpr std::size_t kMostServices = 100;     // of one UpdateServices

  virtual ~ServiceGateway() = default;

  // All pages of each.
  virtual async::Task<Result<std::vector<GatewayService>>> Services() = 0;
  virtual async::Task<Result<std::vector<Location>>> Locations() = 0;
  // All or none of the updates are applied. At most kMostServices.
  virtual async::Task<Result<void>> UpdateServices(std::vector<ServiceUpdate> updates) = 0;
  // All or none are applied. At most kMostAddresses in all, one update a location.
  virtual async::Task<Result<void>> UpdateLocations(std::vector<LocationUpdate> updates) = 0;

  // Everything of the kind in the resource group, others' resources too.
  virtual async::Task<Result<std::vector<PublicIp>>> PublicIps() = 0;
  virtual async::Task<Result<std::vector<LoadBalancer>>> LoadBalancers() = 0;
  virtual async::Task<Result<std::vector<NatGateway>>> NatGateways() = 0;

  virtual async::Task<Result<PublicIp>> GetPublicIp(std::string name) = 0;
  virtual async::Task<Result<LoadBalancer>> GetLoadBalancer(std::string name) = 0;
  virtual async::Task<Result<NatGateway>> GetNatGateway(std::string name) = 0;

  // Creates the resource if its etag is empty, else replaces the one that has this etag. Returns
  // the resource as the cloud has it then.
  virtual async::Task<Result<PublicIp>> Put(PublicIp wanted, Wanted is_wanted) = 0;
  virtual async::Task<Result<LoadBalancer>> Put(LoadBalancer wanted, Wanted is_wanted) = 0;
  virtual async::Task<Result<NatGateway>> Put(NatGateway wanted, Wanted is_wanted) = 0;

  // Deletes the resource that has this etag.
  virtual async::Task<Result<void>> Delete(PublicIp read, Wanted is_wanted) = 0;
  virtual async::Task<Result<void>> Delete(LoadBalancer read, Wanted is_wanted) = 0;
  virtual async::Task<Result<void>> Delete(NatGateway read, Wanted is_wanted) = 0;
};

// A quota of the subscription is used up: QuotaExceeded, PublicIpCountLimitReached, ….
bool IsQuota(const Error& error);
// Berth's identity may not do this, or is not known: 401, 403.
bool IsForbidden(const Error& error);
// Locations still name the service that was to be deleted.
bool HasMappings(const Error& error);

}  // namespace berth::cloud
