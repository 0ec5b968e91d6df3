#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "cloud/simulator/azure/resource_group.h"
#include "cloud/simulator/azure/wire.h"

namespace berth::cloud::simulator::azure {

struct Service {
  std::string name;  // as it was first written
  std::string type;  // Inbound, Outbound, InboundOutbound
  bool is_default = false;
  std::vector<std::string> pools;  // IDs
  std::string nat;                 // its ID; empty for none

  friend bool operator==(const Service&, const Service&) = default;
};

// Names of services, in lower case, by address.
using Addresses = std::map<std::string, std::set<std::string>>;

// A service gateway: its services, and the addresses behind node IPs that name them. All or none of
// an update is applied. O(log n) for each entry of an update; a FullUpdate is O(n).
class Gateway {
 public:
  static constexpr std::size_t kMostAddresses = 1'000;  // of an update
  static constexpr std::string_view kDefault = "default-natgw";

  explicit Gateway(ResourceGroup& group);

  // Whether an update would be applied. `body` is that of the POST.
  Check CheckServices(const Json& body) const;
  Check CheckLocations(const Json& body) const;
  Check UpdateServices(const Json& body);
  Check UpdateLocations(const Json& body);

  // As a GET shows them, those after the key `after`.
  std::vector<Json> ListServices(const std::string& after, std::size_t most) const;
  std::vector<Json> ListLocations(const std::string& after, std::size_t most) const;

  // By names in lower case, and by canonical node IPs.
  const std::map<std::string, Service>& services() const { return services_; }
  const std::map<std::string, Addresses>& locations() const { return locations_; }
  // Addresses that name the service.
  std::size_t MappingsOf(const std::string& name) const;

  // Somebody else does it, whatever the rules say. Without any addresses the location goes.
  void Meddle(Service service);
  void EraseService(const std::string& name);
  void SetLocation(const std::string& node_ip, Addresses addresses);

 private:
  struct ServiceChange;
  Or<std::vector<ServiceChange>> ReadServices(const Json& body) const;
  Check CheckChange(const ServiceChange& change) const;
  struct LocationChange;
  Or<std::vector<LocationChange>> ReadLocations(const Json& body) const;
  Or<LocationChange> ReadLocation(const Json& item) const;
  void SetService(const std::string& key, Service service);

  ResourceGroup& group_;
  std::map<std::string, Service> services_;
  std::map<std::string, Addresses> locations_;
  std::map<std::string, std::size_t> mappings_;  // by service
};

}  // namespace berth::cloud::simulator::azure
