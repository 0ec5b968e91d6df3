#include "handlers/admission/subnetpool.h"

#include <algorithm>
#include <optional>
#include <string>

#include "reconcile/ipam/cidr.h"

namespace berth::admission {
namespace {

constexpr const char* kGroup = "plexaubnet.io";
constexpr const char* kResource = "subnetpools";
constexpr const char* kCidrField = "spec.cidr";

// What is wrong with a CIDR, in the words of the API's field errors; nothing when it is canonical.
std::optional<kube::StatusCause> CheckCidr(kube::JsonView cidr) {
  const auto text = cidr.String();
  if (!text)
    return kube::StatusCause{"FieldValueRequired",
                             "Required value: the pool's CIDR, as in 10.0.0.0/16", kCidrField};
  const auto invalid = [&](const std::string& why) {
    return kube::StatusCause{"FieldValueInvalid",
                             "Invalid value: \"" + std::string(*text) + "\": " + why, kCidrField};
  };
  const auto parsed = ipam::Cidr::Parse(*text);
  if (!parsed) return invalid(parsed.error());
  const std::string canonical = parsed->Canonical().ToString();
  if (!parsed->IsCanonical())
    return invalid("host bits are set; the canonical form is \"" + canonical + "\"");
  if (canonical != *text) return invalid("not in canonical form, which is \"" + canonical + "\"");
  return std::nullopt;
}

void Validate(const Request& request, Webhooks::Reply reply) {
  // A finalizer must always be removable, whatever the spec says.
  if (request.object["metadata"]["deletionTimestamp"].exists()) return reply(Response::Allow());
  const auto cause = CheckCidr(request.object["spec"]["cidr"]);
  if (!cause) return reply(Response::Allow());
  const auto before = request.old_object["spec"]["cidr"].String();
  if (before && before == request.object["spec"]["cidr"].String()) {
    return reply(
        std::move(Response::Allow().Warn(std::string(kCidrField) + ": " + cause->message)));
  }
  reply(Response::Deny(kube::Invalid("SubnetPool", kGroup, std::string(request.name), {*cause})));
}

void Default(const Request& request, Webhooks::Reply reply) {
  Response response;
  const kube::JsonView spec = request.object["spec"];
  const auto cidr = ipam::Cidr::Parse(spec["cidr"].StringOr(""));
  if (cidr && !spec["defaultBlockSize"].exists()) {
    const int usual = cidr->family() == ipam::Family::kIpv4 ? 24 : 64;
    response.Add("/spec/defaultBlockSize", std::max(usual, cidr->prefix()));
  }
  reply(std::move(response));
}

}  // namespace

void RegisterSubnetPool(Webhooks& webhooks) {
  webhooks.On(Phase::kMutate, kGroup, kResource, {Operation::kCreate}, Default);
  webhooks.On(Phase::kValidate, kGroup, kResource, {Operation::kCreate, Operation::kUpdate},
              Validate);
}

}  // namespace berth::admission
