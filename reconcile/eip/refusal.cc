#include "reconcile/eip/refusal.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace berth::eip {
namespace {

using namespace std::chrono_literals;

// The cloud takes no request whose date is older than 15 minutes.
constexpr async::Duration kNothingArrives = 16min;

template <std::size_t n>
bool BeginsWithOneOf(const Error& error, const std::array<std::string_view, n>& codes) {
  return std::ranges::any_of(codes, [&](auto code) { return error.reason.starts_with(code); });
}

// The request is not one that the cloud takes from anybody, at any time.
bool IsOfRequest(const Error& error) {
  return BeginsWithOneOf(
      error, std::array<std::string_view, 4>{"InvalidParameter", "MissingParameter", "COMMODITY.",
                                             "Illegal"});
}

}  // namespace

bool IsOfPermission(const Error& error) {
  return error.reason == "Forbidden" ||
         BeginsWithOneOf(error, std::array<std::string_view, 6>{
                                    "Forbidden.RAM", "Forbidden.Unauthorized", "NoPermission",
                                    "InvalidAccessKey", "InvalidSecurityToken", "Unauthorized"});
}

bool IsOfMeans(const Error& error) {
  return BeginsWithOneOf(error, std::array<std::string_view, 4>{"Quota", "InsufficientBalance",
                                                                "Insufficient", "OutOfStock"});
}

bool IsOfToken(const Error& error) { return error.reason == "IdempotentParameterMismatch"; }

bool BlamesSpec(const Error& error) {
  return error.error_class == ErrorClass::kTerminal && !IsOfPermission(error) &&
         !IsOfMeans(error) && !IsOfToken(error);
}

bool EndsAttempt(const Error& error, bool certain, async::Duration doubted) {
  if (error.error_class != ErrorClass::kTerminal || error.reason.empty()) return false;
  if (IsOfToken(error)) return false;
  if (certain || IsOfRequest(error)) return true;
  return !IsOfPermission(error) && doubted >= kNothingArrives;
}

std::string Sentence(const Error& error) {
  return error.message.substr(0, error.message.find(" (request ID"));
}

}  // namespace berth::eip
