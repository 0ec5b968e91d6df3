// Many watchers of one object, on one thread: opens N TLS connections, checks every event each of
// them gets, and measures how fast a burst reaches them all. bench/run.py starts it and tells it,
// line by line on stdin, what to do:
//
//   await COUNT   until every watcher has COUNT more events
//   {"event":"done","lines":N,"bytes":N,"seconds":S} stall         watcher 0 stops reading
//   {"event":"stalled"} resume        it reads to the end of its stream, or to the event the others
//   have
//                                                              {"event":"resumed","cut":B,"behind":N}
//   quit
//
// It begins with {"event":"ready","watchers":N,"seconds":S} once every watcher has seen the object.
// Any gap, duplicate, broken framing or lost connection ends it with
// {"event":"error","message":"…"} and status 1.
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "bench/watch/stream.h"

namespace berth::bench {
namespace {

constexpr size_t kHandshakesAtOnce = 64;
constexpr int kStalledReceiveBuffer =
    4096;  // So that little hides in the kernel when watcher 0 stalls.
constexpr auto kPatience =
    std::chrono::seconds(60);  // With no byte for so long, something is stuck.

struct Options {
  uint16_t port = 0;
  size_t watchers = 1;
  std::string path, cert, key, ca, headers;
  bool may_stall = false;  // Watcher 0 gets a small receive buffer: nothing for a fast reader.
};

[[noreturn]] void Die(std::string_view message) {
  std::string escaped;
  for (const char c : message) {
    if (c == '"' || c == '\\') escaped += '\\';
    escaped += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
  }
  std::printf("{\"event\":\"error\",\"message\":\"%s\"}\n", escaped.c_str());
  std::fflush(stdout);
  std::_Exit(1);
}

std::string OpensslError() {
  std::array<char, 256> text{};
  ERR_error_string_n(ERR_get_error(), text.data(), text.size());
  return text.data();
}

struct SslFree {
  void operator()(SSL* ssl) const { SSL_free(ssl); }
  void operator()(SSL_CTX* context) const { SSL_CTX_free(context); }
};
using SslPtr = std::unique_ptr<SSL, SslFree>;
using ContextPtr = std::unique_ptr<SSL_CTX, SslFree>;

ContextPtr MakeContext(const Options& options) {
  ContextPtr context(SSL_CTX_new(TLS_client_method()));
  SSL_CTX* raw = context.get();
  if (raw == nullptr || SSL_CTX_load_verify_file(raw, options.ca.c_str()) != 1 ||
      SSL_CTX_use_certificate_chain_file(raw, options.cert.c_str()) != 1 ||
      SSL_CTX_use_PrivateKey_file(raw, options.key.c_str(), SSL_FILETYPE_PEM) != 1) {
    Die("TLS set-up: " + OpensslError());
  }
  SSL_CTX_set_verify(raw, SSL_VERIFY_PEER, nullptr);
  SSL_CTX_set_session_cache_mode(raw, SSL_SESS_CACHE_OFF);
  SSL_CTX_set_mode(raw, SSL_MODE_RELEASE_BUFFERS);
  SSL_CTX_set_read_ahead(raw, 1);  // One read() for many small records.
  SSL_CTX_set_options(
      raw, SSL_OP_IGNORE_UNEXPECTED_EOF);  // A server that cuts a reader off does not say goodbye.
  return context;
}

// One watcher: a connection through its phases.
class Watcher {
 public:
  enum class State : uint8_t { kConnecting, kRequesting, kReading, kStalled, kGone };

  Watcher() = default;
  Watcher(const Watcher&) = delete;
  Watcher& operator=(const Watcher&) = delete;
  ~Watcher() { Close(); }

  void Connect(const Options& options, SSL_CTX* context, bool will_stall) {
    fd_ = ::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd_ < 0) Die(std::string("socket: ") + std::strerror(errno));
    if (will_stall) {
      ::setsockopt(fd_, SOL_SOCKET, SO_RCVBUF, &kStalledReceiveBuffer,
                   sizeof kStalledReceiveBuffer);
    }
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(options.port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (::connect(fd_, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0 &&
        errno != EINPROGRESS) {
      Die(std::string("connect: ") + std::strerror(errno));
    }
    ssl_.reset(SSL_new(context));
    if (!ssl_ || SSL_set_fd(ssl_.get(), fd_) != 1 ||
        X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl_.get()), "127.0.0.1") != 1) {
      Die("TLS set-up: " + OpensslError());
    }
    SSL_set_connect_state(ssl_.get());
  }

