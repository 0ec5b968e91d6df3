#pragma once

#include <string>
#include <vector>

#include "async/task.h"
#include "cloud/aliyun/credentials.h"
#include "cloud/aliyun/signature.h"
#include "cloud/test_transport.h"

// For tests only: the other end of a client's calls, with the test in the cloud's place.
namespace berth::cloud::aliyun {

using cloud::Pending;
using cloud::ScriptedTransport;
using cloud::TestObserver;

// A key that the test changes at will.
class TestCredentials : public Credentials {
 public:
  async::Task<Result<Credential>> Get() override { co_return now; }
  void Refused(const Credential& credential) override { refused.push_back(credential); }

  Result<Credential> now = Credential{"the-id", "the-secret", ""};
  std::vector<Credential> refused;
};

// The Authorization header that the request should have, worked out anew from the request itself.
inline std::string ExpectedAuthorization(const ScriptedTransport::Exchange& exchange,
                                         const Credential& credential) {
  Acs3 signing{.method = exchange.request.method,
               .query = exchange.query(),
               .payload_hash = Sha256(exchange.request.body)};
  for (const auto& [name, value] : exchange.request.headers) {
    if (name == "host" || name == "content-type" || name.starts_with("x-acs-"))
      signing.headers[name] = value;
  }
  return signing.Authorization(credential.key_id, credential.secret);
}

}  // namespace berth::cloud::aliyun
