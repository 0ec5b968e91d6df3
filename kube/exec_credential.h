#pragma once

#include <chrono>
#include <functional>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <thread>

#include "async/token_bucket.h"
#include "kube/config.h"
#include "kube/credential.h"
#include "kube/error.h"

namespace berth::kube {

// The credential of a plugin, as client.authentication.k8s.io has it.
struct ExecCredential {
  Credential credential;
  std::optional<std::chrono::system_clock::time_point> expires;
};

// The text of KUBERNETES_EXEC_INFO for a plugin. `cluster` is for plugins that ask for it.
std::string ExecInfo(const ExecPlugin& plugin, const Config& cluster);

// Reads an ExecCredential. Errors (kRetry) say what is missing or wrong, never what was there.
Result<ExecCredential> ParseExecCredential(std::string_view json, std::string_view api_version);

// Runs a plugin and reads what it prints. Blocks; see RunProgram.
Result<ExecCredential> RunExecPlugin(const ExecPlugin& plugin, const Config& cluster,
                                     std::stop_token stop);

// The credentials of a plugin: run on a short-lived thread when there is none to give, kept until
// it expires, fetched anew a little earlier while the old one is still given out. A failure stands
// for a second, so that calls in their hundreds do not start programs in their hundreds. Of one
// thread; its end kills a plugin that is running.
class ExecCredentials {
 public:
  using WallTime = std::chrono::system_clock::time_point;

  // `wake` is called on the other thread when the plugin has ended.
  ExecCredentials(ExecPlugin plugin, Config cluster, std::function<void()> wake);

  // None while the plugin is running.
  std::optional<Result<CredentialPtr>> Get(WallTime now);

  // The server did not accept this one. Whether to try with what Get gives next, which is another
  // one then; false when that has been tried several times of late.
  bool Refused(const CredentialPtr& credential);

 private:
  using Clock = std::chrono::steady_clock;

  void Start();
  void TakeOutcome(WallTime now);
  void Keep(ExecCredential fetched, WallTime now);
  void Fail(Error error);

  const ExecPlugin plugin_;
  const Config cluster_;
  const std::function<void()> wake_;
  CredentialPtr current_;
  WallTime refresh_;  // of current_
  WallTime expires_;  // of current_
  Error failure_;     // stands until next_run_
  Clock::time_point next_run_;
  async::TokenBucket refusals_;
  bool running_ = false;
  std::mutex mutex_;
  std::optional<Result<ExecCredential>> outcome_;  // under mutex_; of the run that has ended
  std::jthread thread_;
};

}  // namespace berth::kube
