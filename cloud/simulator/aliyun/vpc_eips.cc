// The calls of VpcProduct that make, change and release an EIP.
#include <set>
#include <string_view>
#include <utility>

#include "cloud/simulator/aliyun/eip_refusals.h"
#include "cloud/simulator/aliyun/eip_rules.h"
#include "cloud/simulator/aliyun/parameters.h"
#include "cloud/simulator/aliyun/vpc.h"

namespace berth::cloud::simulator {
namespace {

const std::set<std::string_view> kInstanceTypes = {"EcsInstance", "SlbInstance",      "Nat",
                                                   "HaVip",       "NetworkInterface", "IpAddress"};
const std::set<std::string_view> kModes = {"NAT", "MULTI_BINDED", "BINDED"};

// Parameters of AssociateEipAddress, the cloud's defaults filled in.
struct AssociationRequest {
  std::string instance_type;
  Association association;
};

std::expected<AssociationRequest, Refusal> ReadAssociation(const Call& call,
                                                           const std::string& region) {
  const auto given = [&](const char* name, std::string otherwise) {
    return call[name].empty() ? otherwise : call[name];
  };
  AssociationRequest request{.instance_type = given("InstanceType", "EcsInstance"),
                             .association = {.mode = given("Mode", "NAT"),
                                             .private_address = call["PrivateIpAddress"],
                                             .vpc_id = call["VpcId"],
                                             .instance_region = given("InstanceRegionId", region)}};
  if (call["InstanceId"].empty()) return Missing("InstanceId");
  if (!kInstanceTypes.contains(request.instance_type)) return Invalid("InstanceType");
  if (!kModes.contains(request.association.mode)) return Invalid("Mode");
  if (request.instance_type == "IpAddress" && call["VpcId"].empty()) return Missing("VpcId");
  return request;
}

}  // namespace

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
  EipRecord& record = store_.Insert(std::move(*eip), call.now);
  if (const auto term = SubscriptionTerm(call)) record.expires = call.now + *term;
  const Eip& made = record.eip;
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
  const auto record = ToUse(call, "AllocationId");
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
  auto request = ReadAssociation(call, options_.region);
  if (!request) return std::unexpected(request.error());
  const auto record = ToUse(call, "AllocationId");
  if (!record) return std::unexpected(record.error());
  Eip& eip = (*record)->eip;
  if (eip.status != "Available") return WrongStatus();
  if (const auto go = CheckDryRun(call); !go) return std::unexpected(go.error());
  eip.status = "Associating";
  eip.instance_id = call["InstanceId"];
  eip.instance_type = std::move(request->instance_type);
  (*record)->association = std::move(request->association);
  store_.EndAt(call.now + options_.associating, eip.allocation_id, EipStore::Phase::kStatus);
  return Json::Object();
}

Outcome VpcProduct::UnassociateEipAddress(const Call& call) {
  if (const auto good = CheckRegion(call, false); !good) return std::unexpected(good.error());
  const auto record = ToChange(call, "AllocationId");
  if (!record) return std::unexpected(record.error());
  Eip& eip = (*record)->eip;
  if (eip.status != "InUse") return WrongStatus();
  const std::string& instance = call["InstanceId"];
  if (!instance.empty() && instance != eip.instance_id) return Invalid("InstanceId");
  if (const auto force = Flag(call, "Force"); !force) return std::unexpected(force.error());
  eip.status = "Unassociating";
  store_.EndAt(call.now + options_.unassociating, eip.allocation_id, EipStore::Phase::kStatus);
  return Json::Object();
}

Outcome VpcProduct::DeletionProtection(const Call& call) {
  if (const auto good = CheckRegion(call, true); !good) return std::unexpected(good.error());
  if (call["Type"] != "EIP") return Invalid("Type");
  const auto enable = Flag(call, "ProtectionEnable");
  if (!enable) return std::unexpected(enable.error());
  if (!*enable) return Missing("ProtectionEnable");
  const auto record = ToChange(call, "InstanceId");
  if (!record) return std::unexpected(record.error());
  (*record)->eip.deletion_protection = **enable;
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

std::expected<EipRecord*, Refusal> VpcProduct::ToUse(const Call& call,
                                                     const std::string& parameter) {
  const auto record = ToChange(call, parameter);
  if (record && !(*record)->lock_reasons.empty()) return WrongStatus();
  return record;
}

}  // namespace berth::cloud::simulator
