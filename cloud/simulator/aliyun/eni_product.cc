#include "cloud/simulator/aliyun/eni_product.h"

#include <set>

namespace berth::cloud::simulator {

void EniProduct::Begin(const Call& call, EniRecord& record, const char* status, const char* end,
                       async::Duration delay) {
  const auto fault = TakeFault(call);
  if (fault && fault->kind == Fault::Kind::kSticks) return store_.Rest(record, status);
  store_.Begin(record, status, fault ? record.eni.status : end, delay);
}

std::optional<Fault> EniProduct::TakeFault(const Call& call) {
  return faults_.Take(call.action, {Fault::Kind::kFallsBack, Fault::Kind::kSticks});
}

std::optional<std::string> EniProduct::CreateInstance(Instance instance) {
  const auto vswitch = vswitches_.find(instance.vswitch_id);
  if (instance.id.empty()) instance.id = ids_.Resource(names_.instance);
  if (vswitch == vswitches_.end() || instances().contains(instance.id)) return std::nullopt;
  auto address = vswitch->second.pool.Take();
  if (!address) return std::nullopt;
  const VSwitch& facts = vswitch->second.facts;
  EniRecord primary{.eni = {.status = "InUse",
                            .type = "Primary",
                            .traffic_mode = "Standard",
                            .vswitch_id = facts.id,
                            .vpc_id = facts.vpc_id,
                            .zone_id = facts.zone_id,
                            .resource_group_id = "rg-default",
                            .primary_address = *address,
                            .ipv4 = {{.address = *address, .primary = true, .name = {}}},
                            .created_at = store_.now()}};
  store_.Join(store_.Insert(std::move(primary)), instance.id, "");
  instance.created_at = store_.now();
  std::string id = instance.id;
  store_.instances().emplace(id, std::move(instance));
  return id;
}

bool EniProduct::DeleteInstance(const std::string& id) {
  const std::set<std::string> enis = store_.OfInstance(id);
  for (const std::string& eni : enis) {
    if (store_.Find(eni)->delete_on_release) {
      store_.Erase(eni);
    } else {
      SetStatus(eni, "Available");
    }
  }
  return store_.instances().erase(id) > 0;
}

bool EniProduct::DeleteEni(const std::string& id) {
  if (!store_.Find(id)) return false;
  store_.Erase(id);
  return true;
}

void EniProduct::SetStatus(const std::string& id, std::string status) {
  EniRecord& record = *store_.Find(id);
  if (status == "Available") store_.Leave(record);
  store_.Rest(record, std::move(status));
}

const Eni* EniProduct::Find(const std::string& id) const {
  const EniRecord* record = store_.Find(id);
  return record ? &record->eni : nullptr;
}

}  // namespace berth::cloud::simulator
