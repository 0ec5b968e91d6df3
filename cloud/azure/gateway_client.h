#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cloud/azure/arm_client.h"
#include "cloud/azure/config.h"
#include "cloud/azure/resources.h"
#include "cloud/service_gateway.h"

namespace berth::cloud::azure {

// ServiceGateway on Azure. Its errors are those of ArmClient. A resource is created with
// If-None-Match and replaced or deleted with If-Match: a write never meets a resource that the
// caller has not read.
class GatewayClient : public ServiceGateway {
 public:
  // `arm` outlives this, which outlives its tasks.
  GatewayClient(ArmClient& arm, const Config& config)
      : arm_(arm), ids_(config), location_(config.location) {}

  async::Task<Result<std::vector<GatewayService>>> Services() override;
  async::Task<Result<std::vector<Location>>> Locations() override;
  async::Task<Result<void>> UpdateServices(std::vector<ServiceUpdate> updates) override;
  async::Task<Result<void>> UpdateLocations(std::vector<LocationUpdate> updates) override;

  async::Task<Result<std::vector<PublicIp>>> PublicIps() override;
  async::Task<Result<std::vector<LoadBalancer>>> LoadBalancers() override;
  async::Task<Result<std::vector<NatGateway>>> NatGateways() override;

  async::Task<Result<PublicIp>> GetPublicIp(std::string name) override;
  async::Task<Result<LoadBalancer>> GetLoadBalancer(std::string name) override;
  async::Task<Result<NatGateway>> GetNatGateway(std::string name) override;

  async::Task<Result<PublicIp>> Put(PublicIp wanted, Wanted is_wanted) override;
  async::Task<Result<LoadBalancer>> Put(LoadBalancer wanted, Wanted is_wanted) override;
  async::Task<Result<NatGateway>> Put(NatGateway wanted, Wanted is_wanted) override;

  async::Task<Result<void>> Delete(PublicIp read, Wanted is_wanted) override;
  async::Task<Result<void>> Delete(LoadBalancer read, Wanted is_wanted) override;
  async::Task<Result<void>> Delete(NatGateway read, Wanted is_wanted) override;

 private:
  // A kind of resource: "PublicIPAddress" in actions, kPublicIps in paths.
  template <typename Resource>
  struct Kind;

  template <typename T>
  async::Task<Result<std::vector<T>>> List(std::string action, std::string target,
                                           std::optional<T> (*read)(const Json&,
                                                                    const ResourceIds&));
  template <typename Resource>
  async::Task<Result<std::vector<Resource>>> ListAll();
  template <typename Resource>
  async::Task<Result<Resource>> GetOne(std::string name);
  template <typename Resource>
  async::Task<Result<Resource>> PutOne(Resource wanted, Wanted is_wanted);
  template <typename Resource>
  async::Task<Result<void>> DeleteOne(Resource read, Wanted is_wanted);
  async::Task<Result<void>> Post(std::string action, std::string_view call, std::string resource,
                                 Json body);

  ArmClient& arm_;
  const ResourceIds ids_;
  const std::string location_;
};

}  // namespace berth::cloud::azure
