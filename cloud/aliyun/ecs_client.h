#pragma once

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cloud/aliyun/account_clients.h"
#include "cloud/aliyun/api_client.h"
#include "cloud/eni.h"

namespace berth::cloud::aliyun {

inline constexpr std::string_view kEcsVersion = "2014-05-26";

// The endpoint of the ECS product, as seen from the internet or from inside a VPC of the region.
std::string EcsEndpoint(std::string_view region, bool from_vpc);

// Calls of each action that ECS, and VPC of vSwitches, take in a minute: for ApiOptions::limits.
std::map<std::string, int> EniLimits();

// The products that network interfaces are kept with.
struct EniApis {
  ApiClient& ecs;  // kEcsVersion
  ApiClient& vpc;  // kVpcVersion
};

// Enis on Alibaba Cloud's ECS. Its errors are those of ApiClient.
class EcsClient : public Enis {
 public:
  // The clients outlive this, which outlives its tasks. `check` as ApiClient::Call has it.
  explicit EcsClient(const EniApis& apis, const ApiClient::KeyCheck& check = {})
      : ecs_(apis.ecs, check), vpc_(apis.vpc, check) {}

  async::Task<Result<Eni>> Create(EniRequest request, Wanted wanted) override;
  async::Task<Result<std::vector<Eni>>> Describe(std::vector<std::string> ids) override;
  async::Task<Result<std::vector<Eni>>> OfInstance(std::string instance) override;
  async::Task<Result<std::vector<Eni>>> Tagged(std::string key, std::string value) override;
  async::Task<Result<std::vector<Eni>>> AvailableTagged(std::string key,
                                                        std::string value) override;
  async::Task<Result<void>> Attach(std::string id, std::string instance, std::string trunk,
                                   Wanted wanted) override;
  async::Task<Result<void>> Detach(std::string id, std::string instance, std::string trunk,
                                   Wanted wanted) override;
  async::Task<Result<void>> Delete(std::string id, Wanted wanted) override;
  Assigned AssignIpv4(std::string id, int count, std::string client_token) override;
  Assigned AssignIpv4Prefixes(std::string id, int count, std::string client_token) override;
  Assigned AssignIpv6(std::string id, int count, std::string client_token) override;
  Assigned AssignIpv6Prefixes(std::string id, int count, std::string client_token) override;
  async::Task<Result<void>> UnassignIpv4(std::string id, Values addresses) override;
  async::Task<Result<void>> UnassignIpv4Prefixes(std::string id, Values prefixes) override;
  async::Task<Result<void>> UnassignIpv6(std::string id, Values addresses) override;
  async::Task<Result<void>> UnassignIpv6Prefixes(std::string id, Values prefixes) override;
  async::Task<Result<std::vector<VSwitch>>> DescribeVSwitches(
      std::vector<std::string> ids) override;

 private:
  // All pages of DescribeNetworkInterfaces.
  async::Task<Result<std::vector<Eni>>> List(Parameters filter);
  // An Assign action: what it calls the count, and where its answer lists what was assigned.
  struct Assignment {
    const char* action;
    const char* count;
    const char* set;
    const char* item;
  };
  Assigned Assign(Assignment assignment, std::string id, int count, std::string client_token);
  async::Task<Result<void>> Unassign(std::string action, std::string id, std::string name,
                                     Values values);

  AccountApi ecs_;
  AccountApi vpc_;
};

using EniClients = AccountClients<Enis, EcsClient, const EniApis>;

}  // namespace berth::cloud::aliyun
