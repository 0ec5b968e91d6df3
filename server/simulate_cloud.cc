#include "server/simulate_cloud.h"

#include <drogon/utils/Utilities.h>
#include <openssl/rand.h>
#include <prometheus/registry.h>

#include <array>
#include <iostream>
#include <memory>
#include <optional>
#include <thread>

#include "certs/store.h"
#include "http/file.h"
#include "log/format.h"
#include "log/log.h"
#include "server/cloud_front.h"
#include "server/directory_lock.h"
#include "server/http_server.h"
#include "server/private_file.h"
#include "server/process.h"
#include "server/tls_settings.h"

namespace berth::server {
namespace {

namespace fs = std::filesystem;

std::string NewSecret() {
  std::array<unsigned char, 15> bytes{};
  RAND_bytes(bytes.data(), static_cast<int>(bytes.size()));
  return drogon::utils::binaryStringToHex(bytes.data(), bytes.size());
}

struct AccessKey {
  std::string id;
  std::string secret;
};

// The one that an earlier run has made, or a new one.
kube::Result<AccessKey> KeepKey(const fs::path& dir) {
  if (auto made = MakePrivateDirectory(dir); !made) return std::unexpected(made.error());
  auto id = ReadFile(dir / "accessKeyID");
  auto secret = ReadFile(dir / "accessKeySecret");
  if (id && secret) return AccessKey{std::move(*id), std::move(*secret)};
  AccessKey key{"LTAI" + NewSecret().substr(0, 16), NewSecret()};
  if (auto done = WritePrivateFile(dir / "accessKeyID", key.id); !done)
    return std::unexpected(done.error());
  if (auto done = WritePrivateFile(dir / "accessKeySecret", key.secret); !done)
    return std::unexpected(done.error());
  return key;
}

class Simulation {
 public:
  explicit Simulation(const SimulateCloudOptions& options)
      : options_(options), tls_files_(options.state_dir), front_(options) {}

  kube::Result<void> Prepare();
  void Run();

 private:
  void Live();
  void Announce() const;

  const SimulateCloudOptions& options_;
  std::optional<DirectoryLock> lock_;
  TlsFiles tls_files_;
  prometheus::Registry registry_;
  CloudFront front_;
  std::unique_ptr<HttpServer> http_;
};

kube::Result<void> Simulation::Prepare() {
  const fs::path& dir = options_.state_dir;
  if (auto made = MakePrivateDirectory(dir); !made) return made;
  auto lock = DirectoryLock::Take(dir);
  if (!lock) return std::unexpected(lock.error());
  lock_ = std::move(*lock);
  if (auto made = MakePrivateDirectory(dir / "empty"); !made) return made;
  auto key = KeepKey(dir / "credentials");
  if (!key) return std::unexpected(key.error());
  front_.AddKey(std::move(key->id), std::move(key->secret));
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
  http_->Add({.name = "cloud",
              .port = options_.port,
              .port_flag = "--port",
              .tls = Listener::Tls::kServer,
              .handler = [this](const auto& request, auto callback) {
                front_.Serve(request, std::move(callback));
              }});
  return http_->Prepare();
}

void Simulation::Announce() const {
  const std::uint16_t port = http_->listeners().front().port;
  log::Info("listening",
            {{"listener", "cloud"}, {"address", options_.bind_address}, {"port", port}});
  const std::string dir = options_.state_dir.string();
  std::cout << Format(R"(
A simulated Alibaba Cloud: what is allocated in it is gone when this ends (Ctrl-C). Berth uses it with

  berth serve … --aliyun-region {} --aliyun-vpc-endpoint https://localhost:{} \
    --aliyun-sts-endpoint https://localhost:{} \
    --aliyun-credentials-dir {}/credentials --aliyun-ca-file {}/certs/ca.crt

Its ledger and calls:  curl --cacert {}/certs/ca.crt https://localhost:{}/ledger

)",
                      options_.region, port, port, dir, dir, dir, port)
            << std::flush;
}

void Simulation::Live() {
  if (const auto open = http_->WaitUntilOpen(); !open) {
    log::Error("cannot serve", {{"error", open.error().message}});
    std::_Exit(1);
  }
  Announce();
  AwaitSignal();
  http_->Quit();
}

void Simulation::Run() {
  std::thread life;
  http_->Run([this, &life] { life = std::thread([this] { Live(); }); });
  life.join();
}

}  // namespace

int SimulateCloud(const SimulateCloudOptions& options) {
  SetUpProcess(options.log_format, options.log_level);
  Simulation simulation(options);
  if (const auto prepared = simulation.Prepare(); !prepared) return CannotStart(prepared.error());
  simulation.Run();
  return 0;
}

}  // namespace berth::server
