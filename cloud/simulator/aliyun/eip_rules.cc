#include "cloud/simulator/aliyun/eip_rules.h"

#include <charconv>
#include <chrono>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "cloud/simulator/aliyun/parameters.h"

namespace berth::cloud::simulator {
namespace {

constexpr std::size_t kLongestName = 128;
constexpr std::size_t kLongestDescription = 256;

const std::set<std::string_view> kSingleLines = {"ChinaTelecom",   "ChinaUnicom",
                                                 "ChinaMobile",    "ChinaTelecom_L2",
                                                 "ChinaUnicom_L2", "ChinaMobile_L2"};
const std::set<std::string_view> kOtherLines = {"BGP", "BGP_PRO", "BGP_FinanceCloud",
                                                "BGP_International"};

std::unexpected<Refusal> InvalidComponent() {
  return Refuse(400, "COMMODITY.INVALID_COMPONENT", "The instance component is invalid.");
}

// None unless it is written as a number is, without signs, blanks or leading zeros.
std::optional<int> Number(std::string_view text) {
  int number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || std::to_string(number) != text) return std::nullopt;
  return number;
}

bool IsBandwidth(const Eip& eip) {
  int most = 200;
  if (eip.internet_charge_type == "PayByBandwidth") most = 500;
  if (eip.instance_charge_type == "PrePaid") most = 1000;
  const auto bandwidth = Number(eip.bandwidth);
  return bandwidth && *bandwidth >= 1 && *bandwidth <= most;
}

Check CheckSubscription(const Call& call) {
  const std::string& cycle = call["PricingCycle"];
  if (!cycle.empty() && cycle != "Month" && cycle != "Year") return Invalid("PricingCycle");
  if (call["Period"].empty()) return Missing("Period");
  const auto period = Number(call["Period"]);
  if (!period || *period < 1 || *period > (cycle == "Year" ? 5 : 9)) return Invalid("Period");
  const auto auto_pay = Flag(call, "AutoPay");
  if (!auto_pay) return std::unexpected(auto_pay.error());
  if (!*auto_pay) return Missing("AutoPay");
  return {};
}

Check CheckCharge(const Eip& eip, const Call& call) {
  const std::string& internet = eip.internet_charge_type;
  if (internet != "PayByBandwidth" && internet != "PayByTraffic" &&
      internet != "PayByDominantTraffic") {
    return Invalid("InternetChargeType");
  }
  const bool prepaid = eip.instance_charge_type == "PrePaid";
  if (!prepaid && eip.instance_charge_type != "PostPaid") return Invalid("InstanceChargeType");
  const bool single_line = kSingleLines.contains(eip.isp);
  if (!single_line && !kOtherLines.contains(eip.isp)) return Invalid("ISP");
  if ((prepaid || single_line) && internet != "PayByBandwidth") return InvalidComponent();
  if (prepaid && single_line) return InvalidComponent();
  if (prepaid) return CheckSubscription(call);
  return {};
}

Check CheckTexts(const Eip& eip) {
  if (!IsText(eip.name, kLongestName)) return Invalid("Name");
  if (!IsText(eip.description, kLongestDescription)) return Invalid("Description");
  return {};
}

std::string Or(const std::string& value, std::string otherwise) {
  return value.empty() ? otherwise : value;
}

}  // namespace

std::expected<Eip, Refusal> EipToAllocate(const Call& call) {
  Eip eip;
  eip.status = "Available";
  eip.isp = Or(call["ISP"], "BGP");
  eip.internet_charge_type = Or(call["InternetChargeType"], "PayByTraffic");
  eip.instance_charge_type = Or(call["InstanceChargeType"], "PostPaid");
  eip.bandwidth = Or(call["Bandwidth"], "5");
  eip.resource_group_id = Or(call["ResourceGroupId"], "rg-default");
  eip.name = call["Name"];
  eip.description = call["Description"];
  eip.public_ip_address_pool_id = call["PublicIpAddressPoolId"];
  eip.security_protection_types = Numbered(call, "SecurityProtectionTypes");
  if (const auto good = CheckCharge(eip, call); !good) return std::unexpected(good.error());
  if (const auto good = CheckTexts(eip); !good) return std::unexpected(good.error());
  if (!IsBandwidth(eip)) return Invalid("Bandwidth");
  // An EIP that the account once had is not given back here.
  if (!call["IpAddress"].empty()) return Invalid("IpAddress");
  if (!call["InstanceId"].empty()) return Invalid("InstanceId");
  if (Or(call["Netmode"], "public") != "public") return Invalid("Netmode");
  auto tags = NumberedTags(call);
  if (!tags) return std::unexpected(tags.error());
  eip.tags = std::move(*tags);
  for (const std::string& type : eip.security_protection_types) {
    if (type != "AntiDDoS_Enhanced") return Invalid("SecurityProtectionTypes");
  }
  return eip;
}

std::optional<async::Duration> SubscriptionTerm(const Call& call) {
  if (call["InstanceChargeType"] != "PrePaid") return std::nullopt;
  const int period = Number(call["Period"]).value_or(0);
  if (call["PricingCycle"] == "Year") return std::chrono::years(period);
  return std::chrono::months(period);
}

std::expected<Eip, Refusal> EipModified(Eip eip, const Call& call) {
  if (call.Has("Name")) eip.name = call["Name"];
  if (call.Has("Description")) eip.description = call["Description"];
  if (const auto good = CheckTexts(eip); !good) return std::unexpected(good.error());
  if (call["Bandwidth"].empty() || call["Bandwidth"] == eip.bandwidth) return eip;
  if (eip.instance_charge_type == "PrePaid") {
    return Refuse(400, "Forbidden.ChargeTypeIsPrepaid",
                  "It is forbidden to change a prepaid EIP's bandwidth by API.");
  }
  eip.bandwidth = call["Bandwidth"];
  if (!IsBandwidth(eip)) return Invalid("Bandwidth");
  return eip;
}

}  // namespace berth::cloud::simulator
