#include "reconcile/eip/admission.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <set>
#include <utility>

#include "log/format.h"

namespace berth::eip {
namespace {

constexpr const char* kId = "spec.allocationID";
constexpr const char* kBandwidth = "spec.bandwidth";
constexpr const char* kIsp = "spec.isp";
constexpr const char* kInternetCharge = "spec.internetChargeType";
constexpr const char* kInstanceCharge = "spec.instanceChargeType";
constexpr const char* kPackage = "spec.bandwidthPackageID";
constexpr const char* kProtection = "spec.securityProtectionTypes";
constexpr const char* kTags = "spec.tags";

constexpr std::size_t kLongestName = 128;
constexpr std::size_t kLongestDescription = 256;
constexpr std::size_t kLongestTag = 128;

constexpr std::array<std::string_view, 10> kLines = {"BGP",
                                                     "BGP_PRO",
                                                     "ChinaTelecom",
                                                     "ChinaUnicom",
                                                     "ChinaMobile",
                                                     "ChinaTelecom_L2",
                                                     "ChinaUnicom_L2",
                                                     "ChinaMobile_L2",
                                                     "BGP_FinanceCloud",
                                                     "BGP_International"};
constexpr std::array<std::string_view, 3> kInternetCharges = {"PayByBandwidth", "PayByTraffic",
                                                              "PayByDominantTraffic"};
constexpr std::array<std::string_view, 2> kInstanceCharges = {"PostPaid", "PrePaid"};
constexpr std::array<std::string_view, 2> kCycles = {"Month", "Year"};
constexpr std::array<std::string_view, 1> kProtections = {"AntiDDoS_Enhanced"};
constexpr std::array<std::string_view, 2> kStrategies = {"Never", "OnDelete"};

// It names an address to have. The lost one that it is to have another one for does not count.
bool HasAddress(const Object& object) {
  return !object.allocation_id.empty() || object.NamesAddress();
}

// Its address was there before: nothing is allocated for it.
bool IsImport(const Object& object) {
  return object.origin != Origin::kCreated && !object.attempt && HasAddress(object);
}

// There is an address, or an attempt at one that asks for what it asked for at first.
bool IsSettled(const Object& object) { return object.attempt || HasAddress(object); }

// How the address is paid for, or will be; empty when nobody can say yet.
struct Terms {
  std::string internet;
  std::string instance;
};

Terms TermsOf(const Proposal& proposal) {
  Terms terms;
  // The charge types of the status describe an address that would be lost otherwise.
  if (HasAddress(proposal.object)) {
    terms = {proposal.internet_charge_type, proposal.instance_charge_type};
  }
  if (IsImport(proposal.object)) return terms;
  const Spec& spec = proposal.object.spec;
  if (terms.internet.empty()) terms.internet = spec.PaidBy();
  if (terms.instance.empty()) terms.instance = spec.PrePaid() ? "PrePaid" : "PostPaid";
  return terms;
}

// As people count, not bytes.
std::size_t Characters(std::string_view text) {
  return static_cast<std::size_t>(std::ranges::count_if(
      text, [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }));
}

bool IsUrl(std::string_view text) {
  return text.starts_with("http://") || text.starts_with("https://");
}

void CheckText(Verdict& verdict, const std::string& field, std::string_view text,
               std::size_t most) {
  if (Characters(text) > most) verdict.TooLong(field, most);
  if (IsUrl(text)) verdict.Invalid(field, text, "must not start with http:// or https://");
}

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

// A letter of any script counts: the cloud takes Chinese ones, too.
bool IsLetter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || static_cast<unsigned char>(c) >= 0x80;
}

void CheckName(Verdict& verdict, const std::string& name) {
  if (name.empty()) return;
  CheckText(verdict, "spec.name", name, kLongestName);
  const bool is_plain = std::ranges::all_of(
      name, [](char c) { return IsLetter(c) || IsDigit(c) || c == '.' || c == '_' || c == '-'; });
  if (!IsUrl(name) && (!IsLetter(name.front()) || !is_plain)) {
    verdict.Invalid("spec.name", name,
                    "must begin with a letter and have only letters, digits, '.', '_' and '-'");
  }
}

template <std::size_t N>
void CheckOneOf(Verdict& verdict, std::string field, std::string_view value,
                const std::array<std::string_view, N>& supported) {
  if (value.empty() || std::ranges::contains(supported, value)) return;
  std::string list;
  for (const std::string_view one : supported) {
    list += Format("{}\"{}\"", list.empty() ? "" : ", ", one);
  }
  verdict.NotSupported(std::move(field), value, list);
}

// None unless it is written as a number is, without signs, blanks or leading zeros.
std::optional<int> Number(std::string_view text) {
  int number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || std::to_string(number) != text) return std::nullopt;
  return number;
}

