#include "cloud/simulator/azure/wire.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <ranges>

#include "log/format.h"

namespace berth::cloud::simulator::azure {
namespace {

std::vector<std::string> Segments(std::string_view path) {
  std::vector<std::string> segments;
  for (const auto part : std::views::split(path, '/')) {
    const std::string_view text(part.begin(), part.end());
    if (text.empty()) continue;
    const Parameters decoded = ParseQuery(text);  // "name" alone: its key is decoded
    segments.push_back(decoded.empty() ? std::string(text) : decoded.begin()->first);
  }
  return segments;
}

struct Kind {
  std::string_view type;
  std::string_view one;
  std::string_view many;
};
constexpr std::array kKinds = {
    Kind{"publicipaddresses", "PublicIPAddress", "PublicIPAddresses"},
    Kind{"loadbalancers", "LoadBalancer", "LoadBalancers"},
    Kind{"natgateways", "NatGateway", "NatGateways"},
    Kind{"servicegateways", "ServiceGateway", "ServiceGateways"},
};

constexpr std::array<std::pair<std::string_view, std::string_view>, 4> kGatewayCalls = {
    {{"services", "GetServices"},
     {"addresslocations", "GetAddressLocations"},
     {"updateservices", "UpdateServices"},
     {"updateaddresslocations", "UpdateAddressLocations"}}};

}  // namespace

std::unexpected<Refusal> NoResource(std::string_view type, std::string_view name) {
  return Refuse(404, "ResourceNotFound",
                Format("The Resource 'Microsoft.Network/{}/{}' was not found.", type, name));
}

std::unexpected<Refusal> Malformed(std::string message) {
  return Refuse(400, "InvalidRequestFormat", std::move(message));
}

std::expected<ArmPath, Refusal> ReadPath(std::string_view path) {
  const auto segments = Segments(path);
  const auto is = [&](std::size_t at, std::string_view word) {
    return at < segments.size() && Lower(segments[at]) == word;
  };
  ArmPath read;
  std::size_t at = 2;
  if (!is(0, "subscriptions") || segments.size() < 2) {
    return Refuse(404, "InvalidResourceNamespace", "The path is not known.");
  }
  read.subscription = Lower(segments[1]);
  if (is(at, "resourcegroups") && at + 1 < segments.size()) {
    read.group = Lower(segments[at + 1]);
    at += 2;
  }
  if (!is(at, "providers") || !is(at + 1, "microsoft.network") || segments.size() < at + 3) {
    return Refuse(404, "InvalidResourceNamespace", "The resource namespace is not known.");
  }
  at += 2;
  read.type = Lower(segments[at]);
  if (++at < segments.size()) read.name = segments[at];
  if (++at < segments.size()) read.call = Lower(segments[at]);
  if (++at < segments.size()) read.item = segments[at];
  return read;
}

std::string ActionOf(std::string_view method, const ArmPath& path) {
  if (path.type == "locations") return "PollOperation";
  const auto kind = std::ranges::find(kKinds, path.type, &Kind::type);
  if (kind == kKinds.end()) return {};
  if (!path.call.empty()) {
    const auto call = std::ranges::find(kGatewayCalls, path.call,
                                        &std::pair<std::string_view, std::string_view>::first);
    return call == kGatewayCalls.end() ? std::string() : std::string(call->second);
  }
  if (path.name.empty()) return Format("List{}", kind->many);
  if (method == "GET") return Format("Get{}", kind->one);
  return Format("{}{}", method == "DELETE" ? "Delete" : "Put", kind->one);
}

bool IsV6(std::string_view address) { return address.contains(':'); }

std::string Shown(const std::string& address) {
  if (!IsV6(address)) return address;
  std::string upper = address;
  std::ranges::transform(upper, upper.begin(), [](unsigned char c) { return std::toupper(c); });
  return upper;
}

http::Response JsonResponse(int code, const Json& body, std::string_view request_id) {
  return {.code = code,
          .headers = {{"content-type", "application/json; charset=utf-8"},
                      {"x-ms-request-id", std::string(request_id)}},
          .body = body.to_string()};
}

http::Response ErrorResponse(const Refusal& refusal, std::string_view request_id) {
  Json body;
  body["error"]["code"] = refusal.code;
  body["error"]["message"] = refusal.message;
  body["error"]["details"] = Json::Array();
  http::Response response = JsonResponse(refusal.http_code, body, request_id);
  if (refusal.http_code == 429) response.headers.push_back({"retry-after", "5"});
  return response;
}

}  // namespace berth::cloud::simulator::azure
