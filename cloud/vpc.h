#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "async/task.h"
#include "cloud/account.h"
#include "http/error.h"

namespace berth::cloud {

// An elastic IP as the cloud tells of it. What the cloud did not say is empty.
struct Eip {
  std::string allocation_id;
  std::string address;
  std::string status;  // Available, Associating, InUse, Unassociating, Releasing
  std::string isp;
  std::string internet_charge_type;
  std::string instance_charge_type;
  std::string bandwidth;                    // its own, in Mbps, in a package too
  std::string bandwidth_package_id;         // empty when it is in none
  std::string bandwidth_package_status;     // BINDING, BINDED, …; Alibaba's EIPs do not say it
  std::string bandwidth_package_bandwidth;  // which is what counts then
  std::string resource_group_id;
  std::string name;
  std::string description;
  std::string public_ip_address_pool_id;
  std::string instance_id;  // what it is associated with
  std::string instance_type;
  std::vector<std::string> security_protection_types;
  bool deletion_protection = false;
  bool service_managed = false;  // by another product of the cloud: not ours to change
  // Normal; FinancialLocked when the account owes money, SecurityLocked, …
  std::string business_status;
  std::vector<std::string> lock_reasons;  // why it carries no traffic; empty when it does
  Tags tags;

  friend bool operator==(const Eip&, const Eip&) = default;
};

// An EIP to allocate. Empty texts are not sent: the cloud has a default.
struct EipRequest {
  std::string client_token;
  std::string bandwidth;
  std::string isp;
  std::string internet_charge_type;
  std::string instance_charge_type;
  std::string public_ip_address_pool_id;
  std::string resource_group_id;
  std::string name;
  std::string description;
  std::vector<std::string> security_protection_types;
  Tags tags;  // which it has from the first moment on
  // For PrePaid.
  int period = 0;
  std::string pricing_cycle;  // Month, Year
  bool auto_pay = false;

  friend bool operator==(const EipRequest&, const EipRequest&) = default;
};

struct AllocatedEip {
  std::string allocation_id;
  std::string address;
};

// ModifyEipAddressAttribute changes the members that are set.
struct EipChange {
  std::optional<std::string> bandwidth;
  std::optional<std::string> name;
  std::optional<std::string> description;
};

// The part of a cloud's network API that keeps elastic IPs, one account in one region. Errors are
// classed: kThrottled, kRetry and kAmbiguous may be tried again, a write with the same client
// token; kNotFound means that what was to be gone is gone; kTerminal will not get better by itself.
// An error's reason is the cloud's code; its message begins with the action and the code and ends
// with the request ID. Calls of one action wait for their turn when there are more than the cloud
// takes. Of the control thread.
class Vpc {
 public:
  static constexpr std::size_t kMostIds = 50;  // of one DescribeEips

  using Wanted = cloud::Wanted;

  virtual ~Vpc() = default;

  virtual async::Task<Result<AllocatedEip>> AllocateEip(EipRequest request, Wanted wanted) = 0;
  // The EIPs that exist among these. At most kMostIds; for none there is no call.
  virtual async::Task<Result<std::vector<Eip>>> DescribeEips(std::vector<std::string> ids) = 0;
  // All that carry the tag, page by page. One that goes meanwhile may hide another from a page.
  virtual async::Task<Result<std::vector<Eip>>> EipsTagged(std::string key, std::string value) = 0;
  virtual async::Task<Result<void>> ModifyEip(std::string id, EipChange change, Wanted wanted) = 0;
  virtual async::Task<Result<void>> ReleaseEip(std::string id, Wanted wanted) = 0;
  virtual async::Task<Result<void>> UnassociateEip(std::string id, Wanted wanted) = 0;
  virtual async::Task<Result<void>> JoinPackage(std::string id, std::string package,
                                                std::string client_token, Wanted wanted) = 0;
  virtual async::Task<Result<void>> LeavePackage(std::string id, std::string package,
                                                 std::string client_token, Wanted wanted) = 0;
  virtual async::Task<Result<void>> TagEips(std::vector<std::string> ids, Tags tags,
                                            Wanted wanted) = 0;
  virtual async::Task<Result<void>> UntagEips(std::vector<std::string> ids,
                                              std::vector<std::string> keys, Wanted wanted) = 0;
  virtual async::Task<Result<void>> MoveEip(std::string id, std::string resource_group,
                                            Wanted wanted) = 0;
};

using Vpcs = Accounts<Vpc>;

}  // namespace berth::cloud
