#include "server/serve.h"

#include <prometheus/registry.h>

#include <algorithm>
#include <cstdlib>
#include <future>
#include <memory>
#include <optional>
#include <thread>

#include "handlers/admission/webhooks.h"
#include "handlers/apis/api_server.h"
#include "handlers/apis/cloudcalls.h"
#include "handlers/apis/workqueues.h"
#include "handlers/health.h"
#include "handlers/metrics.h"
#include "kube/client.h"
#include "kube/client_transport.h"
#include "log/format.h"
#include "log/log.h"
#include "server/agent_access.h"
#include "server/aliyun_account.h"
#include "server/azure_account.h"
#include "server/demo.h"
#include "server/directory_lock.h"
#include "server/front_proxy.h"
#include "server/housekeeping.h"
#include "server/http_server.h"
#include "server/peer_name.h"
#include "server/process.h"
#include "server/tls_settings.h"
#include "server/tls_staging.h"
#include "systems/systems.h"

namespace berth::server {
namespace {

using namespace std::chrono_literals;

constexpr auto kPoll = 20ms;
constexpr auto kPublishEvery = 500ms;
constexpr auto kMemoryEvery = 5s;
constexpr auto kQuiet = 500ms;
constexpr auto kLeaseReturnedWithin = 3s;

// All that runs on the control thread: made there, and gone from it before the thread ends.
struct Control {
  Housekeeping housekeeping;
  std::unique_ptr<kube::ClientTransport> transport;
  std::unique_ptr<FrontProxy> front_proxy;
  std::unique_ptr<runtime::Leadership> leadership;
  std::vector<systems::System*> systems;  // that have been started
  async::Running stopping;
  async::Handle publish;

  Control(async::Executor& executor, prometheus::Registry& registry)
      : housekeeping(executor, registry) {}
};

// The whole server: its parts in the order in which they need each other.
class Server {
 public:
  // With a demo, the options are its own.
  explicit Server(const Options& options, Demo* demo = nullptr) : options_(options), demo_(demo) {}

  kube::Result<void> Prepare();
  void Run();

 private:
  kube::Result<void> Connect();
  kube::Result<void> OpenAccounts();
  void ServeWebhook(const drogon::HttpRequestPtr& request, http::Callback callback);
  std::function<void(const PostedJson&, Listener::Answer)> ReviewPosted();
  void AddListeners();
  void StartControl();
  void TakeFrontProxy(const apis::RequestHeaderConfig& published);
  void StartSystems();
  void Publish();
  void Live();
  void WaitForSignalAndDrain();
  void Drain(std::chrono::steady_clock::time_point deadline);
  void StopSystems();

