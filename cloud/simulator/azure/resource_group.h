#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "cloud/simulator/azure/operations.h"
#include "cloud/simulator/azure/rules.h"
#include "cloud/simulator/azure/wire.h"

namespace berth::cloud::simulator::azure {

// How a write goes on.
struct Plan {
  bool at_once = false;                 // it has taken effect when it is answered
  std::optional<async::WallTime> ends;  // none: never
  std::optional<Refusal> failure;       // that it ends with
};

// An accepted write.
struct Accepted {
  int status = 200;
  Json body;
  std::string operation;  // that has yet to end; empty for none
};

// The preconditions of a write: the values of its headers, empty for none.
struct Conditions {
  std::string if_match;
  std::string if_none_match;
};

struct Resource {
  std::string type;  // kPublicIps, …
  std::string name;  // as it was first written
  Json body;         // location, tags, sku and properties
  std::string state = "Succeeded";
  std::uint64_t version = 0;  // the number in its etag
  std::string operation;      // under way
};

struct ResourceCounts {
  std::uint64_t created = 0;
  std::uint64_t deleted = 0;
};

// The public IPs, load balancers and NAT gateways of one resource group, and who refers to them. A
// key is "TYPE/NAME" in lower case. O(log n) a call, lists but for O(n).
class ResourceGroup {
 public:
  // `base` is the ID of Microsoft.Network in the group, `gateway` that of the service gateway.
  ResourceGroup(std::string base, std::string gateway, Operations& operations)
      : base_(std::move(base)), gateway_(std::move(gateway)), operations_(operations) {}

  Or<Json> Get(const std::string& type, const std::string& name) const;
  // As Get shows them, in the order of their names, those after `after`.
  std::vector<Json> List(const std::string& type, const std::string& after, std::size_t most) const;
  Or<Accepted> Put(const std::string& type, const std::string& name, Json body,
                   const Conditions& conditions, Plan plan);
  Or<Accepted> Delete(const std::string& type, const std::string& name,
                      const Conditions& conditions, Plan plan);

  // The key of a resource of this group by the ID of it, or of a part of it; empty for others.
  std::string KeyOf(const std::string& id) const;
  std::string IdOf(std::string_view type, std::string_view name) const;
  const Resource* Find(const std::string& key) const;
  const std::map<std::string, Resource>& all() const { return resources_; }
  // The resource that a service refers to, or none.
  void SetReferences(const std::string& referrer, std::set<std::string> targets);
  const std::set<std::string>& ReferrersOf(const std::string& key) const;

  void SetQuota(const std::string& type, std::size_t most) { quotas_[type] = most; }
  const std::map<std::string, ResourceCounts>& counts() const { return counts_; }
  // Somebody else does it, at once, whatever the rules say.
  void Meddle(const std::string& type, const std::string& name, Json body);
  bool Erase(const std::string& key);

 private:
  Check CheckConditions(const Resource* resource, const Conditions& conditions) const;
  Check CheckPut(const std::string& key, const Resource* old, const Json& body) const;
  Check CheckReferences(const std::string& key, const Json& body) const;
  Check CheckFamilies(const Json& body) const;
  void Store(const std::string& key, const std::string& type, const std::string& name, Json body);
  void FillIn(Resource& resource);
  Json Show(const Resource& resource) const;
  std::string EtagOf(const Resource& resource) const;
  bool IsReferredTo(const Resource& resource, const std::string& key) const;

  const std::string base_;
  const std::string gateway_;
  Operations& operations_;
  std::map<std::string, Resource> resources_;
  std::map<std::string, std::set<std::string>> references_;  // by referrer
  std::map<std::string, std::set<std::string>> referrers_;   // by target
  std::map<std::string, std::size_t> quotas_;
  std::map<std::string, std::size_t> sizes_;
  std::map<std::string, ResourceCounts> counts_;
  std::uint64_t last_version_ = 0;
  std::uint32_t last_address_ = 0;
};

}  // namespace berth::cloud::simulator::azure
