#include "cloud/simulator/azure/resource_group.h"

#include <utility>

#include "log/format.h"

namespace berth::cloud::simulator::azure {
namespace {

std::string Key(std::string_view type, std::string_view name) {
  return Format("{}/{}", type, Lower(name));
}

std::unexpected<Refusal> Busy(const std::string& name) {
  return Refuse(409, "AnotherOperationInProgress",
                Format("Another operation on {} is in progress.", name));
}

std::size_t SizeIn(const std::map<std::string, std::size_t>& sizes, const std::string& type) {
  const auto found = sizes.find(type);
  return found == sizes.end() ? 0 : found->second;
}

}  // namespace

std::string ResourceGroup::IdOf(std::string_view type, std::string_view name) const {
  return Format("{}/{}/{}", base_, Spelled(type), name);
}

std::string ResourceGroup::KeyOf(const std::string& id) const {
  const auto path = ReadPath(id);
  const auto home = ReadPath(base_ + "/x");
  if (!path || !home || path->name.empty()) return {};
  if (path->subscription != home->subscription || path->group != home->group) return {};
  return Key(path->type, path->name);
}

const Resource* ResourceGroup::Find(const std::string& key) const {
  const auto found = resources_.find(key);
  return found == resources_.end() ? nullptr : &found->second;
}

const std::set<std::string>& ResourceGroup::ReferrersOf(const std::string& key) const {
  static const std::set<std::string> kNone;
  const auto found = referrers_.find(key);
  return found == referrers_.end() ? kNone : found->second;
}

void ResourceGroup::SetReferences(const std::string& referrer, std::set<std::string> targets) {
  auto& now = references_[referrer];
  for (const std::string& target : now) {
    auto& referrers = referrers_[target];
    referrers.erase(referrer);
    if (referrers.empty()) referrers_.erase(target);
  }
  for (const std::string& target : targets) referrers_[target].insert(referrer);
  now = std::move(targets);
  if (now.empty()) references_.erase(referrer);
}

std::string ResourceGroup::EtagOf(const Resource& resource) const {
  return Format("W/\"{:08x}-0000-4000-8000-000000000000\"", resource.version);
}

Json ResourceGroup::Show(const Resource& resource) const {
  const std::string key = Key(resource.type, resource.name);
  Json shown = resource.body;
  shown["name"] = resource.name;
  shown["id"] = IdOf(resource.type, resource.name);
  shown["type"] = Format("Microsoft.Network/{}", Spelled(resource.type));
  shown["etag"] = EtagOf(resource);
  shown["properties"]["provisioningState"] = resource.state;
  if (resource.type != kPublicIps) return shown;
  for (const std::string& referrer : ReferrersOf(key)) {
    const Resource* user = Find(referrer);
    if (!user) continue;
    const bool is_nat = user->type == kNatGateways;
    std::string id = IdOf(user->type, user->name);
    if (!is_nat) id += "/frontendIPConfigurations/frontend";
    shown["properties"][is_nat ? "natGateway" : "ipConfiguration"]["id"] = id;
  }
  return shown;
}

Or<Json> ResourceGroup::Get(const std::string& type, const std::string& name) const {
  const Resource* resource = Find(Key(type, name));
  if (!resource) return NoResource(Spelled(type), name);
  return Show(*resource);
}

std::vector<Json> ResourceGroup::List(const std::string& type, const std::string& after,
                                      std::size_t most) const {
  std::vector<Json> list;
  for (auto at = resources_.upper_bound(Key(type, after));
       at != resources_.end() && at->second.type == type && list.size() < most; ++at) {
    list.push_back(Show(at->second));
  }
  return list;
}

Check ResourceGroup::CheckConditions(const Resource* resource, const Conditions& conditions) const {
  const bool exists = resource != nullptr;
  const bool matches =
      conditions.if_match.empty() ||
      (exists && (conditions.if_match == "*" || conditions.if_match == EtagOf(*resource)));
  if (matches && (conditions.if_none_match.empty() || !exists)) return {};
  return Refuse(412, "PreconditionFailed", "The condition of the request is not met.");
}

Check ResourceGroup::CheckReferences(const std::string& key, const Json& body) const {
  const std::string type = key.substr(0, key.find('/'));
  for (const std::string& id : ReferencesIn(type, body)) {
    const std::string target = KeyOf(id);
    const Resource* found = Find(target);
    if (!found || found->type != kPublicIps) {
      return Refuse(400, "InvalidResourceReference", Format("Resource {} was not found.", id));
    }
    if (found->state != "Succeeded") {
      return Refuse(409, "ReferencedResourceNotProvisioned",
                    Format("Resource {} is in {} state.", id, found->state));
    }
    for (const std::string& referrer : ReferrersOf(target)) {
      if (referrer != key) {
        return Refuse(400, "PublicIPAddressInUse", Format("{} is used by {}.", id, referrer));
      }
    }
  }
  return {};
}

// Of a NAT gateway.
Check ResourceGroup::CheckFamilies(const Json& body) const {
  for (const bool v6 : {false, true}) {
    const Json& list = At(At(body, "properties"), v6 ? "publicIpAddressesV6" : "publicIpAddresses");
    if (!list.is_array()) continue;
    for (const Json& item : list.array_range()) {
      const Resource* ip = Find(KeyOf(TextAt(item, "id")));
      const bool is_v6 =
          ip && TextAt(At(ip->body, "properties"), "publicIPAddressVersion") == "IPv6";
      if (ip && is_v6 != v6) {
        return Refuse(400, "NatGatewayPublicIpVersionMismatch", "The family is another one.");
      }
    }
  }
  const std::string gateway = TextAt(At(At(body, "properties"), "serviceGateway"), "id");
  if (!gateway.empty() && Lower(gateway) != Lower(gateway_)) {
    return Refuse(400, "InvalidResourceReference", Format("Resource {} was not found.", gateway));
  }
  return {};
}

Check ResourceGroup::CheckPut(const std::string& key, const Resource* old, const Json& body) const {
  const std::string type = key.substr(0, key.find('/'));
  const std::string name = key.substr(key.find('/') + 1);
  if (auto checked = CheckBody(type, IdOf(type, name), body); !checked) return checked;
  if (old) {
    if (old->state == "Deleting") return Busy(name);
    const auto version = [](const Json& json) {
      return TextAt(At(json, "properties"), "publicIPAddressVersion");
    };
    if (version(old->body) != version(body)) {
      return Refuse(400, "PropertyChangeNotAllowed", "The IP version cannot be changed.");
    }
  } else if (const auto quota = quotas_.find(type);
             quota != quotas_.end() && SizeIn(sizes_, type) >= quota->second) {
    const bool is_ip = type == kPublicIps;
    return Refuse(400, is_ip ? "PublicIPCountLimitReached" : "QuotaExceeded",
                  "The limit of the subscription is reached.");
  }
  if (auto checked = CheckReferences(key, body); !checked) return checked;
  return type == kNatGateways ? CheckFamilies(body) : Check();
}

// The members that the cloud adds.
void ResourceGroup::FillIn(Resource& resource) {
  Json& properties = resource.body["properties"];
  properties["resourceGuid"] = Format("00000000-0000-4000-9000-{:012x}", resource.version);
  const std::string id = IdOf(resource.type, resource.name);
  if (resource.type == kPublicIps && TextAt(properties, "ipAddress").empty()) {
    const std::uint32_t n = ++last_address_;
    const bool v6 = TextAt(properties, "publicIPAddressVersion") == "IPv6";
    properties["ipAddress"] = v6 ? Shown(Format("2603:1030:0:1::{:x}", n))
                                 : Format("20.{}.{}.{}", 1 + (n >> 16), (n >> 8) & 0xff, n & 0xff);
  }
  for (const char* part :
       {"frontendIPConfigurations", "backendAddressPools", "loadBalancingRules"}) {
    Json* list = properties.find(part);
    if (!list || !list->is_array()) continue;
    for (Json& item : list->array_range()) {
      item["id"] = Format("{}/{}/{}", id, part, TextAt(item, "name"));
      item["properties"]["provisioningState"] = "Succeeded";
    }
  }
}

void ResourceGroup::Store(const std::string& key, const std::string& type, const std::string& name,
                          Json body) {
  const auto [found, is_new] = resources_.try_emplace(key);
  Resource& resource = found->second;
  if (is_new) {
    resource.type = type;
    resource.name = name;
    ++sizes_[type];
    ++counts_[type].created;
  } else if (type == kPublicIps) {
    body["properties"]["ipAddress"] = TextAt(At(resource.body, "properties"), "ipAddress");
  }
  resource.body = std::move(body);
  resource.version = ++last_version_;
  FillIn(resource);
  std::set<std::string> targets;
  for (const std::string& id : ReferencesIn(type, resource.body)) targets.insert(KeyOf(id));
  SetReferences(key, std::move(targets));
}

Or<Accepted> ResourceGroup::Put(const std::string& type, const std::string& name, Json body,
                                const Conditions& conditions, Plan plan) {
  const std::string key = Key(type, name);
  const Resource* old = Find(key);
  if (auto met = CheckConditions(old, conditions); !met) return std::unexpected(met.error());
  if (auto checked = CheckPut(key, old, body); !checked) return std::unexpected(checked.error());
  if (old) operations_.Supersede(old->operation);
  const int status = old ? 200 : 201;
  body.erase("etag");
  Store(key, type, name, std::move(body));
  Resource& resource = resources_.at(key);
  resource.operation.clear();
  resource.state = "Succeeded";
  if (plan.at_once) return Accepted{status, Show(resource), {}};

  resource.state = "Updating";
  resource.operation =
      operations_.Begin(plan.ends, std::move(plan.failure),
                        [this, key](const std::optional<Refusal>& failure) -> Check {
                          const auto found = resources_.find(key);
                          if (found == resources_.end())
                            return NoResource("", key);  // somebody has deleted it
                          found->second.state = failure ? "Failed" : "Succeeded";
                          found->second.version = ++last_version_;
                          found->second.operation.clear();
                          return {};
                        });
  return Accepted{status, Show(resource), resource.operation};
}

bool ResourceGroup::IsReferredTo(const Resource& resource, const std::string& key) const {
  if (!ReferrersOf(key).empty()) return true;
  return resource.type == kNatGateways &&
         !TextAt(At(At(resource.body, "properties"), "serviceGateway"), "id").empty();
}

Or<Accepted> ResourceGroup::Delete(const std::string& type, const std::string& name,
                                   const Conditions& conditions, Plan plan) {
  const std::string key = Key(type, name);
  const auto found = resources_.find(key);
  if (found == resources_.end()) return Accepted{204, Json(), {}};
  Resource& resource = found->second;
  if (auto met = CheckConditions(&resource, conditions); !met) return std::unexpected(met.error());
  if (IsReferredTo(resource, key)) return std::unexpected(InUse(type, name));
  if (resource.state == "Deleting") return Accepted{202, Json(), resource.operation};
  operations_.Supersede(resource.operation);
  if (plan.at_once) {
    Erase(key);
    return Accepted{200, Json(), {}};
  }
  resource.state = "Deleting";
  resource.version = ++last_version_;
  resource.operation =
      operations_.Begin(plan.ends, std::move(plan.failure),
                        [this, key](const std::optional<Refusal>& failure) -> Check {
                          const auto still = resources_.find(key);
                          if (still == resources_.end()) return {};
                          if (!failure) {
                            Erase(key);
                            return {};
                          }
                          still->second.state = "Failed";
                          still->second.version = ++last_version_;
                          still->second.operation.clear();
                          return {};
                        });
  return Accepted{202, Json(), resource.operation};
}

void ResourceGroup::Meddle(const std::string& type, const std::string& name, Json body) {
  const std::string key = Key(type, name);
  if (const Resource* old = Find(key)) operations_.Supersede(old->operation);
  Store(key, type, name, std::move(body));
  Resource& resource = resources_.at(key);
  resource.state = "Succeeded";
  resource.operation.clear();
}

bool ResourceGroup::Erase(const std::string& key) {
  const auto found = resources_.find(key);
  if (found == resources_.end()) return false;
  const std::string type = found->second.type;
  SetReferences(key, {});
  resources_.erase(found);
  --sizes_[type];
  ++counts_[type].deleted;
  return true;
}

}  // namespace berth::cloud::simulator::azure
