#include "server/tls_staging.h"

#include <openssl/hmac.h>

#include <array>
#include <chrono>
#include <utility>

#include "certs/authority.h"
#include "certs/store.h"
#include "http/file.h"
#include "log/log.h"

namespace berth::server {
namespace {

using namespace std::chrono_literals;

constexpr auto kFilesEvery = 5s;

}  // namespace

kube::Result<void> TlsStaging::StageAll(apis::Authenticator& authenticator) {
  authenticator_ = &authenticator;
  if (auto done = StageServingPair(); !done) return done;
  if (auto done = StageRequestHeaderCa(); !done) return done;
  return StageWebhookClientCa();
}

void TlsStaging::AddChores(Housekeeping& housekeeping) {
  housekeeping.Every(kFilesEvery, "serving-certificate", [this] { return StageServingPair(); });
  if (!options_.requestheader_client_ca_file.empty())
    housekeeping.Every(kFilesEvery, "request-header-ca", [this] { return StageRequestHeaderCa(); });
  if (!options_.webhook_client_ca_file.empty())
    housekeeping.Every(kFilesEvery, "webhook-client-ca", [this] { return StageWebhookClientCa(); });
}

kube::Result<void> TlsStaging::Staged(const kube::Result<bool>& changed, const char* what) {
  if (!changed) return std::unexpected(changed.error());
  if (*changed && reload_) {
    log::Info(what);
    reload_();
  }
  return {};
}

kube::Result<void> TlsStaging::StageServingPair() {
  certs::KeyPair pair;
  if (options_.tls_cert_file.empty()) {
    auto made = certs::LoadOrMakeServing(options_.state_dir / "certs",
                                         certs::ServingNames::Of(options_.tls_names));
    if (!made) return std::unexpected(made.error());
    pair = std::move(*made);
  } else {
    auto cert = ReadFile(options_.tls_cert_file);
    if (!cert) return std::unexpected(cert.error());
    auto key = ReadFile(options_.tls_private_key_file);
    if (!key) return std::unexpected(key.error());
    pair = {std::move(*cert), std::move(*key)};
  }
  if (first_key_pem_.empty()) first_key_pem_ = pair.key_pem;
  return Staged(files_.SetPair(pair.cert_pem, pair.key_pem), "serving certificate reloaded");
}

// Until the front proxy's CA is known, one that has signed nothing stands in: no client certificate
// is accepted.
kube::Result<void> TlsStaging::StageRequestHeaderCa() {
  std::string pem;
  if (options_.requestheader_client_ca_file.empty()) {
    const auto nobody = certs::MakeAuthority("nobody", 24h);
    if (!nobody) return std::unexpected(nobody.error());
    pem = nobody->cert_pem;
  } else {
    auto given = ReadFile(options_.requestheader_client_ca_file);
    if (!given) return std::unexpected(given.error());
    pem = std::move(*given);
    authenticator_->SetRequestHeader(std::make_shared<const apis::RequestHeaderConfig>(
        apis::RequestHeaderConfig::Usual(pem, options_.requestheader_allowed_names)));
    front_proxy_.Set(true);
  }
  return Staged(files_.SetClientCa(pem), "request-header CA reloaded");
}

kube::Result<void> TlsStaging::StageWebhookClientCa() {
  if (options_.webhook_client_ca_file.empty()) return {};
  const auto pem = ReadFile(options_.webhook_client_ca_file);
  if (!pem) return std::unexpected(pem.error());
  const auto changed = files_.SetWebhookClientCa(*pem);
  if (changed && *changed) webhook_client_ca_ = std::make_shared<const std::string>(*pem);
  return Staged(changed, "CA of webhook clients reloaded");
}

void TlsStaging::Take(const apis::RequestHeaderConfig& published) {
  const auto changed = files_.SetClientCa(published.client_ca_pem);
  if (!changed) {
    log::Error("front proxy's CA refused", {{"error", changed.error().message}});
    return;
  }
  // Before the listeners take the new CA: its clients must find it known.
  authenticator_->SetRequestHeader(std::make_shared<const apis::RequestHeaderConfig>(published));
  if (*changed) {
    log::Info("front proxy's CA loaded", {{"allowedNames", published.allowed_names.size()}});
    reload_();
  }
  front_proxy_.Set(true);
}

std::string TlsStaging::DeriveKey(const std::string& purpose) const {
  std::array<unsigned char, 32> key{};
  HMAC(EVP_sha256(), first_key_pem_.data(), static_cast<int>(first_key_pem_.size()),
       reinterpret_cast<const unsigned char*>(purpose.data()), purpose.size(), key.data(), nullptr);
  return {key.begin(), key.end()};
}

}  // namespace berth::server
