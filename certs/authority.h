#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "kube/error.h"

// Certificates that Berth makes for itself when it is given none: an ECDSA P-256 CA and serving
// certificates under it. Plain functions, thread-safe; none leaves an entry in OpenSSL's error
// queue.
namespace berth::certs {

struct KeyPair {
  std::string cert_pem;  // for a serving certificate: the leaf alone
  std::string key_pem;   // PKCS#8
};

struct ServingNames {
  std::vector<std::string> dns;
  std::vector<std::string> ips;  // textual, IPv4 or IPv6

  // Sorts a list of both.
  static ServingNames Of(const std::vector<std::string>& names);
};

// Certificates begin five minutes ago, for clocks that run behind. A lifetime that is not above
// zero makes one that has ended, which tests use.
kube::Result<KeyPair> MakeAuthority(const std::string& common_name, std::chrono::hours lifetime);

// Ends with the authority at the latest. `client` also allows client authentication (for tests and
// the demo's front proxy).
kube::Result<KeyPair> Issue(const KeyPair& authority, const std::string& common_name,
                            const ServingNames& names, std::chrono::hours lifetime,
                            bool client = false);

// True pairs only: parses both, checks that key and leaf belong together and that the leaf is
// within its lifetime. The error says which file is wrong and how, never its contents.
kube::Result<void> CheckPair(const std::string& cert_pem, const std::string& key_pem);

// At least one certificate, each parseable and none with a private key beside it, because bundles
// are published.
kube::Result<void> CheckBundle(const std::string& pem);

// Whether a client that trusts `authority_pem` would take the leaf for each of `names` now. An
// authority or leaf out of its lifetime is refused.
kube::Result<void> CheckServes(const std::string& authority_pem, const std::string& cert_pem,
                               const ServingNames& names);

// Whether one of the bundle's certificates has signed the client's, which is within its lifetime:
// what a TLS server checks at the handshake.
kube::Result<void> CheckClient(const std::string& bundle_pem, const std::string& cert_pem);

// The subject's common name of the first certificate, for logs and for allowed names.
kube::Result<std::string> CommonName(const std::string& cert_pem);

// Seconds since the epoch at which the first certificate begins and ends.
kube::Result<std::int64_t> NotBefore(const std::string& cert_pem);
kube::Result<std::int64_t> NotAfter(const std::string& cert_pem);

}  // namespace berth::certs
