#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>

#include "handlers/apis/authenticator.h"
#include "handlers/health.h"
#include "server/housekeeping.h"
#include "server/options.h"
#include "server/tls_settings.h"

namespace berth::server {

// The listeners' certificates and CAs, brought from where the options say to the files that Drogon
// reads, and again when they change. Staged before the listeners open; on the control thread then.
class TlsStaging {
 public:
  // `front_proxy` holds once the request-header CA is known.
  TlsStaging(const Options& options, health::Health::Condition& front_proxy)
      : options_(options), front_proxy_(front_proxy), files_(options.state_dir) {}

  kube::Result<void> StageAll(apis::Authenticator& authenticator);
  // From here on a change is followed by `reload`.
  void OnChange(std::function<void()> reload) { reload_ = std::move(reload); }
  // Looks for changes of the files that the options name.
  void AddChores(Housekeeping& housekeeping);
  // The request-header CA as the API server publishes it; a refused one is logged.
  void Take(const apis::RequestHeaderConfig& published);

  const TlsFiles& files() const { return files_; }
  // The CA that clients of the webhooks must show a certificate of; null: anybody is served.
  // Thread-safe.
  std::shared_ptr<const std::string> webhook_client_ca() const { return webhook_client_ca_; }
  // A key for one purpose. All replicas serve with the same key, so what one replica has signed
  // the others can verify. It stays the same when the serving key changes.
  std::string DeriveKey(const std::string& purpose) const;

 private:
  kube::Result<void> StageServingPair();
  kube::Result<void> StageRequestHeaderCa();
  kube::Result<void> StageWebhookClientCa();
  kube::Result<void> Staged(const kube::Result<bool>& changed, const char* what);

  const Options& options_;
  health::Health::Condition& front_proxy_;
  apis::Authenticator* authenticator_ = nullptr;
  TlsFiles files_;
  std::function<void()> reload_;
  std::string first_key_pem_;
  std::atomic<std::shared_ptr<const std::string>> webhook_client_ca_;
};

}  // namespace berth::server
