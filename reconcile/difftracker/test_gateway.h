#pragma once

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "async/executor.h"
#include "async/task.h"
#include "cloud/service_gateway.h"
#include "log/format.h"

namespace berth::difftracker {

// For tests only: a service gateway in memory that keeps the cloud's rules about order, without
// HTTP. Every call takes `latency`; a test decides the fate of each by its action.
class TestGateway : public cloud::ServiceGateway {
 public:
  struct Fate {
    std::optional<Error> error;
    bool applied = false;  // though there is an error
  };

  explicit TestGateway(async::Executor& executor) : executor_(executor) {}

  std::function<Fate(const std::string& action, const std::string& what)> fate;
  async::Duration latency = std::chrono::milliseconds(20);
  std::map<std::string, int> calls;  // by action

  std::map<std::string, cloud::GatewayService> services;
  std::map<std::string, std::map<std::string, std::vector<std::string>>> locations;
  std::map<std::string, cloud::PublicIp> ips;
  std::map<std::string, cloud::LoadBalancer> balancers;
  std::map<std::string, cloud::NatGateway> nats;
  std::vector<std::string> broken;  // rules that a caller broke and no error is told for

  async::Task<Result<std::vector<cloud::GatewayService>>> Services() override {
    auto called = co_await Call("Services", "");
    if (called.error) co_return std::unexpected(*called.error);
    std::vector<cloud::GatewayService> list;
    list.reserve(services.size());
    for (const auto& [name, service] : services) list.push_back(service);
    co_return list;
  }
  async::Task<Result<std::vector<cloud::Location>>> Locations() override {
    auto called = co_await Call("Locations", "");
    if (called.error) co_return std::unexpected(*called.error);
    std::vector<cloud::Location> list;
    for (const auto& [node, addresses] : locations) {
      cloud::Location location{.node_ip = node, .addresses = {}};
      for (const auto& [address, names] : addresses) location.addresses.push_back({address, names});
      list.push_back(std::move(location));
    }
    co_return list;
  }
  async::Task<Result<void>> UpdateServices(std::vector<cloud::ServiceUpdate> updates) override {
    auto called = co_await Call("UpdateServices", Format("{}", updates.size()));
    if (called.error && !called.applied) co_return std::unexpected(*called.error);
    for (const auto& update : updates) {
      if (update.is_delete && IsNamed(update.name))
        co_return Refused("ServiceWithOverlayMappingsCannotBeDeleted", update.name);
    }
    for (const auto& update : updates) Apply(update);
    if (called.error) co_return std::unexpected(*called.error);
    co_return Result<void>();
  }
  async::Task<Result<void>> UpdateLocations(std::vector<cloud::LocationUpdate> updates) override {
    std::string all;
    for (const auto& update : updates) {
      all += update.location.node_ip + " ";
      for (const auto& address : update.location.addresses) all += address.address + " ";
    }
    auto called = co_await Call("UpdateLocations", all);
    if (called.error && !called.applied) co_return std::unexpected(*called.error);
    for (const auto& update : updates) Apply(update);
    if (called.error) co_return std::unexpected(*called.error);
    co_return Result<void>();
  }
  async::Task<Result<std::vector<cloud::PublicIp>>> PublicIps() override {
    return List("PublicIps", &ips);
  }
  async::Task<Result<std::vector<cloud::LoadBalancer>>> LoadBalancers() override {
    return List("LoadBalancers", &balancers);
  }
  async::Task<Result<std::vector<cloud::NatGateway>>> NatGateways() override {
    return List("NatGateways", &nats);
  }
  async::Task<Result<cloud::PublicIp>> GetPublicIp(std::string name) override {
    return Get("GetPublicIp", &ips, std::move(name));
  }
  async::Task<Result<cloud::LoadBalancer>> GetLoadBalancer(std::string name) override {
    return Get("GetLoadBalancer", &balancers, std::move(name));
  }
  async::Task<Result<cloud::NatGateway>> GetNatGateway(std::string name) override {
    return Get("GetNatGateway", &nats, std::move(name));
  }
  async::Task<Result<cloud::PublicIp>> Put(cloud::PublicIp wanted, cloud::Wanted w) override {
    if (wanted.address.empty())
      wanted.address = wanted.ipv6 ? Format("2001:db8::{}", ++last_) : Format("20.0.0.{}", ++last_);
    return PutInto("PutPublicIp", &ips, std::move(wanted), std::move(w));
  }
  async::Task<Result<cloud::LoadBalancer>> Put(cloud::LoadBalancer wanted,
                                               cloud::Wanted w) override {
    if (!ips.contains(wanted.public_ip)) broken.push_back("no public IP of " + wanted.name);
    return ShowUsers(PutInto("PutLoadBalancer", &balancers, std::move(wanted), std::move(w)));
  }
  async::Task<Result<cloud::NatGateway>> Put(cloud::NatGateway wanted, cloud::Wanted w) override {
    return ShowUsers(PutInto("PutNatGateway", &nats, std::move(wanted), std::move(w)));
  }
  async::Task<Result<void>> Delete(cloud::PublicIp read, cloud::Wanted w) override {
    const bool used = IsUsed(read.name);
    return DeleteFrom("DeletePublicIp", &ips, read.name,
                      used ? "PublicIPAddressCannotBeDeleted" : "", std::move(w));
  }
  async::Task<Result<void>> Delete(cloud::LoadBalancer read, cloud::Wanted w) override {
    const auto service = services.find(read.name);
    const bool used = service != services.end() && !service->second.backend_pools.empty();
    return ShowUsers(
        DeleteFrom("DeleteLoadBalancer", &balancers, read.name, used ? "InUse" : "", std::move(w)));
  }
  async::Task<Result<void>> Delete(cloud::NatGateway read, cloud::Wanted w) override {
    const bool used = nats.contains(read.name) && nats.at(read.name).in_gateway;
    return ShowUsers(
        DeleteFrom("DeleteNatGateway", &nats, read.name, used ? "InUse" : "", std::move(w)));
  }

