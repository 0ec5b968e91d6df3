#include "cloud/simulator/azure/login.h"

#include <utility>

#include "log/format.h"

namespace berth::cloud::simulator::azure {
namespace {

constexpr std::string_view kBearer = "Bearer ";

http::Response Refused(int code, const char* error, const std::string& description) {
  Json body;
  body["error"] = error;
  body["error_description"] = description;
  return {
      .code = code, .headers = {{"content-type", "application/json"}}, .body = body.to_string()};
}

bool HasProof(const Client& client, const ReceivedRequest& request) {
  const std::string& secret = request.Parameter("client_secret");
  if (!secret.empty()) return secret == client.secret;
  return request.Parameter("client_assertion_type") ==
             "urn:ietf:params:oauth:client-assertion-type:jwt-bearer" &&
         client.assertions.contains(request.Parameter("client_assertion"));
}

}  // namespace

http::Response Login::Answer(const ReceivedRequest& request, const std::string& tenant,
                             async::WallTime now) {
  std::erase_if(tokens_, [now](const auto& token) { return token.second <= now; });
  if (request.Parameter("grant_type") != "client_credentials") {
    return Refused(400, "unsupported_grant_type", "AADSTS70003: the grant is not supported.");
  }
  if (!request.Parameter("scope").ends_with("/.default")) {
    return Refused(400, "invalid_scope", "AADSTS70011: the scope is not valid.");
  }
  const auto client = clients_.find(request.Parameter("client_id"));
  if (client == clients_.end() || client->second.tenant != tenant) {
    return Refused(400, "unauthorized_client",
                   "AADSTS700016: the application was not found in the directory.");
  }
  if (!HasProof(client->second, request)) {
    return Refused(401, "invalid_client", "AADSTS7000215: Invalid client secret provided.");
  }
  const std::string token = ids_.Secret();
  tokens_[token] = now + lifetime_;
  Json body;
  body["token_type"] = "Bearer";
  body["expires_in"] = lifetime_.count();
  body["ext_expires_in"] = lifetime_.count();
  body["access_token"] = token;
  return {.code = 200, .headers = {{"content-type", "application/json"}}, .body = body.to_string()};
}

http::Response Login::Discover(const ReceivedRequest& request) {
  const std::string tenant = request.path.substr(0, request.path.find('/', 1));
  const std::string base = Format("https://{}{}", request.host, tenant);
  Json body;
  body["token_endpoint"] = base + "/oauth2/v2.0/token";
  body["authorization_endpoint"] = base + "/oauth2/v2.0/authorize";
  body["issuer"] = base + "/v2.0";
  return {.code = 200, .headers = {{"content-type", "application/json"}}, .body = body.to_string()};
}

Check Login::Admit(const ReceivedRequest& request, async::WallTime now) {
  const std::string& header = request.Header("authorization");
  if (!header.starts_with(kBearer)) {
    return Refuse(401, "AuthenticationFailed", "Authentication failed. The header is missing.");
  }
  const auto token = tokens_.find(header.substr(kBearer.size()));
  if (token == tokens_.end()) {
    return Refuse(401, "InvalidAuthenticationToken", "The access token is invalid.");
  }
  if (token->second <= now) {
    return Refuse(401, "ExpiredAuthenticationToken", "The access token expiry UTC time is past.");
  }
  return {};
}

}  // namespace berth::cloud::simulator::azure
