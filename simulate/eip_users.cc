#include "simulate/eip_users.h"

#include <algorithm>
#include <charconv>
#include <string_view>
#include <utility>

#include "log/format.h"
#include "reconcile/eip/objects.h"
#include "simulate/world.h"

namespace berth::simulate {
namespace {

using Texts = std::vector<std::string>;

Texts Quoted(const Texts& texts) {
  Texts quoted;
  for (const std::string& text : texts) quoted.push_back(Json(text).to_string());
  return quoted;
}

Json UsualSpec(Dice& random, const std::function<std::string()>& some_address,
               const Texts& packages) {
  Json spec;
  const bool import = random.Chance(0.25);
  if (import) spec["allocationID"] = some_address();
  const bool prepaid = !import && random.Chance(0.1);
  if (prepaid) {
    spec["instanceChargeType"] = "PrePaid";
    spec["internetChargeType"] = "PayByBandwidth";
  }
  if (prepaid || random.Chance(0.6)) spec["bandwidth"] = std::to_string(1 + random.Below(200));
  if (random.Chance(0.4)) spec["name"] = Format("n{}", random.Below(3));
  if (random.Chance(0.3)) spec["description"] = "made in a simulation";
  if (random.Chance(0.3)) spec["tags"]["team"] = Format("t{}", random.Below(3));
  // As it has it already.
  if (import && random.Chance(0.3)) spec["tags"]["stage"] = "x";
  if (random.Chance(0.2)) spec["resourceGroupID"] = Format("rg-{}", random.Below(2));
  if (random.Chance(0.2)) spec["bandwidthPackageID"] = packages[random.Below(packages.size())];
  if (random.Chance(0.3)) spec["releaseStrategy"] = random.Chance(0.5) ? "Never" : "OnDelete";
  return spec;
}

bool IsBandwidth(const std::string& text) {
  int number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc{} && end == text.data() + text.size() && number >= 1 && number <= 200;
}

bool IsUsual(const std::string& id, std::string_view prefix) {
  return id.empty() || id.starts_with(prefix);
}

bool HasUsualTags(const Json& spec) {
  // More would leave no room for the owner's.
  if (spec.get_value_or<Json>("tags", Json::Object()).size() >= eip::kMostTags) return false;
  return std::ranges::all_of(spec["tags"].object_range(), [](const auto& tag) {
    return tag.key() == "team" || tag.key() == "stage" || tag.key() == eip::kOwnerTag ||
           (tag.key().starts_with('k') && tag.value() == "x");
  });
}

}  // namespace

UserKind EipUsers(std::function<std::string(World&)> some_address, const Texts& addresses,
                  const Texts& packages) {
  Texts names;
  for (int i = 0; i < 8; ++i) names.push_back(Format("e{}", i));
  Texts imported = addresses;
  imported.emplace_back("eip-nowhere");
  return {
      .crd = "eips.eip.alibabacloud.com",
      .weight = 1,
      .names = std::move(names),
      .generated_names = {},
      .spec =
          [some_address = std::move(some_address), packages](World& world, const std::string&,
                                                             const std::string&) {
            return UsualSpec(world.random(), [&] { return some_address(world); }, packages);
          },
      .values = {{"spec.allocationID", Quoted(imported)},
                 {"spec.bandwidth", Quoted({"1", "5", "100", "200", "0"})},
                 {"spec.isp", Quoted({"BGP", "BGP_PRO"})},
                 {"spec.publicIPAddressPoolID", Quoted({"pippool-1"})},
                 {"spec.resourceGroupID", Quoted({"rg-0", "rg-1", "rg-2"})},
                 {"spec.name", Quoted({"n0", "n1", "renamed"})},
                 {"spec.description", Quoted({"made in a simulation", "another"})},
                 {"spec.bandwidthPackageID", Quoted(packages)},
                 {"spec.internetChargeType",
                  Quoted({"PayByTraffic", "PayByBandwidth", "PayByMoonlight"})},
                 {"spec.instanceChargeType", Quoted({"PostPaid", "PrePaid"})},
                 {"spec.period", {"1", "2", "3"}},
                 {"spec.pricingCycle", Quoted({"Month", "Year"})},
                 {"spec.autoPay", {"true", "false"}},
                 {"spec.securityProtectionTypes", {R"(["AntiDDoS_Enhanced"])", "[]"}},
                 {"spec.tags",
                  {R"({"team":"t0"})", R"({"team":"t1","stage":"x"})", R"({"team":null})",
                   Format(R"({{"{}":"forged"}})", eip::kOwnerTag)}},
                 {"spec.releaseStrategy", Quoted({"Never", "OnDelete"})}},
      .favourite = "spec.tags",
      .next = {},
      .labels = {},
      .annotations = {{std::string(eip::kOnLostAnnotation), {"reallocate"}},
                      {std::string(eip::kOnForeignAnnotation), {"adopt"}},
                      {std::string(eip::kOnStuckAnnotation), {"unassociate", "abandon", "wait"}}}};
}

bool MayBeRefused(const Json& spec) {
  const auto text = [&](std::string_view field) {
    return spec.get_value_or<std::string>(field, "");
  };
  const auto is = [&](std::string_view field, std::initializer_list<std::string_view> usual) {
    const std::string value = text(field);
    return value.empty() || std::ranges::contains(usual, value);
  };
  const std::string bandwidth = text("bandwidth");
  const bool plain = is("internetChargeType", {"PayByTraffic", "PayByBandwidth"}) &&
                     is("instanceChargeType", {"PostPaid"}) && is("isp", {"BGP"}) &&
                     is("publicIPAddressPoolID", {}) && !spec.contains("period") &&
                     !spec.contains("pricingCycle") && !spec.contains("securityProtectionTypes") &&
                     IsUsual(text("resourceGroupID"), "rg-") &&
                     IsUsual(text("bandwidthPackageID"), "cbwp-") && HasUsualTags(spec) &&
                     text("name").size() <= 100 && text("description").size() <= 200 &&
                     (bandwidth.empty() || IsBandwidth(bandwidth));
  return !plain;
}

}  // namespace berth::simulate
