#pragma once

#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cloud/simulator/aliyun/eip_store.h"
#include "cloud/simulator/aliyun/parameters.h"
#include "cloud/simulator/aliyun/product.h"
#include "cloud/simulator/aliyun/vswitch.h"
#include "cloud/simulator/ids.h"
#include "cloud/vpc.h"

namespace berth::cloud::simulator {

struct VpcOptions {
  std::string region = "cn-hangzhou";
  std::size_t eip_quota = 100'000;
  std::size_t ledger_size = 1'000'000;  // the oldest entries go first

  // How long what the cloud does in the background takes.
  async::Duration until_visible{};  // to DescribeEipAddresses, after AllocateEipAddress
  async::Duration releasing{};
  async::Duration associating{};
  async::Duration unassociating{};
  async::Duration binding{};  // joining a bandwidth package, and leaving it
};

// The part of VPC that keeps elastic IPs and vSwitches, one region of it. What a new address lacks
// until it is visible is only its place in the lists: every other action knows it at once.
//
// O(log n) for an action on one address; a list costs what it looks through: the IDs or addresses
// that were named, or else those that carry the first tag, or else all.
class VpcProduct : public Product {
 public:
  VpcProduct(VpcOptions options, Ids& ids);

  std::string_view version() const override { return "2016-04-28"; }
  bool Has(std::string_view action) const override;
  Outcome Do(const Call& call) override;

  // Lets the time pass: what has fallen due until now happens. Every call does it first.
  void Settle(async::WallTime now) { store_.Settle(now); }

  // Out of band: what others do with the same account. What is empty in `eip` is as the cloud's
  // defaults are; its ID.
  std::string CreateEip(Eip eip);
  // At once, whatever it is used for. Whether there was one.
  bool DeleteEip(const std::string& id);
  // None when there is none. Settled as of the last call.
  const Eip* Find(const std::string& id) const;
  // With all that the cloud knows of it; none when there is none.
  const EipRecord* FindRecord(const std::string& id) const { return store_.Find(id); }
  // An existing EIP, to be changed as others would: protection, management, status, name, … but
  // neither its IDs nor its tags.
  Eip& Edit(const std::string& id) { return store_.At(id).eip; }
  void SetTags(const std::string& id, Tags tags) { store_.SetTags(id, std::move(tags)); }
  std::string CreatePackage(int bandwidth, std::string isp = "BGP") {
    return store_.AddPackage(bandwidth, std::move(isp));
  }
  // A vSwitch, under its own ID or a new one; its ID. VPC and zone have defaults. None when its
  // CIDR is none, its IPv6 CIDR no "…::/64", or the ID is taken.
  std::optional<std::string> CreateVSwitch(VSwitch facts);
  VSwitchRecords& vswitches() { return vswitches_; }
  const VSwitchRecords& vswitches() const { return vswitches_; }
  void SetQuota(std::size_t eips) { options_.eip_quota = eips; }
  // Locks an EIP that exists, as for overdue payments (financial) or abuse (security); no reasons
  // unlock it. Throws std::out_of_range.
  void SetLocks(const std::string& id, std::set<std::string> reasons) {
    store_.At(id).lock_reasons = std::move(reasons);
  }
  // Whether the account can pay for what it orders.
  void SetFunded(bool funded) { funded_ = funded; }

  // Sorted by ID, also those that are not visible yet or are being released.
  std::vector<Eip> Eips() const;
  std::size_t size() const { return store_.all().size(); }
  const std::deque<LedgerEntry>& ledger() const { return store_.ledger(); }

 private:
  using Action = Outcome (VpcProduct::*)(const Call&);
  static const std::map<std::string_view, Action>& Actions();

  Outcome AllocateEipAddress(const Call& call);
  Outcome DescribeEipAddresses(const Call& call);
  Outcome ModifyEipAddressAttribute(const Call& call);
  Outcome ReleaseEipAddress(const Call& call);
  Outcome AssociateEipAddress(const Call& call);
  Outcome UnassociateEipAddress(const Call& call);
  Outcome AddCommonBandwidthPackageIp(const Call& call);
  Outcome RemoveCommonBandwidthPackageIp(const Call& call);
  Outcome DescribeCommonBandwidthPackages(const Call& call);
  Outcome DeletionProtection(const Call& call);
  Outcome TagResources(const Call& call);
  Outcome UntagResources(const Call& call);
  Outcome ListTagResources(const Call& call);
  Outcome MoveResourceGroup(const Call& call);
  Outcome DescribeVSwitches(const Call& call);

  Check CheckRegion(const Call& call, bool mandatory) const {
    return simulator::CheckRegion(call, options_.region, mandatory);
  }
  // The EIP that `parameter` names, if it may be changed now.
  std::expected<EipRecord*, Refusal> ToChange(const Call& call, const std::string& parameter);
  // The same, for a change that a locked EIP does not take.
  std::expected<EipRecord*, Refusal> ToUse(const Call& call, const std::string& parameter);
  Outcome Retag(const Call& call, TagChange change);
  std::expected<BandwidthPackage*, Refusal> PackageOf(const Call& call);

  VpcOptions options_;
  Ids& ids_;
  EipStore store_;
  VSwitchRecords vswitches_;
  bool funded_ = true;
};

}  // namespace berth::cloud::simulator
