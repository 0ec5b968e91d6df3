#include "reconcile/eip/refusal.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "log/format.h"

namespace berth::eip {
namespace {

using namespace std::chrono_literals;

template <std::size_t n>
bool BeginsWithOneOf(const Error& error, const std::array<std::string_view, n>& codes) {
  return std::ranges::any_of(codes, [&](auto code) { return error.reason.starts_with(code); });
}

constexpr std::array<std::string_view, 4> kOfKey = {"InvalidAccessKeyId", "InvalidSecurityToken",
                                                    "SignatureDoesNotMatch", "IncompleteSignature"};
constexpr std::array<std::string_view, 1> kOfClock = {"InvalidTimeStamp"};
// Of the way to the cloud: the request was not even let in.
constexpr std::array<std::string_view, 1> kOfRegion = {"InvalidRegion"};

// Without " after 12 ms", as libcurl's messages have it.
std::string WithoutTimes(std::string message) {
  constexpr std::string_view kAfter = " after ";
  auto at = message.find(kAfter);
  while (at != message.npos) {
    auto end = message.find_first_not_of("0123456789", at + kAfter.size());
    const std::string_view rest = end == message.npos ? "" : std::string_view(message).substr(end);
    const bool is_time = end != at + kAfter.size() && rest.starts_with(" m");  // ms, milliseconds
    if (is_time) {
      end = std::min(message.find_first_of(" :,", end + 1), message.size());
      message.erase(at, end - at);
    }
    at = message.find(kAfter, is_time ? at : at + 1);
  }
  return message;
}

// Advice to the user.
std::string_view Advice(const Error& error) {
  if (BeginsWithOneOf(error, kOfKey)) return "check Berth's access key";
  if (BeginsWithOneOf(error, kOfClock)) return "check the clock of Berth's node";
  if (IsOfPermission(error)) return "allow the access key this action in its RAM policy";
  if (error.reason == "QuotaExceed.TagsPerResource") {
    return "an EIP has at most 20 tags, one of them Berth's: remove tags from spec.tags, or from "
           "the EIP in the cloud";
  }
  if (error.reason.starts_with("Quota")) return "raise the account's quota, or delete EIPs";
  if (error.reason.starts_with("InsufficientBalance")) return "top up the account";
  if (error.reason.starts_with("InvalidRegionId")) return "check Berth's region";
  if (error.reason.empty() && error.code == 0) return "check the way to the cloud's endpoint";
  if (IsOfToken(error)) return "";
  return BlamesSpec(error) ? "change spec" : "it is tried again";
}

}  // namespace

bool IsOfPermission(const Error& error) {
  return error.reason == "Forbidden" ||
         BeginsWithOneOf(error, std::array<std::string_view, 6>{
                                    "Forbidden.RAM", "Forbidden.Unauthorized", "NoPermission",
                                    "InvalidAccessKey", "InvalidSecurityToken", "Unauthorized"});
}

bool IsOfMeans(const Error& error) {
  return BeginsWithOneOf(error, std::array<std::string_view, 4>{"Quota", "Insufficient",
                                                                "OutOfStock", "ResourceNotEnough"});
}

bool IsOfToken(const Error& error) { return error.reason == "IdempotentParameterMismatch"; }

bool IsOfReach(const Error& error) {
  if (error.error_class == ErrorClass::kThrottled) return false;
  if (error.reason.empty() || error.reason == "NotSent") return true;
  return BeginsWithOneOf(error, kOfKey) || BeginsWithOneOf(error, kOfClock);
}

bool MayBeDone(const Error& error) {
  if (error.error_class == ErrorClass::kTerminal || error.error_class == ErrorClass::kThrottled) {
    return false;
  }
  // Without an answer, a request that was sent is kAmbiguous.
  if (error.code == 0) return error.error_class == ErrorClass::kAmbiguous;
  return !BeginsWithOneOf(error, kOfKey) && !BeginsWithOneOf(error, kOfClock) &&
         !BeginsWithOneOf(error, kOfRegion);
}

bool IsUnclear(const Error& error) {
  return MayBeDone(error) && error.code >= 400 && error.code < 500 && !error.reason.empty();
}

bool BlamesSpec(const Error& error) {
  return error.error_class == ErrorClass::kTerminal && !IsOfPermission(error) &&
         !IsOfMeans(error) && !IsOfToken(error);
}

bool EndsAttempt(const Error& error, bool certain, async::Duration doubted, bool tagged) {
  if (error.error_class != ErrorClass::kTerminal || error.reason.empty()) return false;
  if (IsOfToken(error) || IsOfPermission(error)) return false;
  return certain || (tagged && doubted >= kDoubted);
}

std::string Sentence(const Error& error) {
  std::string sentence = WithoutTimes(error.message);
  if (const std::string_view advice = Advice(error); !advice.empty()) {
    sentence += Format("; {}", advice);
  }
  return sentence;
}

std::string WithoutRequestId(std::string message) {
  const auto at = message.find(" (request ID ");
  if (at == message.npos) return message;
  const auto end = message.find(')', at);
  return message.erase(at, end == message.npos ? end : end + 1 - at);
}

}  // namespace berth::eip
