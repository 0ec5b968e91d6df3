#pragma once

#include <trantor/net/Certificate.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>

namespace berth::http {

// The client certificates of open connections. TLS verifies a certificate at the handshake only; a
// connection may last longer than the certificate or the CA. Here a certificate is verified again
// when the CA has changed, and it ends with its lifetime. Not thread-safe: one for each thread.
class PeerCertificates {
 public:
  using Clock = std::chrono::system_clock;
  using Authority = std::shared_ptr<const std::string>;  // PEM, one certificate or several

  // Parses certificates in PEM.
  struct Reader {
    std::function<std::string(const std::string& cert_pem)> common_name;
    std::function<Clock::time_point(const std::string& cert_pem)> not_after;
    // Whether a certificate of the authority has signed it directly, for use by a client.
    std::function<bool(const std::string& cert_pem, const std::string& authority_pem)> is_signed;
  };

  explicit PeerCertificates(Reader reader) : reader_(std::move(reader)) {}

  // The common name of the certificate; nothing when the authority has not signed it or it has
  // expired. O(1) while the connection lasts and the authority stays the same.
  std::optional<std::string> NameOf(const trantor::CertificatePtr& certificate,
                                    const Authority& authority,
                                    Clock::time_point now = Clock::now());

 private:
  // Parsing a certificate costs more than the rest of a request, so it is done once a connection.
  struct Known {
    std::weak_ptr<trantor::Certificate> certificate;
    std::string name;
    Clock::time_point not_after;
    Authority verified_by;
  };

  Known& Find(const trantor::CertificatePtr& certificate);

  const Reader reader_;
  std::unordered_map<const trantor::Certificate*, Known> known_;
};

}  // namespace berth::http
