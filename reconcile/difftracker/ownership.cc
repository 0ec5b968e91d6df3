#include "reconcile/difftracker/ownership.h"

#include <utility>

#include "log/format.h"
#include "reconcile/difftracker/names.h"

namespace berth::difftracker {
namespace {

const std::string kTag(kClusterTag);

}  // namespace

bool Ownership::IsTagged(const cloud::Tags& tags) const {
  const auto tag = tags.find(kTag);
  return tag != tags.end() && tag->second == cluster_;
}

bool Ownership::IsOfAnother(const cloud::Tags& tags) const {
  return tags.contains(kTag) && !IsTagged(tags);
}

cloud::Tags Ownership::WithTag(cloud::Tags tags) const {
  tags.insert_or_assign(kTag, cluster_);
  return tags;
}

const cloud::GatewayService* Ownership::Registered(const std::string& key) const {
  const auto found = services_.find(key);
  return found == services_.end() || found->second.is_default ? nullptr : &found->second;
}

bool Ownership::IsOurs(const cloud::LoadBalancer& balancer) const {
  if (balancer.tags.contains(kTag)) return IsTagged(balancer.tags);
  const auto* service = Registered(balancer.name);
  return service && HasPoolOf(*service, balancer.name);
}

bool Ownership::IsOurs(const cloud::NatGateway& nat) const {
  if (nat.tags.contains(kTag)) return IsTagged(nat.tags);
  const auto* service = Registered(nat.name);
  return service && HasNatGateway(*service, nat.name);
}

bool Ownership::IsOurs(const cloud::PublicIp& ip, const std::string& key) const {
  if (ip.tags.contains(kTag)) return IsTagged(ip.tags);
  const auto* service = Registered(key);
  if (!service) return false;
  const std::string user = LowerCase(ip.used_by);
  if (HasPoolOf(*service, key)) {
    // Nobody else names a public IP after the UID of a Service.
    return user.empty() ? IsUidShaped(key) : user.contains(Format("/loadbalancers/{}/", key));
  }
  return HasNatGateway(*service, key) && (user + "/").contains(Format("/natgateways/{}/", key));
}

}  // namespace berth::difftracker
