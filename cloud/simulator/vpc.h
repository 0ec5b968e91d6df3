#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "cloud/simulator/ids.h"
#include "cloud/simulator/product.h"
#include "cloud/vpc.h"

namespace berth::cloud::simulator {

// An elastic IP came or went, and who wanted it so: the caller of a key, or nobody when it was done
// out of band.
struct LedgerEntry {
  enum class Event { kAllocated, kReleased };

  Event event;
  async::WallTime at;
  std::string allocation_id;
  std::string address;
  std::string by;
  std::string client_token;  // of an allocation
};

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

// The part of VPC that keeps elastic IPs, one region of it. What a new address lacks until it is
// visible is only its place in the lists: every other action knows it at once.
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
  void Settle(async::WallTime now);

  // Out of band: what others do with the same account. What is empty in `eip` is as the cloud's
  // defaults are; its ID.
  std::string CreateEip(Eip eip);
  // At once, whatever it is used for. Whether there was one.
  bool DeleteEip(const std::string& id);
  // None when there is none. Settled as of the last call.
  const Eip* Find(const std::string& id) const;
  // One that exists, to be changed as others would: protection, management, status, name, … but
  // neither its IDs nor its tags.
  Eip& Edit(const std::string& id) { return eips_.at(id).eip; }
  void SetTags(const std::string& id, Tags tags);
  std::string CreatePackage(int bandwidth, std::string isp = "BGP");
  void SetQuota(std::size_t eips) { options_.eip_quota = eips; }
  // Whether the account can pay for what it orders.
  void SetFunded(bool funded) { funded_ = funded; }

  // Sorted by ID, also those that are not visible yet or are being released.
  std::vector<Eip> Eips() const;
  std::size_t size() const { return eips_.size(); }
  const std::deque<LedgerEntry>& ledger() const { return ledger_; }

 private:
  struct Record {
    Eip eip;
    async::WallTime allocated_at;
    bool visible = false;
  };
  struct Package {
    int bandwidth = 0;
    std::string isp;
    std::set<std::string> members;
  };
  // What ends by itself.
  enum class Phase { kInvisible, kStatus, kPackage };
  struct Due {
    std::string id;
    Phase phase;
  };
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
  Outcome TagResources(const Call& call);
  Outcome UntagResources(const Call& call);
  Outcome ListTagResources(const Call& call);
  Outcome MoveResourceGroup(const Call& call);

  Check CheckRegion(const Call& call, bool mandatory) const;
  // The one that `parameter` names, if it may be changed now.
  std::expected<Record*, Refusal> ToChange(const Call& call, const std::string& parameter);
  // Those that ResourceId.N name.
  std::expected<std::vector<Record*>, Refusal> ToTag(const Call& call);
  std::expected<Package*, Refusal> PackageOf(const Call& call);
  // The visible ones that may be meant, to be looked through.
  std::vector<const Record*> Candidates(const std::vector<std::string>& ids,
                                        const std::vector<std::string>& addresses,
                                        const Call& call) const;
  Json Describe(const Record& record) const;

  Record& Insert(Eip eip, async::WallTime at);
  void Erase(const std::string& id);
  void Enter(LedgerEntry entry);
  void After(const Call& call, async::Duration delay, const std::string& id, Phase phase);
  void End(const Due& due);
  std::string NextAddress();

  VpcOptions options_;
  Ids& ids_;
  bool funded_ = true;
  async::WallTime now_{};
  std::map<std::string, Record> eips_;
  std::map<std::string, std::string> by_address_;  // to the ID
  std::set<std::array<std::string, 3>> by_tag_;    // key, value, ID
  std::map<std::string, Package> packages_;
  std::multimap<async::WallTime, Due> due_;
  std::deque<LedgerEntry> ledger_;
  std::uint32_t last_address_ = 0;
};

}  // namespace berth::cloud::simulator
