#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "async/task.h"
#include "cloud/account.h"
#include "http/error.h"

namespace berth::cloud {

struct EniAddress {
  std::string address;
  bool primary = false;
  std::string name;  // by which EFLO knows it; ECS has none

  friend bool operator==(const EniAddress&, const EniAddress&) = default;
};

// An elastic network interface as the cloud tells of it. Fields that the cloud left out are empty.
struct Eni {
  std::string id;
  std::string status;        // Available, Attaching, InUse, Detaching, Deleting, Executing, …
  std::string type;          // Primary, Secondary, Trunk, Member
  std::string traffic_mode;  // Standard, HighPerformance
  std::string mac_address;
  std::string vswitch_id;
  std::string vpc_id;
  std::string zone_id;
  std::vector<std::string> security_group_ids;
  std::string resource_group_id;
  std::string primary_address;
  std::vector<EniAddress> ipv4;  // the primary one among them
  std::vector<std::string> ipv6;
  std::vector<std::string> ipv4_prefixes;  // "10.0.0.16/28"
  std::vector<std::string> ipv6_prefixes;  // "2001:db8::/80"
  std::string instance_id;                 // empty while it is Available
  std::string trunk_eni_id;                // of a Member
  bool service_managed = false;            // by another product of the cloud: not ours to change
  std::optional<std::chrono::system_clock::time_point> created_at;
  Tags tags;

  friend bool operator==(const Eni&, const Eni&) = default;
};

// Its private IPv4 addresses, the primary one among them.
std::vector<std::string> AddressesOf(const Eni& eni);

// An ENI to create. Empty texts are not sent: the cloud has a default.
struct EniRequest {
  std::string client_token;
  std::string vswitch_id;
  std::vector<std::string> security_group_ids;
  std::string traffic_mode;
  bool trunk = false;
  std::string resource_group_id;
  // Addresses in all, the primary one among them: 1 to 50. One where there are prefixes.
  int ipv4_addresses = 1;
  int ipv4_prefixes = 0;
  // Either; at most 10.
  int ipv6_addresses = 0;
  int ipv6_prefixes = 0;
  Tags tags;  // which it has from the first moment on
  // EFLO binds an ENI to its node when it makes it, and asks where that is. ECS takes none of
  // these.
  std::string instance_id;
  std::string zone_id;
  std::string vpc_id;

  friend bool operator==(const EniRequest&, const EniRequest&) = default;
};

struct VSwitch {
  std::string id;
  std::string vpc_id;
  std::string zone_id;
  std::string cidr;
  std::string ipv6_cidr;  // empty without IPv6
  std::size_t free_addresses = 0;

  friend bool operator==(const VSwitch&, const VSwitch&) = default;
};

// The network interfaces of one account in one region, on ECS or EFLO; aliyun::EfloClient tells how
// EFLO differs. Errors are classed:
//
//   kThrottled, kRetry   may be tried again, a create or an assignment with the same client token
//   kAmbiguous           so may these; without a token, look first
//   kConflict            the ENI is not in the state that the call takes it to be in: look
//   kNotFound            the ENI, the address, or the instance of a Detach is gone, as asked for
//   kTerminal            will not get better by itself; see IsVSwitchFull and IsCapacityExceeded
//
// An error's reason is the cloud's code; its message begins with the action and the code and ends
// with the request ID. Calls of one action wait for their turn when there are more than the cloud
// takes. Attach, Detach and Delete are only begun when they are answered: the ENI's status tells
// how they end, and an attach that fails ends in Available. Of the control thread.
class Enis {
 public:
  static constexpr std::size_t kMostIds = 100;      // of one Describe
  static constexpr std::size_t kMostAssigned = 10;  // addresses or prefixes of one Assign

  virtual ~Enis() = default;

  // The new ENI, Available; on EFLO Executing, bound to its node, its addresses not known yet.
  // Lists may lack it for a while.
  virtual async::Task<Result<Eni>> Create(EniRequest request, Wanted wanted) = 0;
  // The ENIs that exist among these and are listed. At most kMostIds; for none there is no call.
  virtual async::Task<Result<std::vector<Eni>>> Describe(std::vector<std::string> ids) = 0;
  // All of the instance, its primary one too. One that has just been attached may be missing.
  virtual async::Task<Result<std::vector<Eni>>> OfInstance(std::string instance) = 0;
  // ENIs that carry the tag, page by page. ECS tells of the first 1,000 by ID: whoever deletes all
  // of them asks again.
  virtual async::Task<Result<std::vector<Eni>>> Tagged(std::string key, std::string value) = 0;

  // The Available ENIs among them, which are attached to nothing.
  virtual async::Task<Result<std::vector<Eni>>> AvailableTagged(std::string key, std::string value);

  // `trunk` is the trunk ENI that a member goes to; empty for none. A kNotFound tells by its reason
  // whether the ENI or the instance is gone.
  virtual async::Task<Result<void>> Attach(std::string id, std::string instance, std::string trunk,
                                           Wanted wanted) = 0;
  virtual async::Task<Result<void>> Detach(std::string id, std::string instance, std::string trunk,
                                           Wanted wanted) = 0;
  virtual async::Task<Result<void>> Delete(std::string id, Wanted wanted) = 0;

  // Each gives an ENI that is Available or InUse `count` more, kMostAssigned at most, and tells
  // which, or none at all.
  using Assigned = async::Task<Result<std::vector<std::string>>>;
  virtual Assigned AssignIpv4(std::string id, int count, std::string client_token) = 0;
  virtual Assigned AssignIpv4Prefixes(std::string id, int count, std::string client_token) = 0;
  virtual Assigned AssignIpv6(std::string id, int count, std::string client_token) = 0;
  virtual Assigned AssignIpv6Prefixes(std::string id, int count, std::string client_token) = 0;

  // Each takes the listed ones from an ENI, all or none. A kNotFound says that one of them was not
  // there: look which are left. For none there is no call.
  using Values = std::vector<std::string>;
  virtual async::Task<Result<void>> UnassignIpv4(std::string id, Values addresses) = 0;
  virtual async::Task<Result<void>> UnassignIpv4Prefixes(std::string id, Values prefixes) = 0;
  virtual async::Task<Result<void>> UnassignIpv6(std::string id, Values addresses) = 0;
  virtual async::Task<Result<void>> UnassignIpv6Prefixes(std::string id, Values prefixes) = 0;

  // The vSwitches that exist among these, a call for each.
  virtual async::Task<Result<std::vector<VSwitch>>> DescribeVSwitches(
      std::vector<std::string> ids) = 0;
};

using EniAccounts = Accounts<Enis>;

// The vSwitch has no addresses left. Another one may.
bool IsVSwitchFull(const Error& error);
// The instance has all ENIs, or the ENI all addresses, that it can have. The caller did not know of
// some of them: list them again.
bool IsCapacityExceeded(const Error& error);

}  // namespace berth::cloud
