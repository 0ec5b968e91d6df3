#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "cloud/aliyun/api_client.h"
#include "cloud/aliyun/key_accounts.h"
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
      : api_(api), check_(std::move(check)) {}

  async::Task<Result<AllocatedEip>> AllocateEip(EipRequest request,
                                                std::function<bool()> wanted) override;
  async::Task<Result<std::vector<Eip>>> DescribeEips(std::vector<std::string> ids) override;
  async::Task<Result<std::vector<Eip>>> EipsTagged(std::string key, std::string value) override;
  async::Task<Result<void>> ModifyEip(std::string id, EipChange change) override;
  async::Task<Result<void>> ReleaseEip(std::string id, std::function<bool()> wanted) override;
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
  async::Task<Result<void>> Do(std::string action, Parameters parameters,
                               std::function<bool()> wanted = {});
  async::Task<Result<void>> CheckWanted(std::function<bool()> wanted, Credential key);

  ApiClient& api_;
  const ApiClient::KeyCheck check_;
};

// The accounts of all keys that `credentials` gives, one after the other. References outlive it.
class VpcClients : public Vpcs {
 public:
  // `api` calls in `region` and has kVpcVersion.
  VpcClients(ApiClient& api, Credentials& credentials, KeyAccounts& accounts, std::string region)
      : api_(api), credentials_(credentials), accounts_(accounts), region_(std::move(region)) {}

  async::Task<Result<Place>> Here() override;
  Vpc& In(const std::string& account) override;

 private:
  async::Task<Result<std::string>> AccountOf(Credential key);
  async::Task<Result<void>> CheckKey(std::string account, Credential key);

  ApiClient& api_;
  Credentials& credentials_;
  KeyAccounts& accounts_;
  const std::string region_;
  std::map<std::string, VpcClient> clients_;  // by account
};

}  // namespace berth::cloud::aliyun
