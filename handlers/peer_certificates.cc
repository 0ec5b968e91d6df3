#include "handlers/peer_certificates.h"

namespace berth::http {

PeerCertificates::Known& PeerCertificates::Find(const trantor::CertificatePtr& certificate) {
  constexpr std::size_t kMostKnown = 4096;
  const auto found = known_.find(certificate.get());
  if (found != known_.end() && found->second.certificate.lock() == certificate)
    return found->second;
  if (known_.size() >= kMostKnown) {
    std::erase_if(known_, [](const auto& entry) { return entry.second.certificate.expired(); });
    if (known_.size() >= kMostKnown) known_.clear();
  }
  const std::string pem = certificate->pem();
  Known known{certificate, reader_.common_name(pem), reader_.not_after(pem), nullptr};
  return known_.insert_or_assign(certificate.get(), std::move(known)).first->second;
}

std::optional<std::string> PeerCertificates::NameOf(const trantor::CertificatePtr& certificate,
                                                    const Authority& authority,
                                                    Clock::time_point now) {
  Known& known = Find(certificate);
  if (now >= known.not_after) return std::nullopt;
  if (known.verified_by != authority) {
    const bool same = known.verified_by && *known.verified_by == *authority;
    if (!same && !reader_.is_signed(certificate->pem(), *authority)) return std::nullopt;
    known.verified_by = authority;
  }
  return known.name;
}

}  // namespace berth::http
