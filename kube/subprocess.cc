#include "kube/subprocess.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string_view>

#include "log/format.h"

namespace berth::kube {
namespace {

using Clock = std::chrono::steady_clock;

class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() { Close(); }

  int get() const { return fd_; }
  void Close() {
    if (fd_ >= 0) close(std::exchange(fd_, -1));
  }

 private:
  int fd_;
};

std::unexpected<Error> Failed(const Program& program, std::string_view how) {
  return std::unexpected(Error{ErrorClass::kRetry, {}, Format("\"{}\" {}", program.command, how)});
}

// A program that cannot be started now may be startable later, unless the command itself is wrong.
std::unexpected<Error> NotStarted(const Program& program, int code) {
  auto failure = Failed(program, Format("cannot be run: {}", std::strerror(code)));
  const bool passing = code == EAGAIN || code == ENOMEM || code == EMFILE || code == ENFILE;
  if (!passing) failure.error().error_class = ErrorClass::kTerminal;
  return failure;
}

std::vector<std::string> EnvironmentOf(const Program& program) {
  std::vector<std::string> lines;
  for (char** line = environ; *line != nullptr; ++line) {
    const std::string_view text = *line;
    const std::string_view name = text.substr(0, text.find('='));
    if (!std::ranges::contains(program.environment, name,
                               [](const auto& own) { return std::string_view(own.first); })) {
      lines.emplace_back(text);
    }
  }
  for (const auto& [name, value] : program.environment) lines.push_back(name + "=" + value);
  return lines;
}

std::vector<char*> Pointers(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  pointers.reserve(texts.size() + 1);
  for (std::string& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

// 0 and the process, or why there is none. It leads a group of its own, and signals that this
// thread blocks or ignores are as they were for it.
std::pair<int, pid_t> Spawn(const Program& program, int output) {
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_adddup2(&files, output, STDOUT_FILENO);
  posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&files, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  posix_spawn_file_actions_addclosefrom_np(&files, STDERR_FILENO + 1);

  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setflags(&attributes,
                           POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  posix_spawnattr_setpgroup(&attributes, 0);
  sigset_t signals;
  sigemptyset(&signals);
  posix_spawnattr_setsigmask(&attributes, &signals);
  sigfillset(&signals);
  posix_spawnattr_setsigdefault(&attributes, &signals);

  std::vector<std::string> words = {program.command};
  words.append_range(program.args);
  std::vector<std::string> environment = EnvironmentOf(program);
  pid_t pid = -1;
  const int failure = posix_spawnp(&pid, program.command.c_str(), &files, &attributes,
                                   Pointers(words).data(), Pointers(environment).data());
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&files);
  return {failure, pid};
}

// Appends what can be read now; false when there will be no more.
bool Drain(int fd, std::string& into, std::size_t limit) {
  char bytes[16384];
  while (into.size() <= limit) {
    const ssize_t n = read(fd, bytes, sizeof(bytes));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return n < 0 && errno == EAGAIN;
    into.append(bytes, static_cast<std::size_t>(n));
  }
  return true;
}

// Reads until the program has ended, and says why it must be killed if it has not.
std::string Follow(const Program& program, int process, int output, int stopped,
                   std::string& into) {
  const auto deadline = Clock::now() + program.time_limit;
  pollfd watched[] = {{output, POLLIN, 0}, {process, POLLIN, 0}, {stopped, POLLIN, 0}};
  for (;;) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now());
    if (left.count() <= 0) {
      return Format("did not end within {} ms", program.time_limit.count());
    }
    poll(watched, std::size(watched), static_cast<int>(left.count()));
    if (watched[2].revents != 0) return "was stopped";
    const bool ended = watched[1].revents != 0;
    // Once the other end is closed the pipe would wake us for ever.
    if (!Drain(output, into, program.output_limit)) watched[0].fd = -1;
    if (into.size() > program.output_limit) {
      return Format("wrote more than {} bytes", program.output_limit);
    }
    if (ended) return {};
  }
}

}  // namespace

Result<std::string> RunProgram(const Program& program, std::stop_token stop) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return NotStarted(program, errno);
  const Descriptor output(ends[0]);
  Descriptor input(ends[1]);
  // Only our end: the program's may block.
  fcntl(output.get(), F_SETFL, O_NONBLOCK);
  const Descriptor stopped(eventfd(0, EFD_CLOEXEC));
  if (stopped.get() < 0) return NotStarted(program, errno);
  const std::stop_callback on_stop(stop, [&] { eventfd_write(stopped.get(), 1); });

  const auto [failure, pid] = Spawn(program, input.get());
  if (failure != 0) return NotStarted(program, failure);
  input.Close();
  // glibc's own pidfd_open has no C linkage in C++.
  const Descriptor process(static_cast<int>(syscall(SYS_pidfd_open, pid, 0)));
  std::string text;
  const std::string why = process.get() < 0
                              ? "cannot be watched"
                              : Follow(program, process.get(), output.get(), stopped.get(), text);
  if (!why.empty()) kill(-pid, SIGKILL);
  int status = 0;
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  if (!why.empty()) return Failed(program, why);
  if (WIFSIGNALED(status)) {
    return Failed(program, Format("was ended by signal {}", WTERMSIG(status)));
  }
  if (WEXITSTATUS(status) != 0) {
    return Failed(program, Format("ended with status {}", WEXITSTATUS(status)));
  }
  return text;
}

}  // namespace berth::kube
