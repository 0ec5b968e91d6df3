#include "reconcile/eip/admission.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "cloud/simulator/aliyun/eip_rules.h"
#include "kube/object.h"
#include "log/format.h"

namespace berth::eip {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;
using testing::StartsWith;
using testing::UnorderedElementsAre;

// JSON without the braces.
struct Given {
  std::string spec;
  std::string status = {};
  std::string annotations = {};

  Proposal Read() const {
    return kube::Decode<Proposal>(
               Format(R"({{"metadata":{{"name":"web","uid":"web-uid","annotations":{{{}}}}},)"
                      R"("spec":{{{}}},"status":{{{}}}}})",
                      annotations, spec, status))
        .value();
  }
};

constexpr const char* kCreated = R"("allocationID":"eip-1","origin":"Created")";
constexpr const char* kBegun = R"("attempt":{"number":1,"clientToken":"berth-web-uid-1"})";
constexpr const char* kOver = R"("attempt":{"number":1})";

// "field: message" of each cause.
std::vector<std::string> Faults(const Verdict& verdict) {
  std::vector<std::string> faults;
  for (const auto& cause : verdict.causes) faults.push_back(cause.field + ": " + cause.message);
  return faults;
}

std::vector<std::string> Reasons(const Verdict& verdict) {
  std::vector<std::string> reasons;
  for (const auto& cause : verdict.causes) reasons.push_back(cause.reason);
  return reasons;
}

Verdict Create(const Given& now) { return JudgeEip(now.Read(), nullptr, {}); }

Verdict Update(const Given& before, const Given& now) {
  const Proposal was = before.Read();
  return JudgeEip(now.Read(), &was, {});
}

// Its address is lost, and the attempt at another one was refused: it has neither.
TEST(EipAdmission, AfterARefusedReplacementTheSpecCanBeChanged) {
  const std::string lost = R"("allocationID":"eip-1")";
  const std::string status =
      R"("attempt":{"replaces":"eip-1"},"attempts":2,"isp":"BGP","internetChargeType":"PayByTraffic")";
  const Given before{lost + R"(,"isp":"BGP","internetChargeType":"PayByTraffic")", status};
  const Given good{
      lost + R"(,"isp":"BGP_PRO","internetChargeType":"PayByBandwidth","bandwidth":"300")", status};
  EXPECT_THAT(Faults(Update(before, good)), IsEmpty());
  const Given wrong{lost + R"(,"isp":"ChinaTelecom","internetChargeType":"PayByTraffic")", status};
  EXPECT_THAT(Faults(Update(before, wrong)),
              ElementsAre(HasSubstr("must be PayByBandwidth for a ChinaTelecom address")));
  const Given other{R"("allocationID":"eip-2","isp":"BGP","internetChargeType":"PayByTraffic")",
                    status};
  EXPECT_THAT(Faults(Update(before, other)), ElementsAre(StartsWith("spec.allocationID: ")));
  const Object now = Given{R"("isp":"BGP_PRO")", status}.Read().object;
  const Object was = before.Read().object;
  EXPECT_THAT(Defaults(now, &was), UnorderedElementsAre(Pair("allocationID", "eip-1"),
                                                        Pair("internetChargeType", "PayByTraffic"),
                                                        Pair("instanceChargeType", "PostPaid")));
}

TEST(EipAdmission, WhatIsRightIsTakenWithoutAWord) {
  for (const char* spec :
       {"", R"("bandwidth":"200")", R"("bandwidth":"1","internetChargeType":"PayByTraffic")",
        R"("bandwidth":"500","internetChargeType":"PayByBandwidth")",
        R"("bandwidth":"200","internetChargeType":"PayByDominantTraffic")",
        R"("bandwidth":"5","isp":"ChinaMobile_L2")",
        R"("bandwidth":"5","isp":"ChinaTelecom","internetChargeType":"PayByBandwidth")",
        R"("instanceChargeType":"PrePaid","bandwidth":"1000","releaseStrategy":"Never")",
        R"("instanceChargeType":"PrePaid","bandwidth":"5","releaseStrategy":"Never","period":5,)"
        R"("pricingCycle":"Year","autoPay":true)",
        R"("bandwidthPackageID":"cbwp-1")", R"("securityProtectionTypes":["AntiDDoS_Enhanced"])",
        R"("securityProtectionTypes":[],"tags":{"a":"","b":"c"})",
        R"("name":"front-1.a_b","description":"see http://x","releaseStrategy":"OnDelete")",
        R"("allocationID":"eip-2zeerraiwb7uj","releaseStrategy":"OnDelete")"}) {
    const Verdict verdict = Create({spec});
    EXPECT_THAT(Faults(verdict), IsEmpty()) << spec;
    EXPECT_THAT(verdict.warnings, IsEmpty()) << spec;
  }
}

struct Wrong {
  std::string spec;
  const char* reason;
  const char* field;
  const char* why;
};

class WrongEip : public testing::TestWithParam<Wrong> {};

TEST_P(WrongEip, IsRefusedWithItsField) {
  const auto& [spec, reason, field, why] = GetParam();
  const Verdict verdict = Create({spec});
  EXPECT_THAT(Faults(verdict),
              ElementsAre(AllOf(StartsWith(std::string(field) + ": "), HasSubstr(why))));
  EXPECT_THAT(Reasons(verdict), ElementsAre(reason));
}

std::string Tags(int count) {
  std::string tags = R"("tags":{)";
  for (int i = 0; i < count; ++i) tags += Format(R"({}"k{}":"v")", i > 0 ? "," : "", i);
  return tags + "}";
}

INSTANTIATE_TEST_SUITE_P(
    Bandwidth, WrongEip,
    testing::Values(
        Wrong{R"("bandwidth":"0")", "FieldValueInvalid", "spec.bandwidth",
              R"(Invalid value: "0": must be a whole number of Mbps from 1 to 200)"},
        Wrong{R"("bandwidth":"201")", "FieldValueInvalid", "spec.bandwidth",
              "1 to 200 for a PayByTraffic address"},
        Wrong{R"("bandwidth":"201","internetChargeType":"PayByDominantTraffic")",
              "FieldValueInvalid", "spec.bandwidth", "1 to 200"},
        Wrong{R"("bandwidth":"501","internetChargeType":"PayByBandwidth")", "FieldValueInvalid",
              "spec.bandwidth", "1 to 500 for a PayByBandwidth address"},
        Wrong{R"("bandwidth":"1001","instanceChargeType":"PrePaid")", "FieldValueInvalid",
              "spec.bandwidth", "1 to 1000 for a PrePaid address"},
        Wrong{R"("bandwidth":"05")", "FieldValueInvalid", "spec.bandwidth", R"("05")"},
        Wrong{R"("bandwidth":"+5")", "FieldValueInvalid", "spec.bandwidth", R"("+5")"},
        Wrong{R"("bandwidth":" 5")", "FieldValueInvalid", "spec.bandwidth", R"(" 5")"},
        Wrong{R"("bandwidth":"5M")", "FieldValueInvalid", "spec.bandwidth", R"("5M")"},
        Wrong{R"("bandwidth":"5.0")", "FieldValueInvalid", "spec.bandwidth", R"("5.0")"},
        Wrong{R"("bandwidth":"99999999999")", "FieldValueInvalid", "spec.bandwidth", "1 to 200"},
        Wrong{R"("internetChargeType":"PayByBandwidth")", "FieldValueRequired", "spec.bandwidth",
              "Required value"},
        Wrong{R"("instanceChargeType":"PrePaid")", "FieldValueRequired", "spec.bandwidth",
              "PayByBandwidth"},
        Wrong{R"("isp":"ChinaUnicom")", "FieldValueRequired", "spec.bandwidth", "PayByBandwidth"}));

INSTANTIATE_TEST_SUITE_P(
    Charges, WrongEip,
    testing::Values(
        Wrong{R"("internetChargeType":"PayByMoonlight")", "FieldValueNotSupported",
              "spec.internetChargeType",
              R"(supported values: "PayByBandwidth", "PayByTraffic", "PayByDominantTraffic")"},
        Wrong{R"("instanceChargeType":"Free")", "FieldValueNotSupported", "spec.instanceChargeType",
              R"("PostPaid", "PrePaid")"},
        Wrong{R"("isp":"ChinaTelecom_L3")", "FieldValueNotSupported", "spec.isp",
              R"("BGP", "BGP_PRO", "ChinaTelecom", )"},
        Wrong{R"("releaseStrategy":"Maybe")", "FieldValueNotSupported", "spec.releaseStrategy",
              R"("Never", "OnDelete")"},
        Wrong{
            R"("instanceChargeType":"PrePaid","internetChargeType":"PayByTraffic","bandwidth":"5")",
            "FieldValueInvalid", "spec.internetChargeType",
            "must be PayByBandwidth for a PrePaid address"},
        Wrong{R"("isp":"ChinaMobile","internetChargeType":"PayByTraffic","bandwidth":"5")",
              "FieldValueInvalid", "spec.internetChargeType",
              "must be PayByBandwidth for a ChinaMobile address"},
        Wrong{R"("isp":"ChinaTelecom_L2","instanceChargeType":"PrePaid","bandwidth":"5")",
              "FieldValueInvalid", "spec.instanceChargeType",
              "a ChinaTelecom_L2 address is PostPaid only"},
        Wrong{R"("instanceChargeType":"PrePaid","bandwidth":"5","bandwidthPackageID":"cbwp-1")",
              "FieldValueForbidden", "spec.bandwidthPackageID", "Forbidden: a PrePaid address"},
        Wrong{R"("instanceChargeType":"PrePaid","bandwidth":"5","period":10)", "FieldValueInvalid",
              "spec.period", "Invalid value: 10: must be from 1 to 9 months"},
        Wrong{R"("instanceChargeType":"PrePaid","bandwidth":"5","period":0)", "FieldValueInvalid",
              "spec.period", "from 1 to 9 months"},
        Wrong{R"("instanceChargeType":"PrePaid","bandwidth":"5","period":6,"pricingCycle":"Year")",
              "FieldValueInvalid", "spec.period", "from 1 to 5 years"},
        Wrong{R"("instanceChargeType":"PrePaid","bandwidth":"5","pricingCycle":"Week")",
              "FieldValueNotSupported", "spec.pricingCycle", R"("Month", "Year")"},
        Wrong{R"("period":1)", "FieldValueForbidden", "spec.period", "PrePaid"},
        Wrong{R"("pricingCycle":"Month")", "FieldValueForbidden", "spec.pricingCycle", "PrePaid"},
        Wrong{R"("autoPay":false)", "FieldValueForbidden", "spec.autoPay", "PrePaid"}));

INSTANTIATE_TEST_SUITE_P(
    Texts, WrongEip,
    testing::Values(
        Wrong{R"("name":")" + std::string(129, 'x') + "\"", "FieldValueTooLong", "spec.name",
              "Too long: may not be more than 128 characters"},
        Wrong{R"("description":")" + std::string(257, 'x') + "\"", "FieldValueTooLong",
              "spec.description", "more than 256 characters"},
        Wrong{R"("name":"http://x")", "FieldValueInvalid", "spec.name", "must not start with"},
        Wrong{R"("name":"1st")", "FieldValueInvalid", "spec.name", "begin with a letter"},
        Wrong{R"("name":"web shop")", "FieldValueInvalid", "spec.name", "begin with a letter"},
        Wrong{R"("description":"https://x")", "FieldValueInvalid", "spec.description", "https://"},
        Wrong{R"("securityProtectionTypes":["AntiDDoS_Basic"])", "FieldValueNotSupported",
              "spec.securityProtectionTypes[0]", R"("AntiDDoS_Enhanced")"},
        Wrong{R"("securityProtectionTypes":[""])", "FieldValueRequired",
              "spec.securityProtectionTypes[0]", "Required value"},
        Wrong{R"("securityProtectionTypes":["AntiDDoS_Enhanced","AntiDDoS_Enhanced"])",
              "FieldValueDuplicate", "spec.securityProtectionTypes[1]",
              R"(Duplicate value: "AntiDDoS_Enhanced")"},
        Wrong{Tags(21), "FieldValueTooMany", "spec.tags", "Too many: 21: must have at most 20"},
        Wrong{R"("tags":{"aliyunx":""})", "FieldValueInvalid", "spec.tags", R"("aliyunx")"},
        Wrong{R"("tags":{"acs:x":""})", "FieldValueInvalid", "spec.tags", R"("acs:x")"},
        Wrong{R"("tags":{"http://x":""})", "FieldValueInvalid", "spec.tags", "http://"},
        Wrong{R"("tags":{"":"x"})", "FieldValueInvalid", "spec.tags", "must have a key"},
        Wrong{R"("tags":{"k":"https://x"})", "FieldValueInvalid", "spec.tags[k]", "https://"},
        Wrong{R"("tags":{"k":")" + std::string(129, 'x') + "\"}", "FieldValueTooLong",
              "spec.tags[k]", "128 characters"},
        Wrong{R"("tags":{"berth.dev/eip-uid":"mine"})", "FieldValueForbidden",
              "spec.tags[berth.dev/eip-uid]", "Forbidden: Berth puts this tag"},
        Wrong{R"("allocationID":"eip-1,eip-2")", "FieldValueInvalid", "spec.allocationID",
              "the ID of one address"}));

TEST(EipAdmission, LengthsAreInCharacters) {
  std::string name;
  for (int i = 0; i < 128; ++i) name += "网";
  EXPECT_THAT(Faults(Create({R"("name":")" + name + "\""})), IsEmpty());
  EXPECT_THAT(Faults(Create({R"("name":")" + name + "x\""})), ElementsAre(HasSubstr("Too long")));
}

