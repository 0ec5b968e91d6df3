#include "cloud/simulator/aliyun/wire.h"

#include <algorithm>
#include <array>
#include <cctype>

#include "log/format.h"

namespace berth::cloud::simulator {
namespace {

constexpr std::string_view kForm = "application/x-www-form-urlencoded";
// The parameters of a V1 call that are the same for every action.
constexpr std::array kFrontParameters = {"Action",           "Version",        "Format",
                                         "AccessKeyId",      "Signature",      "SignatureMethod",
                                         "SignatureVersion", "SignatureNonce", "SignatureType",
                                         "Timestamp",        "SecurityToken"};

const std::string kNone;

const std::string& Find(const std::map<std::string, std::string>& in, const std::string& name) {
  const auto found = in.find(name);
  return found == in.end() ? kNone : found->second;
}

std::string Lowercase(std::string_view text) {
  std::string lower(text);
  std::ranges::transform(lower, lower.begin(), [](unsigned char c) { return std::tolower(c); });
  return lower;
}

std::string_view Trim(std::string_view text) {
  const auto begin = text.find_first_not_of(" \t");
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t") - begin + 1);
}

http::Response JsonResponse(int code, const Json& fields, std::string_view request_id) {
  http::Response response{.code = code,
                          .headers = {{"content-type", "application/json;charset=utf-8"},
                                      {"x-acs-request-id", std::string(request_id)}}};
  fields.AppendTo(response.body);
  return response;
}

}  // namespace

Received::Received(const http::Request& request) : method(request.method), body(request.body) {
  std::string_view rest = request.url;
  if (const auto scheme = rest.find("://"); scheme != std::string_view::npos) {
    rest.remove_prefix(scheme + 3);
  }
  const auto authority = std::min(rest.find_first_of("/?"), rest.size());
  host = rest.substr(0, authority);
  rest.remove_prefix(authority);
  rest = rest.substr(0, rest.find('#'));
  const auto question = std::min(rest.find('?'), rest.size());
  path = question == 0 ? "/" : rest.substr(0, question);
  if (question < rest.size()) query = aliyun::ParseQuery(rest.substr(question + 1));

  for (const auto& [name, value] : request.headers) headers[Lowercase(name)] = Trim(value);
  if (headers.contains("host")) host = headers["host"];
  headers["host"] = host;
  if (Header("content-type").starts_with(kForm)) form = aliyun::ParseQuery(body);

  // STS answers calls that nobody has signed: their headers count where there is no parameter.
  const bool by_headers = IsAcs3() || Parameter("Action").empty();
  action = by_headers ? Header("x-acs-action") : Parameter("Action");
  version = by_headers ? Header("x-acs-version") : Parameter("Version");
}

const std::string& Received::Header(const std::string& name) const { return Find(headers, name); }

const std::string& Received::Parameter(const std::string& name) const {
  const std::string& value = Find(query, name);
  return value.empty() ? Find(form, name) : value;
}

bool Received::IsAcs3() const { return Header("authorization").starts_with("ACS3-"); }

aliyun::Parameters Received::ActionParameters() const {
  aliyun::Parameters parameters = query;
  parameters.insert(form.begin(), form.end());
  for (const char* name : kFrontParameters) parameters.erase(name);
  return parameters;
}

http::Response SuccessResponse(Json fields, std::string_view request_id) {
  fields["RequestId"] = request_id;
  return JsonResponse(200, fields, request_id);
}

http::Response ErrorResponse(const Refusal& refusal, std::string_view host,
                             std::string_view request_id) {
  Json fields;
  fields["RequestId"] = request_id;
  if (refusal.http_code == 200) {
    fields["Code"] = std::stoi(refusal.code);
    fields["Message"] = refusal.message;
    return JsonResponse(200, fields, request_id);
  }
  fields["HostId"] = host;
  fields["Code"] = refusal.code;
  fields["Message"] = refusal.message;
  fields["Recommend"] =
      Format("https://api.aliyun.com/troubleshoot?q={}&requestId={}", refusal.code, request_id);
  return JsonResponse(refusal.http_code, fields, request_id);
}

}  // namespace berth::cloud::simulator
