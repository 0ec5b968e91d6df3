// The console's part of network interfaces and the servers that they are attached to.
#include <algorithm>
#include <array>
#include <list>
#include <utility>

#include "cloud/simulator/aliyun/console.h"

namespace berth::cloud::simulator {
namespace {

constexpr FaultName kFaultNames[] = {{"carried-out", Fault::Kind::kCarriedOut},
                                     {"lost-answer", Fault::Kind::kLostAnswer},
                                     {"falls-back", Fault::Kind::kFallsBack},
                                     {"sticks", Fault::Kind::kSticks}};

Json Show(const Instance& instance, const EniProduct& product, const VSwitch& vswitch) {
  Json json;
  json["instanceID"] = instance.id;
  json["backend"] = product.backend();
  json["status"] = instance.status;
  json["instanceType"] = instance.type;
  json["vSwitchID"] = instance.vswitch_id;
  json["zoneID"] = vswitch.zone_id;
  json["adapters"] = instance.adapters;
  json["ipv4PerAdapter"] = instance.ipv4_per_adapter;
  json["ipv6PerAdapter"] = instance.ipv6_per_adapter;
  return json;
}

Json Show(const Eni& eni) {
  Json json;
  json["networkInterfaceID"] = eni.id;
  json["status"] = eni.status;
  json["type"] = eni.type;
  json["instanceID"] = eni.instance_id;
  json["vSwitchID"] = eni.vswitch_id;
  json["macAddress"] = eni.mac_address;
  json["ipv4"] = AddressesOf(eni);
  json["ipv6"] = eni.ipv6;
  json["ipv4Prefixes"] = eni.ipv4_prefixes;
  json["ipv6Prefixes"] = eni.ipv6_prefixes;
  json["serviceManaged"] = eni.service_managed;
  Json tags;
  for (const auto& [key, value] : eni.tags) tags[key] = value;
  json["tags"] = std::move(tags);
  return json;
}

Json Show(const VSwitchRecord& vswitch) {
  Json json;
  json["vSwitchID"] = vswitch.facts.id;
  json["vpcID"] = vswitch.facts.vpc_id;
  json["zoneID"] = vswitch.facts.zone_id;
  json["cidr"] = vswitch.facts.cidr;
  json["ipv6CIDR"] = vswitch.facts.ipv6_cidr;
  json["freeAddresses"] = vswitch.pool.free();
  return json;
}

std::string TextOf(const Json& object, const char* member, const std::string& otherwise = "") {
  return object.contains(member) ? object[member].as<std::string>() : otherwise;
}

std::size_t NumberOf(const Json& object, const char* member, std::size_t otherwise) {
  return object.contains(member) ? object[member].as<std::size_t>() : otherwise;
}

// The product with the server or ENI of this ID; null for none.
EniProduct* ProductOf(Cloud& cloud, auto has) {
  const auto products = cloud.eni_products();
  const auto found = std::ranges::find_if(products, has);
  return found == products.end() ? nullptr : *found;
}

http::Response AddInstance(Cloud& cloud, const Json& body) {
  const std::string backend = TextOf(body, "backend", "ECS");
  EniProduct* product =
      ProductOf(cloud, [&](EniProduct* each) { return each->backend() == backend; });
  if (!product) return ConsoleError(400, "backend is ECS or EFLO");
  Instance instance;
  instance.id = TextOf(body, "instanceID");
  instance.vswitch_id = TextOf(body, "vSwitchID");
  instance.type = TextOf(body, "instanceType", instance.type);
  instance.adapters = NumberOf(body, "adapters", instance.adapters);
  instance.ipv4_per_adapter = NumberOf(body, "ipv4PerAdapter", instance.ipv4_per_adapter);
  instance.ipv6_per_adapter = NumberOf(body, "ipv6PerAdapter", instance.ipv6_per_adapter);
  const std::string vswitch = instance.vswitch_id;
  const auto id = product->CreateInstance(std::move(instance));
  if (!id) {
    return ConsoleError(409, "vSwitchID is unknown or full, or instanceID is taken");
  }
  return ConsoleAnswer(
      200, Show(product->instances().at(*id), *product, cloud.vpc().vswitches().at(vswitch).facts));
}

http::Response ChangeEni(EniProduct& product, const std::string& id, const Json& change) {
  if (!change.is_object()) return ConsoleError(400, "the body is not a JSON object");
  for (const auto& member : change.object_range()) {
    if (member.key() == "status") {
      product.SetStatus(id, member.value().as<std::string>());
    } else if (member.key() == "serviceManaged") {
      product.Edit(id).eni.service_managed = member.value().as<bool>();
    } else if (member.key() == "tags") {
      Tags tags;
      for (const auto& tag : member.value().object_range()) {
        tags.emplace(tag.key(), tag.value().as<std::string>());
      }
      product.SetTags(id, std::move(tags));
    } else {
      return ConsoleError(400, "there is no " + std::string(member.key()) + " to change");
    }
  }
  return ConsoleAnswer(200, Show(*product.Find(id)));
}

}  // namespace

http::Response OnInstances(Cloud& cloud, const http::Request& request, const std::string& id) {
  if (request.method == "POST") return AddInstance(cloud, Json::parse(request.body));
  const auto show = [&](const Instance& instance, const EniProduct& product) {
    return Show(instance, product, cloud.vpc().vswitches().at(instance.vswitch_id).facts);
  };
  if (id.empty()) {
    Json list = Json::Array();
    for (const EniProduct* product : cloud.eni_products()) {
      for (const auto& [key, instance] : product->instances()) {
        list.push_back(show(instance, *product));
      }
    }
    return ConsoleAnswer(200, list);
  }
  EniProduct* product =
      ProductOf(cloud, [&](EniProduct* each) { return each->instances().contains(id); });
  if (!product) return ConsoleError(404, "there is no " + id);
  const http::Response answer = ConsoleAnswer(200, show(product->instances().at(id), *product));
  if (request.method == "DELETE") product->DeleteInstance(id);
  return answer;
}

http::Response OnEnis(Cloud& cloud, const http::Request& request, const std::string& id) {
  if (id.empty()) {
    Json list = Json::Array();
    for (const EniProduct* product : cloud.eni_products()) {
      for (const auto& [eni_id, record] : product->enis()) list.push_back(Show(record.eni));
    }
    return ConsoleAnswer(200, list);
  }
  EniProduct* product = ProductOf(cloud, [&](EniProduct* each) { return each->Find(id); });
  if (!product) return ConsoleError(404, "there is no " + id);
  if (request.method == "PATCH") return ChangeEni(*product, id, Json::parse(request.body));
  const http::Response answer = ConsoleAnswer(200, Show(*product->Find(id)));
  if (request.method == "DELETE") product->DeleteEni(id);
  return answer;
}

http::Response OnVSwitches(Cloud& cloud, const http::Request& request) {
  VSwitchRecords& vswitches = cloud.vpc().vswitches();
  if (request.method == "POST") {
    const Json body = Json::parse(request.body);
    const auto id = cloud.vpc().CreateVSwitch({.id = TextOf(body, "vSwitchID"),
                                               .vpc_id = TextOf(body, "vpcID"),
                                               .zone_id = TextOf(body, "zoneID"),
                                               .cidr = TextOf(body, "cidr"),
                                               .ipv6_cidr = TextOf(body, "ipv6CIDR")});
    if (!id) return ConsoleError(409, "cidr or ipv6CIDR is none, or vSwitchID is taken");
    return ConsoleAnswer(200, Show(vswitches.at(*id)));
  }
  Json list = Json::Array();
  for (const auto& [id, vswitch] : vswitches) list.push_back(Show(vswitch));
  return ConsoleAnswer(200, list);
}

http::Response OnFaults(Cloud& cloud, const http::Request& request) {
  return ConsoleFaults(cloud.faults(), request, kFaultNames);
}

}  // namespace berth::cloud::simulator
