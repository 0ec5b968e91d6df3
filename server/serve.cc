#include "server/serve.h"

#include <prometheus/registry.h>
#include <sys/resource.h>

#include <csignal>
#include <cstdlib>
#include <memory>
#include <thread>

#include "certs/authority.h"
#include "certs/store.h"
#include "handlers/admission/subnetpool.h"
#include "handlers/admission/webhooks.h"
#include "handlers/apis/api_server.h"
#include "handlers/apis/workqueues.h"
#include "handlers/health.h"
#include "handlers/metrics.h"
#include "kube/client.h"
#include "log/log.h"
#include "server/housekeeping.h"
#include "server/http_server.h"
#include "server/tls_settings.h"

namespace berth::server {
namespace {

using namespace std::chrono_literals;

constexpr auto kTlsFilesEvery = 5s;
constexpr auto kFrontProxyEvery = 30s;
constexpr auto kOpenWithin = 10s;
constexpr auto kPoll = 20ms;
constexpr const char* kFrontProxyPath =
    "/api/v1/namespaces/kube-system/configmaps/extension-apiserver-authentication";

// The whole server: its parts in the order in which they need each other.
class Server {
 public:
  explicit Server(const Options& options) : options_(options), tls_files_(options.state_dir) {}

  kube::Result<void> Prepare();
  void Run();

 private:
  kube::Result<void> Connect();
  kube::Result<void> StageServingPair();
  kube::Result<void> StageClientCa();
  void AddListeners();
  void AddChores();
  void FetchFrontProxy(const Housekeeping::Done& done);
  std::string TakeFrontProxy(const std::string& config_map);
  kube::Result<void> WaitUntilOpen();
  void Live();
  void WaitForSignalAndDrain();

