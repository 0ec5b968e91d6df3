#include "reconcile/eip/status.h"

#include <utility>

#include "kube/conditions.h"
#include "kube/patch.h"
#include "log/timestamp.h"

namespace berth::eip {
namespace {

using kube::ConditionStatus;

constexpr const char* kReady = "Ready";

void PutFacts(Json& facts, const cloud::Eip& eip) {
  const auto put = [&](const char* name, const std::string& text) {
    facts[name] = text.empty() ? Json::null() : Json(text);
  };
  put("eipAddress", eip.address);
  put("status", eip.status);
  put("isp", eip.isp);
  put("internetChargeType", eip.internet_charge_type);
  put("instanceChargeType", eip.instance_charge_type);
  put("bandwidth", eip.bandwidth);
  put("bandwidthPackageID", eip.bandwidth_package_id);
  put("resourceGroupID", eip.resource_group_id);
  put("name", eip.name);
  put("publicIPAddressPoolID", eip.public_ip_address_pool_id);
  put("description", eip.description);
}

bool SetConditions(Json& conditions, const Report& report, std::int64_t generation,
                   async::WallTime now) {
  bool changed = false;
  for (const auto& [type, holds] : {std::pair<std::string, bool>(kReady, report.ready),
                                    {"Synced", report.synced},
                                    {"Progressing", report.progressing}}) {
    changed |=
        kube::SetCondition(conditions,
                           {.type = type,
                            .status = holds ? ConditionStatus::kTrue : ConditionStatus::kFalse,
                            .reason = report.reason,
                            .message = type == kReady ? report.message : "",
                            .observed_generation = generation},
                           now);
  }
  return changed;
}

}  // namespace

std::optional<Json> StatusPatch(const Object& object, Json facts, const cloud::Eip* eip,
                                const Report& report, async::WallTime now) {
  if (eip) PutFacts(facts, *eip);
  facts["observedGeneration"] = object.id.generation;
  const Json status = object.status.empty() || object.status == "null" ? Json::Object()
                                                                       : Json::parse(object.status);
  Json wanted = status;
  for (const auto& fact : facts.object_range()) wanted[fact.key()] = fact.value();
  Json conditions = status.get_value_or<Json>("conditions", Json::Array());
  if (SetConditions(conditions, report, object.id.generation, now)) {
    wanted["conditions"] = std::move(conditions);
  }
  auto patch = kube::MergePatch(status, wanted);
  if (!patch) return std::nullopt;
  if (report.synced) (*patch)["lastSyncTime"] = FormatTime(now);
  return patch;
}

Report Report::Of(const Object& object) {
  const bool was_new = object.told_reason.empty();
  const bool deleting = object.id.deleting != 0;
  // The conditions of an earlier spec, or of the time before the deletion, are not repeated. An EIP
  // that the cloud lists is not Lost.
  if (was_new || deleting || object.told_reason == "Lost" ||
      (object.told_ready && !object.ToldReadyNow())) {
    return {.progressing = true,
            .reason = deleting  ? "Deleting"
                      : was_new ? "Creating"
                                : "Updating",
            .message = deleting ? "the deletion waits for its turn at the cloud"
                                : "comparing the EIP with the cloud"};
  }
  return {.ready = object.told_ready,
          .synced = object.told_synced,
          .progressing = object.told_progressing,
          .reason = object.told_reason,
          .message = object.told_message};
}

Json TextsOf(const cloud::Tags& tags) {
  Json json;
  for (const auto& [key, value] : tags) json[key] = value;
  return json;
}

}  // namespace berth::eip
