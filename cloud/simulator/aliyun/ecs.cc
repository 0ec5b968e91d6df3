#include "cloud/simulator/aliyun/ecs.h"

#include <algorithm>

#include "cloud/simulator/aliyun/ecs_refusals.h"

namespace berth::cloud::simulator {
namespace {

// Counts of a CreateNetworkInterface, the cloud's defaults filled in.
struct EniCounts {
  std::size_t ipv4 = 1;
  std::size_t ipv4_prefixes = 0;
  std::size_t ipv6 = 0;
  std::size_t ipv6_prefixes = 0;
};

std::expected<EniCounts, Refusal> CountsOf(const Call& call) {
  EniCounts counts;
  std::size_t secondary = 0;
  struct Parameter {
    const char* name;
    std::size_t* count;
    std::size_t most;
  };
  for (const auto& [name, count, most] :
       {Parameter{"SecondaryPrivateIpAddressCount", &secondary, kMostIpv4 - 1},
        Parameter{"Ipv4PrefixCount", &counts.ipv4_prefixes, 10},
        Parameter{"Ipv6AddressCount", &counts.ipv6, 10},
        Parameter{"Ipv6PrefixCount", &counts.ipv6_prefixes, 10}}) {
    const auto given = Count(call[name], 0);
    if (!given || *given > most || (call.Has(name) && *given == 0)) return Invalid(name);
    *count = *given;
  }
  if (secondary > 0 && counts.ipv4_prefixes > 0) return Invalid("Ipv4PrefixCount");
  if (counts.ipv6 > 0 && counts.ipv6_prefixes > 0) return Invalid("Ipv6PrefixCount");
  counts.ipv4 += secondary;
  return counts;
}

// The ENI that the call asks for, without its addresses.
std::expected<EniRecord, Refusal> EniToCreate(const Call& call) {
  EniRecord record;
  const auto given = [&](const char* name, const char* otherwise) {
    return call[name].empty() ? otherwise : call[name];
  };
  Eni& eni = record.eni;
  eni.type = given("InstanceType", "Secondary");
  if (eni.type != "Secondary" && eni.type != "Trunk") return Invalid("InstanceType");
  eni.traffic_mode = given("NetworkInterfaceTrafficMode", "Standard");
  if (eni.traffic_mode != "Standard" && eni.traffic_mode != "HighPerformance") {
    return Invalid("NetworkInterfaceTrafficMode");
  }
  eni.security_group_ids = Numbered(call, "SecurityGroupIds");
  const std::string& group = call["SecurityGroupId"];
  if (!group.empty() && !eni.security_group_ids.empty()) return Invalid("SecurityGroupIds");
  if (!group.empty()) eni.security_group_ids = {group};
  if (eni.security_group_ids.empty()) return Missing("SecurityGroupId");
  auto tags = NumberedTags(call);
  if (!tags) return std::unexpected(tags.error());
  eni.tags = std::move(*tags);
  eni.resource_group_id = given("ResourceGroupId", "rg-default");
  record.name = call["NetworkInterfaceName"];
  record.description = call["Description"];
  const auto flag = Flag(call, "DeleteOnRelease");
  if (!flag) return std::unexpected(flag.error());
  record.delete_on_release = flag->value_or(true);
  return record;
}

}  // namespace

const std::map<std::string_view, EcsProduct::Action>& EcsProduct::Actions() {
  static const std::map<std::string_view, Action> kActions = {
      {"CreateNetworkInterface", &EcsProduct::CreateNetworkInterface},
      {"AttachNetworkInterface", &EcsProduct::AttachNetworkInterface},
      {"DetachNetworkInterface", &EcsProduct::DetachNetworkInterface},
      {"DeleteNetworkInterface", &EcsProduct::DeleteNetworkInterface},
      {"DescribeNetworkInterfaces", &EcsProduct::DescribeNetworkInterfaces},
      {"AssignPrivateIpAddresses", &EcsProduct::AssignPrivateIpAddresses},
      {"UnassignPrivateIpAddresses", &EcsProduct::UnassignPrivateIpAddresses},
      {"AssignIpv6Addresses", &EcsProduct::AssignIpv6Addresses},
      {"UnassignIpv6Addresses", &EcsProduct::UnassignIpv6Addresses},
      {"DescribeInstances", &EcsProduct::DescribeInstances},
      {"TagResources", &EcsProduct::TagResources},
      {"UntagResources", &EcsProduct::UntagResources},
  };
  return kActions;
}

bool EcsProduct::Has(std::string_view action) const { return Actions().contains(action); }

Outcome EcsProduct::Do(const Call& call) {
  Settle(call.now);
  if (const auto good = CheckRegion(call, region_, true); !good) {
    return std::unexpected(good.error());
  }
  Outcome outcome = (this->*Actions().at(call.action))(call);
  Settle(call.now);  // what takes no time
  return outcome;
}

Outcome EcsProduct::CreateNetworkInterface(const Call& call) {
  auto record = EniToCreate(call);
  if (!record) return std::unexpected(record.error());
  const auto counts = CountsOf(call);
  if (!counts) return std::unexpected(counts.error());
  if (call["VSwitchId"].empty()) return Missing("VSwitchId");
  const auto vswitch = vswitches_.find(call["VSwitchId"]);
  if (vswitch == vswitches_.end()) {
    return Refuse(404, "InvalidVSwitchId.NotFound", "The specified VSwitchId does not exist.");
  }
  if (store_.all().size() >= options_.eni_quota) {
    return Refuse(403, "MaxEniCountExceeded", "The number of ENIs exceeds the quota.");
  }
  Eni& eni = record->eni;
  eni.status = "Available";
  eni.vswitch_id = vswitch->second.facts.id;
  eni.vpc_id = vswitch->second.facts.vpc_id;
  eni.zone_id = vswitch->second.facts.zone_id;
  eni.created_at = std::chrono::floor<std::chrono::seconds>(call.now);
  if (const auto good = GiveIpv6(eni, counts->ipv6, counts->ipv6_prefixes); !good) {
    return std::unexpected(good.error());
  }
  const std::string& primary = call["PrimaryIpAddress"];
  if (!primary.empty()) {
    if (!vswitch->second.pool.Take(primary)) {
      return Refuse(400, "InvalidIPAddress.AlreadyUsed", "The specified IP address is not free.");
    }
    eni.ipv4.push_back({.address = primary, .primary = true, .name = {}});
  }
  const std::size_t ipv4 = counts->ipv4 - eni.ipv4.size();
  if (const auto good = GiveIpv4(eni, ipv4, counts->ipv4_prefixes); !good) {
    if (!primary.empty()) vswitch->second.pool.Give(primary);
    return std::unexpected(good.error());
  }
  eni.ipv4.front().primary = true;
  eni.primary_address = eni.ipv4.front().address;
  record->visible_at = call.now + options_.until_visible;
  return DescribeEni(store_.Insert(std::move(*record)));
}

Outcome EcsProduct::AttachNetworkInterface(const Call& call) {
  const auto record = ToChange(call);
  if (!record) return std::unexpected(record.error());
  const auto instance = InstanceOf(call);
  if (!instance) return std::unexpected(instance.error());
  if (const auto good = CheckAttachment(call, **record, **instance); !good) {
    return std::unexpected(good.error());
  }
  store_.Join(**record, (*instance)->id, call["TrunkNetworkInstanceId"]);
  (*record)->listed_at = call.now + options_.until_visible;
  Begin(call, **record, "Attaching", "InUse", options_.attaching);
  return Json::Object();
}

Check EcsProduct::CheckAttachment(const Call& call, const EniRecord& record,
                                  const Instance& instance) const {
  const Eni& eni = record.eni;
  if (eni.status != "Available") return WrongEniState();
  const VSwitch& home = vswitches_.at(instance.vswitch_id).facts;
  if (home.vpc_id != eni.vpc_id) {
    return Refuse(403, "InvalidOperation.VpcMismatch", "The ENI and the ECS are in other VPCs.");
  }
  if (home.zone_id != eni.zone_id) {
    return Refuse(403, "InvalidOperation.AvailabilityZoneMismatch",
                  "The ENI and the ECS are in other zones.");
  }
  if (instance.status != "Running" && instance.status != "Stopped") {
    return Refuse(400, "InvalidOperation.InvalidEcsState",
                  "The operation is not allowed in the current ECS state.");
  }
  const std::string& trunk_id = call["TrunkNetworkInstanceId"];
  if (trunk_id.empty()) {
    if (store_.AdaptersOf(instance.id) >= instance.adapters) {
      return Refuse(403, "EniPerInstanceLimitExceeded",
                    "The ENIs of the instance exceed the limit of its type.");
    }
  } else {
    const EniRecord* trunk = store_.Find(trunk_id);
    if (!trunk || trunk->eni.type != "Trunk" || trunk->eni.instance_id != instance.id) {
      return Invalid("TrunkNetworkInstanceId");
    }
  }
  if (record.ipv4_used() > instance.ipv4_per_adapter) return TooManyIpv4();
  if (record.ipv6_used() > instance.ipv6_per_adapter) return TooManyIpv6();
  return {};
}

Outcome EcsProduct::DetachNetworkInterface(const Call& call) {
  const auto record = ToChange(call);
  if (!record) return std::unexpected(record.error());
  const auto instance = InstanceOf(call);
  if (!instance) return std::unexpected(instance.error());
  if ((*record)->eni.type == "Primary") {
    return Refuse(403, "InvalidOperation.DetachPrimaryEniNotAllowed",
                  "Detaching the primary ENI is not allowed.");
  }
  if ((*record)->eni.status != "InUse" || (*record)->eni.instance_id != (*instance)->id) {
    return WrongEniState();
  }
  Begin(call, **record, "Detaching", "Available", options_.detaching);
  return Json::Object();
}

Outcome EcsProduct::DeleteNetworkInterface(const Call& call) {
  const auto record = ToChange(call, 403);
  if (!record) return std::unexpected(record.error());
  if ((*record)->eni.status != "Available") return WrongEniState();
  Begin(call, **record, "Deleting", "", options_.deleting);
  return Json::Object();
}

std::expected<EniRecord*, Refusal> EcsProduct::ToChange(const Call& call, int http_code) {
  if (call["NetworkInterfaceId"].empty()) return Missing("NetworkInterfaceId");
  EniRecord* record = store_.Find(call["NetworkInterfaceId"]);
  if (!record) {
    return std::unexpected(
        Refusal{http_code, "InvalidEniId.NotFound", "The specified ENI is not found."});
  }
  if (record->eni.service_managed) {
    return Refuse(403, "InvalidOperation.EniServiceManaged",
                  "The ENI is managed by another product of the cloud.");
  }
  return record;
}

std::expected<const Instance*, Refusal> EcsProduct::InstanceOf(const Call& call) {
  if (call["InstanceId"].empty()) return Missing("InstanceId");
  const auto found = store_.instances().find(call["InstanceId"]);
  if (found == store_.instances().end()) {
    return Refuse(404, "InvalidEcsId.NotFound", "The specified instance does not exist.");
  }
  return &found->second;
}

}  // namespace berth::cloud::simulator
