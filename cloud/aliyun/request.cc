#include "cloud/aliyun/request.h"

#include "log/format.h"
#include "log/timestamp.h"

namespace berth::cloud::aliyun {
namespace {

constexpr const char* kForm = "application/x-www-form-urlencoded";

// "https://host:8443" → "host:8443"
std::string Authority(const std::string& endpoint) {
  const auto scheme = endpoint.find("://");
  return scheme == std::string::npos ? endpoint : endpoint.substr(scheme + 3);
}

http::Request Post(const UnsignedCall& call, const Parameters& query) {
  http::Request request;
  request.url = Format("{}/?{}", call.endpoint, Query(query));
  request.headers.push_back({"accept", "application/json"});
  if (call.form) request.body = Query(call.parameters);
  return request;
}

}  // namespace

http::Request SignAcs3(const UnsignedCall& call, const Credential& credential) {
  Acs3 signing{.query = call.form ? Parameters() : call.parameters};
  http::Request request = Post(call, signing.query);
  signing.payload_hash = Sha256(request.body);
  signing.headers = {
      {"host", Authority(call.endpoint)},    {"x-acs-action", call.action},
      {"x-acs-version", call.version},       {"x-acs-date", FormatTime(call.date)},
      {"x-acs-signature-nonce", call.nonce}, {"x-acs-content-sha256", signing.payload_hash}};
  if (call.form) signing.headers["content-type"] = kForm;
  if (!credential.security_token.empty()) {
    signing.headers["x-acs-security-token"] = credential.security_token;
  }
  for (const auto& [name, value] : signing.headers) request.headers.push_back({name, value});
  request.headers.push_back(
      {"authorization", signing.Authorization(credential.key_id, credential.secret)});
  return request;
}

http::Request SignV1(const UnsignedCall& call, const Credential& credential) {
  Parameters front{{"Action", call.action},
                   {"Version", call.version},
                   {"Format", "JSON"},
                   {"AccessKeyId", credential.key_id},
                   {"SignatureMethod", "HMAC-SHA1"},
                   {"SignatureVersion", "1.0"},
                   {"SignatureNonce", call.nonce},
                   {"Timestamp", FormatTime(call.date)}};
  if (!credential.security_token.empty()) front["SecurityToken"] = credential.security_token;
  Parameters all = front;
  all.insert(call.parameters.begin(), call.parameters.end());
  Parameters& query = call.form ? front : all;
  query["Signature"] = SignatureV1("POST", all, credential.secret);
  http::Request request = Post(call, query);
  if (call.form) request.headers.push_back({"content-type", kForm});
  return request;
}

}  // namespace berth::cloud::aliyun
