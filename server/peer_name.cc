#include "server/peer_name.h"

#include <chrono>

#include "certs/authority.h"

namespace berth::server {

std::optional<std::string> NameOfPeer(const drogon::HttpRequestPtr& request,
                                      const http::PeerCertificates::Authority& authority) {
  using Clock = http::PeerCertificates::Clock;
  static thread_local http::PeerCertificates peers(
      {.common_name = [](const std::string& pem) { return certs::CommonName(pem).value_or(""); },
       .not_after =
           [](const std::string& pem) {
             return Clock::time_point(std::chrono::seconds(certs::NotAfter(pem).value_or(0)));
           },
       .is_signed =
           [](const std::string& pem, const std::string& authority_pem) {
             return certs::CheckClient(authority_pem, pem).has_value();
           }});
  return peers.NameOf(request->peerCertificate(), authority);
}

}  // namespace berth::server