struct Limit {
  int most;
  std::string why;
};

Limit BandwidthLimit(const Terms& terms) {
  if (terms.instance == "PrePaid") return {1000, " for a PrePaid address"};
  if (terms.internet == "PayByBandwidth") return {500, " for a PayByBandwidth address"};
  if (std::ranges::contains(kInternetCharges, terms.internet)) {
    return {200, Format(" for a {} address", terms.internet)};
  }
  return {1000, ""};
}

void CheckBandwidth(Verdict& verdict, const Proposal& proposal, const Terms& terms) {
  const std::string& bandwidth = proposal.object.spec.bandwidth;
  if (bandwidth.empty()) {
    if (terms.internet == "PayByBandwidth" && !IsImport(proposal.object)) {
      verdict.Required(kBandwidth, "what is paid for, in Mbps, when it is PayByBandwidth");
    }
    return;
  }
  const Limit limit = BandwidthLimit(terms);
  const auto number = Number(bandwidth);
  if (!number || *number < 1 || *number > limit.most) {
    verdict.Invalid(kBandwidth, bandwidth,
                    Format("must be a whole number of Mbps from 1 to {}{}", limit.most, limit.why));
  }
}

void CheckChoices(Verdict& verdict, const Proposal& proposal) {
  const Spec& spec = proposal.object.spec;
  CheckOneOf(verdict, kIsp, spec.isp, kLines);
  CheckOneOf(verdict, kInternetCharge, spec.internet_charge_type, kInternetCharges);
  CheckOneOf(verdict, kInstanceCharge, spec.instance_charge_type, kInstanceCharges);
  CheckOneOf(verdict, "spec.pricingCycle", spec.pricing_cycle, kCycles);
  CheckOneOf(verdict, "spec.releaseStrategy", proposal.release, kStrategies);
  std::set<std::string_view> seen;
  for (std::size_t i = 0; i < spec.protection.size(); ++i) {
    const std::string field = Format("{}[{}]", kProtection, i);
    CheckOneOf(verdict, field, spec.protection[i], kProtections);
    if (spec.protection[i].empty()) verdict.Required(field, "AntiDDoS_Enhanced, or no item at all");
    if (!seen.insert(spec.protection[i]).second) {
      verdict.Duplicate(field, spec.protection[i], "it is in the list already");
    }
  }
}

// Charge types and sizes that the cloud sells together.
void CheckCharges(Verdict& verdict, const Spec& spec) {
  if (spec.PrePaid() && spec.SingleLine()) {
    verdict.Invalid(kInstanceCharge, spec.instance_charge_type,
                    Format("a {} address is PostPaid only", spec.isp));
  }
  if ((spec.PrePaid() || spec.SingleLine()) && spec.PaidBy() != "PayByBandwidth" &&
      std::ranges::contains(kInternetCharges, spec.PaidBy())) {
    verdict.Invalid(kInternetCharge, spec.PaidBy(),
                    Format("must be PayByBandwidth for a {} address",
                           spec.SingleLine() ? spec.isp : "PrePaid"));
  }
}

void CheckSubscription(Verdict& verdict, const Proposal& proposal) {
  const Spec& spec = proposal.object.spec;
  if (spec.PrePaid()) {
    const bool years = spec.pricing_cycle == "Year";
    const int most = years ? 5 : 9;
    if (proposal.period && (*proposal.period < 1 || *proposal.period > most)) {
      verdict.Invalid("spec.period", *proposal.period,
                      Format("must be from 1 to {} {}", most, years ? "years" : "months"));
    }
    return;
  }
  const auto only = [&](const char* field, bool given) {
    if (given) verdict.Forbidden(field, "may only be given for a PrePaid address");
  };
  only("spec.period", proposal.period.has_value());
  only("spec.pricingCycle", !spec.pricing_cycle.empty());
  only("spec.autoPay", proposal.auto_pay.has_value());
}

void CheckTags(Verdict& verdict, const cloud::Tags& tags) {
  if (tags.size() > kMostTags) verdict.TooMany(kTags, tags.size(), kMostTags);
  for (const auto& [key, value] : tags) {
    const std::string field = Format("{}[{}]", kTags, key);
    if (key == kOwnerTag) {
      verdict.Forbidden(field, "Berth puts this tag on the addresses it allocates");
    }
    if (key.empty()) verdict.Invalid(kTags, key, "a tag must have a key");
    if (key.starts_with("aliyun") || key.starts_with("acs:")) {
      verdict.Invalid(kTags, key, "a tag's key must not start with aliyun or acs:");
    }
    CheckText(verdict, kTags, key, kLongestTag);
    CheckText(verdict, field, value, kLongestTag);
  }
}

