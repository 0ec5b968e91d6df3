#include "reconcile/difftracker/provisioner.h"

#include <algorithm>
#include <utility>

#include "log/format.h"
#include "log/log.h"
#include "reconcile/difftracker/objects.h"

namespace berth::difftracker {
namespace {

constexpr int kNameTaken = 409;  // as the cloud would answer

std::unexpected<Error> NotOurs(std::string_view kind, const std::string& name) {
  return std::unexpected(Error{.error_class = ErrorClass::kTerminal,
                               .reason = std::string(kNotOurs),
                               .message = Format("the {} {} exists and is not Berth's: delete or "
                                                 "rename it",
                                                 kind, name),
                               .code = kNameTaken});
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

async::Task<Result<void>> Provisioner::Reread(const cloud::Tags* tags) {
  if (tags->contains(std::string(kClusterTag))) co_return Result<void>();
  co_return co_await parts_.registrar.Refresh();
}

async::Task<Result<bool>> Provisioner::IsOurs(const cloud::LoadBalancer* balancer) {
  if (owners_.IsOurs(*balancer)) co_return true;
  if (const auto read = co_await Reread(&balancer->tags); !read)
    co_return std::unexpected(read.error());
  co_return owners_.IsOurs(*balancer);
}

async::Task<Result<bool>> Provisioner::IsOurs(const cloud::NatGateway* nat) {
  if (owners_.IsOurs(*nat)) co_return true;
  if (const auto read = co_await Reread(&nat->tags); !read) co_return std::unexpected(read.error());
  co_return owners_.IsOurs(*nat);
}

async::Task<Result<bool>> Provisioner::IsOurs(const cloud::PublicIp* ip, std::string key) {
  if (owners_.IsOurs(*ip, key)) co_return true;
  if (const auto read = co_await Reread(&ip->tags); !read) co_return std::unexpected(read.error());
  co_return owners_.IsOurs(*ip, key);
}

async::Task<Result<std::string>> Provisioner::ProvideIp(std::string key, bool ipv6) {
  const std::string name = PublicIpName(key, ipv6);
  auto found = Found(co_await parts_.gateway.GetPublicIp(name));
  if (!found) co_return std::unexpected(found.error());
  if (*found) {
    const auto ours = co_await IsOurs(&**found, key);
    if (!ours) co_return std::unexpected(ours.error());
    if (!*ours) co_return NotOurs("public IP", name);
  }
  if (*found && (*found)->succeeded && !(*found)->address.empty() &&
      owners_.IsTagged((*found)->tags)) {
    co_return (*found)->address;
  }
  cloud::PublicIp wanted;
  if (*found) wanted = std::move(**found);
  wanted.name = name;
  wanted.ipv6 = ipv6;
  wanted.tags = owners_.WithTag(std::move(wanted.tags));
  const auto made = co_await parts_.gateway.Put(std::move(wanted), parts_.is_wanted);
  if (!made) co_return std::unexpected(made.error());
  co_return made->address;
}

async::Task<Result<void>> Provisioner::ProvideBalancer(InboundSpec wanted) {
  auto found = Found(co_await parts_.gateway.GetLoadBalancer(wanted.key));
  if (!found) co_return std::unexpected(found.error());
  cloud::LoadBalancer balancer;
  if (*found) balancer = std::move(**found);
  if (*found) {
    const auto ours = co_await IsOurs(&balancer);
    if (!ours) co_return std::unexpected(ours.error());
    if (!*ours) co_return NotOurs("load balancer", wanted.key);
  }
  const std::string ip = PublicIpName(wanted.key, wanted.ipv6);
  if (*found && balancer.succeeded && owners_.IsTagged(balancer.tags) &&
      balancer.rules == wanted.rules && balancer.public_ip == ip) {
    co_return Result<void>();
  }
  balancer.name = wanted.key;
  balancer.public_ip = ip;
  balancer.rules = std::move(wanted.rules);
  balancer.tags = owners_.WithTag(std::move(balancer.tags));
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
  // The Service may have had the other family before.
  if (const auto gone = co_await RemoveIp(wanted.key, !wanted.ipv6); !gone)
    co_return std::unexpected(gone.error());
  co_return Addresses{std::move(*address)};
}

async::Task<Result<void>> Provisioner::ProvideNat(OutboundSpec wanted) {
  auto found = Found(co_await parts_.gateway.GetNatGateway(wanted.key));
  if (!found) co_return std::unexpected(found.error());
  cloud::NatGateway nat;
  if (*found) nat = std::move(**found);
  if (*found) {
    const auto ours = co_await IsOurs(&nat);
    if (!ours) co_return std::unexpected(ours.error());
    if (!*ours) co_return NotOurs("NAT gateway", wanted.key);
  }
  std::vector<std::string> ips;
  std::vector<std::string> ips_v6;
  if (wanted.ipv4) ips.push_back(PublicIpName(wanted.key, false));
  if (wanted.ipv6) ips_v6.push_back(PublicIpName(wanted.key, true));
  if (*found && nat.succeeded && owners_.IsTagged(nat.tags) && nat.in_gateway &&
      nat.public_ips == ips && nat.public_ips_v6 == ips_v6) {
    co_return Result<void>();
  }
  nat.name = wanted.key;
  nat.in_gateway = true;
  nat.public_ips = std::move(ips);
  nat.public_ips_v6 = std::move(ips_v6);
  nat.tags = owners_.WithTag(std::move(nat.tags));
  co_return Outcome(co_await parts_.gateway.Put(std::move(nat), parts_.is_wanted));
}

async::Task<Result<Provisioner::Addresses>> Provisioner::Provide(OutboundSpec wanted) {
  Addresses addresses;
  for (const bool ipv6 : {false, true}) {
    if (!(ipv6 ? wanted.ipv6 : wanted.ipv4)) {
      // The NAT gateway lets go of it: it is ours by nothing but a tag then.
      if (const auto tagged = co_await TagIp(wanted.key, ipv6); !tagged)
        co_return std::unexpected(tagged.error());
      continue;
    }
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

async::Task<Result<void>> Provisioner::TagIp(std::string key, bool ipv6) {
  auto found = Found(co_await parts_.gateway.GetPublicIp(PublicIpName(key, ipv6)));
  if (!found) co_return std::unexpected(found.error());
  if (!*found) co_return Result<void>();
  const auto ours = co_await IsOurs(&**found, key);
  if (!ours) co_return std::unexpected(ours.error());
  if (!*ours) co_return Result<void>();
  own_ips_.insert((*found)->name);
  // A resource that uses one whose provisioning has failed cannot be written.
  const bool is_fit = (*found)->succeeded || (*found)->used_by.empty();
  if (owners_.IsTagged((*found)->tags) && is_fit) co_return Result<void>();
  (*found)->tags = owners_.WithTag((*found)->tags);
  co_return Outcome(co_await parts_.gateway.Put(std::move(**found), parts_.is_wanted));
}

async::Task<Result<void>> Provisioner::TagIps(std::string key) {
  if (const auto tagged = co_await TagIp(key, false); !tagged) co_return tagged;
  co_return co_await TagIp(key, true);
}

async::Task<Result<bool>> Provisioner::KeepsBalancer(std::string key) {
  auto found = Found(co_await parts_.gateway.GetLoadBalancer(key));
  if (!found) co_return std::unexpected(found.error());
  if (!*found) co_return false;
  if (owners_.IsOfAnother((*found)->tags)) co_return true;
  if (owners_.IsTagged((*found)->tags)) co_return false;
  const auto ours = co_await IsOurs(&**found);
  if (!ours) co_return std::unexpected(ours.error());
  if (!*ours) co_return false;
  (*found)->tags = owners_.WithTag((*found)->tags);
  const auto put = co_await parts_.gateway.Put(std::move(**found), parts_.is_wanted);
  if (!put) co_return std::unexpected(put.error());
  co_return false;
}

async::Task<Result<bool>> Provisioner::KeepsNat(std::string key) {
  auto found = Found(co_await parts_.gateway.GetNatGateway(key));
  if (!found) co_return std::unexpected(found.error());
  if (!*found) co_return false;
  if (owners_.IsOfAnother((*found)->tags)) co_return true;
  if (owners_.IsTagged((*found)->tags)) co_return false;
  const auto ours = co_await IsOurs(&**found);
  if (!ours) co_return std::unexpected(ours.error());
  if (!*ours) co_return false;
  (*found)->tags = owners_.WithTag((*found)->tags);
  const auto put = co_await parts_.gateway.Put(std::move(**found), parts_.is_wanted);
  if (!put) co_return std::unexpected(put.error());
  co_return false;
}

async::Task<Result<void>> Provisioner::RemoveIp(std::string key, bool ipv6) {
  auto found = Found(co_await parts_.gateway.GetPublicIp(PublicIpName(key, ipv6)));
  if (!found) co_return std::unexpected(found.error());
  if (!*found) co_return Result<void>();
  const bool was_ours = own_ips_.contains((*found)->name) && !owners_.IsOfAnother((*found)->tags);
  if (!was_ours && !owners_.IsOurs(**found, key)) {
    log::Info("public IP of another owner left alone", {{"name", (*found)->name}});
    co_return Result<void>();
  }
  co_return UnlessGone(co_await parts_.gateway.Delete(std::move(**found), parts_.is_wanted));
}

async::Task<Result<void>> Provisioner::RemoveIps(std::string key) {
  if (const auto gone = co_await RemoveIp(key, false); !gone) co_return gone;
  co_return co_await RemoveIp(key, true);
}

async::Task<Result<void>> Provisioner::RemoveBalancer(std::string key) {
  const auto cleared = co_await parts_.registrar.Update(
      {.name = key, .type = cloud::ServiceType::kInbound, .load_balancer = ""});
  if (!cleared) co_return cleared;
  auto found = Found(co_await parts_.gateway.GetLoadBalancer(key));
  if (!found) co_return std::unexpected(found.error());
  if (*found && owners_.IsOurs(**found)) {
    const auto gone =
        UnlessGone(co_await parts_.gateway.Delete(std::move(**found), parts_.is_wanted));
    if (!gone) co_return gone;
  }
  co_return UnlessGone(co_await parts_.registrar.Update(
      {.name = key, .is_delete = true, .type = cloud::ServiceType::kInbound}));
}

async::Task<Result<void>> Provisioner::RemoveInbound(std::string key) {
  if (const auto tagged = co_await TagIps(key); !tagged) co_return tagged;
  const auto keeps = co_await KeepsBalancer(key);
  if (!keeps) co_return std::unexpected(keeps.error());
  if (!*keeps) {
    if (const auto gone = co_await RemoveBalancer(key); !gone) co_return gone;
  }
  co_return co_await RemoveIps(key);
}

async::Task<Result<void>> Provisioner::LeaveGateway(std::string key) {
  auto found = Found(co_await parts_.gateway.GetNatGateway(key));
  if (!found) co_return std::unexpected(found.error());
  if (!*found || !owners_.IsTagged((*found)->tags) || !(*found)->in_gateway)
    co_return Result<void>();
  (*found)->in_gateway = false;
  co_return Outcome(co_await parts_.gateway.Put(std::move(**found), parts_.is_wanted));
}

async::Task<Result<void>> Provisioner::RemoveNat(std::string key) {
  const auto cleared = co_await parts_.registrar.Update(
      {.name = key, .type = cloud::ServiceType::kOutbound, .nat_gateway = ""});
  if (!cleared) co_return cleared;
  if (const auto left = co_await LeaveGateway(key); !left) co_return left;
  const auto unregistered = UnlessGone(co_await parts_.registrar.Update(
      {.name = key, .is_delete = true, .type = cloud::ServiceType::kOutbound}));
  if (!unregistered) co_return unregistered;
  auto found = Found(co_await parts_.gateway.GetNatGateway(key));
  if (!found) co_return std::unexpected(found.error());
  if (!*found || !owners_.IsOurs(**found)) co_return Result<void>();
  co_return UnlessGone(co_await parts_.gateway.Delete(std::move(**found), parts_.is_wanted));
}

async::Task<Result<void>> Provisioner::RemoveOutbound(std::string key) {
  if (const auto tagged = co_await TagIps(key); !tagged) co_return tagged;
  const auto keeps = co_await KeepsNat(key);
  if (!keeps) co_return std::unexpected(keeps.error());
  if (!*keeps) {
    if (const auto gone = co_await RemoveNat(key); !gone) co_return gone;
  }
  co_return co_await RemoveIps(key);
}

}  // namespace berth::difftracker
