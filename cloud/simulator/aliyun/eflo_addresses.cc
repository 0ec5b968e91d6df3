// The calls of EfloProduct about secondary addresses, which are given and taken one by one.
#include <algorithm>
#include <utility>

#include "cloud/simulator/aliyun/eflo.h"
#include "cloud/simulator/aliyun/eflo_refusals.h"

namespace berth::cloud::simulator {
namespace {

constexpr std::size_t kMostAddresses = 50;  // of an ENI without a node

bool CanBeUnassigned(const std::string& status) {
  return status == "Available" || status.ends_with(" Failed");
}

}  // namespace

Outcome EfloProduct::AssignLeniPrivateIpAddress(const Call& call) {
  const auto record = ToChange(call);
  if (!record) return std::unexpected(record.error());
  Eni& eni = (*record)->eni;
  if (eni.status != "Available" && eni.status != "InUse") return EfloWrongState();
  const std::size_t most =
      eni.instance_id.empty() ? kMostAddresses : instances().at(eni.instance_id).ipv4_per_adapter;
  if (eni.ipv4.size() >= most) return EfloAddressQuota();
  AddressPool& pool = vswitches_.at(eni.vswitch_id).pool;
  std::string address = call["PrivateIpAddress"];
  if (address.empty()) {
    auto taken = pool.Take();
    if (!taken) return EfloVSwitchFull();
    address = std::move(*taken);
  } else if (!pool.Take(address)) {
    return Refuse(400, "InvalidIPAddress.AlreadyUsed", "The specified IP address is not free.");
  }
  const std::string name = ids_.Resource("sip");
  eni.ipv4.push_back({.address = std::move(address), .primary = false, .name = name});
  BeginAddress(call, **record, name, "Executing", "Available");
  Json content;
  content["ElasticNetworkInterfaceId"] = eni.id;
  content["IpName"] = name;
  return content;
}

Outcome EfloProduct::UnassignLeniPrivateIpAddress(const Call& call) {
  const auto record = ToChange(call);
  if (!record) return std::unexpected(record.error());
  const std::string& name = call["IpName"];
  if (name.empty()) return Missing("IpName");
  const auto status = (*record)->address_status.find(name);
  if (status == (*record)->address_status.end()) return EfloGone();
  if (!CanBeUnassigned(status->second)) return EfloWrongState();
  BeginAddress(call, **record, name, "Deleting", "");
  Json content;
  content["ElasticNetworkInterfaceId"] = (*record)->eni.id;
  content["IpName"] = name;
  return content;
}

void EfloProduct::BeginAddress(const Call& call, EniRecord& record, const std::string& name,
                               const std::string& status, const std::string& end) {
  const std::string before = std::exchange(record.address_status[name], status);
  const auto fault = TakeFault(call);
  if (fault && fault->kind == Fault::Kind::kSticks) return;
  // An address that could not be given is there to be taken away.
  const std::string back = before.empty() ? "Create Failed" : before;
  addresses_due_.Add(
      call.now + std::chrono::duration_cast<async::WallTime::duration>(options_.assigning),
      {record.eni.id, name, fault ? back : end});
}

void EfloProduct::EndAddress(const AddressDue& due) {
  EniRecord* record = store_.Find(due.eni);
  if (!record) return;
  if (!due.end.empty()) {
    record->address_status[due.name] = due.end;
    return;
  }
  const auto ip = std::ranges::find(record->eni.ipv4, due.name, &EniAddress::name);
  vswitches_.at(record->eni.vswitch_id).pool.Give(ip->address);
  record->eni.ipv4.erase(ip);
  record->address_status.erase(due.name);
}

}  // namespace berth::cloud::simulator