  // Goes on as far as the socket allows. When it ends in kGone, error() says why.
  void Advance(std::string_view request, std::span<char> buffer) {
    if (state_ == State::kConnecting && Step(SSL_do_handshake(ssl_.get())))
      state_ = State::kRequesting;
    if (state_ == State::kRequesting &&
        Step(SSL_write(ssl_.get(), request.data(), static_cast<int>(request.size())))) {
      state_ = State::kReading;
    }
    while (state_ == State::kReading) {
      const int got = SSL_read(ssl_.get(), buffer.data(), static_cast<int>(buffer.size()));
      if (!Step(got)) return;
      if (auto fed = stream_.Feed({buffer.data(), static_cast<size_t>(got)}); !fed) {
        error_ = fed.error();
        return Close();
      }
      if (stream_.ended()) return End("the server ended the watch");
    }
  }

  // Readable interest only, but for the phases in which OpenSSL waits to write.
  uint32_t Interest() const {
    if (state_ == State::kStalled) return 0;  // Errors and hang-ups are told all the same.
    return wants_write_ ? EPOLLIN | EPOLLOUT : EPOLLIN;
  }

  void Stall() { state_ = State::kStalled; }
  void CutWhileStalled() { End("the server reset the connection"); }
  void Resume() {
    if (state_ == State::kStalled) state_ = State::kReading;
  }
  void Close() {
    ssl_.reset();
    if (fd_ >= 0) ::close(fd_);
    fd_ = -1;
    state_ = State::kGone;
  }

  State state() const { return state_; }
  bool gone() const { return state_ == State::kGone; }
  // Gone because the server (not a broken stream) ended it.
  bool cut() const { return cut_; }
  int fd() const { return fd_; }
  int64_t adds() const { return stream_.sequence().adds(); }
  const Stream& stream() const { return stream_; }
  const std::string& error() const { return error_; }

  uint32_t registered = 0;  // The events that epoll was last given.
  bool reached = false;     // It has the event the current phase waits for.

 private:
  // True when the OpenSSL call that returned `result` is done; false when it waits, failed or the
  // stream is over.
  bool Step(int result) {
    wants_write_ = false;
    if (result > 0) return true;
    const int error = SSL_get_error(ssl_.get(), result);
    if (error == SSL_ERROR_WANT_READ) return false;
    if (error == SSL_ERROR_WANT_WRITE) {
      wants_write_ = true;
      return false;
    }
    if (error == SSL_ERROR_ZERO_RETURN) {
      End("the server closed the connection");
    } else if (error == SSL_ERROR_SYSCALL) {
      End(std::string("connection: ") + std::strerror(errno));
    } else {
      error_ = "TLS: " + OpensslError();
      Close();
    }
    ERR_clear_error();
    return false;
  }

  void End(std::string reason) {
    cut_ = true;
    error_ = std::move(reason);
    Close();
  }

  int fd_ = -1;
  State state_ = State::kConnecting;
  bool wants_write_ = true;  // The connect itself.
  bool cut_ = false;
  SslPtr ssl_;
  Stream stream_;
  std::string error_;
};

// All watchers, the phases and the commands.
class Watchers {
 public:
  explicit Watchers(const Options& options)
      : options_(options), context_(MakeContext(options)), epoll_(::epoll_create1(EPOLL_CLOEXEC)) {
    request_ = "GET " + options.path +
               " HTTP/1.1\r\nHost: 127.0.0.1:" + std::to_string(options.port) +
               "\r\nAccept: application/json\r\n" + options.headers + "\r\n";
    epoll_event event{.events = EPOLLIN, .data = {.ptr = nullptr}};
    if (epoll_ < 0 || ::epoll_ctl(epoll_, EPOLL_CTL_ADD, STDIN_FILENO, &event) != 0) {
      Die(std::string("epoll on stdin: ") + std::strerror(errno));
    }
    watchers_.reserve(options.watchers);
  }

