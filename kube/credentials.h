#pragma once

#include <functional>
#include <memory>
#include <optional>

#include "kube/config.h"
#include "kube/credential.h"
#include "kube/error.h"
#include "kube/exec_credential.h"
#include "kube/token.h"

namespace berth::kube {

// The credential that a Config says to use, as it is at the moment. Never blocks. Of one thread.
class Credentials {
 public:
  // `wake` is called from another thread when Get, which had nothing to give, may have.
  Credentials(const Config& config, std::function<void()> wake);

  // None while a plugin is at work. An error is a call's.
  std::optional<Result<CredentialPtr>> Get();

  // The server did not accept this one (401). Whether it is worth trying with what Get gives next.
  bool Refused(const CredentialPtr& credential);

 private:
  TokenSource token_;
  CredentialPtr current_;
  std::unique_ptr<ExecCredentials> plugin_;  // in place of all the above
};

}  // namespace berth::kube
