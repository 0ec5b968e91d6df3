#include "kube/credentials.h"

#include <utility>

namespace berth::kube {

Credentials::Credentials(const Config& config, std::function<void()> wake)
    : token_(config.token, config.token_file),
      current_(std::make_shared<Credential>(
          Credential{{}, config.client_cert_pem, config.client_key_pem})),
      plugin_(config.exec ? std::make_unique<ExecCredentials>(*config.exec, config, std::move(wake))
                          : nullptr) {}

std::optional<Result<CredentialPtr>> Credentials::Get() {
  if (plugin_) return plugin_->Get(std::chrono::system_clock::now());
  auto token = token_.Get();
  if (!token) return std::unexpected(token.error());
  if (*token != current_->token) {
    auto next = std::make_shared<Credential>(*current_);
    next->token = std::move(*token);
    current_ = std::move(next);
  }
  return current_;
}

bool Credentials::Refused(const CredentialPtr& credential) {
  return plugin_ && plugin_->Refused(credential);
}

}  // namespace berth::kube
