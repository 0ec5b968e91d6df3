#include "reconcile/difftracker/provisioner.h"

#include <algorithm>
#include <utility>

#include "log/format.h"
#include "log/log.h"
#include "reconcile/difftracker/objects.h"

namespace berth::difftracker {
namespace {

std::unexpected<Error> NotOurs(std::string_view kind, const std::string& name) {
  return std::unexpected(Error{.error_class = ErrorClass::kTerminal,
                               .reason = std::string(kNotOurs),
                               .message = Format("the {} {} exists and is not Berth's: delete or "
                                                 "rename it",
                                                 kind, name)});
}

// The answer to a GET; none for a resource that is not there.
template <typename T>
Result<std::optional<T>> Found(Result<T> read) {
  if (read) return std::optional<T>(std::move(*read));
  if (read.error().error_class == ErrorClass::kNotFound) return std::optional<T>();
  return std::unexpected(std::move(read.error()));
}

Result<void> UnlessGone(Result<void> result) {
  if (!result && result.error().error_class == ErrorClass::kNotFound) return {};
  return result;
}

template <typename T>
Result<void> Outcome(Result<T> result) {
  if (!result) return std::unexpected(std::move(result.error()));
  return {};
}

}  // namespace

bool Provisioner::IsTagged(const cloud::Tags& tags) const {
  const auto tag = tags.find(std::string(kClusterTag));
  return tag != tags.end() && tag->second == parts_.cluster;
}

bool Provisioner::IsOurs(const cloud::LoadBalancer& balancer) const {
  if (balancer.tags.contains(std::string(kClusterTag))) return IsTagged(balancer.tags);
  const auto service = parts_.registrar.services().find(balancer.name);
  return service != parts_.registrar.services().end() && HasPoolOf(service->second, balancer.name);
}

bool Provisioner::IsOurs(const cloud::NatGateway& nat) const {
  if (nat.tags.contains(std::string(kClusterTag))) return IsTagged(nat.tags);
  return nat.in_gateway;
}

// A public IP without our tag is ours while our load balancer or NAT gateway uses it.
bool Provisioner::IsOurs(const cloud::PublicIp& ip, std::string_view key) const {
  if (ip.tags.contains(std::string(kClusterTag))) return IsTagged(ip.tags);
  const std::string user = LowerCase(ip.used_by);
  return (user.contains(Format("/loadbalancers/{}/", key)) ||
          (user + "/").contains(Format("/natgateways/{}/", key))) &&
         parts_.registrar.services().contains(std::string(key));
}

cloud::Tags Provisioner::OwnTags(cloud::Tags tags) const {
  tags.insert_or_assign(std::string(kClusterTag), parts_.cluster);
  return tags;
}

async::Task<Result<std::string>> Provisioner::ProvideIp(std::string key, bool ipv6) {
  const std::string name = PublicIpName(key, ipv6);
  auto found = Found(co_await parts_.gateway.GetPublicIp(name));
  if (!found) co_return std::unexpected(found.error());
  if (*found && !IsOurs(**found, key)) co_return NotOurs("public IP", name);
  if (*found && (*found)->succeeded && !(*found)->address.empty()) co_return (*found)->address;
  cloud::PublicIp wanted;
  if (*found) wanted = std::move(**found);
  wanted.name = name;
  wanted.ipv6 = ipv6;
  wanted.tags = OwnTags(std::move(wanted.tags));
  const auto made = co_await parts_.gateway.Put(std::move(wanted), parts_.is_wanted);
  if (!made) co_return std::unexpected(made.error());
  co_return made->address;
}

async::Task<Result<void>> Provisioner::ProvideBalancer(InboundSpec wanted) {
  auto found = Found(co_await parts_.gateway.GetLoadBalancer(wanted.key));
  if (!found) co_return std::unexpected(found.error());
  cloud::LoadBalancer balancer;
  if (*found) balancer = std::move(**found);
  if (*found && !IsOurs(balancer)) co_return NotOurs("load balancer", wanted.key);
  const std::string ip = PublicIpName(wanted.key, wanted.ipv6);
  if (*found && balancer.succeeded && balancer.rules == wanted.rules && balancer.public_ip == ip)
    co_return Result<void>();
  balancer.name = wanted.key;
  balancer.public_ip = ip;
  balancer.rules = std::move(wanted.rules);
  balancer.tags = OwnTags(std::move(balancer.tags));
  co_return Outcome(co_await parts_.gateway.Put(std::move(balancer), parts_.is_wanted));
}

async::Task<Result<Provisioner::Addresses>> Provisioner::Provide(InboundSpec wanted) {
  auto address = co_await ProvideIp(wanted.key, wanted.ipv6);
  if (!address) co_return std::unexpected(address.error());
  if (const auto made = co_await ProvideBalancer(wanted); !made)
    co_return std::unexpected(made.error());
  const auto registered = co_await parts_.registrar.Update(
      {.name = wanted.key, .type = cloud::ServiceType::kInbound, .load_balancer = wanted.key});
  if (!registered) co_return std::unexpected(registered.error());
  co_return Addresses{std::move(*address)};
}

async::Task<Result<void>> Provisioner::ProvideNat(OutboundSpec wanted) {
  auto found = Found(co_await parts_.gateway.GetNatGateway(wanted.key));
  if (!found) co_return std::unexpected(found.error());
  cloud::NatGateway nat;
  if (*found) nat = std::move(**found);
  if (*found && !IsOurs(nat)) co_return NotOurs("NAT gateway", wanted.key);
  std::vector<std::string> ips;
  std::vector<std::string> ips_v6;
  if (wanted.ipv4) ips.push_back(PublicIpName(wanted.key, false));
  if (wanted.ipv6) ips_v6.push_back(PublicIpName(wanted.key, true));
  if (*found && nat.succeeded && nat.in_gateway && nat.public_ips == ips &&
      nat.public_ips_v6 == ips_v6) {
    co_return Result<void>();
  }
  nat.name = wanted.key;
  nat.in_gateway = true;
  nat.public_ips = std::move(ips);
  nat.public_ips_v6 = std::move(ips_v6);
  nat.tags = OwnTags(std::move(nat.tags));
  co_return Outcome(co_await parts_.gateway.Put(std::move(nat), parts_.is_wanted));
}

async::Task<Result<Provisioner::Addresses>> Provisioner::Provide(OutboundSpec wanted) {
  Addresses addresses;
  for (const bool ipv6 : {false, true}) {
    if (!(ipv6 ? wanted.ipv6 : wanted.ipv4)) continue;
    auto address = co_await ProvideIp(wanted.key, ipv6);
    if (!address) co_return std::unexpected(address.error());
    addresses.push_back(std::move(*address));
  }
  if (const auto made = co_await ProvideNat(wanted); !made) co_return std::unexpected(made.error());
  const auto registered = co_await parts_.registrar.Update(
      {.name = wanted.key, .type = cloud::ServiceType::kOutbound, .nat_gateway = wanted.key});
  if (!registered) co_return std::unexpected(registered.error());
  // The last pod of a family may have gone.
  for (const bool ipv6 : {false, true}) {
    if (ipv6 ? wanted.ipv6 : wanted.ipv4) continue;
    if (const auto gone = co_await RemoveIp(wanted.key, ipv6); !gone)
      co_return std::unexpected(gone.error());
  }
  co_return addresses;
}

async::Task<Result<void>> Provisioner::TagIps(std::string key) {
  for (const bool ipv6 : {false, true}) {
    auto found = Found(co_await parts_.gateway.GetPublicIp(PublicIpName(key, ipv6)));
    if (!found) co_return std::unexpected(found.error());
    if (!*found || IsTagged((*found)->tags) || !IsOurs(**found, key)) continue;
    (*found)->tags = OwnTags((*found)->tags);
    const auto put = co_await parts_.gateway.Put(std::move(**found), parts_.is_wanted);
    if (!put) co_return std::unexpected(put.error());
  }
  co_return Result<void>();
}

async::Task<Result<void>> Provisioner::TagBalancer(std::string key) {
  auto found = Found(co_await parts_.gateway.GetLoadBalancer(key));
  if (!found) co_return std::unexpected(found.error());
  if (!*found || IsTagged((*found)->tags) || !IsOurs(**found)) co_return Result<void>();
  if (const auto tagged = co_await TagIps(key); !tagged) co_return tagged;
  (*found)->tags = OwnTags((*found)->tags);
  co_return Outcome(co_await parts_.gateway.Put(std::move(**found), parts_.is_wanted));
}

async::Task<Result<void>> Provisioner::RemoveIp(std::string key, bool ipv6) {
  auto found = Found(co_await parts_.gateway.GetPublicIp(PublicIpName(key, ipv6)));
  if (!found) co_return std::unexpected(found.error());
  if (!*found) co_return Result<void>();
  if (!IsOurs(**found, key)) {
    log::Info("public IP of another owner left alone", {{"name", (*found)->name}});
    co_return Result<void>();
  }
  co_return UnlessGone(co_await parts_.gateway.Delete(std::move(**found), parts_.is_wanted));
}

async::Task<Result<void>> Provisioner::RemoveIps(std::string key) {
  if (const auto gone = co_await RemoveIp(key, false); !gone) co_return gone;
  co_return co_await RemoveIp(key, true);
}

async::Task<Result<void>> Provisioner::RemoveInbound(std::string key) {
  if (const auto tagged = co_await TagBalancer(key); !tagged) co_return tagged;
  const auto cleared = co_await parts_.registrar.Update(
      {.name = key, .type = cloud::ServiceType::kInbound, .load_balancer = ""});
  if (!cleared) co_return cleared;
  auto found = Found(co_await parts_.gateway.GetLoadBalancer(key));
  if (!found) co_return std::unexpected(found.error());
  if (*found && IsOurs(**found)) {
    const auto gone =
        UnlessGone(co_await parts_.gateway.Delete(std::move(**found), parts_.is_wanted));
    if (!gone) co_return gone;
  }
  const auto left = UnlessGone(co_await parts_.registrar.Update(
      {.name = key, .is_delete = true, .type = cloud::ServiceType::kInbound}));
  if (!left) co_return left;
  co_return co_await RemoveIps(key);
}

async::Task<Result<void>> Provisioner::LeaveGateway(std::string key) {
  auto found = Found(co_await parts_.gateway.GetNatGateway(key));
  if (!found) co_return std::unexpected(found.error());
  if (!*found || !IsOurs(**found) || !(*found)->in_gateway) co_return Result<void>();
  (*found)->in_gateway = false;
  (*found)->tags = OwnTags((*found)->tags);
  co_return Outcome(co_await parts_.gateway.Put(std::move(**found), parts_.is_wanted));
}

async::Task<Result<void>> Provisioner::RemoveOutbound(std::string key) {
  if (const auto tagged = co_await TagIps(key); !tagged) co_return tagged;
  const auto cleared = co_await parts_.registrar.Update(
      {.name = key, .type = cloud::ServiceType::kOutbound, .nat_gateway = ""});
  if (!cleared) co_return cleared;
  if (const auto left = co_await LeaveGateway(key); !left) co_return left;
  const auto unregistered = UnlessGone(co_await parts_.registrar.Update(
      {.name = key, .is_delete = true, .type = cloud::ServiceType::kOutbound}));
  if (!unregistered) co_return unregistered;
  auto found = Found(co_await parts_.gateway.GetNatGateway(key));
  if (!found) co_return std::unexpected(found.error());
  if (*found && IsOurs(**found)) {
    const auto gone =
        UnlessGone(co_await parts_.gateway.Delete(std::move(**found), parts_.is_wanted));
    if (!gone) co_return gone;
  }
  co_return co_await RemoveIps(key);
}

}  // namespace berth::difftracker
