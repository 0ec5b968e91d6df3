#include "server/process.h"

#include <sys/resource.h>

#include <csignal>
#include <cstring>

#include "log/log.h"

namespace berth::server {
namespace {

sigset_t EndingSignals() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGINT);
  return signals;
}

// All threads inherit the mask, so sigwait gets the signals.
void BlockSignals() {
  const sigset_t signals = EndingSignals();
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  std::signal(SIGPIPE, SIG_IGN);
}

// A watcher is a descriptor: take all that the system allows.
void RaiseDescriptorLimit() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
  }
}

}  // namespace

void SetUpProcess(const std::string& log_format, const std::string& log_level) {
  log::SetFormat(log_format);
  log::SetLevel(log_level);
  BlockSignals();
  RaiseDescriptorLimit();
}

void AwaitSignal() {
  const sigset_t signals = EndingSignals();
  int signal = 0;
  sigwait(&signals, &signal);
  log::Info("shutting down", {{"signal", strsignal(signal)}});
}

int CannotStart(const kube::Error& error) {
  log::Error("cannot start", {{"error", error.message}});
  return 1;
}

}  // namespace berth::server
