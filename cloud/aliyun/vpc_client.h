#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cloud/aliyun/account_clients.h"
#include "cloud/aliyun/api_client.h"
#include "cloud/vpc.h"

namespace berth::cloud::aliyun {

inline constexpr std::string_view kVpcVersion = "2016-04-28";

// The endpoint of the VPC product, as seen from the internet or from inside a VPC of the region.
std::string VpcEndpoint(std::string_view region, bool from_vpc);

// Vpc on Alibaba Cloud. Its errors are those of ApiClient.
class VpcClient : public Vpc {
 public:
  // `api` has kVpcVersion and outlives this, which outlives its tasks. `check` as ApiClient::Call
  // has it.
  explicit VpcClient(ApiClient& api, ApiClient::KeyCheck check = {})
      : api_(api, std::move(check)) {}

  async::Task<Result<AllocatedEip>> AllocateEip(EipRequest request, Wanted wanted) override;
  async::Task<Result<std::vector<Eip>>> DescribeEips(std::vector<std::string> ids) override;
  async::Task<Result<std::vector<Eip>>> EipsTagged(std::string key, std::string value) override;
  async::Task<Result<void>> ModifyEip(std::string id, EipChange change, Wanted wanted) override;
  async::Task<Result<void>> ReleaseEip(std::string id, Wanted wanted) override;
  async::Task<Result<void>> UnassociateEip(std::string id, Wanted wanted) override;
  async::Task<Result<void>> JoinPackage(std::string id, std::string package,
                                        std::string client_token, Wanted wanted) override;
  async::Task<Result<void>> LeavePackage(std::string id, std::string package,
                                         std::string client_token, Wanted wanted) override;
  async::Task<Result<void>> TagEips(std::vector<std::string> ids, Tags tags,
                                    Wanted wanted) override;
  async::Task<Result<void>> UntagEips(std::vector<std::string> ids, std::vector<std::string> keys,
                                      Wanted wanted) override;
  async::Task<Result<void>> MoveEip(std::string id, std::string resource_group,
                                    Wanted wanted) override;

 private:
  // All pages of DescribeEipAddresses.
  async::Task<Result<std::vector<Eip>>> Describe(Parameters filter);

  AccountApi api_;
};

// `api` calls in the region and has kVpcVersion.
using VpcClients = AccountClients<Vpc, VpcClient, ApiClient>;

}  // namespace berth::cloud::aliyun