// IDs go to the cloud in lists with commas.
bool IsId(std::string_view text) {
  return std::ranges::all_of(text, [](char c) {
    return IsDigit(c) || (IsLetter(c) && static_cast<unsigned char>(c) < 0x80) || c == '-' ||
           c == '_';
  });
}

void CheckId(Verdict& verdict, const Object& object, const Knowledge& known) {
  const std::string& id = object.spec.allocation_id;
  if (id.empty()) return;
  if (!IsId(id)) verdict.Invalid(kId, id, "must be the ID of one address, as in eip-2zeerraiwb7uj");
  if (!known.holder_of) return;
  if (const std::string holder = known.holder_of(id, object.id.uid); !holder.empty()) {
    verdict.Duplicate(kId, id, Format("the EIP \"{}\" has it", holder));
  }
}

Verdict Check(const Proposal& proposal, const Knowledge& known) {
  Verdict verdict;
  const Object& object = proposal.object;
  const Terms terms = TermsOf(proposal);
  CheckId(verdict, object, known);
  CheckChoices(verdict, proposal);
  if (!IsImport(object)) {
    CheckCharges(verdict, object.spec);
    CheckSubscription(verdict, proposal);
  }
  CheckBandwidth(verdict, proposal, terms);
  if (!object.spec.package.empty() && terms.instance == "PrePaid") {
    verdict.Forbidden(kPackage, "a PrePaid address cannot be in a bandwidth package");
  }
  CheckName(verdict, object.spec.name);
  CheckText(verdict, "spec.description", object.spec.description, kLongestDescription);
  CheckTags(verdict, object.spec.tags);
  return verdict;
}

void CheckIdChange(Verdict& verdict, const Object& now, const Object& before) {
  const std::string& id = now.spec.allocation_id;
  // That of the status is what Berth itself writes.
  if (id == before.spec.allocation_id || (!id.empty() && id == before.allocation_id)) return;
  if (before.ClaimedId().empty()) {
    if (before.attempt) verdict.Forbidden(kId, "an address is being allocated for this object");
    return;
  }
  verdict.Immutable(
      kId, before.spec.allocation_id.empty() ? before.allocation_id : before.spec.allocation_id,
      id);
}

void CheckChange(Verdict& verdict, const Proposal& now, const Proposal& before) {
  CheckIdChange(verdict, now.object, before.object);
  if (!IsSettled(before.object)) return;
  // A field may always be set to the cloud's value: spec did not set it, or an import is not so.
  const bool allocating = !HasAddress(before.object);
  const auto keep = [&](const char* field, const std::string& was, const std::string& is,
                        const std::string& told) {
    if (is == was || (is == told && (was.empty() || (!allocating && !told.empty())))) return;
    if (allocating) {
      return verdict.Forbidden(field,
                               "an address is being allocated with the present value: to change "
                               "it, delete the object and create it again");
    }
    verdict.Immutable(field, told.empty() ? was : told, is);
  };
  const Spec& was = before.object.spec;
  const Spec& is = now.object.spec;
  keep(kIsp, was.isp, is.isp, before.isp);
  keep(kInternetCharge, was.internet_charge_type, is.internet_charge_type,
       before.internet_charge_type);
  keep(kInstanceCharge, was.instance_charge_type, is.instance_charge_type,
       before.instance_charge_type);
  keep("spec.publicIPAddressPoolID", was.pool, is.pool, before.pool);
  // Without a word it is as it is in the cloud.
  if (allocating || !is.protection.empty()) {
    keep(kProtection, Joined(was.protection), Joined(is.protection), "");
  }
  if (is.period != was.period || is.pricing_cycle != was.pricing_cycle ||
      is.auto_pay != was.auto_pay) {
    verdict.warnings.emplace_back(
        "spec.period, pricingCycle, autoPay: they count at the purchase; this change has no "
        "effect");
  }
}

// Warns of effects that the user may not mean.
void Foresee(Verdict& verdict, const Proposal& proposal) {
  const Object& object = proposal.object;
  const Spec& spec = object.spec;
  const auto warn = [&](std::string text) { verdict.warnings.push_back(std::move(text)); };
  const Terms terms = TermsOf(proposal);
  const bool releases =
      proposal.release == "OnDelete" || (proposal.release.empty() && !IsImport(object));
  if (terms.instance == "PrePaid" && releases) {
    warn("spec.releaseStrategy: OnDelete cannot release a PrePaid address before its time is over");
  }
  if (!spec.bandwidth.empty() && (!spec.package.empty() || !proposal.package.empty())) {
    warn("spec.bandwidth: does nothing while the address is in a bandwidth package");
  }
  if (spec.PrePaid() && proposal.auto_pay == false && !IsSettled(object)) {
    warn("spec.autoPay: nothing is allocated before the order is paid in the console");
  }
  if (spec.tags.size() == kMostTags && !IsImport(object)) {
    warn(Format("spec.tags: {} leave no room for Berth's own, {}", kMostTags, kOwnerTag));
  }
}

