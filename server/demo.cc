#include "server/demo.h"

#include <drogon/utils/Utilities.h>
#include <openssl/rand.h>

#include <array>
#include <iostream>

#include "certs/authority.h"
#include "certs/store.h"
#include "cloud/simulator/azure/account.h"
#include "handlers/memory/webhook_calls.h"
#include "http/file.h"
#include "kube/yaml.h"
#include "log/format.h"
#include "reconcile/crds.h"
#include "server/demo_agents.h"
#include "server/private_file.h"
#include "server/simulated_azure.h"
#include "server/simulated_cloud.h"

namespace berth::server {
namespace {

constexpr const char* kLoopback = "127.0.0.1";
constexpr const char* kPortFlag = "--port";
constexpr std::chrono::hours kYear{365 * 24};
constexpr int kNodes = 3;
constexpr const char* kKeyId = "LTAIdemo";

std::string NewToken() {
  std::array<unsigned char, 32> bytes{};
  RAND_bytes(bytes.data(), static_cast<int>(bytes.size()));
  return drogon::utils::binaryStringToHex(bytes.data(), bytes.size());
}

Options ServeOptionsOf(const DemoOptions& demo) {
  Options options;
  // The commands that are printed have it, and are typed elsewhere.
  options.state_dir = std::filesystem::absolute(demo.state_dir);
  options.kubeconfig = options.state_dir / "kubeconfig";
  options.bind_address = kLoopback;
  options.webhook_port = options.api_port = options.metrics_port = options.health_port = 0;
  options.shutdown_delay = std::chrono::seconds(0);
  options.grace_period = std::chrono::seconds(5);
  options.systems = systems::OptionsOfDemo(!demo.no_cloud);
  options.log_format = demo.log_format;
  options.log_level = demo.log_level;
  return options;
}

std::string Kubeconfig(const std::string& url, const std::string& ca_pem,
                       const std::string& token) {
  return Format(
      R"(# Made anew by every `berth demo`.
apiVersion: v1
kind: Config
current-context: berth-demo
contexts: [{{name: berth-demo, context: {{cluster: berth-demo, user: berth-demo}}}}]
clusters: [{{name: berth-demo, cluster: {{server: "{}", certificate-authority-data: {}}}}}]
users: [{{name: berth-demo, user: {{token: "{}"}}}}]
)",
      url, drogon::utils::base64Encode(ca_pem), token);
}

}  // namespace

Demo::Demo(const DemoOptions& options, HeldPort port, DirectoryLock lock)
    : port_(std::move(port)),
      lock_(std::move(lock)),
      token_(NewToken()),
      serve_(ServeOptionsOf(options)) {}

kube::Result<std::unique_ptr<Demo>> Demo::Make(const DemoOptions& options) {
  // First, because another demo that is running keeps its files.
  if (auto made = MakePrivateDirectory(options.state_dir); !made)
    return std::unexpected(made.error());
  auto lock = DirectoryLock::Take(options.state_dir);
  if (!lock) return std::unexpected(lock.error());
  auto port = HeldPort::Hold(kLoopback, options.port, kPortFlag);
  if (!port) return std::unexpected(port.error());
  std::unique_ptr<Demo> demo(new Demo(options, std::move(*port), std::move(*lock)));
  if (const auto done = demo->WriteFiles(); !done) return std::unexpected(done.error());
  if (const auto done = demo->Fill(); !done) return std::unexpected(done.error());
  return demo;
}

std::string Demo::Url() const { return Format("https://{}:{}", kLoopback, port_.port()); }

kube::Result<void> Demo::WriteFiles() {
  const auto& dir = serve_.state_dir;
  // The same call as the server's, which finds these and serves with them.
  const auto pair =
      certs::LoadOrMakeServing(dir / "certs", certs::ServingNames::Of(serve_.tls_names));
  if (!pair) return std::unexpected(pair.error());
  const auto ca = ReadFile(dir / "certs" / "ca.crt");
  if (!ca) return std::unexpected(ca.error());
  const std::string curl = Format("cacert = \"{}\"\nheader = \"Authorization: Bearer {}\"\n",
                                  (dir / "certs" / "ca.crt").string(), token_);
  if (auto written = WritePrivateFile(dir / "curl", curl); !written) return written;
  return WritePrivateFile(serve_.kubeconfig, Kubeconfig(Url(), *ca, token_));
}

kube::Result<void> Demo::WriteFilesOf(const systems::Systems& systems) const {
  for (const auto& system : systems) {
    if (!system->enabled()) continue;
    for (const auto& [name, text] : system->demo_files()) {
      if (auto written = WritePrivateFile(serve_.state_dir / name, text); !written) return written;
    }
  }
  return {};
}

kube::Result<void> Demo::Fill() {
  for (const std::string_view yaml : CustomResourceDefinitions()) {
    const auto crd = kube::YamlToJson(yaml);
    if (!crd) return std::unexpected(crd.error());
    if (auto created = Create("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", *crd);
        !created)
      return created;
  }
  eni_daemon_.Start(server_);
  if (auto filled = FillNodes(); !filled) return filled;
  return FillFrontProxy();
}