  void Run() {
    Begin(options_.watchers, std::numeric_limits<int64_t>::max());
    OpenMore();
    std::array<epoll_event, 256> events;
    while (!quit_) {
      const int count = ::epoll_wait(epoll_, events.data(), events.size(), 1000);
      if (count < 0 && errno != EINTR) Die(std::string("epoll_wait: ") + std::strerror(errno));
      for (int i = 0; i < count && !quit_; ++i) {
        auto* watcher = static_cast<Watcher*>(events[i].data.ptr);
        if (watcher == nullptr)
          ReadCommands();
        else
          OnWatcher(*watcher, events[i].events);
      }
      if ((pending_ > 0 || resuming_) && Clock::now() - progress_ > kPatience) {
        Die("no progress: " + std::to_string(pending_) + " watchers still wait");
      }
    }
  }

 private:
  using Clock = std::chrono::steady_clock;

  // A phase ends when `pending` watchers have reached `target` (or, for the first, have seen the
  // object at all).
  void Begin(size_t pending, int64_t target) {
    pending_ = pending;
    target_ = target;
    lines_ = bytes_ = 0;
    began_ = progress_ = Clock::now();
  }

  void OpenMore() {
    while (watchers_.size() < options_.watchers && opening_ < kHandshakesAtOnce) {
      auto& watcher = *watchers_.emplace_back(std::make_unique<Watcher>());
      watcher.Connect(options_, context_.get(), options_.may_stall && watchers_.size() == 1);
      watcher.registered = watcher.Interest();
      epoll_event event{.events = watcher.registered, .data = {.ptr = &watcher}};
      if (::epoll_ctl(epoll_, EPOLL_CTL_ADD, watcher.fd(), &event) != 0) Die("epoll_ctl");
      ++opening_;
    }
  }

  void OnWatcher(Watcher& watcher, uint32_t events) {
    if (watcher.gone()) return;
    if (watcher.state() == Watcher::State::kStalled) {
      if ((events & (EPOLLERR | EPOLLHUP)) != 0) watcher.CutWhileStalled();
      return;
    }
    const bool opening = !watcher.stream().sequence().started();
    const uint64_t lines = watcher.stream().lines();
    const uint64_t bytes = watcher.stream().line_bytes();
    watcher.Advance(request_, buffer_);
    lines_ += watcher.stream().lines() - lines;
    bytes_ += watcher.stream().line_bytes() - bytes;
    progress_ = Clock::now();
    if (watcher.adds() > target_) Die("more events than were published");
    if (resuming_ && &watcher == watchers_.front().get()) return OnResumed(watcher);
    if (watcher.gone()) Die("watcher lost: " + watcher.error());
    Register(watcher);
    if (opening && watcher.stream().sequence().started()) {
      --opening_;
      OpenMore();
    }
    OnEvent(watcher);
  }

  void Register(Watcher& watcher) {
    if (watcher.registered == watcher.Interest()) return;
    watcher.registered = watcher.Interest();
    epoll_event event{.events = watcher.registered, .data = {.ptr = &watcher}};
    if (::epoll_ctl(epoll_, EPOLL_CTL_MOD, watcher.fd(), &event) != 0) Die("epoll_ctl");
  }

  void OnEvent(Watcher& watcher) {
    const bool joining = target_ == std::numeric_limits<int64_t>::max();
    const bool there = joining ? watcher.stream().sequence().started() : watcher.adds() == target_;
    if (pending_ == 0 || watcher.reached || !there) return;
    watcher.reached = true;
    if (--pending_ > 0) return;
    const double seconds = std::chrono::duration<double>(Clock::now() - began_).count();
    if (joining) {
      Joined(seconds);
    } else {
      std::printf("{\"event\":\"done\",\"lines\":%ju,\"bytes\":%ju,\"seconds\":%.6f}\n",
                  uintmax_t{lines_}, uintmax_t{bytes_}, seconds);
    }
  }

  void Joined(double seconds) {
    target_ = watchers_.front()->adds();
    for (const auto& watcher : watchers_) {
      if (watcher->adds() != target_) Die("watchers do not agree on the state they began with");
    }
    std::printf("{\"event\":\"ready\",\"watchers\":%zu,\"seconds\":%.6f}\n", watchers_.size(),
                seconds);
  }

  void OnResumed(Watcher& watcher) {
    if (watcher.gone() && !watcher.cut()) Die("stalled watcher: " + watcher.error());
    if (!watcher.gone() && watcher.adds() < target_) return Register(watcher);
    resuming_ = false;
    std::printf("{\"event\":\"resumed\",\"cut\":%s,\"behind\":%jd}\n",
                watcher.gone() ? "true" : "false", intmax_t{target_ - watcher.adds()});
  }