// Nothing is let in that the cloud then refuses, and nothing kept out that it would take: the
// simulated one, asked for the very allocation that the object comes to.
TEST(EipAdmission, TheCloudIsOfTheSameOpinion) {
  int taken = 0;
  int refused = 0;
  for (const char* isp :
       {"", "BGP", "BGP_PRO", "ChinaTelecom", "ChinaUnicom", "ChinaMobile", "ChinaTelecom_L2",
        "ChinaUnicom_L2", "ChinaMobile_L2", "BGP_FinanceCloud", "BGP_International", "Semaphore"}) {
    for (const char* internet :
         {"", "PayByBandwidth", "PayByTraffic", "PayByDominantTraffic", "PayByMoonlight"}) {
      for (const char* instance : {"", "PostPaid", "PrePaid", "Free"}) {
        for (const char* bandwidth : {"", "0", "1", "200", "201", "500", "501", "1000", "1001"}) {
          const Proposal eip =
              Given{Format(R"("isp":"{}","internetChargeType":"{}","instanceChargeType":"{}",)"
                           R"("bandwidth":"{}")",
                           isp, internet, instance, bandwidth)}
                  .Read();
          const auto request = eip.object.NextAttempt().request;
          cloud::simulator::Call call;
          call.parameters = {{"ISP", request.isp},
                             {"InternetChargeType", request.internet_charge_type},
                             {"InstanceChargeType", request.instance_charge_type},
                             {"Bandwidth", request.bandwidth}};
          if (request.period > 0) {
            call.parameters.insert({{"Period", std::to_string(request.period)},
                                    {"PricingCycle", request.pricing_cycle},
                                    {"AutoPay", "true"}});
          }
          const bool good = cloud::simulator::EipToAllocate(call).has_value();
          // The cloud has a default for it; we want it said what is paid for.
          const bool said = *bandwidth || request.internet_charge_type != "PayByBandwidth";
          EXPECT_EQ(JudgeEip(eip, nullptr, {}).allowed(), good && said)
              << eip.object.spec.isp << " " << internet << " " << instance << " " << bandwidth;
          ++(good ? taken : refused);
        }
      }
    }
  }
  EXPECT_GT(taken, 100);
  EXPECT_GT(refused, 100);
}

