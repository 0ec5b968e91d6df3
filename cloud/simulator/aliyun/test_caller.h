#pragma once

#include <chrono>
#include <string>
#include <utility>

#include "cloud/aliyun/signature.h"
#include "cloud/simulator/aliyun/cloud.h"
#include "json/json.h"
#include "log/format.h"
#include "log/timestamp.h"

namespace berth::cloud::simulator {

// For tests only: a client that signs and asks, at a time that the test moves.
class TestCaller {
 public:
  explicit TestCaller(Cloud& cloud) : cloud_(cloud) {
    cloud_.keys().Add({.id = kKeyId, .secret = kSecret, .caller = "berth"});
  }

  static constexpr const char* kKeyId = "LTAIberth";
  static constexpr const char* kSecret = "correct horse";
  static constexpr const char* kHost = "vpc.cn-hangzhou.aliyuncs.com";

  struct Answered {
    int http_code = 0;
    Json body;

    // "OK", or the cloud's error.
    std::string Code() const {
      const bool is_good = http_code == 200 && (!body.contains("Code") || body["Code"] == Json(0));
      return is_good ? "OK" : body["Code"].as<std::string>();
    }
    std::string operator[](const char* field) const { return body[field].as<std::string>(); }
  };

  // The headers that are signed, before they are.
  aliyun::Acs3 Unsigned(const std::string& action, aliyun::Parameters query,
                        const std::string& body = "") {
    return {.query = std::move(query),
            .headers = {{"host", kHost},
                        {"x-acs-action", action},
                        {"x-acs-content-sha256", aliyun::Sha256(body)},
                        {"x-acs-date", FormatTime(now)},
                        {"x-acs-signature-nonce", std::to_string(++nonce_)},
                        {"x-acs-version", version}},
            .payload_hash = aliyun::Sha256(body)};
  }

  static http::Request Signed(const aliyun::Acs3& call, const std::string& id = kKeyId,
                              const std::string& secret = kSecret) {
    http::Request request{.method = call.method,
                          .url = Format("https://{}/?{}", kHost, aliyun::Query(call.query))};
    for (const auto& [name, value] : call.headers) request.headers.push_back({name, value});
    request.headers.push_back({"Authorization", call.Authorization(id, secret)});
    return request;
  }

  Answered Send(const http::Request& request) {
    const http::Response response = cloud_.Answer(request, now);
    return {response.code, Json::parse(response.body)};
  }

  // The region is added.
  Answered Ask(const std::string& action, aliyun::Parameters parameters = {}) {
    parameters.emplace("RegionId", "cn-hangzhou");
    return Send(Signed(Unsigned(action, std::move(parameters))));
  }
  std::string Code(const std::string& action, aliyun::Parameters parameters = {}) {
    return Ask(action, std::move(parameters)).Code();
  }
  std::string Allocate(aliyun::Parameters parameters = {}) {
    return Ask("AllocateEipAddress", std::move(parameters))["AllocationId"];
  }
  // As DescribeEipAddresses lists it; null when it does not.
  Json Describe(const std::string& id) {
    const auto list =
        Ask("DescribeEipAddresses", {{"AllocationId", id}}).body["EipAddresses"]["EipAddress"];
    return list.empty() ? Json::null() : list[0];
  }
  std::string Status(const std::string& id) {
    const auto eip = Describe(id);
    return eip.is_null() ? "gone" : eip["Status"].as<std::string>();
  }

  std::string version = "2016-04-28";                        // of the product that is asked
  async::WallTime now{std::chrono::seconds(1'767'323'045)};  // 2026-01-02T03:04:05Z

 private:
  Cloud& cloud_;
  int nonce_ = 0;
};

}  // namespace berth::cloud::simulator
