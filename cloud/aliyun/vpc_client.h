#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cloud/aliyun/api_client.h"
#include "cloud/vpc.h"

namespace berth::cloud::aliyun {

inline constexpr std::string_view kVpcVersion = "2016-04-28";

// The endpoint of the VPC product, as seen from the internet or from inside a VPC of the region.
std::string VpcEndpoint(std::string_view region, bool from_vpc);

// Vpc on Alibaba Cloud. Its errors are those of ApiClient.
class VpcClient : public Vpc {
 public:
  // `api` has kVpcVersion and outlives this, which outlives its tasks.
  explicit VpcClient(ApiClient& api) : api_(api) {}

  async::Task<Result<AllocatedEip>> AllocateEip(EipRequest request) override;
  async::Task<Result<std::vector<Eip>>> DescribeEips(std::vector<std::string> ids) override;
  async::Task<Result<std::vector<Eip>>> EipsTagged(std::string key, std::string value) override;
  async::Task<Result<void>> ModifyEip(std::string id, EipChange change) override;
  async::Task<Result<void>> ReleaseEip(std::string id) override;
  async::Task<Result<void>> UnassociateEip(std::string id) override;
  async::Task<Result<void>> JoinPackage(std::string id, std::string package,
                                        std::string client_token) override;
  async::Task<Result<void>> LeavePackage(std::string id, std::string package,
                                         std::string client_token) override;
  async::Task<Result<void>> TagEips(std::vector<std::string> ids, Tags tags) override;
  async::Task<Result<void>> UntagEips(std::vector<std::string> ids,
                                      std::vector<std::string> keys) override;
  async::Task<Result<void>> MoveEip(std::string id, std::string resource_group) override;

 private:
  // All pages of DescribeEipAddresses.
  async::Task<Result<std::vector<Eip>>> Describe(Parameters filter);
  // A call whose answer says nothing more.
  async::Task<Result<void>> Do(std::string action, Parameters parameters);

  ApiClient& api_;
};

}  // namespace berth::cloud::aliyun