kube::Result<void> Demo::FillNodes() {
  for (int i = 1; i <= kNodes; ++i) {
    const std::string name = Format("worker-{}", i);
    Json node;
    node["metadata"] = Json::Object();
    node["metadata"]["name"] = name;
    node["metadata"]["labels"] = Json::Object();
    node["metadata"]["labels"]["kubernetes.io/hostname"] = name;
    node["metadata"]["labels"]["kubernetes.io/os"] = "linux";
    if (auto created = Create("/api/v1/nodes", node); !created) return created;
  }
  return {};
}

// As if there were a front proxy, which Berth waits for before it is ready. Its CA signs nothing.
kube::Result<void> Demo::FillFrontProxy() {
  const auto authority = certs::MakeAuthority("berth demo front proxy", kYear);
  if (!authority) return std::unexpected(authority.error());
  Json map;
  map["metadata"] = Json::Object();
  map["metadata"]["name"] = "extension-apiserver-authentication";
  map["data"] = Json::Object();
  map["data"]["requestheader-client-ca-file"] = authority->cert_pem;
  map["data"]["requestheader-allowed-names"] = R"(["front-proxy-client"])";
  map["data"]["requestheader-username-headers"] = R"(["X-Remote-User"])";
  map["data"]["requestheader-group-headers"] = R"(["X-Remote-Group"])";
  map["data"]["requestheader-extra-headers-prefix"] = R"(["X-Remote-Extra-"])";
  return Create("/api/v1/namespaces/kube-system/configmaps", map);
}

kube::Result<void> Demo::Create(const std::string& path, const Json& object) {
  const kube::Response answer =
      server_.Ask({.method = kube::Method::kPost, .path = path, .body = object.to_string()});
  if (answer.code == 201) return {};
  return kube::Terminal("the demo's API server refuses a POST to " + path + ": " + answer.body);
}

std::unique_ptr<AliyunAccount> Demo::OpenAccount(async::Executor& executor,
                                                 cloud::CallObserver* observer,
                                                 const systems::Systems& systems) const {
  auto cloud = std::make_unique<SimulatedCloud>(
      executor, SimulateCloudOptions{.region = serve_.systems.aliyun.region});
  const std::string secret = NewToken();
  cloud->cloud().keys().Add({.id = kKeyId, .secret = secret, .caller = "berth"});
  for (const auto& system : systems) {
    if (system->enabled()) system->FillDemo({.aliyun = &cloud->cloud()});
  }
  return std::make_unique<AliyunAccount>(
      executor, std::move(cloud),
      std::make_unique<cloud::aliyun::FixedCredentials>(
          cloud::aliyun::Credential{.key_id = kKeyId, .secret = secret, .security_token = ""}),
      observer, serve_.systems.aliyun);
}

std::unique_ptr<AzureAccount> Demo::OpenAzure(async::Executor& executor,
                                              cloud::CallObserver* observer,
                                              const systems::Systems& systems) const {
  const std::string secret = NewToken();
  auto cloud = std::make_unique<SimulatedAzure>(executor, SimulateAzureOptions{}, secret);
  for (const auto& system : systems) {
    if (system->enabled()) system->FillDemo({.azure = &cloud->cloud()});
  }
  const auto config = cloud::simulator::azure::ConfigOf(cloud->cloud().options(), secret);
  return std::make_unique<AzureAccount>(
      executor, std::move(cloud), config, [secret] { return secret; }, observer);
}

std::unique_ptr<AgentAccess> Demo::OpenAgents(async::Executor& executor,
                                              cloud::CallObserver* observer) {
  auto agents = std::make_unique<DemoAgents>(executor);
  agents->Follow(agent_pods_);
  return std::make_unique<AgentAccess>(executor, std::move(agents), observer, false);
}

Listener Demo::Attach(apis::ApiServer& api, const admission::Webhooks& webhooks) {
  front_ = std::make_unique<memory::Front>(server_, api, token_);
  server_.Run([&](memory::ServerThread::Server& server) {
    server.AddAggregatedGroup(apis::kGroup, apis::kVersion, api.DiscoveredResources());
    memory::InstallWebhooks(server, webhooks, server_.executor());
  });
  return {.name = "kubernetes",
          .port = port_.port(),
          .port_flag = kPortFlag,
          .tls = Listener::Tls::kServer,
          .handler = [this](const auto& request, auto callback) {
            front_->Serve(request, std::move(callback));
          }};
}

// scripts/demo --check types every line that begins with two spaces. A command that Berth has to
// refuse says "# refused".
void Demo::Announce(const systems::Systems& systems) const {
  std::string commands;
  for (const auto& system : systems) {
    if (system->enabled()) commands.append("\n").append(system->demo_commands(serve_.state_dir));
  }
  std::cout << Format(R"(
Berth runs on this machine with an API server in memory. Ctrl-C ends it and deletes all objects.
In another terminal:

  export KUBECONFIG={0}
{3}
  kubectl get workqueues -o wide             # Berth's pending work; -w to follow it

Without kubectl:

  curl -K {1} {2}/apis/live.berth.dev/v1alpha1/workqueues

)",
                      serve_.kubeconfig, (serve_.state_dir / "curl").string(), Url(), commands)
            << std::flush;
}

}  // namespace berth::server
