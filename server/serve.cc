#include "server/serve.h"

#include <openssl/hmac.h>
#include <prometheus/registry.h>
#include <algorithm>
#include <array>
#include <atomic>
#include <cstdlib>
#include <future>
#include <memory>
#include <optional>
#include <thread>

#include "certs/authority.h"
#include "certs/store.h"
#include "handlers/admission/eip.h"
#include "handlers/admission/ipam.h"
#include "handlers/admission/webhooks.h"
#include "handlers/apis/api_server.h"
#include "handlers/apis/cloudcalls.h"
#include "handlers/apis/poolrecalculations.h"
#include "handlers/apis/poolusages.h"
#include "handlers/apis/workqueues.h"
#include "handlers/health.h"
#include "handlers/metrics.h"
#include "kube/client.h"
#include "kube/client_transport.h"
#include "kube/informer.h"
#include "log/format.h"
#include "log/log.h"
#include "reconcile/eip/desk.h"
#include "reconcile/eip/system.h"
#include "reconcile/ipam/desk.h"
#include "reconcile/ipam/system.h"
#include "server/aliyun_account.h"
#include "server/demo.h"
#include "server/directory_lock.h"
#include "server/housekeeping.h"
#include "server/http_server.h"
#include "server/peer_name.h"
#include "server/process.h"
#include "server/tls_settings.h"

namespace berth::server {
namespace {

using namespace std::chrono_literals;

constexpr auto kTlsFilesEvery = 5s;
constexpr auto kPoll = 20ms;
constexpr auto kShownEvery = 500ms;
constexpr auto kMemoryEvery = 5s;
constexpr auto kQuiet = 500ms;
constexpr auto kLeaseReturnedWithin = 3s;
constexpr const char* kFrontProxyPath = "/api/v1/namespaces/kube-system/configmaps";
constexpr const char* kFrontProxyQuery =
    "fieldSelector=metadata.name%3Dextension-apiserver-authentication";

// The ConfigMap in which the API server publishes its front proxy's CA.
struct FrontProxy {
  apis::RequestHeaderConfig config;
  static kube::Result<FrontProxy> From(kube::JsonView config_map) {
    auto config = apis::RequestHeaderConfig::FromConfigMap(config_map);
    if (!config) return std::unexpected(config.error());
    if (config->client_ca_pem.empty())
      return kube::Terminal(
          "the API server has no request-header CA: its aggregation layer is off");
    return FrontProxy{std::move(*config)};
  }
};

// A key for one purpose from a secret that has another.
std::string DeriveKey(const std::string& secret, const std::string& purpose) {
  std::array<unsigned char, 32> key{};
  HMAC(EVP_sha256(), secret.data(), static_cast<int>(secret.size()),
       reinterpret_cast<const unsigned char*>(purpose.data()), purpose.size(), key.data(), nullptr);
  return {key.begin(), key.end()};
}

// All that runs on the control thread: made there, and gone from it before the thread ends.
struct Control {
  Housekeeping housekeeping;
  std::unique_ptr<kube::ClientTransport> transport;
  std::unique_ptr<kube::Informer<FrontProxy>> front_proxy;
  std::unique_ptr<runtime::Leadership> leadership;
  std::unique_ptr<ipam::System> ipam;
  std::unique_ptr<eip::System> eip;
  async::Running stopping;
  async::Handle show;

  Control(async::Executor& executor, prometheus::Registry& registry)
      : housekeeping(executor, registry) {}
};

// The whole server: its parts in the order in which they need each other.
class Server {
 public:
  // With a demo, the options are its own.
  explicit Server(const Options& options, Demo* demo = nullptr)
      : options_(options), demo_(demo), tls_files_(options.state_dir) {}

  kube::Result<void> Prepare();
  void Run();

