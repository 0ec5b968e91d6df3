#pragma once

#include <expected>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cloud/names.h"
#include "cloud/simulator/received.h"
#include "cloud/simulator/server.h"
#include "http/transport.h"
#include "json/json.h"

namespace berth::cloud::simulator::azure {

using Check = std::expected<void, Refusal>;
template <typename T>
using Or = std::expected<T, Refusal>;

inline std::unexpected<Refusal> Refuse(int status, std::string code, std::string message) {
  return std::unexpected(Refusal{status, std::move(code), std::move(message)});
}
std::unexpected<Refusal> NoResource(std::string_view type, std::string_view name);
std::unexpected<Refusal> Malformed(std::string message);

// A call of Azure Resource Manager: the parts of its path. Names are as they were written; all
// else is in lower case.
struct ArmPath {
  std::string subscription;
  std::string group;  // empty outside of one
  std::string type;   // "publicipaddresses", …, "locations"
  std::string name;   // of a resource, or of a location
  std::string call;   // "services", "updateservices", "operations", "operationresults"
  std::string item;   // the operation
};
// None for a path that is not one of Microsoft.Network.
std::expected<ArmPath, Refusal> ReadPath(std::string_view path);
// "PutLoadBalancer", as the client names it; empty for none.
std::string ActionOf(std::string_view method, const ArmPath& path);

bool IsV6(std::string_view address);
// As Azure shows addresses: those of IPv6 in upper case.
std::string Shown(const std::string& address);

http::Response JsonResponse(int code, const Json& body, std::string_view request_id);
http::Response ErrorResponse(const Refusal& refusal, std::string_view request_id);

}  // namespace berth::cloud::simulator::azure
