#include "cloud/simulator/aliyun/vpc.h"

#include <ranges>
#include <utility>

#include "cloud/simulator/aliyun/eip_list.h"

namespace berth::cloud::simulator {

VpcProduct::VpcProduct(VpcOptions options, Ids& ids)
    : options_(std::move(options)), ids_(ids), store_(ids, options_.ledger_size) {}

const std::map<std::string_view, VpcProduct::Action>& VpcProduct::Actions() {
  static const std::map<std::string_view, Action> kActions = {
      {"AllocateEipAddress", &VpcProduct::AllocateEipAddress},
      {"DescribeEipAddresses", &VpcProduct::DescribeEipAddresses},
      {"ModifyEipAddressAttribute", &VpcProduct::ModifyEipAddressAttribute},
      {"ReleaseEipAddress", &VpcProduct::ReleaseEipAddress},
      {"AssociateEipAddress", &VpcProduct::AssociateEipAddress},
      {"UnassociateEipAddress", &VpcProduct::UnassociateEipAddress},
      {"AddCommonBandwidthPackageIp", &VpcProduct::AddCommonBandwidthPackageIp},
      {"RemoveCommonBandwidthPackageIp", &VpcProduct::RemoveCommonBandwidthPackageIp},
      {"DescribeCommonBandwidthPackages", &VpcProduct::DescribeCommonBandwidthPackages},
      {"DeletionProtection", &VpcProduct::DeletionProtection},
      {"TagResources", &VpcProduct::TagResources},
      {"UnTagResources", &VpcProduct::UntagResources},
      {"ListTagResources", &VpcProduct::ListTagResources},
      {"MoveResourceGroup", &VpcProduct::MoveResourceGroup},
      {"DescribeVSwitches", &VpcProduct::DescribeVSwitches},
  };
  return kActions;
}

bool VpcProduct::Has(std::string_view action) const { return Actions().contains(action); }

Outcome VpcProduct::Do(const Call& call) {
  Settle(call.now);
  Outcome outcome = (this->*Actions().at(call.action))(call);
  Settle(call.now);  // what takes no time
  return outcome;
}

Outcome VpcProduct::DescribeEipAddresses(const Call& call) {
  if (const auto good = CheckRegion(call, true); !good) return std::unexpected(good.error());
  return DescribeEips(store_, options_.region, call);
}

std::string VpcProduct::CreateEip(Eip eip) {
  const auto fill = [](std::string& field, const char* value) {
    if (field.empty()) field = value;
  };
  fill(eip.status, "Available");
  fill(eip.isp, "BGP");
  fill(eip.internet_charge_type, "PayByTraffic");
  fill(eip.instance_charge_type, "PostPaid");
  fill(eip.bandwidth, "5");
  fill(eip.resource_group_id, "rg-default");
  EipRecord& record = store_.Insert(std::move(eip), store_.now());
  record.visible = true;
  const Eip& made = record.eip;
  store_.Enter(
      {LedgerEntry::Event::kAllocated, store_.now(), made.allocation_id, made.address, {}, {}});
  return made.allocation_id;
}

bool VpcProduct::DeleteEip(const std::string& id) {
  const EipRecord* record = store_.Find(id);
  if (!record) return false;
  store_.Enter({LedgerEntry::Event::kReleased, store_.now(), id, record->eip.address, {}, {}});
  store_.Erase(id);
  return true;
}

const Eip* VpcProduct::Find(const std::string& id) const {
  const EipRecord* record = store_.Find(id);
  return record ? &record->eip : nullptr;
}

std::vector<Eip> VpcProduct::Eips() const {
  std::vector<Eip> eips;
  eips.reserve(size());
  for (const EipRecord& record : std::views::values(store_.all())) eips.push_back(record.eip);
  return eips;
}

}  // namespace berth::cloud::simulator
