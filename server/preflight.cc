#include "server/preflight.h"

#include <cstdlib>
#include <future>
#include <iostream>

#include "async/event_loop.h"
#include "http/file.h"
#include "kube/client.h"
#include "kube/client_transport.h"
#include "kube/yaml.h"
#include "log/format.h"
#include "log/log.h"
#include "systems/systems.h"

namespace berth::server {
namespace {

// As kubectl finds it; empty for the pod's service account.
std::filesystem::path KubeconfigOf(const PreflightOptions& options) {
  if (!options.kubeconfig.empty()) return options.kubeconfig;
  if (const char* given = std::getenv("KUBECONFIG"); given && *given != '\0') return given;
  const char* home = std::getenv("HOME");
  const auto usual = std::filesystem::path(home ? home : "/") / ".kube/config";
  std::error_code error;
  return std::filesystem::exists(usual, error) ? usual : std::filesystem::path();
}

kube::Result<Json> ReadValues(const std::filesystem::path& file) {
  if (file.empty()) return Json::Object();
  const auto text = ReadFile(file);
  if (!text) return std::unexpected(text.error());
  auto values = kube::YamlToJson(*text);
  if (!values) {
    return kube::Terminal(Format("{}: {}", file.string(), values.error().message));
  }
  return values;
}

async::Task<void> Keep(async::Task<systems::PreflightReport> asked,
                       systems::PreflightReport* report) {
  *report = co_await std::move(asked);
}

kube::Result<systems::PreflightReport> LookAtCluster(const PreflightOptions& options) {
  const auto values = ReadValues(options.values);
  if (!values) return std::unexpected(values.error());
  const auto kubeconfig = KubeconfigOf(options);
  auto config = kubeconfig.empty() ? kube::InClusterConfig() : kube::LoadKubeconfig(kubeconfig);
  if (!config && kubeconfig.empty())
    return kube::Terminal("no API server is known: give --kubeconfig");
  if (!config) return std::unexpected(config.error());
  kube::Client client(std::move(*config), {.qps = 0});
  async::EventLoop loop("preflight");
  const systems::Systems all = systems::MakeSystems(loop, {});
  std::unique_ptr<kube::ClientTransport> transport;
  async::Running running;
  systems::PreflightReport report;
  std::promise<void> done;
  loop.Run([&] {
    transport = std::make_unique<kube::ClientTransport>(client, loop);
    running = async::Start(
        Keep(systems::Preflight(&all, &loop, transport.get(), *values, options.ns), &report),
        [&done] { done.set_value(); });
  });
  done.get_future().wait();
  loop.Run([&] {
    running = {};
    transport.reset();
  });
  client.Shutdown();
  return report;
}

}  // namespace

int RunPreflight(const PreflightOptions& options) {
  log::SetFormat("text");
  log::SetLevel("error");
  const auto report = LookAtCluster(options);
  if (!report) {
    std::cerr << "cannot look: " << report.error().message << "\n";
    return 2;
  }
  for (const auto& [object, what, advice] : report->findings)
    std::cout << object << ": " << what << "; " << advice << "\n";
  for (const std::string& error : report->errors) std::cerr << "cannot look: " << error << "\n";
  if (!report->errors.empty()) return 2;
  const std::size_t count = report->findings.size();
  std::cerr << (count == 0 ? "nothing found" : Format("{} found", count)) << "\n";
  return count == 0 ? 0 : 1;
}

}  // namespace berth::server