 private:
  kube::Result<void> Connect();
  kube::Result<void> OpenAccount();
  kube::Result<void> StageServingPair();
  kube::Result<void> StageClientCa();
  kube::Result<void> StageWebhookClientCa();
  void ServeWebhook(const drogon::HttpRequestPtr& request, http::Callback callback);
  void AddListeners();
  void StartControl();
  void FollowFrontProxy();
  void TakeFrontProxy(const FrontProxy& published);
  void StartSystems();
  void Show();
  void Live();
  void WaitForSignalAndDrain();
  void Drain(std::chrono::steady_clock::time_point deadline);
  void GiveLeaseBack();

  const Options& options_;
  Demo* const demo_;
  std::optional<DirectoryLock> lock_;  // the demo has its own
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
  apis::LiveCollection pool_usages_{apis::PoolUsageType()};
  apis::LiveCollection cloud_calls_{apis::CloudCallType(), apis::kCloudCallLimits};
  std::unique_ptr<apis::ApiServer> api_;
  admission::Webhooks webhooks_{registry_};
  std::atomic<std::shared_ptr<const std::string>> webhook_client_ca_;  // null: anybody is served
  std::unique_ptr<HttpServer> http_;
  const std::chrono::system_clock::time_point origin_ =
      std::chrono::system_clock::now() - std::chrono::steady_clock::now().time_since_epoch();
  async::EventLoop control_thread_{"control"};
  ipam::Desk desk_{control_thread_};
  eip::Desk eip_desk_{control_thread_};
  apis::PoolRecalculation pool_recalculation_{desk_};
  std::string stamp_key_;
  // On the control thread.
  cloud::CallHistory call_history_{&registry_};
  std::unique_ptr<AliyunAccount> account_;
  std::unique_ptr<Control> control_;
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
  // The controllers' concurrency bounds the requests under way; a rate limit on top of
  // that would only make claims wait.
  client_ = std::make_unique<kube::Client>(std::move(*config),
                                           kube::ClientOptions{.qps = 0, .metrics = &registry_});
  return {};
}

kube::Result<void> Server::OpenAccount() {
  if (options_.aliyun.region.empty()) return {};
  if (!client_) return kube::Terminal("--aliyun-region needs an API server");
  kube::Result<void> opened;
  control_thread_.Run([&] {
    if (demo_) {
      account_ = demo_->OpenAccount(control_thread_, &call_history_);
      return;
    }
    auto account =
        AliyunAccount::Open(control_thread_, client_->http(), &call_history_, options_.aliyun);
    if (account) {
      account_ = std::move(*account);
    } else {
      opened = std::unexpected(account.error());
    }
  });
  return opened;
}

kube::Result<void> Server::StageServingPair() {
  certs::KeyPair pair;
  if (options_.tls_cert_file.empty()) {
    auto made = certs::LoadOrMakeServing(options_.state_dir / "certs",
                                         certs::ServingNames::Of(options_.tls_names));
    if (!made) return std::unexpected(made.error());
    pair = std::move(*made);
  } else {
    auto cert = ReadFile(options_.tls_cert_file);
    if (!cert) return std::unexpected(cert.error());
    auto key = ReadFile(options_.tls_private_key_file);
    if (!key) return std::unexpected(key.error());
    pair = {std::move(*cert), std::move(*key)};
  }
  // All replicas serve with this key, so what one has stamped the others can read.
  if (stamp_key_.empty()) stamp_key_ = DeriveKey(pair.key_pem, "berth allocation stamps");
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

kube::Result<void> Server::StageWebhookClientCa() {
  if (options_.webhook_client_ca_file.empty()) return {};
  const auto pem = ReadFile(options_.webhook_client_ca_file);
  if (!pem) return std::unexpected(pem.error());
  const auto changed = tls_files_.SetWebhookClientCa(*pem);
  if (!changed) return std::unexpected(changed.error());
  if (*changed) webhook_client_ca_ = std::make_shared<const std::string>(*pem);
  if (*changed && listening_->holds()) {
    log::Info("CA of webhook clients reloaded");
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
  if (!demo_) {
    auto lock = DirectoryLock::Take(options_.state_dir);
    if (!lock) return std::unexpected(lock.error());
    lock_ = std::move(*lock);
  }

  serving_->Set(true);
  if (auto done = Connect(); !done) return done;
  if (auto done = OpenAccount(); !done) return done;
  authenticator_ = std::make_unique<apis::Authenticator>(client_.get(), NameOfPeer);
  authorizer_ = std::make_unique<apis::Authorizer>(client_.get());
  api_ = std::make_unique<apis::ApiServer>(*authenticator_, *authorizer_, registry_);
  api_->Add(work_queues_);
  api_->Add(pool_usages_);
  api_->Add(cloud_calls_);
  api_->Add(pool_recalculation_);
  api_->Start();
  admission::RegisterIpam(webhooks_, desk_);
  admission::RegisterEip(webhooks_, eip_desk_);
  if (auto done = StageServingPair(); !done) return done;
  if (auto done = StageClientCa(); !done) return done;
  if (auto done = StageWebhookClientCa(); !done) return done;

  http_ = std::make_unique<HttpServer>(HttpServer::Settings{
      .bind_address = options_.bind_address,
      .io_threads = options_.io_threads,
      .max_in_flight = options_.max_in_flight,
      .idle_timeout = options_.idle_timeout,
      .guard = {.framing = {},
                .handshake = std::min(10s, options_.request_timeout),
                .request = options_.request_timeout,
                .connections = options_.max_connections},
      .tls = {options_.tls_min_version, options_.tls_cipher_suites, tls_files_.client_ca()},
      .tls_pair = tls_files_.pair(),
      .scratch = options_.state_dir / "empty",
      .registry = registry_,
  });
  AddListeners();
  return http_->Prepare();
}

// The listener has seen to it that there is a certificate, if there has to be one.
void Server::ServeWebhook(const drogon::HttpRequestPtr& request, http::Callback callback) {
  if (const auto authority = webhook_client_ca_.load()) {
    const auto& names = options_.webhook_client_names;
    const auto name = NameOfPeer(request, authority);
    if (!name || (!names.empty() && !std::ranges::contains(names, *name))) {
      log::Warn(name ? "client certificate is not the API server's"
                     : "client certificate has expired or is not of the current CA",
                {{"commonName", name.value_or("")}, {"peer", request->peerAddr().toIp()}});
      return callback(http::Respond(kube::Unauthorized()));
    }
  }
  webhooks_.Serve(request, std::move(callback));
}

void Server::AddListeners() {
  using Tls = Listener::Tls;
  const bool open = options_.webhook_client_ca_file.empty();
  http_->Add({.name = "webhook",
              .port = options_.webhook_port,
              .port_flag = "--webhook-port",
              .tls = open ? Tls::kServer : Tls::kNeedsClientCertificates,
              .client_ca = tls_files_.webhook_client_ca(),
              .handler = [this](const auto& request, auto callback) {
                ServeWebhook(request, std::move(callback));
              }});
  http_->Add({.name = "api",
              .port = options_.api_port,
              .port_flag = "--api-port",
              .tls = Tls::kClientCertificates,
              .handler = [this](const auto& request, auto callback) {
                api_->Serve(request, std::move(callback));
              }});
  http_->Add({.name = "metrics",
              .port = options_.metrics_port,
              .port_flag = "--metrics-port",
              .sheds = false,
              .handler = [this](const auto& request, auto callback) {
                metrics::Serve(registry_, request, std::move(callback));
              }});
  http_->Add({.name = "health",
              .port = options_.health_port,
              .port_flag = "--health-port",
              .sheds = false,
              .handler = [this](const auto& request, auto callback) {
                health_.Serve(request, std::move(callback));
              }});
  if (demo_) http_->Add(demo_->Attach(*api_, webhooks_));
  http_->OnDisconnect([this](const trantor::TcpConnection* connection) {
    api_->Forget(connection);
    if (demo_) demo_->Forget(connection);
  });
}

void Server::StartControl() {
  control_ = std::make_unique<Control>(control_thread_, registry_);
  if (client_)
    control_->transport = std::make_unique<kube::ClientTransport>(*client_, control_thread_);
  control_->housekeeping.Every(kTlsFilesEvery, "serving-certificate",
                               [this] { return StageServingPair(); });
  if (!options_.requestheader_client_ca_file.empty()) {
    control_->housekeeping.Every(kTlsFilesEvery, "request-header-ca",
                                 [this] { return StageClientCa(); });
  } else {
    FollowFrontProxy();
  }
  if (!options_.webhook_client_ca_file.empty()) {
    control_->housekeeping.Every(kTlsFilesEvery, "webhook-client-ca",
                                 [this] { return StageWebhookClientCa(); });
  }
  control_->housekeeping.Every(kMemoryEvery, "memory", [this]() -> kube::Result<void> {
    if (http_->TakeBurstEnd()) ReleaseFreeMemory();
    return {};
  });
  control_->housekeeping.Start();
  if (client_) StartSystems();
  Show();
}

void Server::StartSystems() {
  const char* pod = std::getenv("POD_NAME");
  const char* ns = std::getenv("POD_NAMESPACE");
  control_->leadership = std::make_unique<runtime::Leadership>(
      control_thread_, *control_->transport,
      kube::LeaderElector::Options{
          .ns = ns ? ns : "default",
          .name = "berth",
          .identity = Format("{}_{:016x}", pod ? pod : "berth", control_thread_.Random())},
      &registry_);
  control_->ipam = std::make_unique<ipam::System>(
      control_thread_, *control_->transport, *control_->leadership,
      ipam::System::Options{.stamp_key = stamp_key_, .registry = &registry_});
  desk_.Open(control_->ipam.get());
  if (account_) {
    control_->eip = std::make_unique<eip::System>(
        control_thread_, *control_->transport, *control_->leadership, account_->vpcs(),
        eip::System::Options{.resync = options_.aliyun.eip_resync, .registry = &registry_});
    eip_desk_.Open(control_->eip.get());
  }
  control_->leadership->Start();
}

void Server::FollowFrontProxy() {
  control_->front_proxy = std::make_unique<kube::Informer<FrontProxy>>(
      control_thread_, *control_->transport,
      kube::Reflector::Options{.path = kFrontProxyPath, .query = kFrontProxyQuery});
  auto& informer = *control_->front_proxy;
  informer.AddHandler(
      {.on_add = [this](const std::string&, const FrontProxy& now) { TakeFrontProxy(now); },
       .on_update = [this](const std::string&, const FrontProxy&,
                           const FrontProxy& now) { TakeFrontProxy(now); },
       // Keep the CA if the ConfigMap is deleted.
       .on_delete =
           [](const std::string& key, const FrontProxy&) {
             log::Warn("request-header CA no longer published; the last one stays in force",
                       {{"configMap", key}});
           },
       .on_whole =
           [this] {
             if (front_proxy_->holds()) return;
             log::Warn("request-header CA not found; not ready until the API server publishes it",
                       {{"configMap", "kube-system/extension-apiserver-authentication"}});
           }});
  informer.Start();
}

void Server::TakeFrontProxy(const FrontProxy& published) {
  const auto changed = tls_files_.SetClientCa(published.config.client_ca_pem);
  if (!changed) {
    log::Error("front proxy's CA refused", {{"error", changed.error().message}});
    return;
  }
  // Before the listeners take the new CA: its clients must find it known.
  authenticator_->SetRequestHeader(
      std::make_shared<const apis::RequestHeaderConfig>(published.config));
  if (*changed) {
    log::Info("front proxy's CA loaded", {{"allowedNames", published.config.allowed_names.size()}});
    http_->ReloadTls();
  }
  const bool ready_before = health_.ready();
  front_proxy_->Set(true);
  if (demo_ && !ready_before) demo_->Announce();
}

// Publishes the control thread's state for the aggregated API.
void Server::Show() {
  std::vector<const runtime::Controller*> controllers;
  if (control_->ipam) {
    controllers = control_->ipam->controllers();
    for (const std::string& pool : control_->ipam->TakeDirty())
      apis::PublishPoolUsage(pool_usages_, pool, control_->ipam->space());
  }
  apis::PublishCloudCalls(cloud_calls_, call_history_);
  if (control_->eip) controllers.append_range(control_->eip->controllers());
  controllers.push_back(&control_->housekeeping.controller());
  for (const runtime::Controller* controller : controllers)
    apis::PublishWorkQueue(work_queues_, controller->name(), controller->Stats().queue, origin_);
  control_->show = control_thread_.RunAfter(kShownEvery, [this] { Show(); });
}

// From the first connection to the last. A listener that does not do what it should is no reason to
// wait: nothing may be served then, and nothing has been begun that would need an orderly end.
void Server::Live() {
  auto tested = http_->WaitUntilOpen();
  for (const Listener& listener : http_->listeners()) {
    const bool verifies = listener.tls == Listener::Tls::kClientCertificates ||
                          listener.tls == Listener::Tls::kNeedsClientCertificates;
    if (tested && verifies)
      tested = CheckForeignCertificateIsRefused(options_.bind_address, listener.port);
  }
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
  control_thread_.Run([this] { StartControl(); });
  ReleaseStartupMemory();
  WaitForSignalAndDrain();
}

void Server::WaitForSignalAndDrain() {
  AwaitSignal();
  const auto deadline = std::chrono::steady_clock::now() + options_.grace_period;
  serving_->Set(false);
  std::this_thread::sleep_for(std::min(options_.shutdown_delay, options_.grace_period));
  Drain(deadline);
  GiveLeaseBack();
  // Whoever waits for the API server is told while the threads they are told on still run.
  if (client_) client_->Shutdown();
  control_thread_.Run([this] {
    control_.reset();
    account_.reset();
  });
  control_thread_.Stop();
  if (demo_) demo_->Stop();
  http_->Quit();
}

// A connection in use ends with the answer to its next request. One that is idle may have a review
// on its way, so it is closed only after a moment without any. By then the endpoints have had time
// to lead new connections elsewhere; where they still come, they are refused for the last part.
void Server::Drain(std::chrono::steady_clock::time_point deadline) {
  using Clock = std::chrono::steady_clock;
  const auto wait_for_quiet = [this](Clock::time_point until) {
    while (!http_->QuietFor(kQuiet) && Clock::now() < until) std::this_thread::sleep_for(kPoll);
  };
  http_->StartDraining();
  api_->CloseWatches();
  if (demo_) demo_->CloseWatches();
  wait_for_quiet(Clock::now() + (deadline - Clock::now()) / 2);
  http_->RefuseConnections();
  wait_for_quiet(deadline);
  if (const auto left = http_->in_flight(); left > 0)
    log::Warn("requests given up", {{"count", left}});
}

// So that another replica need not wait for its end.
void Server::GiveLeaseBack() {
  std::promise<void> given;
  control_thread_.Run([&] {
    if (!control_->leadership) return given.set_value();
    control_->stopping =
        async::Start(control_->leadership->Stop(), [&given] { given.set_value(); });
  });
  if (given.get_future().wait_for(kLeaseReturnedWithin) != std::future_status::ready)
    log::Warn("lease not given back in time");
  control_thread_.Run([this] {
    control_->stopping = {};
    desk_.Open(nullptr);
    eip_desk_.Open(nullptr);
  });
}

void Server::Run() {
  std::thread life;
  http_->Run([this, &life] { life = std::thread([this] { Live(); }); });
  life.join();
}

int Run(Server& server) {
  if (const auto prepared = server.Prepare(); !prepared) return CannotStart(prepared.error());
  server.Run();
  log::Info("stopped");
  return 0;
}

}  // namespace

int Serve(const Options& options) {
  SetUpProcess(options.log_format, options.log_level);
  Server server(options);
  return Run(server);
}

int RunDemo(const DemoOptions& options) {
  SetUpProcess(options.log_format, options.log_level);
  const auto demo = Demo::Make(options);
  if (!demo) return CannotStart(demo.error());
  Server server((*demo)->serve_options(), demo->get());
  return Run(server);
}

}  // namespace berth::server
