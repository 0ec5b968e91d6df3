#pragma once

#include <memory>
#include <string>

namespace berth::http {

// Proof of our identity: a bearer token, a client certificate with its key in PEM, or both.
struct Credential {
  std::string token;
  std::string client_cert_pem;
  std::string client_key_pem;
};
using CredentialPtr = std::shared_ptr<const Credential>;

}  // namespace berth::http
