// Random calls of Azure beside a naive model of what the cloud should then have.
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <map>
#include <set>
#include <string>

#include "cloud/simulator/azure/cloud.h"
#include "cloud/simulator/azure/test_caller.h"

namespace berth::cloud::simulator::azure {
namespace {

// The cloud as a few maps, and the code that each call should have.
struct Model {
  std::set<std::string> ips;
  std::map<std::string, std::string> balancers;  // and their IPs
  std::map<std::string, std::string> services;   // and their load balancers; empty for none
  std::map<std::string, std::map<std::string, std::set<std::string>>> locations;

  bool UsesIp(const std::string& ip) const {
    for (const auto& [name, used] : balancers) {
      if (used == ip) return true;
    }
    return false;
  }
  std::string PutBalancer(const std::string& name, const std::string& ip) {
    if (!ips.contains(ip)) return "InvalidResourceReference";
    const auto own = balancers.find(name);
    if (UsesIp(ip) && (own == balancers.end() || own->second != ip)) return "PublicIPAddressInUse";
    balancers[name] = ip;
    return "OK";
  }
  std::string DeleteIp(const std::string& name) {
    if (ips.contains(name) && UsesIp(name)) return "PublicIPAddressCannotBeDeleted";
    ips.erase(name);
    return "OK";
  }
  std::string DeleteBalancer(const std::string& name) {
    for (const auto& [service, used] : services) {
      if (used == name && balancers.contains(name)) return "InUseLoadBalancerCannotBeDeleted";
    }
    balancers.erase(name);
    return "OK";
  }
  std::string SetService(const std::string& name, const std::string& balancer) {
    if (!balancer.empty() && !balancers.contains(balancer)) return "InvalidResourceReference";
    services[name] = balancer;
    return "OK";
  }
  std::string DeleteService(const std::string& name) {
    for (const auto& [node, addresses] : locations) {
      for (const auto& [address, names] : addresses) {
        if (names.contains(name)) return "ServiceWithOverlayMappingsCannotBeDeleted";
      }
    }
    services.erase(name);
    return "OK";
  }
  std::string Locate(const std::string& node, bool full, const std::string& address,
                     const std::set<std::string>& names) {
    for (const std::string& name : names) {
      if (!services.contains(name)) return "ServicesNotFoundInServiceGateway";
    }
    auto& addresses = locations[node];
    if (full) addresses.clear();
    addresses[address] = names;
    if (names.empty()) addresses.erase(address);
    if (addresses.empty()) locations.erase(node);
    return "OK";
  }
};

std::string Name(std::string_view prefix) {
  return Format("{}{}", prefix, *rc::gen::inRange(0, 3));
}

class World {
 public:
  void Step() {
    switch (*rc::gen::inRange(0, 8)) {
      case 0: {
        const std::string name = Name("ip");
        model_.ips.insert(name);
        return Expect(Net("PUT", "publicIPAddresses/" + name, caller_.IpBody()), "OK");
      }
      case 1: {
        const std::string name = Name("ip");
        return Expect(Net("DELETE", "publicIPAddresses/" + name), model_.DeleteIp(name));
      }
      case 2: {
        const std::string name = Name("lb");
        const std::string ip = Name("ip");
        const auto body = caller_.BalancerBody(name, ip, {{"Tcp", 80, 8080}});
        return Expect(Net("PUT", "loadBalancers/" + name, body), model_.PutBalancer(name, ip));
      }
      case 3: {
        const std::string name = Name("lb");
        return Expect(Net("DELETE", "loadBalancers/" + name), model_.DeleteBalancer(name));
      }
      case 4:
        return SetService(Name("s"), *rc::gen::arbitrary<bool>() ? Name("lb") : "");
      case 5:
        return DeleteService(Name("s"));
      default:
        return Locate();
    }
  }

  void Check() const {
    std::size_t balancers = 0;
    for (const auto& [key, resource] : cloud_.group().all()) {
      balancers += resource.type == kLoadBalancers;
      if (resource.type == kPublicIps) RC_ASSERT(model_.ips.contains(resource.name));
    }
    RC_ASSERT(balancers == model_.balancers.size());
    RC_ASSERT(cloud_.group().all().size() == model_.ips.size() + balancers);
    RC_ASSERT(cloud_.gateway().services().size() == model_.services.size() + 1);
    RC_ASSERT(cloud_.gateway().locations() == model_.locations);
  }

 private:
  std::string Net(const char* method, const std::string& path, const std::string& body = "") {
    return caller_.Net(method, path, body).Code();
  }
  static void Expect(const std::string& code, const std::string& expected) {
    RC_ASSERT(code == expected);
  }
  void SetService(const std::string& name, const std::string& balancer) {
    const std::string pools =
        balancer.empty() ? ""
                         : Format(R"({{"id":"{}/loadBalancers/{}/backendAddressPools/{}"}})",
                                  caller_.Base(), balancer, balancer);
    const std::string body = Format(
        R"({{"action":"PartialUpdate","serviceRequests":[{{"service":{{"name":"{}","properties":)"
        R"({{"serviceType":"Inbound","loadBalancerBackendPools":[{}]}}}}}}]}})",
        name, pools);
    Expect(caller_.Gateway("updateServices", body).Code(), model_.SetService(name, balancer));
  }
  void DeleteService(const std::string& name) {
    const std::string body =
        Format(R"({{"action":"PartialUpdate","serviceRequests":[{{"isDelete":true,)"
               R"("service":{{"name":"{}"}}}}]}})",
               name);
    Expect(caller_.Gateway("updateServices", body).Code(), model_.DeleteService(name));
  }
  void Locate() {
    const std::string node = Name("10.0.0.");
    const std::string address = Name("10.1.0.");
    const bool full = *rc::gen::arbitrary<bool>();
    std::set<std::string> names;
    std::string list;
    for (int i = *rc::gen::inRange(0, 3); i > 0; --i) names.insert(Name("s"));
    for (const std::string& name : names) list += Format("{}\"{}\"", list.empty() ? "" : ",", name);
    const std::string body = Format(
        R"({{"action":"PartialUpdate","addressLocations":[{{"addressLocation":"{}",)"
        R"("addressUpdateAction":"{}","addresses":[{{"address":"{}","services":[{}]}}]}}]}})",
        node, full ? "FullUpdate" : "PartialUpdate", address, list);
    Expect(caller_.Gateway("updateAddressLocations", body).Code(),
           model_.Locate(node, full, address, names));
  }

  Cloud cloud_{{.limits = {.enabled = false}}};
  TestCaller caller_{cloud_};
  Model model_;
};

TEST(AzurePropertyTest, TheCloudHasWhatANaiveModelHas) {
  EXPECT_TRUE(rc::check([] {
    World world;
    for (int steps = *rc::gen::inRange(0, 60); steps > 0; --steps) {
      world.Step();
      world.Check();
    }
  }));
}

}  // namespace
}  // namespace berth::cloud::simulator::azure
