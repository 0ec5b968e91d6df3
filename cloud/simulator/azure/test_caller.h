#pragma once

#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include "cloud/simulator/azure/cloud.h"
#include "json/json.h"
#include "log/format.h"

namespace berth::cloud::simulator::azure {

// For tests only: a client with a token, at a time that the test moves.
class TestCaller {
 public:
  explicit TestCaller(Cloud& cloud) : cloud_(cloud) {
    cloud_.login().Add({.tenant = "t", .id = "c", .secret = "s", .assertions = {"jwt"}});
    token = Login({{"client_secret", "s"}}).body["access_token"].as<std::string>();
  }

  struct Answered {
    int code = 0;
    Json body;
    std::vector<http::Header> headers;

    // "OK", or the cloud's error.
    std::string Code() const { return code < 300 ? "OK" : body["error"]["code"].as<std::string>(); }
    std::string Header(std::string_view name) const {
      for (const auto& header : headers) {
        if (header.name == name) return header.value;
      }
      return {};
    }
  };

  Answered Login(Parameters proof) {
    proof.insert({{"grant_type", "client_credentials"},
                  {"client_id", "c"},
                  {"scope", "https://management.azure.com/.default"}});
    return Send({.method = "POST",
                 .url = "https://login/t/oauth2/v2.0/token",
                 .headers = {{"content-type", "application/x-www-form-urlencoded"}},
                 .body = Query(proof)});
  }
  Answered Ask(const std::string& method, const std::string& url, const std::string& body = "",
               std::vector<http::Header> headers = {}) {
    headers.push_back({"authorization", "Bearer " + token});
    return Send({.method = method,
                 .url = url.starts_with("https") ? url : "https://arm" + url,
                 .headers = std::move(headers),
                 .body = body});
  }
  // Of Microsoft.Network in the group: "publicIPAddresses/a".
  Answered Net(const std::string& method, const std::string& path, const std::string& body = "",
               std::vector<http::Header> headers = {}) {
    return Ask(method, Format("{}/{}?api-version=2025-05-01", Base(), path), body,
               std::move(headers));
  }
  std::string Base() const {
    return Format("/subscriptions/{}/resourceGroups/{}/providers/Microsoft.Network",
                  cloud_.options().subscription, cloud_.options().resource_group);
  }
  Answered Gateway(const std::string& call, const std::string& body) {
    return Net("POST", Format("serviceGateways/{}/{}", cloud_.options().gateway, call), body);
  }

  std::string IpBody(std::string_view version = "IPv4") const {
    return Format(
        R"({{"location":"westeurope","sku":{{"name":"StandardV2"}},)"
        R"("properties":{{"publicIPAllocationMethod":"Static","publicIPAddressVersion":"{}"}}}})",
        version);
  }
  // `rules` as "Tcp 80 8080, Udp 53 53".
  std::string BalancerBody(const std::string& name, const std::string& ip,
                           std::vector<std::tuple<const char*, int, int>> rules) const {
    const std::string id = Format("{}/loadBalancers/{}", Base(), name);
    std::string list;
    for (const auto& [protocol, port, to] : rules) {
      list += Format(R"({}{{"name":"rule-{}-{}","properties":{{"protocol":"{}","frontendPort":{},)"
                     R"("backendPort":{},"idleTimeoutInMinutes":4,"enableFloatingIP":false,)"
                     R"("frontendIPConfiguration":{{"id":"{}/frontendIPConfigurations/frontend"}},)"
                     R"("backendAddressPool":{{"id":"{}/backendAddressPools/{}"}}}}}})",
                     list.empty() ? "" : ",", protocol, port, protocol, port, to, id, id, name);
    }
    return Format(
        R"({{"location":"westeurope","sku":{{"name":"Service"}},"properties":{{"scope":"Public",)"
        R"("frontendIPConfigurations":[{{"name":"frontend","properties":)"
        R"({{"publicIPAddress":{{"id":"{}/publicIPAddresses/{}"}}}}}}],)"
        R"("backendAddressPools":[{{"name":"{}"}}],"loadBalancingRules":[{}]}}}})",
        Base(), ip, name, list);
  }

  Answered Send(const http::Request& request) {
    const http::Response response = cloud_.Answer(request, now);
    return {response.code, response.body.empty() ? Json() : Json::parse(response.body),
            response.headers};
  }

  std::string token;
  async::WallTime now{std::chrono::seconds(1'767'323'045)};  // 2026-01-02T03:04:05Z

 private:
  Cloud& cloud_;
};

}  // namespace berth::cloud::simulator::azure
