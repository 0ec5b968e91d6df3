#include "cloud/simulator/aliyun/eflo.h"

#include <algorithm>

#include "cloud/simulator/aliyun/eflo_refusals.h"

namespace berth::cloud::simulator {
namespace {

Json ContentOf(const Eni& eni) {
  Json content;
  content["ElasticNetworkInterfaceId"] = eni.id;
  content["NodeId"] = eni.instance_id;
  return content;
}

bool CanBeDeleted(const std::string& status) {
  return status == "Available" || status.ends_with(" Failed");
}

// The ENI that the call asks for, without its node and its address.
std::expected<EniRecord, Refusal> EniToCreate(const Call& call, const VSwitch& vswitch) {
  for (const auto& [name, value] :
       {std::pair{"ZoneId", &vswitch.zone_id}, {"VpcId", &vswitch.vpc_id}}) {
    if (call.Has(name) && call[name] != *value) return Invalid(name);
  }
  auto tags = NumberedTags(call);
  if (!tags) return std::unexpected(tags.error());
  const std::string& group = call["ResourceGroupId"];
  // A create that fails leaves an ENI behind, which is there to be deleted.
  return EniRecord{.eni = {.status = "Create Failed",
                           .type = "Secondary",
                           .traffic_mode = "Standard",
                           .vswitch_id = vswitch.id,
                           .vpc_id = vswitch.vpc_id,
                           .zone_id = vswitch.zone_id,
                           .security_group_ids = {call["SecurityGroupId"]},
                           .resource_group_id = group.empty() ? "rg-default" : group,
                           .created_at = std::chrono::floor<std::chrono::seconds>(call.now),
                           .tags = std::move(*tags)},
                   .description = call["Description"]};
}

}  // namespace

std::string EfloStatus(const std::string& status) {
  return status == "Available" ? "Unattached" : status == "InUse" ? "Available" : status;
}

const std::map<std::string_view, EfloProduct::Action>& EfloProduct::Actions() {
  static const std::map<std::string_view, Action> kActions = {
      {"CreateElasticNetworkInterface", &EfloProduct::CreateElasticNetworkInterface},
      {"AttachElasticNetworkInterface", &EfloProduct::AttachElasticNetworkInterface},
      {"DetachElasticNetworkInterface", &EfloProduct::DetachElasticNetworkInterface},
      {"DeleteElasticNetworkInterface", &EfloProduct::DeleteElasticNetworkInterface},
      {"ListElasticNetworkInterfaces", &EfloProduct::ListElasticNetworkInterfaces},
      {"GetElasticNetworkInterface", &EfloProduct::GetElasticNetworkInterface},
      {"AssignLeniPrivateIpAddress", &EfloProduct::AssignLeniPrivateIpAddress},
      {"UnassignLeniPrivateIpAddress", &EfloProduct::UnassignLeniPrivateIpAddress},
      {"ListLeniPrivateIpAddresses", &EfloProduct::ListLeniPrivateIpAddresses},
  };
  return kActions;
}

bool EfloProduct::Has(std::string_view action) const { return Actions().contains(action); }

Outcome EfloProduct::Do(const Call& call) {
  Settle(call.now);
  if (const auto good = CheckRegion(call, region_, true); !good) {
    return std::unexpected(good.error());
  }
  Outcome content = (this->*Actions().at(call.action))(call);
  Settle(call.now);  // what takes no time
  if (!content) return content;
  Json answer;
  answer["Code"] = 0;
  answer["Message"] = "success";
  answer["Content"] = std::move(*content);
  return answer;
}

void EfloProduct::Settle(async::WallTime now) {
  EniProduct::Settle(now);
  while (const auto due = addresses_due_.Next(store_.now())) EndAddress(*due);
}

Outcome EfloProduct::CreateElasticNetworkInterface(const Call& call) {
  const bool has_node = !call["NodeId"].empty();
  for (const char* name : {"ZoneId", "VSwitchId", "SecurityGroupId"}) {
    if (call[name].empty()) return Missing(name);
  }
  if (!has_node && call["VpcId"].empty()) return Missing("VpcId");
  const auto vswitch = vswitches_.find(call["VSwitchId"]);
  if (vswitch == vswitches_.end()) {
    return Refuse(404, "InvalidVSwitchId.NotFound", "The specified VSwitchId does not exist.");
  }
  auto record = EniToCreate(call, vswitch->second.facts);
  if (!record) return std::unexpected(record.error());
  if (has_node) {
    const auto node = NodeOf(call);
    if (!node) return std::unexpected(node.error());
    if (const auto good = CheckQuota(**node); !good) return std::unexpected(good.error());
  }
  auto address = vswitch->second.pool.Take();
  if (!address) return EfloVSwitchFull();
  record->eni.primary_address = *address;
  record->eni.ipv4.push_back({.address = std::move(*address), .primary = true, .name = {}});
  record->visible_at = call.now + options_.until_visible;
  EniRecord& made = store_.Insert(std::move(*record));
  if (has_node) store_.Join(made, call["NodeId"], "");
  Begin(call, made, "Executing", has_node ? "InUse" : "Available", options_.attaching);
  return ContentOf(made.eni);
}

Outcome EfloProduct::AttachElasticNetworkInterface(const Call& call) {
  const auto record = ToChange(call);
  if (!record) return std::unexpected(record.error());
  const auto node = NodeOf(call);
  if (!node) return std::unexpected(node.error());
  Eni& eni = (*record)->eni;
  if (eni.status != "Available") return EfloWrongState();
  const VSwitch& home = vswitches_.at((*node)->vswitch_id).facts;
  if (home.vpc_id != eni.vpc_id || home.zone_id != eni.zone_id) return Invalid("NodeId");
  if (const auto good = CheckQuota(**node); !good) return std::unexpected(good.error());
  if (eni.ipv4.size() > (*node)->ipv4_per_adapter) return EfloAddressQuota();
  store_.Join(**record, (*node)->id, "");
  (*record)->listed_at = call.now + options_.until_visible;
  Begin(call, **record, "Attaching", "InUse", options_.attaching);
  return ContentOf(eni);
}

Outcome EfloProduct::DetachElasticNetworkInterface(const Call& call) {
  const auto record = ToChange(call);
  if (!record) return std::unexpected(record.error());
  if (call["NodeId"].empty()) return Missing("NodeId");
  const Eni& eni = (*record)->eni;
  if (eni.instance_id != call["NodeId"]) return EfloGone();
  if (eni.status != "InUse") return EfloWrongState();
  Json content = ContentOf(eni);
  Begin(call, **record, "Detaching", "Available", options_.detaching);
  return content;
}

Outcome EfloProduct::DeleteElasticNetworkInterface(const Call& call) {
  const auto record = ToChange(call);
  if (!record) return std::unexpected(record.error());
  if (!CanBeDeleted((*record)->eni.status)) return EfloWrongState();
  Json content = ContentOf((*record)->eni);
  Begin(call, **record, "Deleting", "", options_.deleting);
  return content;
}

std::expected<EniRecord*, Refusal> EfloProduct::Named(const Call& call) {
  if (call["ElasticNetworkInterfaceId"].empty()) return Missing("ElasticNetworkInterfaceId");
  EniRecord* record = store_.Find(call["ElasticNetworkInterfaceId"]);
  if (!record) return EfloGone();
  return record;
}

std::expected<EniRecord*, Refusal> EfloProduct::ToChange(const Call& call) {
  auto record = Named(call);
  if (record && (*record)->eni.type == "Primary") return EfloWrongState();
  return record;
}

std::expected<const Instance*, Refusal> EfloProduct::NodeOf(const Call& call) {
  if (call["NodeId"].empty()) return Missing("NodeId");
  const auto found = instances().find(call["NodeId"]);
  if (found == instances().end()) return EfloGone();
  return &found->second;
}

Check EfloProduct::CheckQuota(const Instance& node) const {
  const auto custom = std::ranges::count_if(store_.OfInstance(node.id), [&](const auto& id) {
    return store_.Find(id)->eni.type != "Primary";
  });
  if (std::cmp_greater_equal(custom, node.adapters)) return EfloNodeFull();
  return {};
}

}  // namespace berth::cloud::simulator
