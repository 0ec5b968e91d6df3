#include "server/process.h"

#include <link.h>
#include <malloc.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <cstdint>
#include <cstring>
#include <span>

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

// A large block is the kernel's again when it is freed. glibc would raise the size from which it
// maps blocks each time one is freed, and keep the next ones.
void ReturnLargeBlocks() {
  constexpr int kLarge = 256 * 1024;
  mallopt(M_MMAP_THRESHOLD, kLarge);
  mallopt(M_TRIM_THRESHOLD, 2 * kLarge);
}

}  // namespace

void SetUpProcess(const std::string& log_format, const std::string& log_level) {
  log::SetFormat(log_format);
  log::SetLevel(log_level);
  BlockSignals();
  RaiseDescriptorLimit();
  ReturnLargeBlocks();
}

void AwaitSignal() {
  const sigset_t signals = EndingSignals();
  int signal = 0;
  sigwait(&signals, &signal);
  log::Info("shutting down", {{"signal", strsignal(signal)}});
}

void ReleaseFreeMemory() { malloc_trim(0); }

void ReleaseStartupMemory() {
  malloc_trim(0);
  dl_iterate_phdr(
      [](dl_phdr_info* object, std::size_t, void*) {
        const auto page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
        for (const auto& segment : std::span(object->dlpi_phdr, object->dlpi_phnum)) {
          // A segment that may be written has relocated pages: these are nowhere else.
          if (segment.p_type != PT_LOAD || (segment.p_flags & PF_W) != 0) continue;
          const std::uintptr_t begin = (object->dlpi_addr + segment.p_vaddr) / page * page;
          const std::uintptr_t end = object->dlpi_addr + segment.p_vaddr + segment.p_memsz;
          madvise(reinterpret_cast<void*>(begin), end - begin, MADV_DONTNEED);
        }
        return 0;
      },
      nullptr);
}

int CannotStart(const kube::Error& error) {
  log::Error("cannot start", {{"error", error.message}});
  return 1;
}

}  // namespace berth::server