  bool IsNamed(const std::string& service) const {
    return std::ranges::any_of(locations, [&](const auto& location) {
      return std::ranges::any_of(location.second, [&](const auto& address) {
        return std::ranges::contains(address.second, service);
      });
    });
  }
  std::size_t addresses() const {
    std::size_t count = 0;
    for (const auto& [node, all] : locations) count += all.size();
    return count;
  }

 private:
  static std::unexpected<Error> Refused(const std::string& code, const std::string& what) {
    return std::unexpected(Error{.error_class = ErrorClass::kTerminal,
                                 .reason = code,
                                 .message = Format("{}: {}", code, what),
                                 .code = 400});
  }
  bool IsUsed(const std::string& ip) const {
    return std::ranges::any_of(balancers,
                               [&](const auto& each) { return each.second.public_ip == ip; }) ||
           std::ranges::any_of(nats, [&](const auto& each) {
             return std::ranges::contains(each.second.public_ips, ip) ||
                    std::ranges::contains(each.second.public_ips_v6, ip);
           });
  }

  // Public IPs show their users.
  template <typename T>
  async::Task<T> ShowUsers(async::Task<T> write) {
    T result = co_await std::move(write);
    for (auto& [name, ip] : ips) ip.used_by = UserOf(name, ip.used_by);
    co_return result;
  }
  std::string UserOf(const std::string& ip, const std::string& before) const {
    for (const auto& [name, balancer] : balancers) {
      if (balancer.public_ip == ip) return Format("/x/loadBalancers/{}/frontend", name);
    }
    for (const auto& [name, nat] : nats) {
      if (std::ranges::contains(nat.public_ips, ip) ||
          std::ranges::contains(nat.public_ips_v6, ip)) {
        return "/x/natGateways/" + name;
      }
    }
    const bool is_known = before.starts_with("/x/");
    return is_known ? "" : before;
  }

