#pragma once

#include <prometheus/registry.h>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "kube/error.h"
#include "server/directory_lock.h"
#include "server/http_server.h"
#include "server/tls_settings.h"

namespace berth::server {

// The frame of a simulated cloud as a program: its state directory, its certificate and its
// listeners. Runs until SIGTERM or SIGINT.
class SimulationFrame {
 public:
  struct Options {
    std::string bind_address;
    std::vector<std::string> tls_names;
    std::filesystem::path state_dir;
  };

  explicit SimulationFrame(Options options);

  // Takes the state directory, and makes the certificates below it. Once, before the others.
  kube::Result<void> Prepare();
  // A listener over TLS; its ports are known after Open.
  void Listen(std::string name, std::uint16_t port, std::string flag, http::Handler handler);
  void Listen(Listener listener);
  // Is told of each connection that has ended, on its thread.
  void OnDisconnect(HttpServer::Disconnected disconnected);
  kube::Result<void> Open();
  std::uint16_t port(std::size_t listener) const { return http_->listeners()[listener].port; }
  // `announce` is called when the listeners are open.
  void Run(const std::function<void()>& announce);

 private:
  void Live(const std::function<void()>& announce);

  const Options options_;
  std::optional<DirectoryLock> lock_;
  TlsFiles tls_files_;
  prometheus::Registry registry_;
  std::unique_ptr<HttpServer> http_;
};

// A secret that an earlier run has kept in the file, or a new one.
kube::Result<std::string> KeepSecret(const std::filesystem::path& file,
                                     const std::string& prefix = "");

}  // namespace berth::server