// The operator's config/samples that its own webhook let pass.
TEST(EipAdmission, TheManifestsOfTheOperatorApply) {
  for (const char* spec :
       {R"("bandwidth":"5","internetChargeType":"PayByTraffic","name":"my-eip-instance",
           "description":"EIP created by alibabacloud-eip-operator","releaseStrategy":"OnDelete",
           "tags":{"env":"test","owner":"admin"})",
        R"("allocationID":"eip-bp1xxxxxxxxxx","releaseStrategy":"Never")",
        R"("bandwidth":"100","internetChargeType":"PayByTraffic",
           "bandwidthPackageID":"cbwp-bp1xxxxxxxxxx","releaseStrategy":"OnDelete")",
        R"("bandwidth":"1")",
        R"("bandwidth":"5","internetChargeType":"PayByBandwidth","isp":"ChinaTelecom")",
        R"("bandwidth":"100","internetChargeType":"PayByTraffic","instanceChargeType":"PostPaid",
           "securityProtectionTypes":["AntiDDoS_Enhanced"])"}) {
    EXPECT_THAT(Faults(Create({spec})), IsEmpty()) << spec;
  }
}

TEST(EipAdmission, AnImportIsNotJudgedAsAnAllocation) {
  const Verdict verdict = Create(
      {R"("allocationID":"eip-9","instanceChargeType":"PrePaid","internetChargeType":"PayByTraffic",
          "isp":"ChinaTelecom","bandwidth":"800","bandwidthPackageID":"cbwp-1","period":40)"});
  EXPECT_THAT(Faults(verdict), IsEmpty());
  EXPECT_THAT(
      verdict.warnings,
      UnorderedElementsAre(
          StartsWith("spec.isp: does nothing"), StartsWith("spec.internetChargeType: does nothing"),
          StartsWith("spec.instanceChargeType: does nothing"),
          StartsWith("spec.period: does nothing"),
          StartsWith("spec.bandwidth: does nothing while the address is in a bandwidth")));
}

TEST(EipAdmission, WhatTheCloudHasToldOfAnImportCounts) {
  const std::string imported = R"("allocationID":"eip-9","origin":"Imported",)";
  const Given before{R"("allocationID":"eip-9","bandwidth":"100")",
                     imported + R"("internetChargeType":"PayByTraffic")"};
  EXPECT_THAT(
      Faults(Update(before, {R"("allocationID":"eip-9","bandwidth":"201")", before.status})),
      ElementsAre(HasSubstr("1 to 200 for a PayByTraffic address")));
  const Given prepaid{R"("allocationID":"eip-9")", imported + R"("instanceChargeType":"PrePaid")"};
  EXPECT_THAT(Faults(Update(prepaid, {R"("allocationID":"eip-9","bandwidthPackageID":"cbwp-1")",
                                      prepaid.status})),
              ElementsAre(HasSubstr("a PrePaid address cannot be in a bandwidth package")));
}

TEST(EipAdmission, WarnsOfWhatMayNotBeMeant) {
  const auto warnings = [](const Given& given) {
    const Verdict verdict = Create(given);
    EXPECT_THAT(Faults(verdict), IsEmpty()) << given.spec;
    for (const std::string& warning : verdict.warnings) EXPECT_LE(warning.size(), 120) << warning;
    return verdict.warnings;
  };
  EXPECT_THAT(warnings({R"("instanceChargeType":"PrePaid","bandwidth":"5")"}),
              ElementsAre(HasSubstr("OnDelete cannot release a PrePaid address")));
  EXPECT_THAT(
      warnings({R"("instanceChargeType":"PrePaid","bandwidth":"5","releaseStrategy":"OnDelete")"}),
      ElementsAre(HasSubstr("OnDelete cannot release a PrePaid address")));
  EXPECT_THAT(warnings({R"("bandwidthPackageID":"cbwp-1","bandwidth":"5")"}),
              ElementsAre(StartsWith("spec.bandwidth: does nothing while")));
  EXPECT_THAT(warnings({R"("instanceChargeType":"PrePaid","bandwidth":"5","autoPay":false,
                           "releaseStrategy":"Never")"}),
              ElementsAre(StartsWith("spec.autoPay: nothing is allocated")));
  EXPECT_THAT(warnings({Tags(20)}), ElementsAre(HasSubstr("no room for Berth's own")));
  EXPECT_THAT(warnings({Tags(19)}), IsEmpty());
}

TEST(EipAdmission, AnEscapeMisspeltIsAWarning) {
  const auto warnings = [](const char* name, const char* value) {
    return Create({"", "", Format(R"("eip.alibabacloud.com/{}":"{}")", name, value)}).warnings;
  };
  EXPECT_THAT(warnings("on-lost", "reallocate"), IsEmpty());
  EXPECT_THAT(warnings("on-stuck", "abandon"), IsEmpty());
  EXPECT_THAT(warnings("on-stuck", "unassociate"), IsEmpty());
  EXPECT_THAT(warnings("on-lost", "abandon"),
              ElementsAre(HasSubstr(R"(only "reallocate" has a meaning, not "abandon")")));
  EXPECT_THAT(warnings("on-stuck", "abandn"), ElementsAre(HasSubstr(R"(not "abandn")")));
}

TEST(EipAdmission, AnOldMistakeIsAWarningAndANewOneIsNot) {
  const Verdict kept = Update({R"("bandwidth":"900")"}, {R"("bandwidth":"900","name":"x")"});
  EXPECT_THAT(Faults(kept), IsEmpty());
  EXPECT_THAT(kept.warnings, ElementsAre(StartsWith("spec.bandwidth: Invalid value: \"900\"")));
  EXPECT_THAT(Faults(Update({R"("bandwidth":"900")"}, {R"("bandwidth":"901")"})),
              ElementsAre(StartsWith("spec.bandwidth: ")));
  EXPECT_THAT(Faults(Update({R"("bandwidth":"300","internetChargeType":"PayByBandwidth")"},
                            {R"("bandwidth":"300","internetChargeType":"PayByTraffic")"})),
              ElementsAre(StartsWith("spec.bandwidth: ")));
}

struct Changed {
  const char* field;
  const char* before;
  const char* now;
};

class ChangedEip : public testing::TestWithParam<Changed> {};

TEST_P(ChangedEip, IsRefusedOnceThereIsAnAddress) {
  const auto& [field, before, now] = GetParam();
  const std::string rest = R"(,"bandwidth":"5")";
  EXPECT_THAT(Faults(Update({before + rest}, {now + rest})), IsEmpty()) << "nothing is allocated";
  EXPECT_THAT(Faults(Update({before + rest, kOver}, {now + rest, kOver})), IsEmpty())
      << "the cloud has refused the attempt";
  const auto refused = ElementsAre(
      AllOf(StartsWith(std::string(field) + ": Invalid value: "), HasSubstr("is immutable")));
  EXPECT_THAT(Faults(Update({before + rest, kCreated}, {now + rest, kCreated})), refused);
  EXPECT_THAT(Faults(Update({before + rest, kBegun}, {now + rest, kBegun})),
              ElementsAre(AllOf(StartsWith(std::string(field) + ": Forbidden: "),
                                HasSubstr("delete the object and create it again"))));
  const std::string id = R"(,"allocationID":"eip-1")";
  EXPECT_THAT(Faults(Update({before + rest + id}, {now + rest + id})), refused);
}

INSTANTIATE_TEST_SUITE_P(
    Fields, ChangedEip,
    testing::Values(Changed{"spec.isp", R"("isp":"BGP")", R"("isp":"BGP_PRO")"},
                    Changed{"spec.isp", R"("name":"x")", R"("name":"x","isp":"BGP_PRO")"},
                    Changed{"spec.internetChargeType", R"("internetChargeType":"PayByTraffic")",
                            R"("internetChargeType":"PayByBandwidth")"},
                    Changed{
                        "spec.instanceChargeType",
                        R"("internetChargeType":"PayByBandwidth","instanceChargeType":"PostPaid")",
                        R"("internetChargeType":"PayByBandwidth","instanceChargeType":"PrePaid")"},
                    Changed{"spec.publicIPAddressPoolID", R"("publicIPAddressPoolID":"pippool-1")",
                            R"("publicIPAddressPoolID":"pippool-2")"},
                    Changed{"spec.securityProtectionTypes", R"("securityProtectionTypes":[])",
                            R"("securityProtectionTypes":["AntiDDoS_Enhanced"])"}));

TEST(EipAdmission, AChangeOfThePurchaseIsWarnedOf) {
  const std::string year =
      R"("bandwidth":"5","instanceChargeType":"PrePaid","internetChargeType":"PayByBandwidth",)"
      R"("releaseStrategy":"Never")";
  const auto warned = ElementsAre(HasSubstr("this change has no effect"));
  for (const char* change :
       {R"(,"period":2)", R"(,"pricingCycle":"Year")", R"(,"autoPay":false)"}) {
    const Verdict verdict = Update({year, kCreated}, {year + change, kCreated});
    EXPECT_THAT(Faults(verdict), IsEmpty());
    EXPECT_THAT(verdict.warnings, warned) << change;
    EXPECT_THAT(Update({year}, {year + change}).warnings, Not(warned)) << "nothing is bought";
  }
  EXPECT_THAT(Update({year, kCreated}, {year + R"(,"name":"x")", kCreated}).warnings, IsEmpty());
}

TEST(EipAdmission, WhatTheCloudToldMayBeWrittenDown) {
  const std::string told =
      std::string(kCreated) + R"(,"isp":"BGP","internetChargeType":"PayByTraffic")";
  EXPECT_THAT(Faults(Update({"", told}, {R"("isp":"BGP")", told})), IsEmpty());
  EXPECT_THAT(Faults(Update({"", told}, {R"("isp":"BGP_PRO")", told})),
              ElementsAre(HasSubstr(R"(field is immutable; it is "BGP")")));
}

TEST(EipAdmission, AnImportThatIsNotAsTheSpecSaysCanBeCorrected) {
  const std::string told =
      R"("origin":"Imported","allocationID":"eip-1","isp":"BGP_PRO","internetChargeType":)"
      R"("PayByBandwidth","instanceChargeType":"PostPaid","publicIPAddressPoolID":"pippool-1")";
  for (const auto& [field, was, is] :
       {Changed{"spec.isp", R"("isp":"BGP")", R"("isp":"BGP_PRO")"},
        Changed{"spec.internetChargeType", R"("internetChargeType":"PayByTraffic")",
                R"("internetChargeType":"PayByBandwidth")"},
        Changed{"spec.instanceChargeType", R"("instanceChargeType":"PrePaid")",
                R"("instanceChargeType":"PostPaid")"},
        Changed{"spec.publicIPAddressPoolID", R"("publicIPAddressPoolID":"pippool-2")",
                R"("publicIPAddressPoolID":"pippool-1")"}}) {
    const std::string id = R"(,"allocationID":"eip-1")";
    EXPECT_THAT(Faults(Update({was + id, told}, {is + id, told})), IsEmpty()) << field;
    EXPECT_THAT(Faults(Update({is + id, told}, {was + id, told})), ElementsAre(StartsWith(field)))
        << "away from the cloud's value";
  }
  const std::string id = R"("allocationID":"eip-1")";
  EXPECT_THAT(Faults(Update({R"("securityProtectionTypes":["AntiDDoS_Enhanced"],)" + id, told},
                            {id, told})),
              IsEmpty())
      << "nothing is said of it";
}

TEST(EipAdmission, WhatCanChangeMay) {
  EXPECT_THAT(Faults(Update({R"("bandwidth":"5","name":"a","tags":{"a":"b"})", kCreated},
                            {R"("bandwidth":"6","name":"b","description":"c","tags":{"c":"d"},
                                "resourceGroupID":"rg-2","bandwidthPackageID":"cbwp-1",
                                "releaseStrategy":"Never")",
                             kCreated})),
              IsEmpty());
}

TEST(EipAdmission, TheAllocationIdIsSetOnce) {
  const auto faults = [](const std::string& before, const std::string& status,
                         const std::string& now) {
    const auto spec = [](const std::string& id) {
      return id.empty() ? "" : Format(R"("allocationID":"{}")", id);
    };
    return Faults(Update({spec(before), status}, {spec(now), status}));
  };
  EXPECT_THAT(faults("", "", "eip-1"), IsEmpty()) << "an import after all";
  EXPECT_THAT(faults("", kOver, "eip-1"), IsEmpty());
  EXPECT_THAT(faults("", kCreated, "eip-1"), IsEmpty()) << "as Berth itself writes it";
  // After a reallocation, too.
  EXPECT_THAT(faults("eip-0", kCreated, "eip-1"), IsEmpty());
  const auto immutable = ElementsAre(AllOf(StartsWith("spec.allocationID: Invalid value: "),
                                           HasSubstr(R"(field is immutable; it is "eip-1")")));
  EXPECT_THAT(faults("", kCreated, "eip-2"), immutable);
  EXPECT_THAT(faults("eip-1", kCreated, "eip-2"), immutable);
  EXPECT_THAT(faults("eip-1", "", "eip-2"), immutable);
  EXPECT_THAT(faults("eip-1", kCreated, ""), immutable);
  EXPECT_THAT(faults("", kBegun, "eip-2"),
              ElementsAre("spec.allocationID: Forbidden: an address is being allocated for this "
                          "object"));
}

TEST(EipAdmission, AnAddressHasOneObject) {
  const Knowledge known{.holder_of = [](const std::string& id, const std::string& except) {
    return id == "eip-1" && except != "uid-of-front" ? "shop/front" : std::string();
  }};
  const auto judge = [&](const Given& now, const Proposal* before) {
    return JudgeEip(now.Read(), before, known);
  };
  const Verdict taken = judge({R"("allocationID":"eip-1")"}, nullptr);
  EXPECT_THAT(Faults(taken),
              ElementsAre(R"(spec.allocationID: Duplicate value: "eip-1": the EIP "shop/front" )"
                          R"(has it)"));
  EXPECT_THAT(Reasons(taken), ElementsAre("FieldValueDuplicate"));
  EXPECT_THAT(Faults(judge({R"("allocationID":"eip-2")"}, nullptr)), IsEmpty());
  const Proposal before = Given{R"("allocationID":"eip-1")"}.Read();
  EXPECT_THAT(Faults(judge({R"("allocationID":"eip-1","name":"x")"}, &before)), IsEmpty());
  const Proposal none = Given{""}.Read();
  EXPECT_THAT(Reasons(judge({R"("allocationID":"eip-1")"}, &none)),
              ElementsAre("FieldValueDuplicate"));
}

std::vector<std::pair<std::string, std::string>> Filled(const Given& now) {
  return Defaults(now.Read().object, nullptr);
}
std::vector<std::pair<std::string, std::string>> Filled(const Given& now, const Given& before) {
  const Proposal was = before.Read();
  return Defaults(now.Read().object, &was.object);
}

TEST(EipDefaults, SayHowItIsPaidFor) {
  const auto postpaid = Pair("instanceChargeType", "PostPaid");
  const auto paid_by = [](const char* by) { return Pair("internetChargeType", by); };
  EXPECT_THAT(Filled({""}), ElementsAre(paid_by("PayByTraffic"), postpaid));
  EXPECT_THAT(Filled({R"("instanceChargeType":"PrePaid")"}),
              ElementsAre(paid_by("PayByBandwidth")));
  EXPECT_THAT(Filled({R"("isp":"ChinaMobile_L2")"}),
              ElementsAre(paid_by("PayByBandwidth"), postpaid));
  EXPECT_THAT(Filled({R"("internetChargeType":"PayByDominantTraffic")"}), ElementsAre(postpaid));
  EXPECT_THAT(Filled({R"("internetChargeType":"PayByTraffic","instanceChargeType":"PostPaid")"}),
              IsEmpty());
}

TEST(EipDefaults, SayNothingOfAnImport) {
  EXPECT_THAT(Filled({R"("allocationID":"eip-1")"}), IsEmpty());
}

// Then "kubectl replace" of the manifest that an object came from changes nothing.
TEST(EipDefaults, KeepWhatAManifestDoesNotSayAndCannotChange) {
  const Given stored{R"("allocationID":"eip-1","internetChargeType":"PayByTraffic",
                        "instanceChargeType":"PostPaid","isp":"BGP")",
                     kCreated};
  EXPECT_THAT(Filled({"", kCreated}, stored),
              ElementsAre(Pair("allocationID", "eip-1"), Pair("internetChargeType", "PayByTraffic"),
                          Pair("instanceChargeType", "PostPaid")));
  EXPECT_THAT(
      Filled({R"("instanceChargeType":"PrePaid")", kCreated}, stored),
      ElementsAre(Pair("allocationID", "eip-1"), Pair("internetChargeType", "PayByTraffic")));
  EXPECT_THAT(Filled({"", kBegun}, {"", kBegun}), IsEmpty());
  EXPECT_THAT(Filled({""}, {R"("internetChargeType":"PayByBandwidth")"}),
              ElementsAre(Pair("internetChargeType", "PayByTraffic"),
                          Pair("instanceChargeType", "PostPaid")));
}

TEST(EipDefaults, AreNoMistake) {
  for (const char* spec : {"", R"("bandwidth":"200")", R"("bandwidth":"900","isp":"BGP")",
                           R"("instanceChargeType":"PrePaid","bandwidth":"900")",
                           R"("isp":"ChinaMobile","bandwidth":"500")"}) {
    std::string filled = spec;
    for (const auto& [member, value] : Filled({spec})) {
      filled += Format(R"({}"{}":"{}")", filled.empty() ? "" : ",", member, value);
    }
    EXPECT_EQ(Faults(Create({filled})), Faults(Create({spec}))) << spec;
  }
}

}  // namespace
}  // namespace berth::eip