  async::Task<Fate> Call(std::string action, std::string what) {
    co_await async::Sleep(executor_, latency);
    ++calls[action];
    co_return fate ? fate(action, what) : Fate{};
  }

  template <typename T>
  async::Task<Result<std::vector<T>>> List(std::string action, std::map<std::string, T>* from) {
    auto called = co_await Call(std::move(action), "");
    if (called.error) co_return std::unexpected(*called.error);
    std::vector<T> list;
    for (const auto& [name, entry] : *from) list.push_back(entry);
    co_return list;
  }
  template <typename T>
  async::Task<Result<T>> Get(std::string action, std::map<std::string, T>* from, std::string name) {
    auto called = co_await Call(std::move(action), name);
    if (called.error) co_return std::unexpected(*called.error);
    const auto found = from->find(name);
    if (found == from->end()) {
      co_return std::unexpected(
          Error{ErrorClass::kNotFound, "ResourceNotFound", name + " is not there", 404});
    }
    co_return found->second;
  }
  template <typename T>
  async::Task<Result<T>> PutInto(std::string action, std::map<std::string, T>* into, T wanted,
                                 cloud::Wanted is_wanted) {
    if (is_wanted && !co_await is_wanted())
      co_return std::unexpected(Error{ErrorClass::kConflict, "NotSent", "not wanted any more"});
    auto called = co_await Call(std::move(action), wanted.name);
    if (called.error && !called.applied) co_return std::unexpected(*called.error);
    const auto found = into->find(wanted.name);
    if (found == into->end() ? !wanted.etag.empty() : wanted.etag != found->second.etag)
      co_return std::unexpected(Error{ErrorClass::kConflict, "Etag", "etags differ", 412});
    wanted.etag = Format("{}", ++last_);
    wanted.succeeded = true;
    into->insert_or_assign(wanted.name, wanted);
    if (called.error) co_return std::unexpected(*called.error);
    co_return wanted;
  }
  template <typename T>
  async::Task<Result<void>> DeleteFrom(std::string action, std::map<std::string, T>* from,
                                       std::string name, std::string refusal,
                                       cloud::Wanted is_wanted) {
    if (is_wanted && !co_await is_wanted())
      co_return std::unexpected(Error{ErrorClass::kConflict, "NotSent", "not wanted any more"});
    auto called = co_await Call(std::move(action), name);
    if (called.error && !called.applied) co_return std::unexpected(*called.error);
    if (!refusal.empty()) {
      broken.push_back(Format("{} of {}", refusal, name));
      co_return std::unexpected(Error{ErrorClass::kRetry, refusal, name, 400});
    }
    from->erase(name);
    if (called.error) co_return std::unexpected(*called.error);
    co_return Result<void>();
  }

  void Apply(const cloud::ServiceUpdate& update) {
    if (update.is_delete) {
      services.erase(update.name);
      return;
    }
    auto& service = services[update.name];
    service.name = update.name;
    service.type = update.type;
    if (update.load_balancer) {
      service.backend_pools.clear();
      if (!update.load_balancer->empty())
        service.backend_pools.push_back(Format("/x/loadBalancers/{}/backendAddressPools/{}",
                                               *update.load_balancer, *update.load_balancer));
    }
    if (update.nat_gateway)
      service.nat_gateway_id =
          update.nat_gateway->empty() ? "" : Format("/x/natGateways/{}", *update.nat_gateway);
  }
  void Apply(const cloud::LocationUpdate& update) {
    auto& location = locations[update.location.node_ip];
    if (update.full) location.clear();
    for (const auto& address : update.location.addresses) {
      for (const std::string& name : address.services) {
        if (!services.contains(name)) broken.push_back("a location names " + name);
      }
      if (address.services.empty()) {
        location.erase(address.address);
      } else {
        location[address.address] = address.services;
      }
    }
    if (location.empty()) locations.erase(update.location.node_ip);
  }

  async::Executor& executor_;
  int last_ = 0;
};

}  // namespace berth::difftracker
