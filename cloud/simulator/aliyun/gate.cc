#include "cloud/simulator/aliyun/gate.h"

#include <functional>

#include "log/format.h"
#include "log/timestamp.h"

namespace berth::cloud::simulator {
namespace {

// A key from STS is forgotten when one comes that ends so much later: it has long run out.
constexpr std::chrono::hours kKept{24};

std::unexpected<Refusal> MissingFromFront(std::string_view name) {
  return Refuse(400, Format("Missing{}", name), Format("{} is mandatory for this action.", name));
}

std::unexpected<Refusal> Incomplete() {
  return Refuse(400, "IncompleteSignature",
                "The request signature does not conform to Aliyun standards.");
}

// A field of "ACS3-HMAC-SHA256 Credential=a,SignedHeaders=b,Signature=c".
std::string_view Field(std::string_view authorization, std::string_view name) {
  const auto at = authorization.find(name);
  if (at == std::string_view::npos) return {};
  authorization.remove_prefix(at + name.size());
  return authorization.substr(0, authorization.find(','));
}

// All that the cloud wants to be signed where it is there.
bool MustBeSigned(std::string_view header) {
  return header == "host" || header == "content-type" || header.starts_with("x-acs-");
}

}  // namespace

struct Gate::Claim {
  std::string key_id;
  std::string security_token;
  std::string date;
  std::string nonce;
  std::string signature;
  std::function<std::string(std::string_view secret)> sign;
};

void Gate::Add(Key key) {
  // A client that renews its keys for ever must not fill the memory.
  std::erase_if(keys_, [&](const auto& known) {
    return known.second.expires && key.expires && *known.second.expires + kKept < *key.expires;
  });
  std::string id = key.id;
  keys_.insert_or_assign(std::move(id), std::move(key));
}

void Gate::Revoke(std::string_view id) {
  if (const auto found = keys_.find(id); found != keys_.end()) keys_.erase(found);
}

std::expected<Gate::Claim, Refusal> Gate::ReadAcs3(const Received& request) {
  const std::string& authorization = request.Header("authorization");
  if (!authorization.starts_with("ACS3-HMAC-SHA256 ")) return Incomplete();
  for (const auto& [header, name] : {std::pair{"x-acs-action", "Action"},
                                     {"x-acs-version", "Version"},
                                     {"x-acs-date", "Timestamp"},
                                     {"x-acs-signature-nonce", "SignatureNonce"},
                                     {"x-acs-content-sha256", "ContentSha256"}}) {
    if (request.Header(header).empty()) return MissingFromFront(name);
  }

  aliyun::Acs3 signed_part{.method = request.method,
                           .path = request.path,
                           .query = request.query,
                           .headers = {},
                           .payload_hash = aliyun::Sha256(request.body)};
  const std::string signed_headers = Format(";{};", Field(authorization, "SignedHeaders="));
  for (const auto& [name, value] : request.headers) {
    if (signed_headers.contains(Format(";{};", name))) {
      signed_part.headers.emplace(name, value);
    } else if (MustBeSigned(name)) {
      return Incomplete();
    }
  }
  return Claim{
      .key_id = std::string(Field(authorization, "Credential=")),
      .security_token = request.Header("x-acs-security-token"),
      .date = request.Header("x-acs-date"),
      .nonce = request.Header("x-acs-signature-nonce"),
      .signature = std::string(Field(authorization, ",Signature=")),
      .sign = [signed_part](std::string_view secret) { return signed_part.Signature(secret); }};
}

std::expected<Gate::Claim, Refusal> Gate::ReadV1(const Received& request) {
  for (const char* name : {"AccessKeyId", "Version", "Timestamp", "SignatureNonce", "Signature"}) {
    if (request.Parameter(name).empty()) return MissingFromFront(name);
  }
  if (request.Parameter("SignatureMethod") != "HMAC-SHA1" ||
      request.Parameter("SignatureVersion") != "1.0") {
    return Refuse(400, "InvalidSignatureMethod", "Specified signature method is not valid.");
  }
  aliyun::Parameters signed_part = request.query;
  signed_part.insert(request.form.begin(), request.form.end());
  signed_part.erase("Signature");
  return Claim{.key_id = request.Parameter("AccessKeyId"),
               .security_token = request.Parameter("SecurityToken"),
               .date = request.Parameter("Timestamp"),
               .nonce = request.Parameter("SignatureNonce"),
               .signature = request.Parameter("Signature"),
               .sign = [signed_part, method = request.method](std::string_view secret) {
                 return aliyun::SignatureV1(method, signed_part, secret);
               }};
}

std::expected<Caller, Refusal> Gate::Admit(const Received& request, async::WallTime now) {
  const auto claim = request.IsAcs3() ? ReadAcs3(request) : ReadV1(request);
  if (!claim) return std::unexpected(claim.error());
  const auto found = keys_.find(claim->key_id);
  if (found == keys_.end()) {
    return Refuse(404, "InvalidAccessKeyId.NotFound", "Specified access key is not found.");
  }
  const Key& key = found->second;
  if (const auto good = CheckToken(key, *claim, now); !good) return std::unexpected(good.error());
  if (const auto good = CheckDate(claim->date, now); !good) return std::unexpected(good.error());
  if (claim->sign(key.secret) != claim->signature ||
      (request.IsAcs3() &&
       request.Header("x-acs-content-sha256") != aliyun::Sha256(request.body))) {
    return Refuse(400, "SignatureDoesNotMatch",
                  "Specified signature is not matched with our calculation.");
  }
  // After the signature, so that nobody can use up another's nonces.
  if (!UseNonce(Format("{} {}", key.id, claim->nonce), now)) {
    return Refuse(400, "SignatureNonceUsed", "Specified signature nonce was used already.");
  }
  return Caller{key.caller, key.account};
}

Check Gate::CheckToken(const Key& key, const Claim& claim, async::WallTime now) {
  if (key.security_token.empty()) {
    if (claim.security_token.empty()) return {};
    return Refuse(400, "InvalidSecurityToken.Malformed", "Specified SecurityToken is malformed.");
  }
  if (claim.security_token.empty()) return MissingFromFront("SecurityToken");
  if (claim.security_token != key.security_token) {
    return Refuse(400, "InvalidSecurityToken.MismatchWithAccessKey",
                  "Specified SecurityToken mismatch with the AccessKey.");
  }
  if (key.expires && *key.expires <= now) {
    return Refuse(400, "InvalidSecurityToken.Expired", "Specified SecurityToken is expired.");
  }
  return {};
}

Check Gate::CheckDate(const std::string& date, async::WallTime now) {
  const auto at = date.ends_with('Z') ? ParseTime(date) : std::nullopt;
  if (!at) {
    return Refuse(400, "InvalidTimeStamp.Format",
                  "Specified time stamp or date value is not well formatted.");
  }
  if (*at < now - kSkew || *at > now + kSkew) {
    return Refuse(400, "InvalidTimeStamp.Expired",
                  "Specified time stamp or date value is expired.");
  }
  return {};
}

bool Gate::UseNonce(const std::string& nonce, async::WallTime now) {
  while (!nonce_ends_.empty() && nonce_ends_.front().first < now) {
    nonces_.erase(nonce_ends_.front().second);
    nonce_ends_.pop_front();
  }
  if (!nonces_.insert(nonce).second) return false;
  // Its date may be as far ahead as it may be behind.
  nonce_ends_.emplace_back(now + 2 * kSkew, nonce);
  return true;
}

}  // namespace berth::cloud::simulator
