#include "reconcile/eip/objects.h"

#include <algorithm>
#include <charconv>
#include <ranges>

#include "kube/age.h"
#include "log/format.h"

namespace berth::eip {
namespace {

std::string Text(kube::JsonView view) { return std::string(view.StringOr("")); }

cloud::Tags TagsOf(kube::JsonView view) {
  cloud::Tags tags;
  view.ForEach([&](std::string_view key, kube::JsonView value) {
    tags.emplace(std::string(key), Text(value));
  });
  return tags;
}

// A request's texts under the names that the object's spec has for them.
template <typename Request, typename Visit>
void ForEachText(Request& request, Visit&& visit) {
  visit("bandwidth", request.bandwidth);
  visit("isp", request.isp);
  visit("internetChargeType", request.internet_charge_type);
  visit("instanceChargeType", request.instance_charge_type);
  visit("publicIPAddressPoolID", request.public_ip_address_pool_id);
  visit("resourceGroupID", request.resource_group_id);
  visit("name", request.name);
  visit("description", request.description);
  visit("pricingCycle", request.pricing_cycle);
}

constexpr const char* kProtection = "securityProtectionTypes";
constexpr const char* kPeriod = "period";
constexpr const char* kAutoPay = "autoPay";
constexpr std::string_view kTag = "tag:";  // and its key

// Whether the status counts attempts of the object: an attempt of another one shows that it is a
// copy.
bool CountsAttempts(kube::JsonView status, std::string_view uid) {
  const kube::JsonView attempt = status["attempt"];
  const std::string_view token = attempt["clientToken"].StringOr("");
  const bool own = token.empty() || token.starts_with(Format("berth-{}-", uid));
  return own && (status["attempts"].exists() || attempt.exists());
}

Attempt AttemptFrom(kube::JsonView status, std::string_view uid) {
  const kube::JsonView view = status["attempt"];
  Attempt attempt{
      .number = std::max(view["number"].Int().value_or(0), status["attempts"].Int().value_or(0)),
      .request = {},
      .replaces = Text(view["replaces"])};
  attempt.request.client_token = Text(view["clientToken"]);
  // The status is a copy of another object's: the request, the count and the lost address are too.
  if (attempt && attempt.request.client_token != ClientToken(uid, attempt.number)) return {};
  const kube::JsonView request = view["request"];
  ForEachText(attempt.request,
              [&](const char* name, std::string& text) { text = Text(request[name]); });
  for (const auto part : std::views::split(request[kProtection].StringOr(""), ',')) {
    if (part.begin() != part.end()) {
      attempt.request.security_protection_types.emplace_back(part.begin(), part.end());
    }
  }
  const std::string_view period = request[kPeriod].StringOr("");
  std::from_chars(period.data(), period.data() + period.size(), attempt.request.period);
  attempt.request.auto_pay = request[kAutoPay].StringOr("") == "true";
  request.ForEach([&](std::string_view name, kube::JsonView value) {
    if (!name.starts_with(kTag)) return;
    attempt.request.tags.emplace(std::string(name.substr(kTag.size())), Text(value));
  });
  return attempt;
}

}  // namespace

Spec Spec::From(kube::JsonView spec) {
  Spec result{.allocation_id = Text(spec["allocationID"]),
              .bandwidth = Text(spec["bandwidth"]),
              .isp = Text(spec["isp"]),
              .pool = Text(spec["publicIPAddressPoolID"]),
              .resource_group = Text(spec["resourceGroupID"]),
              .name = Text(spec["name"]),
              .description = Text(spec["description"]),
              .package = Text(spec["bandwidthPackageID"]),
              .internet_charge_type = Text(spec["internetChargeType"]),
              .instance_charge_type = Text(spec["instanceChargeType"]),
              .period = static_cast<int>(spec["period"].Int().value_or(0)),
              .pricing_cycle = Text(spec["pricingCycle"]),
              .auto_pay = spec["autoPay"].Bool().value_or(true),
              .protection = {},
              .tags = TagsOf(spec["tags"])};
  spec["securityProtectionTypes"].ForEachItem(
      [&](kube::JsonView type) { result.protection.push_back(Text(type)); });
  const std::string_view release = spec["releaseStrategy"].StringOr("");
  if (release == "Never") result.release = ReleaseStrategy::kNever;
  if (release == "OnDelete") result.release = ReleaseStrategy::kOnDelete;
  return result;
}

bool Spec::SingleLine() const {
  const std::string_view carrier = std::string_view(isp).substr(0, isp.find("_L2"));
  return carrier == "ChinaTelecom" || carrier == "ChinaUnicom" || carrier == "ChinaMobile";
}

std::string Spec::PaidBy() const {
  if (!internet_charge_type.empty()) return internet_charge_type;
  return PrePaid() || SingleLine() ? "PayByBandwidth" : "PayByTraffic";
}

Json Attempt::ToJson() const {
  Json texts;
  ForEachText(request, [&](const char* name, const std::string& text) {
    if (!text.empty()) texts[name] = text;
  });
  const std::string protection = Joined(request.security_protection_types);
  if (!protection.empty()) texts[kProtection] = protection;
  if (request.period > 0) {
    texts[kPeriod] = std::to_string(request.period);
    texts[kAutoPay] = request.auto_pay ? "true" : "false";
  }
  for (const auto& [key, value] : request.tags) texts[std::string(kTag) + key] = value;
  Json json;
  json["number"] = number;
  if (!replaces.empty()) json["replaces"] = replaces;
  if (*this) {
    json["clientToken"] = request.client_token;
    json["request"] = std::move(texts);
  }
  return json;
}

std::string Joined(const std::vector<std::string>& texts) {
  std::string joined;
  for (const std::string& text : texts) joined += (joined.empty() ? "" : ",") + text;
  return joined;
}

void Attempt::Settle(Json& facts) const {
  if (number > 0) facts["attempts"] = number;
  facts["attempt"] = Json::null();
  if (replaces.empty()) return;
  facts["attempt"] = Json::Object();
  facts["attempt"]["replaces"] = replaces;
}

std::string ClientToken(std::string_view uid, std::int64_t number) {
  return Format("berth-{}-{}", uid, number);  // a uid has 36 characters, a token at most 64
}

kube::Result<Object> Object::From(kube::JsonView object) {
  const kube::JsonView annotations = object["metadata"]["annotations"];
  const kube::JsonView status = object["status"];
  Object result{.id = Identity::From(object, kFinalizer),
                .spec = Spec::From(object["spec"]),
                .on_lost = Text(annotations[kOnLostAnnotation]),
                .on_stuck = Text(annotations[kOnStuckAnnotation]),
                .on_foreign = Text(annotations[kOnForeignAnnotation]),
                .has_status = status.size() > 0,
                .allocation_id = Text(status["allocationID"]),
                .origin = Origin::kUnknown,
                .adopted = status["adopted"].Bool().value_or(false),
                .joined_package = Text(status["joinedPackage"]),
                .release_sent = status["releaseSent"].Bool().value_or(false),
                .attempt = AttemptFrom(status, object["metadata"]["uid"].StringOr("")),
                .counted = CountsAttempts(status, object["metadata"]["uid"].StringOr("")),
                .place = {Text(status["region"]), Text(status["account"])},
                .applied_tags = TagsOf(status["tags"]),
                .cloud_status = {},
                .told_reason = {},
                .told_message = {},
                .status = status.ToJson()};
  const std::string_view origin = status["origin"].StringOr("");
  if (origin == "Created") result.origin = Origin::kCreated;
  if (origin == "Imported") result.origin = Origin::kImported;
  result.cloud_status = Text(status["status"]);
  status["conditions"].ForEachItem([&](kube::JsonView condition) {
    const std::string_view type = condition["type"].StringOr("");
    const bool holds = condition["status"].StringOr("") == "True";
    if (type == "Synced") result.told_synced = holds;
    if (type == "Progressing") result.told_progressing = holds;
    if (type != "Ready") return;
    result.told_ready = holds;
    result.told_reason = Text(condition["reason"]);
    result.told_message = Text(condition["message"]);
    result.told_generation = condition["observedGeneration"].Int().value_or(0);
    const std::string_view since = condition["lastTransitionTime"].StringOr("");
    result.told_since = kube::ParseTimestamp(since).value_or(0);
  });
  return result;
}

cloud::Tags Object::OwnTags() const {
  cloud::Tags tags = spec.tags;
  tags.erase(std::string(kOwnerTag));  // whose it is, is not for the spec to say
  if (tags.size() < kMostTags) tags.emplace(kOwnerTag, id.uid);
  return tags;
}

Attempt Object::NextAttempt() const {
  Attempt next{.number = attempt.number + 1,
               .request = {.client_token = ClientToken(id.uid, attempt.number + 1),
                           .bandwidth = spec.bandwidth,
                           .isp = spec.isp,
                           .internet_charge_type = spec.PaidBy(),
                           .instance_charge_type = spec.instance_charge_type,
                           .public_ip_address_pool_id = spec.pool,
                           .resource_group_id = spec.resource_group,
                           .name = {},
                           .description = {},
                           .security_protection_types = spec.protection,
                           .tags = OwnTags()},
               .replaces = allocation_id.empty() ? attempt.replaces : allocation_id};
  // The cloud takes neither with a PrePaid address: they are set once it is there.
  if (!spec.PrePaid()) {
    next.request.name = spec.name;
    next.request.description = spec.description;
  }
  if (spec.PrePaid()) {
    next.request.period = spec.period > 0 ? spec.period : 1;
    next.request.pricing_cycle = spec.pricing_cycle.empty() ? "Month" : spec.pricing_cycle;
    next.request.auto_pay = spec.auto_pay;
  }
  return next;
}

}  // namespace berth::eip
