#include "cloud/simulator/azure/gateway.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "log/format.h"

namespace berth::cloud::simulator::azure {
namespace {

std::string Referrer(const std::string& service) { return Format("services/{}", service); }

// Whether an update replaces everything; the error of an unknown action.
Or<bool> IsFull(const Json& body, std::string_view member) {
  const std::string action = TextAt(body, member);
  if (action == "FullUpdate") return true;
  if (action == "PartialUpdate") return false;
  return Malformed(Format("The value of {} is not valid.", member));
}

std::unexpected<Refusal> NoReference(const std::string& id) {
  return Refuse(400, "InvalidResourceReference", Format("Resource {} was not found.", id));
}

}  // namespace

struct Gateway::ServiceChange {
  std::string key;
  bool is_delete = false;
  Service wanted;
};

struct Gateway::LocationChange {
  std::string node_ip;
  bool full = false;
  Addresses addresses;
};

Gateway::Gateway(ResourceGroup& group) : group_(group) {
  Meddle({.name = std::string(kDefault), .type = "Outbound", .is_default = true});
}

// The changes that a request asks for; of a FullUpdate the deletions too.
Or<std::vector<Gateway::ServiceChange>> Gateway::ReadServices(const Json& body) const {
  const auto full = IsFull(body, "action");
  if (!full) return std::unexpected(full.error());
  const Json& requests = At(body, "serviceRequests");
  if (!requests.is_array()) return Malformed("There are no serviceRequests.");
  std::vector<ServiceChange> changes;
  std::set<std::string> named;
  for (const Json& request : requests.array_range()) {
    const Json& service = At(request, "service");
    const Json& properties = At(service, "properties");
    ServiceChange change{.key = Lower(TextAt(service, "name")),
                         .is_delete = TextAt(request, "isDelete") == "true"};
    if (change.key.empty()) return Malformed("A service has no name.");
    if (!named.insert(change.key).second) {
      return Refuse(400, "DuplicateServicesInRequest", "A service is there twice.");
    }
    const auto old = services_.find(change.key);
    if (old != services_.end()) change.wanted = old->second;
    if (change.wanted.name.empty()) change.wanted.name = TextAt(service, "name");
    if (const std::string type = TextAt(properties, "serviceType"); !type.empty()) {
      change.wanted.type = type;
    }
    if (properties.contains("isDefault")) {
      change.wanted.is_default = TextAt(properties, "isDefault") == "true";
    }
    if (const Json* pools = properties.find("loadBalancerBackendPools")) {
      if (!pools->is_array()) return Malformed("loadBalancerBackendPools is no list.");
      change.wanted.pools.clear();
      for (const Json& pool : pools->array_range()) {
        change.wanted.pools.push_back(TextAt(pool, "id"));
      }
    }
    if (properties.contains("publicNatGatewayId")) {
      change.wanted.nat = TextAt(properties, "publicNatGatewayId");  // empty for null
    }
    changes.push_back(std::move(change));
  }
  if (!*full) return changes;
  for (const auto& [key, service] : services_) {
    if (!named.contains(key) && !service.is_default) {
      changes.push_back({.key = key, .is_delete = true, .wanted = service});
    }
  }
  return changes;
}

Check Gateway::CheckChange(const ServiceChange& change) const {
  const auto old = services_.find(change.key);
  if (change.is_delete) {
    if (old != services_.end() && old->second.is_default) {
      return Refuse(400, "DefaultServiceCannotBeRemoved", "The default service stays.");
    }
    if (MappingsOf(change.key) > 0) {
      return Refuse(400, "ServiceWithOverlayMappingsCannotBeDeleted",
                    Format("Service {} has overlay mappings.", change.key));
    }
    return {};
  }
  const Service& wanted = change.wanted;
  if (wanted.type != "Inbound" && wanted.type != "Outbound" && wanted.type != "InboundOutbound") {
    return Malformed("The value of serviceType is not valid.");
  }
  if (wanted.is_default) {
    for (const auto& [key, service] : services_) {
      if (service.is_default && key != change.key) {
        return Refuse(400, "MultipleDefaultServicesNotAllowedInServiceGateway",
                      Format("{} is the default service.", service.name));
      }
    }
  }
  for (const std::string& pool : wanted.pools) {
    const Resource* balancer = group_.Find(group_.KeyOf(pool));
    if (!balancer || balancer->type != kLoadBalancers) return NoReference(pool);
  }
  const Resource* nat = wanted.nat.empty() ? nullptr : group_.Find(group_.KeyOf(wanted.nat));
  if (!wanted.nat.empty() && (!nat || nat->type != kNatGateways)) return NoReference(wanted.nat);
  return {};
}

Check Gateway::CheckServices(const Json& body) const {
  const auto changes = ReadServices(body);
  if (!changes) return std::unexpected(changes.error());
  for (const ServiceChange& change : *changes) {
    if (auto checked = CheckChange(change); !checked) return checked;
  }
  return {};
}

Check Gateway::UpdateServices(const Json& body) {
  if (auto checked = CheckServices(body); !checked) return checked;
  auto changes = ReadServices(body);
  for (ServiceChange& change : *changes) {
    if (change.is_delete) {
      EraseService(change.key);
    } else {
      SetService(change.key, std::move(change.wanted));
    }
  }
  return {};
}

void Gateway::SetService(const std::string& key, Service service) {
  std::set<std::string> targets;
  for (const std::string& pool : service.pools) targets.insert(group_.KeyOf(pool));
  if (!service.nat.empty()) targets.insert(group_.KeyOf(service.nat));
  group_.SetReferences(Referrer(key), std::move(targets));
  services_.insert_or_assign(key, std::move(service));
}

void Gateway::Meddle(Service service) {
  const std::string key = Lower(service.name);
  SetService(key, std::move(service));
}

void Gateway::EraseService(const std::string& name) {
  group_.SetReferences(Referrer(name), {});
  services_.erase(name);
}

std::size_t Gateway::MappingsOf(const std::string& name) const {
  const auto found = mappings_.find(name);
  return found == mappings_.end() ? 0 : found->second;
}

Or<Gateway::LocationChange> Gateway::ReadLocation(const Json& item) const {
  const auto node_ip = CanonicalAddress(TextAt(item, "addressLocation"));
  if (!node_ip) return Malformed("An addressLocation is no IP address.");
  const auto full = IsFull(item, "addressUpdateAction");
  if (!full) return std::unexpected(full.error());
  const Json& addresses = At(item, "addresses");
  if (!addresses.is_array()) return Malformed("The addresses of a location are no list.");
  LocationChange change{.node_ip = *node_ip, .full = *full || addresses.empty()};
  for (const Json& entry : addresses.array_range()) {
    const auto address = CanonicalAddress(TextAt(entry, "address"));
    const Json& services = At(entry, "services");
    if (!address) return Malformed("An address is no IP address.");
    if (!services.is_array()) return Malformed("The services of an address are no list.");
    if (IsV6(*address) != IsV6(*node_ip)) {
      return Refuse(400, "AddressFamilyMismatchInLocation",
                    Format("{} is not of the family of {}.", *address, *node_ip));
    }
    auto [place, is_new] = change.addresses.try_emplace(*address);
    if (!is_new) return Refuse(400, "DuplicateAddressesInRequest", "An address is there twice.");
    for (const Json& service : services.array_range()) {
      const std::string name = Lower(service.as<std::string>());
      if (!services_.contains(name)) {
        return Refuse(400, "ServicesNotFoundInServiceGateway",
                      Format("Service {} is not registered.", name));
      }
      place->second.insert(name);
    }
  }
  return change;
}

Or<std::vector<Gateway::LocationChange>> Gateway::ReadLocations(const Json& body) const {
  const auto full = IsFull(body, "action");
  if (!full) return std::unexpected(full.error());
  const Json& items = At(body, "addressLocations");
  if (!items.is_array()) return Malformed("There are no addressLocations.");
  std::vector<LocationChange> changes;
  std::set<std::string> named;
  std::size_t addresses = 0;
  for (const Json& item : items.array_range()) {
    auto change = ReadLocation(item);
    if (!change) return std::unexpected(change.error());
    if (!named.insert(change->node_ip).second) {
      return Refuse(400, "DuplicateLocationsInRequest",
                    Format("The location {} is there twice.", change->node_ip));
    }
    addresses += change->addresses.size();
    changes.push_back(*std::move(change));
  }
  if (addresses > kMostAddresses) {
    return Refuse(400, "TooManyAddressesInRequest", "An update has at most 1,000 addresses.");
  }
  if (!*full) return changes;
  for (const auto& [node_ip, all] : locations_) {
    if (!named.contains(node_ip)) changes.push_back({.node_ip = node_ip, .full = true});
  }
  return changes;
}

Check Gateway::CheckLocations(const Json& body) const {
  const auto changes = ReadLocations(body);
  return changes ? Check() : std::unexpected(changes.error());
}

Check Gateway::UpdateLocations(const Json& body) {
  auto changes = ReadLocations(body);
  if (!changes) return std::unexpected(changes.error());
  for (LocationChange& change : *changes) {
    const auto old = locations_.find(change.node_ip);
    Addresses now = change.full || old == locations_.end() ? Addresses() : old->second;
    for (auto& [address, services] : change.addresses) {
      now.insert_or_assign(address, std::move(services));
    }
    std::erase_if(now, [](const auto& entry) { return entry.second.empty(); });
    SetLocation(change.node_ip, std::move(now));
  }
  return {};
}

void Gateway::SetLocation(const std::string& node_ip, Addresses addresses) {
  Addresses& place = locations_[node_ip];
  for (const auto& [address, services] : place) {
    for (const std::string& service : services) {
      if (--mappings_[service] == 0) mappings_.erase(service);
    }
  }
  for (const auto& [address, services] : addresses) {
    for (const std::string& service : services) ++mappings_[service];
  }
  place = std::move(addresses);
  if (place.empty()) locations_.erase(node_ip);
}

std::vector<Json> Gateway::ListServices(const std::string& after, std::size_t most) const {
  std::vector<Json> list;
  for (auto at = services_.upper_bound(after); at != services_.end() && list.size() < most; ++at) {
    const Service& service = at->second;
    Json properties;
    properties["serviceType"] = service.type;
    properties["isDefault"] = service.is_default;
    Json pools = Json::Array();
    for (const std::string& id : service.pools) {
      Json pool;
      pool["id"] = id;
      pools.push_back(std::move(pool));
    }
    properties["loadBalancerBackendPools"] = std::move(pools);
    if (!service.nat.empty()) properties["publicNatGatewayId"] = service.nat;
    Json shown;
    shown["name"] = service.name;
    shown["properties"] = std::move(properties);
    list.push_back(std::move(shown));
  }
  return list;
}

std::vector<Json> Gateway::ListLocations(const std::string& after, std::size_t most) const {
  std::vector<Json> list;
  for (auto at = locations_.upper_bound(after); at != locations_.end() && list.size() < most;
       ++at) {
    Json addresses = Json::Array();
    for (const auto& [address, services] : at->second) {
      Json entry;
      entry["address"] = Shown(address);
      entry["services"] = std::vector<std::string>(services.begin(), services.end());
      addresses.push_back(std::move(entry));
    }
    Json shown;
    shown["addressLocation"] = Shown(at->first);
    shown["addresses"] = std::move(addresses);
    list.push_back(std::move(shown));
  }
  return list;
}

}  // namespace berth::cloud::simulator::azure
