#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "async/executor.h"
#include "cloud/aliyun/account_clients.h"
#include "cloud/aliyun/api_client.h"
#include "cloud/aliyun/eflo_lists.h"
#include "cloud/aliyun/eflo_look.h"
#include "cloud/eni.h"

namespace berth::cloud::aliyun {

inline constexpr std::string_view kEfloVersion = "2022-05-30";

// The endpoint of the EFLO product, as seen from the internet or from inside a VPC of the region.
std::string EfloEndpoint(std::string_view region, bool from_vpc);

// Calls of each action that EFLO takes in a minute: for ApiOptions::limits.
std::map<std::string, int> EfloLimits();

// The products that the network interfaces of Lingjun nodes are kept with.
struct EfloApis {
  async::Executor& executor;
  ApiClient& eflo;  // kEfloVersion, ApiOptions::form
  ApiClient& vpc;   // kVpcVersion
};

// Enis on Alibaba Cloud's EFLO, which keeps the ENIs of Lingjun nodes. Its errors are those of
// ApiClient. EFLO differs from what Enis says:
//
//   Create     binds the ENI to its node (`instance_id`). The new ENI is Executing, then InUse or
//              "Create Failed"; its addresses are not known yet. Of the security groups the first
//              one counts. One address only: AssignIpv4 gives others
//   status     also Executing, and "Create Failed", "Attach Failed", "Detach Failed", "Delete
//              Failed"; an ENI that has failed can be deleted
//   Describe   costs as EfloLook says
//   lists      have ENIs of type CUSTOM only, not the node's own. ENIs that are neither Available
//              nor InUse have their primary address only
//   Attach     a kNotFound does not tell whether the ENI or the node is gone; of a Detach it may
//              also be that the ENI is not on this node any more
//   AssignIpv4 gives one address a call, and ends once the address can be used: kAmbiguous if that
//              takes longer than kAssignLooks looks, kConflict if it fails
//   UnassignIpv4  goes address by address: after an error, look which are left
//
// There are no trunks, no high-performance ENIs, no prefixes and no IPv6 addresses to assign: who
// asks for them gets a kTerminal, and nothing is sent.
class EfloClient : public Enis {
 public:
  static constexpr int kAssignLooks = 10;
  static constexpr async::Duration kAssignPause = std::chrono::seconds(2);

  // The executor and the clients outlive this, which outlives its tasks. `check` as ApiClient::Call
  // has it.
  explicit EfloClient(const EfloApis& apis, const ApiClient::KeyCheck& check = {})
      : executor_(apis.executor), eflo_(apis.eflo, check), vpc_(apis.vpc, check) {}
  EfloClient(const EfloClient&) = delete;
  EfloClient& operator=(const EfloClient&) = delete;

  async::Task<Result<Eni>> Create(EniRequest request, Wanted wanted) override;
  async::Task<Result<std::vector<Eni>>> Describe(std::vector<std::string> ids) override;
  async::Task<Result<std::vector<Eni>>> OfInstance(std::string instance) override;
  async::Task<Result<std::vector<Eni>>> Tagged(std::string key, std::string value) override;
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
  async::Task<Result<void>> OnNode(std::string action, std::string id, std::string node,
                                   std::string trunk, Wanted wanted);
  // The address by this name, once it can be used.
  async::Task<Result<std::string>> AwaitAddress(std::string id, std::string name);
  async::Task<Result<void>> UnassignName(std::string id, std::string name);

  async::Executor& executor_;
  AccountApi eflo_;
  AccountApi vpc_;
  EfloLists lists_{eflo_};
  EfloLook look_{lists_};
};

using LeniClients = AccountClients<Enis, EfloClient, const EfloApis>;

}  // namespace berth::cloud::aliyun