// An import is as it is, whatever spec says of how it should be allocated.
void ForeseeImport(Verdict& verdict, const Proposal& proposal) {
  const Spec& spec = proposal.object.spec;
  const std::array<std::pair<const char*, bool>, 8> given = {
      {{kIsp, !spec.isp.empty()},
       {kInternetCharge, !spec.internet_charge_type.empty()},
       {kInstanceCharge, !spec.instance_charge_type.empty()},
       {"spec.publicIPAddressPoolID", !spec.pool.empty()},
       {kProtection, !spec.protection.empty()},
       {"spec.period", proposal.period.has_value()},
       {"spec.pricingCycle", !spec.pricing_cycle.empty()},
       {"spec.autoPay", proposal.auto_pay.has_value()}}};
  for (const auto& [field, said] : given) {
    if (said) {
      verdict.warnings.push_back(
          Format("{}: does nothing: the address of spec.allocationID is as it is", field));
    }
  }
}

}  // namespace

kube::Result<Proposal> Proposal::From(kube::JsonView object) {
  auto read = Object::From(object);
  if (!read) return std::unexpected(std::move(read.error()));
  const kube::JsonView spec = object["spec"];
  const auto told = [&](const char* member) {
    return std::string(object["status"][member].StringOr(""));
  };
  return Proposal{.object = std::move(*read),
                  .period = spec["period"].Int(),
                  .auto_pay = spec["autoPay"].Bool(),
                  .release = std::string(spec["releaseStrategy"].StringOr("")),
                  .isp = told("isp"),
                  .pool = told("publicIPAddressPoolID"),
                  .internet_charge_type = told("internetChargeType"),
                  .instance_charge_type = told("instanceChargeType"),
                  .package = told("bandwidthPackageID")};
}

Verdict JudgeEip(const Proposal& now, const Proposal* before, const Knowledge& known) {
  Verdict verdict = Check(now, known);
  if (before) {
    verdict.Ratchet(Check(*before, known));
    CheckChange(verdict, now, *before);
  } else if (IsImport(now.object)) {
    ForeseeImport(verdict, now);
  }
  Foresee(verdict, now);
  for (std::string& warning : UnknownAnnotations(now.object)) {
    verdict.warnings.push_back(std::move(warning));
  }
  return verdict;
}

std::vector<std::string> UnknownAnnotations(const Object& object) {
  std::vector<std::string> warnings;
  if (!object.on_lost.empty() && object.on_lost != "reallocate") {
    warnings.push_back(Format("{}: only \"reallocate\" has a meaning, not \"{}\"",
                              kOnLostAnnotation, object.on_lost));
  }
  if (!object.on_stuck.empty() && object.on_stuck != "abandon" &&
      object.on_stuck != "unassociate") {
    warnings.push_back(
        Format("{}: only \"abandon\" and \"unassociate\" mean something, not "
               "\"{}\"",
               kOnStuckAnnotation, object.on_stuck));
  }
  if (!object.on_foreign.empty() && object.on_foreign != "adopt") {
    warnings.push_back(Format("{}: only \"adopt\" has a meaning, not \"{}\"", kOnForeignAnnotation,
                              object.on_foreign));
  }
  return warnings;
}

std::vector<std::pair<std::string, std::string>> Defaults(const Object& now, const Object* before) {
  std::vector<std::pair<std::string, std::string>> members;
  const auto fill = [&](const char* member, const std::string& given, const std::string& value) {
    if (given.empty() && !value.empty()) members.emplace_back(member, value);
  };
  if (before) fill("allocationID", now.spec.allocation_id, before->spec.allocation_id);
  // The ID of a lost address, in whose place there is none yet, says nothing of how it is paid for.
  const bool lacks = before && !IsSettled(*before);
  if (before && !lacks) {
    fill("internetChargeType", now.spec.internet_charge_type, before->spec.internet_charge_type);
    fill("instanceChargeType", now.spec.instance_charge_type, before->spec.instance_charge_type);
  } else if (now.spec.allocation_id.empty() ||
             (lacks && now.spec.allocation_id == before->spec.allocation_id)) {
    fill("internetChargeType", now.spec.internet_charge_type, now.spec.PaidBy());
    fill("instanceChargeType", now.spec.instance_charge_type, "PostPaid");
  }
  return members;
}

}  // namespace berth::eip
