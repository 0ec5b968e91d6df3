#pragma once

#include <gtest/gtest.h>

#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "json/json.h"
#include "server/support_test.h"

// A running server a test, and the requests that the tests send it.
namespace berth::server::test {

using HeaderLines = std::vector<std::string>;

inline const HeaderLines kJsonBody = {"Content-Type: application/json"};
inline const HeaderLines kAdmin = {"X-Remote-User: admin", "X-Remote-Group: system:masters"};

inline const std::string kWorkQueues = "/apis/live.berth.dev/v1alpha1/workqueues";
inline const std::string kMutate = "/mutate/plexaubnet.io/subnetpools";
inline const std::string kValidate = "/validate/plexaubnet.io/subnetpools";

inline std::string Request(const std::string& method, const std::string& target,
                           const HeaderLines& headers = {}, const std::string& body = {}) {
  std::string text = method + " " + target + " HTTP/1.1\r\nHost: localhost\r\n";
  for (const std::string& header : headers) text += header + "\r\n";
  if (!body.empty()) text += "Content-Length: " + std::to_string(body.size()) + "\r\n";
  return text + "\r\n" + body;
}

inline std::string Get(const std::string& target, const HeaderLines& headers = {}) {
  return Request("GET", target, headers);
}

inline std::string Post(const std::string& target, const std::string& body,
                        const HeaderLines& headers = kJsonBody) {
  return Request("POST", target, headers, body);
}

inline std::string Body(const std::optional<HttpResponse>& response) {
  return response ? response->body : "(no answer)";
}

inline int Code(const std::optional<HttpResponse>& response) {
  return response ? response->code : 0;
}

// An answer must be a Status with this code, on the wire and inside.
inline void ExpectStatus(const std::optional<HttpResponse>& response, int code) {
  if (!response) {
    ADD_FAILURE() << "no answer";
    return;
  }
  EXPECT_EQ(response->code, code) << response->body;
  const Json status = Json::parse(response->body);
  EXPECT_EQ(status["kind"].as<std::string>(), "Status");
  EXPECT_EQ(status["code"].as<int>(), code);
}

// Starts a server when the test asks for one; whatever the test did to it, it has to end well.
class ServeTest : public testing::Test {
 protected:
  BerthProcess& Start(const BerthProcess::Flags& flags = {}) {
    berth_.emplace(pki_, flags);
    if (!berth_->listening()) throw std::runtime_error("berth does not start: " + berth_->Log());
    return *berth_;
  }

  void TearDown() override {
    if (!berth_) return;
    EXPECT_EQ(berth_->Stop(), 0) << berth_->Log();
  }

  TlsClient Webhook(std::chrono::milliseconds timeout = kPatience,
                    const certs::KeyPair* identity = nullptr) const {
    return TlsClient(Berth().port("webhook"),
                     TlsOptions{.identity = identity, .trust = pki_.serving_ca.cert_pem}, timeout);
  }
  TlsClient Api(const certs::KeyPair* identity,
                std::chrono::milliseconds timeout = kPatience) const {
    return TlsClient(Berth().port("api"),
                     TlsOptions{.identity = identity, .trust = pki_.serving_ca.cert_pem}, timeout);
  }
  TlsClient FrontProxy() const { return Api(&pki_.front_proxy); }
  PlainClient Health() const { return PlainClient(Berth().port("health")); }

  const BerthProcess& Berth() const {
    if (!berth_) throw std::logic_error("the test has not started berth");
    return *berth_;
  }

  Pki pki_;
  std::optional<BerthProcess> berth_;
};

}  // namespace berth::server::test
