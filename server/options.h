#pragma once

#include <chrono>
#include <cstdint>
#include <expected>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "systems/options.h"

namespace berth::server {

// Options of `berth serve`, by flag, by environment (BERTH_…) or in a file (--config).
struct Options {
  std::string kubeconfig;
  std::string bind_address = "0.0.0.0";
  std::uint16_t webhook_port = 9443;
  std::uint16_t api_port = 6443;
  std::uint16_t metrics_port = 8080;
  std::uint16_t health_port = 8081;

  std::filesystem::path tls_cert_file;
  std::filesystem::path tls_private_key_file;
  std::vector<std::string> tls_names = {"localhost", "127.0.0.1"};
  std::string tls_min_version = "1.2";
  std::vector<std::string> tls_cipher_suites;
  std::filesystem::path requestheader_client_ca_file;
  std::vector<std::string> requestheader_allowed_names = {"front-proxy-client"};
  std::filesystem::path webhook_client_ca_file;
  std::vector<std::string> webhook_client_names;
  std::filesystem::path state_dir = "/run/berth";

  std::size_t io_threads = 2;
  std::size_t max_in_flight = 400;
  std::size_t max_connections = 6'000;
  std::chrono::seconds request_timeout{30};
  std::chrono::seconds idle_timeout{120};
  std::chrono::seconds shutdown_delay{2};
  std::chrono::seconds grace_period{20};

  systems::Options systems;

  std::string log_format = "json";
  std::string log_level = "info";
};

// Options of `berth demo`, by flag or by environment.
struct DemoOptions {
  std::uint16_t port = 7443;        // of the API server in memory; 0: any free one
  bool no_cloud = false;            // without a simulated cloud, and what needs one
  std::filesystem::path state_dir;  // by default one of this user below $XDG_RUNTIME_DIR or /tmp
  std::string log_format = "text";
  std::string log_level = "warn";
};

// Options of `berth simulate-cloud`, by flag or by environment.
struct SimulateCloudOptions {
  std::string bind_address = "127.0.0.1";
  std::uint16_t port = 7444;
  std::vector<std::string> tls_names = {"localhost", "127.0.0.1"};
  std::filesystem::path state_dir;  // by default one of this user below $XDG_RUNTIME_DIR or /tmp
  std::string region = "cn-hangzhou";
  std::map<std::string, int> limits;  // calls a minute, by action
  std::chrono::milliseconds latency{20};
  std::chrono::milliseconds until_visible{500};
  std::chrono::milliseconds background{1000};
  std::chrono::milliseconds attaching{4000};
  double lost_answers = 0;
  double refused = 0;
  std::string log_format = "text";
  std::string log_level = "info";
};

// Options of `berth simulate-azure`, by flag or by environment.
struct SimulateAzureOptions {
  std::string bind_address = "127.0.0.1";
  std::uint16_t port = 7445;
  std::uint16_t console_port = 7446;
  std::vector<std::string> tls_names = {"localhost", "127.0.0.1"};
  std::filesystem::path state_dir;  // by default one of this user below $XDG_RUNTIME_DIR or /tmp
  std::chrono::milliseconds latency{20};
  std::chrono::milliseconds operation{2000};
  std::size_t page = 100;
  bool rate_limits = true;
  double lost_answers = 0;
  double refused = 0;
  std::string log_format = "text";
  std::string log_level = "info";
};

// Options of `berth simulate-agent`, by flag or by environment. The first agent has the pod of the
// environment that agents' pods have.
struct SimulateAgentOptions {
  std::string bind_address = "127.0.0.1";
  std::uint16_t port = 5758;
  std::uint16_t console_port = 5759;
  bool tls = false;
  std::filesystem::path
      client_ca;  // with TLS: nobody is served whose certificate it has not signed
  std::vector<std::string> tls_names = {"localhost", "127.0.0.1"};
  std::filesystem::path state_dir;  // by default one of this user below $XDG_RUNTIME_DIR or /tmp
  std::string pod_name = "sandbox-agent";
  std::string pod_uid;  // without it a create for any pod passes the fence
  std::string node_name = "node";
  std::size_t capacity = 5;
  bool fences = true;
  std::chrono::milliseconds latency{2};
  std::chrono::milliseconds pull{2000};
  std::chrono::milliseconds stop{200};
  double lost_answers = 0;
  double refused = 0;
  std::string log_format = "text";
  std::string log_level = "info";
};

// The options of `berth manifest`.
struct ManifestOptions {
  std::filesystem::path into;  // empty: standard output
};

// The options of `berth preflight`, by flag or by environment.
struct PreflightOptions {
  std::filesystem::path kubeconfig;  // empty: as kubectl finds it, or the pod's service account
  std::filesystem::path values;      // of the chart; empty: its defaults
  std::string ns = "berth-system";   // the release namespace
};

struct CommandLine {
  enum class Command {
    kServe,
    kDemo,
    kSimulateCloud,
    kSimulateAzure,
    kSimulateAgent,
    kManifest,
    kPreflight,
    kVersion
  } command = Command::kServe;
  Options options;
  DemoOptions demo;
  SimulateCloudOptions simulate_cloud;
  SimulateAzureOptions simulate_azure;
  SimulateAgentOptions simulate_agent;
  ManifestOptions manifest;
  PreflightOptions preflight;
};

// The command to run; or, when there is nothing to do (--help) or the arguments are wrong, the exit
// status, after the help or the error was printed.
std::expected<CommandLine, int> ParseCommandLine(int argc, char** argv);

}  // namespace berth::server