  const Options& options_;
  Demo* const demo_;
  std::optional<DirectoryLock> lock_;  // the demo has its own
  prometheus::Registry registry_;
  const metrics::ProcessMetrics process_metrics_{BERTH_VERSION};
  health::Health health_;
  health::Health::Condition* listening_ =
      &health_.Require("listening", "the listeners are not open yet");
  health::Health::Condition* front_proxy_ =
      &health_.Require("front-proxy", "the API server's request-header CA is not known yet");
  health::Health::Condition* serving_ =
      &health_.Require("not-shutting-down", "the server is shutting down");
  TlsStaging tls_{options_, *front_proxy_};
  async::EventLoop control_thread_{"control"};
  systems::Systems systems_ = systems::MakeSystems(control_thread_, options_.systems);
  std::unique_ptr<kube::Client> client_;
  std::unique_ptr<apis::Authenticator> authenticator_;
  std::unique_ptr<apis::Authorizer> authorizer_;
  apis::LiveCollection work_queues_{apis::WorkQueueType()};
  apis::LiveCollection cloud_calls_{apis::CloudCallType(), apis::kCloudCallLimits};
  std::unique_ptr<apis::ApiServer> api_;
  admission::Webhooks webhooks_{registry_};
  std::unique_ptr<HttpServer> http_;
  const std::chrono::system_clock::time_point origin_ =
      std::chrono::system_clock::now() - std::chrono::steady_clock::now().time_since_epoch();
  // On the control thread.
  cloud::CallHistory call_history_{&registry_};
  std::unique_ptr<AliyunAccount> account_;
  std::unique_ptr<AzureAccount> azure_;
  std::unique_ptr<AgentAccess> agents_;
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

kube::Result<void> Server::OpenAccounts() {
  const systems::Options& systems = options_.systems;
  const bool with_aliyun = !systems.aliyun.region.empty();
  const bool with_azure = systems.azure.service_gateway;
  const bool with_agents = systems.sandbox.enabled;
  if (!client_ && (with_aliyun || with_azure || with_agents)) {
    return kube::Terminal(Format("{} needs an API server", with_aliyun  ? "--aliyun-region"
                                                           : with_azure ? "--service-gateway"
                                                                        : "--sandbox"));
  }
  kube::Result<void> opened;
  // Keeps an account, or the error of the first one that cannot be opened.
  const auto keep = [&opened](auto account, auto& place) {
    if (account) {
      place = std::move(*account);
    } else if (opened) {
      opened = std::unexpected(account.error());
    }
  };
  control_thread_.Run([&] {
    if (demo_) {
      if (with_aliyun) account_ = demo_->OpenAccount(control_thread_, &call_history_, systems_);
      if (with_azure) azure_ = demo_->OpenAzure(control_thread_, &call_history_, systems_);
      if (with_agents) agents_ = demo_->OpenAgents(control_thread_, nullptr);
      return;
    }
    if (with_aliyun) {
      keep(AliyunAccount::Open(control_thread_, client_->http(), &call_history_, systems.aliyun),
           account_);
    }
    if (with_azure) {
      keep(AzureAccount::Open(control_thread_, client_->http(), &call_history_, systems.azure),
           azure_);
    }
    if (with_agents) {
      keep(AgentAccess::Open(control_thread_, client_->http(), nullptr, systems.sandbox), agents_);
    }
  });
  return opened;
}

kube::Result<void> Server::Prepare() {
  std::error_code error;
  std::filesystem::create_directories(options_.state_dir / "empty", error);
  if (error)
    return kube::Terminal("cannot make --state-dir " + options_.state_dir.string() + ": " +
                          error.message());
  std::filesystem::permissions(options_.state_dir, std::filesystem::perms::owner_all, error);
  if (demo_) {
    if (auto done = demo_->WriteFilesOf(systems_); !done) return done;
  } else {
    auto lock = DirectoryLock::Take(options_.state_dir);
    if (!lock) return std::unexpected(lock.error());
    lock_ = std::move(*lock);
  }

  serving_->Set(true);
  if (auto done = Connect(); !done) return done;
  if (auto done = OpenAccounts(); !done) return done;
  authenticator_ = std::make_unique<apis::Authenticator>(client_.get(), NameOfPeer);
  authorizer_ = std::make_unique<apis::Authorizer>(client_.get());
  api_ = std::make_unique<apis::ApiServer>(*authenticator_, *authorizer_, registry_);
  api_->Add(work_queues_);
  api_->Add(cloud_calls_);
  for (const auto& system : systems_) system->Register(webhooks_, *api_);
  api_->Start();
  if (auto done = tls_.StageAll(*authenticator_); !done) return done;

  http_ = std::make_unique<HttpServer>(HttpServer::Settings{
      .bind_address = options_.bind_address,
      .io_threads = options_.io_threads,
      .max_in_flight = options_.max_in_flight,
      .idle_timeout = options_.idle_timeout,
      .guard = {.framing = {},
                .handshake = std::min(10s, options_.request_timeout),
                .request = options_.request_timeout,
                .connections = options_.max_connections},
      .tls = {options_.tls_min_version, options_.tls_cipher_suites, tls_.files().client_ca()},
      .tls_pair = tls_.files().pair(),
      .scratch = options_.state_dir / "empty",
      .registry = registry_,
  });
  AddListeners();
  return http_->Prepare();
}

// The listener has seen to it that there is a certificate, if there has to be one.
void Server::ServeWebhook(const drogon::HttpRequestPtr& request, http::Callback callback) {
  if (const auto authority = tls_.webhook_client_ca()) {
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

std::function<void(const PostedJson&, Listener::Answer)> Server::ReviewPosted() {
  return [this](const PostedJson& posted, Listener::Answer answer) {
    webhooks_.Serve(posted.path, posted.body, posted.audit_id, std::move(answer));
  };
}

void Server::AddListeners() {
  using Tls = Listener::Tls;
  const bool open = options_.webhook_client_ca_file.empty();
  http_->Add({.name = "webhook",
              .port = options_.webhook_port,
              .port_flag = "--webhook-port",
              .tls = open ? Tls::kServer : Tls::kNeedsClientCertificates,
              .client_ca = tls_.files().webhook_client_ca(),
              .handler = [this](const auto& request,
                                auto callback) { ServeWebhook(request, std::move(callback)); },
              .direct = open ? ReviewPosted() : nullptr});
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
                metrics::Serve(registry_, process_metrics_, request, std::move(callback));
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
  tls_.OnChange([this] { http_->ReloadTls(); });
  tls_.AddChores(control_->housekeeping);
  if (options_.requestheader_client_ca_file.empty()) {
    control_->front_proxy = std::make_unique<FrontProxy>(
        control_thread_, *control_->transport,
        [this](const apis::RequestHeaderConfig& published) { TakeFrontProxy(published); });
  }
  control_->housekeeping.Every(kMemoryEvery, "memory", [this]() -> kube::Result<void> {
    if (http_->TakeBurstEnd()) ReleaseFreeMemory();
    return {};
  });
  control_->housekeeping.Start();
  if (client_) StartSystems();
  Publish();
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
  const systems::Host host{
      .executor = control_thread_,
      .transport = *control_->transport,
      .leadership = *control_->leadership,
      .registry = registry_,
      .derive_key = [this](const auto& purpose) { return tls_.DeriveKey(purpose); },
      .vpcs = account_ ? &account_->vpcs() : nullptr,
      .ecs = account_ ? &account_->ecs_enis() : nullptr,
      .eflo = account_ ? &account_->eflo_enis() : nullptr,
      .service_gateway = azure_ ? &azure_->service_gateway() : nullptr,
      .sandbox_agents = agents_ ? &agents_->agents() : nullptr};
  for (const auto& system : systems_) {
    if (!system->enabled()) continue;
    system->Start(host);
    control_->systems.push_back(system.get());
  }
  control_->leadership->Start();
}

void Server::TakeFrontProxy(const apis::RequestHeaderConfig& published) {
  const bool ready_before = health_.ready();
  tls_.Take(published);
  if (demo_ && !ready_before && health_.ready()) demo_->Announce(systems_);
}

// Publishes the control thread's state for the aggregated API.
void Server::Publish() {
  std::vector<const runtime::Controller*> controllers = {&control_->housekeeping.controller()};
  for (systems::System* system : control_->systems) {
    system->Publish();
    controllers.append_range(system->controllers());
  }
  apis::PublishCloudCalls(cloud_calls_, call_history_);
  for (const runtime::Controller* controller : controllers)
    apis::PublishWorkQueue(work_queues_, controller->name(), controller->Stats().queue, origin_);
  control_->publish = control_thread_.RunAfter(kPublishEvery, [this] { Publish(); });
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
  StopSystems();
  // Shut the client down first: its callbacks need these threads.
  if (client_) client_->Shutdown();
  control_thread_.Run([this] {
    control_.reset();
    account_.reset();
    azure_.reset();
    agents_.reset();
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

// The lease is given back first, so that another replica need not wait for its end.
void Server::StopSystems() {
  std::promise<void> given;
  control_thread_.Run([&] {
    if (!control_->leadership) return given.set_value();
    control_->stopping =
        async::Start(control_->leadership->Stop(), [&given] { given.set_value(); });
  });
  if (given.get_future().wait_for(kLeaseReturnedWithin) != std::future_status::ready)
    log::Warn("lease not given back in time");
  control_thread_.Run([this] {
    control_->publish = {};
    control_->stopping = {};
    for (systems::System* system : control_->systems) system->Stop();
    control_->systems.clear();
    control_->leadership.reset();
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
