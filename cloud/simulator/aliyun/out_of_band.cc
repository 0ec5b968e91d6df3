#include "cloud/simulator/aliyun/out_of_band.h"

#include <cstdint>
#include <set>
#include <utility>

#include "cloud/simulator/aliyun/console.h"
#include "json/json.h"

namespace berth::cloud::simulator {
namespace {

Json Show(const EipRecord& record) {
  const cloud::Eip& eip = record.eip;
  Json json;
  json["allocationID"] = eip.allocation_id;
  json["address"] = eip.address;
  json["status"] = eip.status;
  json["bandwidth"] = eip.bandwidth;
  json["bandwidthPackageID"] = eip.bandwidth_package_id;
  json["resourceGroupID"] = eip.resource_group_id;
  json["name"] = eip.name;
  json["description"] = eip.description;
  json["instanceID"] = eip.instance_id;
  json["instanceChargeType"] = eip.instance_charge_type;
  json["deletionProtection"] = eip.deletion_protection;
  json["lockReason"] = record.lock_reasons.empty() ? "" : *record.lock_reasons.begin();
  Json tags;
  for (const auto& [key, value] : eip.tags) tags[key] = value;
  json["tags"] = std::move(tags);
  return json;
}

Json Ledger(const Cloud& cloud) {
  std::uint64_t allocated = 0;
  std::uint64_t released = 0;
  for (const LedgerEntry& entry : cloud.vpc().ledger()) {
    ++(entry.event == LedgerEntry::Event::kAllocated ? allocated : released);
  }
  Json ledger;
  ledger["eips"] = cloud.vpc().size();
  ledger["allocated"] = allocated;
  ledger["released"] = released;
  Json calls;
  Json throttled;
  for (const auto& [action, count] : cloud.calls()) {
    calls[action] = count.carried_out;
    throttled[action] = count.throttled;
  }
  ledger["calls"] = std::move(calls);
  ledger["throttled"] = std::move(throttled);
  return ledger;
}

http::Response ChangeEip(VpcProduct& vpc, const std::string& id, const std::string& body) {
  Json change;
  try {
    change = Json::parse(body);
  } catch (const std::exception&) {
    return ConsoleError(400, "the body is not JSON");
  }
  if (!change.is_object()) return ConsoleError(400, "the body is not a JSON object");
  cloud::Eip& eip = vpc.Edit(id);
  for (const auto& member : change.object_range()) {
    const std::string text = member.value().as<std::string>();
    if (member.key() == "name") {
      eip.name = text;
    } else if (member.key() == "description") {
      eip.description = text;
    } else if (member.key() == "deletionProtection") {
      eip.deletion_protection = text == "true";
    } else if (member.key() == "instanceID") {
      eip.instance_id = text;
      eip.instance_type = text.empty() ? "" : "EcsInstance";
      eip.status = text.empty() ? "Available" : "InUse";
    } else if (member.key() == "lockReason") {
      vpc.SetLocks(id, text.empty() ? std::set<std::string>() : std::set{text});
    } else {
      return ConsoleError(400, "there is no " + std::string(member.key()) + " to change");
    }
  }
  return ConsoleAnswer(200, Show(*vpc.FindRecord(id)));
}

http::Response OnEips(VpcProduct& vpc, const http::Request& request, const std::string& id) {
  if (id.empty()) {
    Json list = Json::Array();
    for (const cloud::Eip& eip : vpc.Eips()) {
      list.push_back(Show(*vpc.FindRecord(eip.allocation_id)));
    }
    return ConsoleAnswer(200, list);
  }
  const EipRecord* eip = vpc.FindRecord(id);
  if (!eip) return ConsoleError(404, "there is no " + id);
  if (request.method == "PATCH") return ChangeEip(vpc, id, request.body);
  const http::Response answer = ConsoleAnswer(200, Show(*eip));
  if (request.method == "DELETE") vpc.DeleteEip(id);
  return answer;
}

http::Response OnKeys(Gate& keys, const http::Request& request, const std::string& id) {
  if (id.empty()) return ConsoleError(404, "name the key: /keys/ID");
  if (request.method == "PUT") {
    const auto slash = id.find('/');
    Key key{.id = id.substr(0, slash), .secret = request.body, .caller = std::string(kKeyOwner)};
    if (slash != id.npos) key.account = id.substr(slash + 1);
    keys.Add(std::move(key));
    return ConsoleAnswer(200, Json());
  }
  if (request.method != "DELETE") return ConsoleError(405, "a key is not shown");
  keys.Revoke(id);
  return ConsoleAnswer(200, Json());
}

}  // namespace

http::Response OutOfBand(Cloud& cloud, const http::Request& request, std::string_view path) {
  const auto slash = path.find('/', 1);
  const std::string_view what = path.substr(1, slash == path.npos ? path.npos : slash - 1);
  const std::string id(slash == path.npos ? "" : path.substr(slash + 1));
  try {
    if (what == "ledger") return ConsoleAnswer(200, Ledger(cloud));
    if (what == "eips") return OnEips(cloud.vpc(), request, id);
    if (what == "keys") return OnKeys(cloud.keys(), request, id);
    if (what == "instances") return OnInstances(cloud, request, id);
    if (what == "enis") return OnEnis(cloud, request, id);
    if (what == "vswitches") return OnVSwitches(cloud, request);
    if (what == "faults") return OnFaults(cloud, request);
  } catch (const JsonError& error) {
    return ConsoleError(400, std::string("the body is not as it should be: ") + error.what());
  }
  if (what == "packages" && request.method == "POST") {
    Json made;
    made["bandwidthPackageID"] = cloud.vpc().CreatePackage(100);
    return ConsoleAnswer(200, made);
  }
  return ConsoleError(404, "there is nothing here");
}

}  // namespace berth::cloud::simulator
