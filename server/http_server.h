#pragma once

#include <prometheus/counter.h>
#include <prometheus/registry.h>

#include <atomic>
#include <chrono>
#include <expected>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "handlers/http.h"
#include "kube/error.h"
#include "server/connection_guard.h"
#include "server/held_port.h"
#include "server/tls_settings.h"

namespace berth::server {

struct Listener {
  // With kNeedsClientCertificates nobody is served whose certificate `client_ca` has not signed.
  enum class Tls { kNone, kServer, kClientCertificates, kNeedsClientCertificates };

  std::string name;
  std::uint16_t port = 0;      // 0: any free one, set by Prepare()
  std::string port_flag = {};  // the option that sets it, for messages
  Tls tls = Tls::kNone;
  std::filesystem::path client_ca;  // with kNeedsClientCertificates only
  bool sheds = true;                // counts against max_in_flight and is answered 429 beyond it
  http::Handler handler;
  // Answers a PostedJson in place of `handler`, at once or later, from any thread; the request ends
  // when it returns. The framing has read it already: Drogon's parser and its responses would take
  // a sixth of a review's time. Optional.
  using Answer = std::move_only_function<void(std::expected<std::string, kube::Status>)>;
  std::function<void(const PostedJson&, Answer)> direct = {};
};

// Drogon as we use it: several listeners, one handler each, strict framing in front, nothing of its
// own routing, files or banners. There can be one a process.
class HttpServer {
 public:
  struct Settings {
    std::string bind_address;
    std::size_t io_threads = 1;
    std::size_t max_in_flight = 400;
    std::chrono::seconds idle_timeout{120};
    ConnectionGuard::Limits guard;
    TlsSettings tls;                 // client_ca is used by listeners with kClientCertificates
    std::filesystem::path tls_pair;  // certificate and key in one file
    std::filesystem::path scratch;   // an empty directory of ours
    prometheus::Registry& registry;
  };
  using Disconnected = std::function<void(const trantor::TcpConnection*)>;

  explicit HttpServer(Settings settings);

  // Before Run() only.
  void Add(Listener listener) { listeners_.push_back(std::move(listener)); }
  void OnDisconnect(Disconnected disconnected) { disconnected_ = std::move(disconnected); }

  // Finds free ports where asked to, checks that the others are free and that the TLS settings are
  // understood.
  kube::Result<void> Prepare();
  const std::vector<Listener>& listeners() const { return listeners_; }

  // Serves until Quit(). `started` is called on its thread when the listeners are open.
  void Run(const std::function<void()>& started);

  // Drogon opens its listeners some time after it says so. On any other thread than Run's.
  kube::Result<void> WaitUntilOpen() const;

  // Reads the TLS files again, for new connections. From any thread.
  void ReloadTls();

  // From now on every answer closes its connection. From any thread.
  void StartDraining() {
    draining_ = true;
    guard_.StartDraining();
  }
  // True when no request is being handled, and none has come for `time`.
  bool QuietFor(std::chrono::milliseconds time) const {
    return in_flight_ == 0 && std::chrono::steady_clock::now() - guard_.last_request() >= time;
  }
  // From now on new connections are closed before anything is said on them.
  void RefuseConnections() { guard_.RefuseConnections(); }
  std::size_t in_flight() const { return in_flight_; }
  // True once after requests and answers held much memory and have given most of it back.
  bool TakeBurstEnd() { return guard_.TakeBurstEnd(); }
  void Quit();

 private:
  TlsCommands CommandsOf(const Listener& listener) const;
  void Configure();
  void Dispatch(const drogon::HttpRequestPtr& request, http::Callback callback);
  bool DispatchDirectly(const Listener& listener, const PostedJson& posted,
                        const trantor::TcpConnectionPtr& connection);

  Settings settings_;
  prometheus::Counter& shed_;
  ConnectionGuard guard_;
  std::vector<Listener> listeners_;
  std::vector<HeldPort> held_ports_;  // until Drogon opens them
  Disconnected disconnected_;
  std::atomic<bool> draining_ = false;
  std::atomic<std::size_t> in_flight_ = 0;
};

}  // namespace berth::server
