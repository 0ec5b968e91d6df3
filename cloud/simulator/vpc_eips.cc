// The calls of VpcProduct that make, change and release an EIP.
#include <utility>

#include "cloud/simulator/eip_refusals.h"
#include "cloud/simulator/eip_rules.h"
#include "cloud/simulator/parameters.h"
#include "cloud/simulator/vpc.h"

namespace berth::cloud::simulator {

Outcome VpcProduct::AllocateEipAddress(const Call& call) {
  if (const auto good = CheckRegion(call, true); !good) return std::unexpected(good.error());
  auto eip = EipToAllocate(call);
  if (!eip) return std::unexpected(eip.error());
  if (store_.all().size() >= options_.eip_quota) {
    return Refuse(400, "QuotaExceeded.Eip", "Elastic IP address quota exceeded");
  }
  if (!funded_) {
    return Refuse(400, "InsufficientBalance.Eip", "Your account does not have enough balance.");
  }
  const Eip& made = store_.Insert(std::move(*eip), call.now).eip;
  store_.EndAt(call.now + options_.until_visible, made.allocation_id, EipStore::Phase::kInvisible);
  store_.Enter({LedgerEntry::Event::kAllocated, call.now, made.allocation_id, made.address,
                call.caller, call["ClientToken"]});
  Json answer = Json::Object();
  answer["AllocationId"] = made.allocation_id;
  answer["EipAddress"] = made.address;
  answer["ResourceGroupId"] = made.resource_group_id;
  if (made.instance_charge_type == "PrePaid") answer["OrderId"] = ids_.Order();
  return answer;
}

Outcome VpcProduct::ModifyEipAddressAttribute(const Call& call) {
  if (const auto good = CheckRegion(call, false); !good) return std::unexpected(good.error());
  const auto record = ToChange(call, "AllocationId");
  if (!record) return std::unexpected(record.error());
  auto modified = EipModified((*record)->eip, call);
  if (!modified) return std::unexpected(modified.error());
  (*record)->eip = std::move(*modified);
  return Json::Object();
}

Outcome VpcProduct::ReleaseEipAddress(const Call& call) {
  if (const auto good = CheckRegion(call, false); !good) return std::unexpected(good.error());
  const auto record = ToChange(call, "AllocationId");
  if (!record) return std::unexpected(record.error());
  Eip& eip = (*record)->eip;
  if (eip.instance_charge_type == "PrePaid") {
    return Refuse(400, "Forbidden.ChargeTypeIsPrepaid", "It's forbidden to release a prepaid EIP");
  }
  if (eip.deletion_protection) {
    return Refuse(400, "InvalidOperation.DeletionProtection",
                  "The instance cannot be deleted because of deletion protection.");
  }
  if (eip.status != "Available") return WrongStatus();
  if (IsBeingMoved(eip)) return PackageBusy();
  eip.status = "Releasing";
  store_.EndAt(call.now + options_.releasing, eip.allocation_id, EipStore::Phase::kStatus);
  store_.Enter(
      {LedgerEntry::Event::kReleased, call.now, eip.allocation_id, eip.address, call.caller, {}});
  return Json::Object();
}

Outcome VpcProduct::AssociateEipAddress(const Call& call) {
  if (const auto good = CheckRegion(call, false); !good) return std::unexpected(good.error());
  if (call["InstanceId"].empty()) return Missing("InstanceId");
  const auto record = ToChange(call, "AllocationId");
  if (!record) return std::unexpected(record.error());
  Eip& eip = (*record)->eip;
  if (eip.status != "Available") return WrongStatus();
  eip.status = "Associating";
  eip.instance_id = call["InstanceId"];
  eip.instance_type = call["InstanceType"].empty() ? "EcsInstance" : call["InstanceType"];
  store_.EndAt(call.now + options_.associating, eip.allocation_id, EipStore::Phase::kStatus);
  return Json::Object();
}

Outcome VpcProduct::UnassociateEipAddress(const Call& call) {
  if (const auto good = CheckRegion(call, false); !good) return std::unexpected(good.error());
  const auto record = ToChange(call, "AllocationId");
  if (!record) return std::unexpected(record.error());
  Eip& eip = (*record)->eip;
  if (eip.status != "InUse") return WrongStatus();
  eip.status = "Unassociating";
  store_.EndAt(call.now + options_.unassociating, eip.allocation_id, EipStore::Phase::kStatus);
  return Json::Object();
}

Outcome VpcProduct::MoveResourceGroup(const Call& call) {
  if (const auto good = CheckRegion(call, true); !good) return std::unexpected(good.error());
  if (!IsResource(call["ResourceType"], "eip")) return Invalid("ResourceType");
  if (call["NewResourceGroupId"].empty()) return Missing("NewResourceGroupId");
  if (!call["NewResourceGroupId"].starts_with("rg-")) return Invalid("NewResourceGroupId");
  const auto record = ToChange(call, "ResourceId");
  if (!record) return std::unexpected(record.error());
  (*record)->eip.resource_group_id = call["NewResourceGroupId"];
  return Json::Object();
}

std::expected<EipRecord*, Refusal> VpcProduct::ToChange(const Call& call,
                                                        const std::string& parameter) {
  const std::string& id = call[parameter];
  if (id.empty()) return Missing(parameter);
  EipRecord* record = store_.Find(id);
  if (!record) {
    return Refuse(404, "InvalidAllocationId.NotFound", "Specified allocation ID is not found");
  }
  const Eip& eip = record->eip;
  if (eip.service_managed) {
    return Refuse(400, "OperationUnsupported.ServiceManaged",
                  "Operation is forbidden because this instance belongs to Service manager.");
  }
  // An EIP in transition can only be described.
  if (eip.status != "Available" && eip.status != "InUse") return WrongStatus();
  return record;
}

}  // namespace berth::cloud::simulator
