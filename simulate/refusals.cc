#include "simulate/refusals.h"

#include <array>
#include <cstdint>

#include "kube/status.h"
#include "log/format.h"

namespace berth::simulate {
namespace {

using namespace std::chrono_literals;

struct Place {
  std::string group, plural, name, subresource;

  std::string Resource() const { return group.empty() ? plural : plural + "." + group; }
};

// Reads a resource's path, in a namespace or not.
Place PlaceOf(const kube::Request& request) {
  std::vector<std::string> parts;
  std::string_view rest = std::string_view(request.path).substr(0, request.path.find('?'));
  while (!rest.empty()) {
    rest.remove_prefix(rest.starts_with('/') ? 1 : 0);
    const auto slash = rest.find('/');
    parts.emplace_back(rest.substr(0, slash));
    rest = slash == std::string_view::npos ? "" : rest.substr(slash);
  }
  const bool core = !parts.empty() && parts[0] == "api";
  std::size_t at = core ? 2 : 3;  // api, version; or apis, group, version
  if (parts.size() > at + 2 && parts[at] == "namespaces") at += 2;
  const auto part = [&](std::size_t index) {
    return index < parts.size() ? parts[index] : std::string();
  };
  return {core ? "" : part(1), part(at), part(at + 1), part(at + 2)};
}

// The denial of a policy webhook, with the code and reason that it chose.
kube::Status DeniedWith(int code, const Place& place) {
  static constexpr char kWords[] = "admission webhook \"policy\" denied the request: not today";
  kube::Status status;
  switch (code) {
    case 500:
      status = kube::InternalError("");
      break;
    case 409:
      status = kube::Conflict(place.group, place.plural, place.name, "");
      break;
    case 429:
      status = kube::TooManyRequests(1);
      break;
    case 404:
      status = kube::NotFound(place.group, place.plural, place.name);
      break;
    default:
      return kube::Forbidden(place.group, place.plural, place.name, kWords);
  }
  status.message = kWords;
  return status;
}

kube::Response Answer(const kube::Status& status) {
  return {.code = status.code, .body = kube::ToJson(status)};
}

}  // namespace

void Refusals::Draw(Dice& random, async::TimePoint now, async::Duration span,
                    const std::vector<std::string>& resources) {
  static constexpr std::array kCodes = {403, 500, 409, 429, 404};
  for (std::uint64_t i = random.Below(4); i > 0; --i) {
    const async::TimePoint begin = now + random.Between(0s, span);
    const auto which = static_cast<std::uint64_t>(begin.time_since_epoch().count());
    times_.push_back({.kind = static_cast<Kind>(random.Below(4)),
                      .code = kCodes[which % kCodes.size()],
                      .resource = resources[random.Below(resources.size())],
                      .begin = begin,
                      .end = begin + random.Between(5s, 90s)});
  }
}

std::optional<kube::Response> Refusals::Refuse(const kube::Request& request, bool by_user,
                                               async::TimePoint now) const {
  if (request.method == kube::Method::kGet || times_.empty()) return std::nullopt;
  const Place place = PlaceOf(request);
  const bool creates = request.method == kube::Method::kPost;
  for (const Time& time : times_) {
    if (now < time.begin || now >= time.end || place.Resource() != time.resource) continue;
    const auto forbidden = [&](std::string why) {
      return Answer(kube::Forbidden(place.group, place.plural, place.name, std::move(why)));
    };
    if (time.kind == Kind::kPermission && !by_user)
      return forbidden("User \"berth\" cannot write resource");
    // Many policies are for creates and updates alone.
    if (time.kind == Kind::kPolicy && place.subresource.empty() &&
        (time.code != 403 || request.method != kube::Method::kDelete))
      return Answer(DeniedWith(time.code, place));
    if (!creates) continue;
    if (time.kind == Kind::kQuota)
      return forbidden(Format("exceeded quota: few, requested: count/{}=1", time.resource));
    if (time.kind == Kind::kTerminating)
      return forbidden("unable to create new content in namespace because it is being terminated");
  }
  return std::nullopt;
}

}  // namespace berth::simulate