  const Options& options_;
  TlsFiles tls_files_;
  prometheus::Registry registry_;
  health::Health health_;
  health::Health::Condition* listening_ =
      &health_.Require("listening", "the listeners are not open yet");
  health::Health::Condition* front_proxy_ =
      &health_.Require("front-proxy", "the API server's request-header CA is not known yet");
  health::Health::Condition* serving_ =
      &health_.Require("not-shutting-down", "the server is shutting down");
  std::unique_ptr<kube::Client> client_;
  std::unique_ptr<apis::Authenticator> authenticator_;
  std::unique_ptr<apis::Authorizer> authorizer_;
  apis::LiveCollection work_queues_{apis::WorkQueueType()};
  std::unique_ptr<apis::ApiServer> api_;
  admission::Webhooks webhooks_{registry_};
  std::unique_ptr<HttpServer> http_;
  Housekeeping housekeeping_{work_queues_};
};

kube::Result<void> Server::Connect() {
  const bool in_pod = std::getenv("KUBERNETES_SERVICE_HOST") != nullptr;
  if (options_.kubeconfig.empty() && !in_pod) {
    if (!options_.requestheader_client_ca_file.empty()) {
      log::Warn(
          "no API server: tokens and access cannot be reviewed, only system:masters may read the "
          "API");
      return {};
    }
    return kube::Terminal("no API server is known: give --kubeconfig, or run in a pod");
  }
  auto config = options_.kubeconfig.empty() ? kube::InClusterConfig()
                                            : kube::LoadKubeconfig(options_.kubeconfig);
  if (!config) return std::unexpected(config.error());
  client_ = std::make_unique<kube::Client>(std::move(*config));
  return {};
}

kube::Result<void> Server::StageServingPair() {
  certs::KeyPair pair;
  if (options_.tls_cert_file.empty()) {
    certs::ServingNames names;
    for (const auto& name : options_.tls_names) {
      const bool address =
          name.contains(':') || name.find_first_not_of("0123456789.") == std::string::npos;
      (address ? names.ips : names.dns).push_back(name);
    }
    auto made = certs::LoadOrMakeServing(options_.state_dir / "certs", names);
    if (!made) return std::unexpected(made.error());
    pair = std::move(*made);
  } else {
    auto cert = ReadFile(options_.tls_cert_file);
    if (!cert) return std::unexpected(cert.error());
    auto key = ReadFile(options_.tls_private_key_file);
    if (!key) return std::unexpected(key.error());
    pair = {std::move(*cert), std::move(*key)};
  }
  const auto changed = tls_files_.SetPair(pair.cert_pem, pair.key_pem);
  if (!changed) return std::unexpected(changed.error());
  if (*changed && listening_->holds()) {
    log::Info("serving certificate reloaded");
    http_->ReloadTls();
  }
  return {};
}

// Until the front proxy's CA is known, one that has signed nothing stands in: no client certificate
// is accepted.
kube::Result<void> Server::StageClientCa() {
  std::string pem;
  if (options_.requestheader_client_ca_file.empty()) {
    const auto nobody = certs::MakeAuthority("nobody", 24h);
    if (!nobody) return std::unexpected(nobody.error());
    pem = nobody->cert_pem;
  } else {
    auto given = ReadFile(options_.requestheader_client_ca_file);
    if (!given) return std::unexpected(given.error());
    pem = std::move(*given);
    authenticator_->SetRequestHeader(std::make_shared<const apis::RequestHeaderConfig>(
        apis::RequestHeaderConfig::Usual(pem, options_.requestheader_allowed_names)));
    front_proxy_->Set(true);
  }
  const auto changed = tls_files_.SetClientCa(pem);
  if (!changed) return std::unexpected(changed.error());
  if (*changed && listening_->holds()) {
    log::Info("request-header CA reloaded");
    http_->ReloadTls();
  }
  return {};
}

kube::Result<void> Server::Prepare() {
  std::error_code error;
  std::filesystem::create_directories(options_.state_dir / "empty", error);
  if (error)
    return kube::Terminal("cannot make --state-dir " + options_.state_dir.string() + ": " +
                          error.message());
  std::filesystem::permissions(options_.state_dir, std::filesystem::perms::owner_all, error);

  serving_->Set(true);
  if (auto done = Connect(); !done) return done;
  authenticator_ = std::make_unique<apis::Authenticator>(
      client_.get(), [](const std::string& pem) { return certs::CommonName(pem).value_or(""); });
  authorizer_ = std::make_unique<apis::Authorizer>(client_.get());
  api_ = std::make_unique<apis::ApiServer>(*authenticator_, *authorizer_, registry_);
  api_->Add(work_queues_);
  api_->Start();
  admission::RegisterSubnetPool(webhooks_);
  if (auto done = StageServingPair(); !done) return done;
  if (auto done = StageClientCa(); !done) return done;

  http_ = std::make_unique<HttpServer>(HttpServer::Settings{
      .bind_address = options_.bind_address,
      .io_threads = options_.io_threads,
      .max_in_flight = options_.max_in_flight,
      .idle_timeout = options_.idle_timeout,
      .guard = {.framing = {},
                .handshake = std::min(10s, options_.request_timeout),
                .request = options_.request_timeout},
      .tls = {options_.tls_min_version, options_.tls_cipher_suites, tls_files_.client_ca()},
      .tls_pair = tls_files_.pair(),
      .scratch = options_.state_dir / "empty",
      .registry = registry_,
  });
  AddListeners();
  AddChores();
  return http_->Prepare();
}

void Server::AddListeners() {
  using Tls = Listener::Tls;
  http_->Add({.name = "webhook",
              .port = options_.webhook_port,
              .tls = Tls::kServer,
              .handler = [this](const auto& request, auto callback) {
                webhooks_.Serve(request, std::move(callback));
              }});
  http_->Add({.name = "api",
              .port = options_.api_port,
              .tls = Tls::kClientCertificates,
              .handler = [this](const auto& request, auto callback) {
                api_->Serve(request, std::move(callback));
              }});
  http_->Add({.name = "metrics",
              .port = options_.metrics_port,
              .sheds = false,
              .handler = [this](const auto& request, auto callback) {
                metrics::Serve(registry_, request, std::move(callback));
              }});
  http_->Add({.name = "health",
              .port = options_.health_port,
              .sheds = false,
              .handler = [this](const auto& request, auto callback) {
                health_.Serve(request, std::move(callback));
              }});
  http_->OnDisconnect(
      [this](const trantor::TcpConnection* connection) { api_->Forget(connection); });
}

void Server::AddChores() {
  housekeeping_.Every(kTlsFilesEvery, "serving-certificate",
                      [this](const Housekeeping::Done& done) {
                        const auto staged = StageServingPair();
                        done(staged ? "" : staged.error().message);
                      });
  if (!options_.requestheader_client_ca_file.empty()) {
    housekeeping_.Every(kTlsFilesEvery, "request-header-ca",
                        [this](const Housekeeping::Done& done) {
                          const auto staged = StageClientCa();
                          done(staged ? "" : staged.error().message);
                        });
  } else {
    housekeeping_.Every(kFrontProxyEvery, "front-proxy",
                        [this](const Housekeeping::Done& done) { FetchFrontProxy(done); });
  }
}

void Server::FetchFrontProxy(const Housekeeping::Done& done) {
  client_->Send({.path = kFrontProxyPath}, [this, done](kube::Result<kube::Response> answer) {
    if (!answer) return done(answer.error().message);
    housekeeping_.Post(
        [this, done, body = std::move(answer->body)] { done(TakeFrontProxy(body)); });
  });
}

std::string Server::TakeFrontProxy(const std::string& config_map) {
  kube::JsonDocument document;
  const auto parsed = document.Parse(config_map);
  if (!parsed) return parsed.error().message;
  auto config = apis::RequestHeaderConfig::FromConfigMap(*parsed);
  if (!config) return config.error().message;
  if (config->client_ca_pem.empty())
    return "the API server has no request-header CA: its aggregation layer is off";
  const auto changed = tls_files_.SetClientCa(config->client_ca_pem);
  if (!changed) return changed.error().message;
  if (*changed) {
    log::Info("front proxy's CA loaded", {{"allowedNames", config->allowed_names.size()}});
    http_->ReloadTls();
  }
  authenticator_->SetRequestHeader(
      std::make_shared<const apis::RequestHeaderConfig>(std::move(*config)));
  front_proxy_->Set(true);
  return {};
}

// Drogon opens its listeners some time after it says so.
kube::Result<void> Server::WaitUntilOpen() {
  const auto deadline = std::chrono::steady_clock::now() + kOpenWithin;
  for (const Listener& listener : http_->listeners()) {
    while (!CanConnect(options_.bind_address, listener.port)) {
      if (std::chrono::steady_clock::now() > deadline)
        return kube::Terminal("the listener " + listener.name + " does not open");
      std::this_thread::sleep_for(kPoll);
    }
  }
  return {};
}

// From the first connection to the last. A listener that does not do what it should is no reason to
// wait: nothing may be served then, and nothing has been begun that would need an orderly end.
void Server::Live() {
  const auto api = std::ranges::find(http_->listeners(), "api", &Listener::name);
  auto tested = WaitUntilOpen();
  if (tested) tested = CheckForeignCertificateIsRefused(options_.bind_address, api->port);
  if (!tested) {
    log::Error("cannot serve", {{"error", tested.error().message}});
    std::_Exit(1);
  }
  listening_->Set(true);
  for (const Listener& listener : http_->listeners()) {
    log::Info(
        "listening",
        {{"listener", listener.name}, {"address", options_.bind_address}, {"port", listener.port}});
  }
  housekeeping_.Start();
  WaitForSignalAndDrain();
}

void Server::WaitForSignalAndDrain() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGINT);
  int signal = 0;
  sigwait(&signals, &signal);
  const auto deadline = std::chrono::steady_clock::now() + options_.grace_period;
  log::Info("shutting down", {{"signal", strsignal(signal)}});
  serving_->Set(false);
  std::this_thread::sleep_for(std::min(options_.shutdown_delay, options_.grace_period));
  http_->StartDraining();
  api_->CloseWatches();
  while (http_->in_flight() > 0 && std::chrono::steady_clock::now() < deadline)
    std::this_thread::sleep_for(kPoll);
  if (const auto left = http_->in_flight(); left > 0)
    log::Warn("requests given up", {{"count", left}});
  // Whoever waits for the API server is told while the threads they are told on still run.
  if (client_) client_->Shutdown();
  housekeeping_.Stop();
  http_->Quit();
}

void Server::Run() {
  std::thread life;
  http_->Run([this, &life] { life = std::thread([this] { Live(); }); });
  life.join();
}

// Before any thread is made, so that all inherit the mask and sigwait gets the signals.
void BlockSignals() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGINT);
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

int Serve(const Options& options) {
  log::SetFormat(options.log_format);
  log::SetLevel(options.log_level);
  BlockSignals();
  RaiseDescriptorLimit();
  Server server(options);
  if (const auto prepared = server.Prepare(); !prepared) {
    log::Error("cannot start", {{"error", prepared.error().message}});
    return 1;
  }
  server.Run();
  log::Info("stopped");
  return 0;
}

}  // namespace berth::server