  void ReadCommands() {
    const ssize_t got = ::read(STDIN_FILENO, buffer_.data(), buffer_.size());
    if (got <= 0) {
      quit_ = true;
      return;
    }
    commands_.append(buffer_.data(), static_cast<size_t>(got));
    for (size_t end; (end = commands_.find('\n')) != std::string::npos;
         commands_.erase(0, end + 1)) {
      Obey(std::string_view(commands_).substr(0, end));
    }
  }

  void Obey(std::string_view command) {
    if (command == "quit") {
      quit_ = true;
    } else if (pending_ > 0 || resuming_) {
      Die("a command came before the last one was done");
    } else if (command.starts_with("await ")) {
      Await(command.substr(6));
    } else if (command == "stall") {
      Stall();
    } else if (command == "resume") {
      Resume();
    } else {
      Die("unknown command: " + std::string(command));
    }
  }

  void Await(std::string_view argument) {
    int64_t count = 0;
    const auto [end, error] =
        std::from_chars(argument.data(), argument.data() + argument.size(), count);
    if (error != std::errc() || count <= 0) Die("await wants a count");
    size_t waiting = 0;
    for (const auto& watcher : watchers_) {
      watcher->reached = watcher->state() != Watcher::State::kReading;
      if (!watcher->reached) ++waiting;
    }
    Begin(waiting, target_ + count);
    std::printf("{\"event\":\"awaiting\",\"watchers\":%zu}\n", waiting);
  }

  void Stall() {
    auto& watcher = *watchers_.front();
    if (watcher.gone()) Die("watcher 0 is gone");
    watcher.Stall();
    Register(watcher);
    std::printf("{\"event\":\"stalled\"}\n");
  }

  void Resume() {
    auto& watcher = *watchers_.front();
    progress_ = Clock::now();
    resuming_ = true;
    watcher.Resume();
    if (watcher.gone())
      OnResumed(watcher);
    else
      OnWatcher(watcher, 0);
  }

  const Options& options_;
  ContextPtr context_;
  int epoll_;
  std::string request_;
  std::vector<std::unique_ptr<Watcher>> watchers_;
  std::vector<char> buffer_ = std::vector<char>(32 << 10);
  std::string commands_;

  size_t opening_ = 0;
  size_t pending_ = 0;
  int64_t target_ = 0;
  uint64_t lines_ = 0;
  uint64_t bytes_ = 0;
  Clock::time_point began_, progress_;
  bool resuming_ = false;
  bool quit_ = false;
};

Options Parse(int argc, char** argv) {
  Options options;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string_view name = argv[i];
    const std::string value = argv[i + 1];
    if (name == "--port")
      options.port = static_cast<uint16_t>(std::atoi(value.c_str()));
    else if (name == "--watchers")
      options.watchers = std::strtoul(value.c_str(), nullptr, 10);
    else if (name == "--path")
      options.path = value;
    else if (name == "--cert")
      options.cert = value;
    else if (name == "--key")
      options.key = value;
    else if (name == "--ca")
      options.ca = value;
    else if (name == "--may-stall")
      options.may_stall = value == "yes";
    else if (name == "--header")
      options.headers += value + "\r\n";
    else
      Die("unknown option " + std::string(name));
  }
  if (argc % 2 == 0 || options.port == 0 || options.watchers == 0 || options.path.empty()) {
    Die("usage: --port N --watchers N --path P --cert F --key F --ca F [--header 'Name: "
        "value']...");
  }
  return options;
}

void AllowFiles(size_t watchers) {
  const rlim_t needed = watchers + 64;
  rlimit limit{};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  if (limit.rlim_cur >= needed) return;
  limit.rlim_cur = needed;
  limit.rlim_max = std::max(limit.rlim_max, needed);
  if (::setrlimit(RLIMIT_NOFILE, &limit) != 0)
    Die("cannot have " + std::to_string(needed) + " open files");
}

}  // namespace
}  // namespace berth::bench

int main(int argc, char** argv) {
  ::signal(SIGPIPE, SIG_IGN);
  ::setvbuf(stdout, nullptr, _IOLBF, 0);
  const auto options = berth::bench::Parse(argc, argv);
  berth::bench::AllowFiles(options.watchers);
  berth::bench::Watchers(options).Run();
}
