#include "cloud/simulator/aliyun/sts.h"

#include <charconv>
#include <chrono>
#include <utility>

#include "log/format.h"
#include "log/timestamp.h"

namespace berth::cloud::simulator {
namespace {

constexpr std::chrono::seconds kShortest{900};
constexpr std::chrono::seconds kLongest{43'200};
constexpr std::chrono::seconds kDefault{3'600};

std::expected<std::chrono::seconds, Refusal> Lifetime(const std::string& text) {
  if (text.empty()) return kDefault;
  std::chrono::seconds::rep seconds = 0;
  const auto end = std::from_chars(text.data(), text.data() + text.size(), seconds).ptr;
  if (end != text.data() + text.size() || seconds < kShortest.count() ||
      seconds > kLongest.count()) {
    return Refuse(400, "InvalidParameter.DurationSeconds",
                  "The Min/Max value of DurationSeconds is 15min/12hr.");
  }
  return std::chrono::seconds(seconds);
}

}  // namespace

void StsProduct::Trust(std::string oidc_token, std::string role_arn) {
  trusted_.insert_or_assign(std::move(oidc_token), std::move(role_arn));
}

Outcome StsProduct::Do(const Call& call) {
  if (call.action == kAssumeRole) return AssumeRoleWithOidc(call);
  Json answer;
  answer["AccountId"] = call.account;
  answer["Arn"] = Format("acs:ram::{}:user/{}", call.account, call.caller);
  answer["IdentityType"] = "RAMUser";
  answer["PrincipalId"] = call.caller;
  answer["UserId"] = call.caller;
  return answer;
}

Outcome StsProduct::AssumeRoleWithOidc(const Call& call) {
  for (const char* name : {"OIDCProviderArn", "RoleArn", "OIDCToken", "RoleSessionName"}) {
    if (call[name].empty()) return Missing(name);
  }
  const auto lifetime = Lifetime(call["DurationSeconds"]);
  if (!lifetime) return std::unexpected(lifetime.error());
  const auto trusted = trusted_.find(call["OIDCToken"]);
  if (trusted == trusted_.end()) {
    return Refuse(400, "AuthenticationFail.OIDCToken.Invalid", "This JsonWebToken is invalid.");
  }
  if (trusted->second != call["RoleArn"]) {
    return Refuse(403, "NoPermission",
                  "You are not authorized to do this action. You should be authorized by RAM.");
  }
  Key key{.id = "STS." + ids_.Secret().substr(0, 25),
          .secret = ids_.Secret(),
          .caller = call["RoleArn"],
          .security_token = "CAIS" + ids_.Secret() + ids_.Secret(),
          .expires = call.now + *lifetime};
  Json answer;
  Json& credentials = answer["Credentials"];
  credentials["AccessKeyId"] = key.id;
  credentials["AccessKeySecret"] = key.secret;
  credentials["SecurityToken"] = key.security_token;
  credentials["Expiration"] = FormatTime(*key.expires);
  answer["AssumedRoleUser"]["Arn"] = Format("{}/{}", call["RoleArn"], call["RoleSessionName"]);
  gate_.Add(std::move(key));
  return answer;
}

}  // namespace berth::cloud::simulator
