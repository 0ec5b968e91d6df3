#include "cloud/simulator/aliyun/wire.h"

#include <array>

#include "log/format.h"

namespace berth::cloud::simulator {
namespace {

// The parameters of a V1 call that are the same for every action.
constexpr std::array kFrontParameters = {"Action",           "Version",        "Format",
                                         "AccessKeyId",      "Signature",      "SignatureMethod",
                                         "SignatureVersion", "SignatureNonce", "SignatureType",
                                         "Timestamp",        "SecurityToken"};

http::Response JsonResponse(int code, const Json& fields, std::string_view request_id) {
  http::Response response{.code = code,
                          .headers = {{"content-type", "application/json;charset=utf-8"},
                                      {"x-acs-request-id", std::string(request_id)}}};
  fields.AppendTo(response.body);
  return response;
}

}  // namespace

Received::Received(const http::Request& request) : ReceivedRequest(request) {
  // STS answers calls that nobody has signed: their headers count where there is no parameter.
  const bool by_headers = IsAcs3() || Parameter("Action").empty();
  action = by_headers ? Header("x-acs-action") : Parameter("Action");
  version = by_headers ? Header("x-acs-version") : Parameter("Version");
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
