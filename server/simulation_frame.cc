#include "server/simulation_frame.h"

#include <drogon/utils/Utilities.h>
#include <openssl/rand.h>

#include <array>
#include <thread>
#include <utility>

#include "certs/store.h"
#include "http/file.h"
#include "log/log.h"
#include "server/private_file.h"
#include "server/process.h"

namespace berth::server {
namespace {

std::string NewSecret() {
  std::array<unsigned char, 15> bytes{};
  RAND_bytes(bytes.data(), static_cast<int>(bytes.size()));
  return drogon::utils::binaryStringToHex(bytes.data(), bytes.size());
}

}  // namespace

kube::Result<std::string> KeepSecret(const std::filesystem::path& file, const std::string& prefix) {
  if (auto kept = ReadFile(file)) return std::move(*kept);
  std::string secret = prefix + NewSecret();
  if (auto done = WritePrivateFile(file, secret); !done) return std::unexpected(done.error());
  return secret;
}

SimulationFrame::SimulationFrame(Options options)
    : options_(std::move(options)), tls_files_(options_.state_dir) {}

kube::Result<void> SimulationFrame::Prepare() {
  const std::filesystem::path& dir = options_.state_dir;
  if (auto made = MakePrivateDirectory(dir); !made) return made;
  auto lock = DirectoryLock::Take(dir);
  if (!lock) return std::unexpected(lock.error());
  lock_ = std::move(*lock);
  if (auto made = MakePrivateDirectory(dir / "empty"); !made) return made;
  const auto pair =
      certs::LoadOrMakeServing(dir / "certs", certs::ServingNames::Of(options_.tls_names));
  if (!pair) return std::unexpected(pair.error());
  if (const auto set = tls_files_.SetPair(pair->cert_pem, pair->key_pem); !set)
    return std::unexpected(set.error());
  http_ = std::make_unique<HttpServer>(HttpServer::Settings{.bind_address = options_.bind_address,
                                                            .guard = {},
                                                            .tls = {},
                                                            .tls_pair = tls_files_.pair(),
                                                            .scratch = dir / "empty",
                                                            .registry = registry_});
  return {};
}

void SimulationFrame::Listen(std::string name, std::uint16_t port, std::string flag,
                             http::Handler handler) {
  http_->Add({.name = std::move(name),
              .port = port,
              .port_flag = std::move(flag),
              .tls = Listener::Tls::kServer,
              .handler = std::move(handler)});
}

void SimulationFrame::Listen(Listener listener) { http_->Add(std::move(listener)); }

void SimulationFrame::OnDisconnect(HttpServer::Disconnected disconnected) {
  http_->OnDisconnect(std::move(disconnected));
}

kube::Result<void> SimulationFrame::Open() { return http_->Prepare(); }

void SimulationFrame::Live(const std::function<void()>& announce) {
  if (const auto open = http_->WaitUntilOpen(); !open) {
    log::Error("cannot serve", {{"error", open.error().message}});
    std::_Exit(1);
  }
  for (const Listener& listener : http_->listeners()) {
    log::Info(
        "listening",
        {{"listener", listener.name}, {"address", options_.bind_address}, {"port", listener.port}});
  }
  announce();
  AwaitSignal();
  http_->Quit();
}

void SimulationFrame::Run(const std::function<void()>& announce) {
  std::thread life;
  http_->Run([this, &life, &announce] { life = std::thread([&] { Live(announce); }); });
  life.join();
}

}  // namespace berth::server
