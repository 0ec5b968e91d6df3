#include "cloud/aliyun/request.h"

#include "log/format.h"
#include "log/timestamp.h"

namespace berth::cloud::aliyun {
namespace {

// "https://host:8443" → "host:8443"
std::string Authority(const std::string& endpoint) {
  const auto scheme = endpoint.find("://");
  return scheme == std::string::npos ? endpoint : endpoint.substr(scheme + 3);
}

http::Request Post(const UnsignedCall& call, const Parameters& query) {
  http::Request request;
  request.url = Format("{}/?{}", call.endpoint, Query(query));
  request.headers.push_back({"accept", "application/json"});
  return request;
}

}  // namespace

http::Request SignAcs3(const UnsignedCall& call, const Credential& credential) {
  Acs3 signing{.query = call.parameters, .payload_hash = Sha256("")};
  signing.headers = {
      {"host", Authority(call.endpoint)},    {"x-acs-action", call.action},
      {"x-acs-version", call.version},       {"x-acs-date", FormatTime(call.date)},
      {"x-acs-signature-nonce", call.nonce}, {"x-acs-content-sha256", signing.payload_hash}};
  if (!credential.security_token.empty()) {
    signing.headers["x-acs-security-token"] = credential.security_token;
  }
  http::Request request = Post(call, call.parameters);
  for (const auto& [name, value] : signing.headers) request.headers.push_back({name, value});
  request.headers.push_back(
      {"authorization", signing.Authorization(credential.key_id, credential.secret)});
  return request;
}

http::Request SignV1(const UnsignedCall& call, const Credential& credential) {
  Parameters query = call.parameters;
  query["Action"] = call.action;
  query["Version"] = call.version;
  query["Format"] = "JSON";
  query["AccessKeyId"] = credential.key_id;
  query["SignatureMethod"] = "HMAC-SHA1";
  query["SignatureVersion"] = "1.0";
  query["SignatureNonce"] = call.nonce;
  query["Timestamp"] = FormatTime(call.date);
  if (!credential.security_token.empty()) query["SecurityToken"] = credential.security_token;
  query["Signature"] = SignatureV1("POST", query, credential.secret);
  return Post(call, query);
}

}  // namespace berth::cloud::aliyun
