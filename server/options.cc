#include "server/options.h"

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <charconv>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <iostream>
#include <limits>
#include <optional>

namespace berth::server {
namespace {

// An option's line: its flag, then what it is without it and the variable that sets it; no types,
// which the words tell.
class Help : public CLI::Formatter {
 public:
  std::string make_option_opts(const CLI::Option* option) const override {
    std::string shown = option->get_default_str();
    if (shown.starts_with('[')) shown = shown.substr(1, shown.size() - 2);
    if (shown == "{}") shown.clear();
    const std::string& variable = option->get_envname();
    if (variable.empty()) return "";
    return " (" + (shown.empty() ? "" : shown + ", ") + variable + ")";
  }
};

// "30s", "2m" or plain seconds.
CLI::Option* AddDuration(CLI::App& app, const char* flag, std::chrono::seconds& value,
                         const char* help) {
  const auto unit = CLI::AsNumberWithUnit(std::map<std::string, long>{{"s", 1}, {"m", 60}},
                                          CLI::AsNumberWithUnit::CASE_SENSITIVE,
                                          "seconds, or a number with s or m");
  return app
      .add_option_function<long>(
          flag, [&value](long seconds) { value = std::chrono::seconds(seconds); }, help)
      ->transform(unit)
      ->check(CLI::NonNegativeNumber)
      ->type_name("DURATION")
      ->default_str(std::to_string(value.count()) + "s");
}

// "20ms", "2s" or plain milliseconds.
CLI::Option* AddMilliseconds(CLI::App& app, const char* flag, std::chrono::milliseconds& value,
                             const char* help) {
  const auto unit = CLI::AsNumberWithUnit(std::map<std::string, long>{{"ms", 1}, {"s", 1000}},
                                          CLI::AsNumberWithUnit::CASE_SENSITIVE,
                                          "milliseconds, or a number with ms or s");
  return app
      .add_option_function<long>(
          flag, [&value](long count) { value = std::chrono::milliseconds(count); }, help)
      ->transform(unit)
      ->check(CLI::NonNegativeNumber)
      ->type_name("DURATION")
      ->default_str(std::to_string(value.count()) + "ms");
}

// The text as a number of the range.
std::optional<int> NumberIn(std::string_view text, int least, int most) {
  int number = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), number);
  if (read.ec != std::errc() || read.ptr != text.data() + text.size()) return std::nullopt;
  return number < least || number > most ? std::nullopt : std::optional(number);
}

// A check that refuses with words of its own; "" is good.
CLI::Validator Check(std::function<std::string(const std::string&)> why) {
  return {[why = std::move(why)](std::string& text) { return why(text); }, ""};
}

CLI::Option* AddPort(CLI::App& app, const char* flag, std::uint16_t& port, const char* help) {
  return app.add_option(flag, port, help)->check(Check([](const std::string& text) {
    return NumberIn(text, 0, 65'535) ? "" : text + " is not a port; give a number from 0 to 65535";
  }));
}

CLI::Option* AddBindAddress(CLI::App& app, std::string& address, const char* help) {
  return app.add_option("--bind-address", address, help)->check(Check([](const std::string& text) {
    const bool known = text == "::" || text == "::1" || CLI::ValidIPV4(text).empty();
    return known ? "" : text + " cannot be listened on; give an IPv4 address, :: or ::1";
  }));
}

// "AllocateEipAddress=120": how often in a minute, 1 at least.
std::optional<std::pair<std::string, int>> ReadLimit(const std::string& text) {
  const auto equals = text.find('=');
  if (equals == std::string::npos || equals == 0) return std::nullopt;
  const auto count =
      NumberIn(std::string_view(text).substr(equals + 1), 1, std::numeric_limits<int>::max());
  if (!count) return std::nullopt;
  return std::pair(text.substr(0, equals), *count);
}

CLI::Option* AddLimitsOfActions(CLI::App& app, const char* flag, std::map<std::string, int>& limits,
                                const char* help) {
  const auto read = [&limits, flag](const std::vector<std::string>& given) {
    for (const std::string& text : given) {
      auto limit = ReadLimit(text);
      if (!limit) {
        throw CLI::ValidationError(
            flag,
            text + " is not ACTION=CALLS, as in DescribeEipAddresses=600, with 1 call or more");
      }
      limits.insert_or_assign(std::move(limit->first), limit->second);
    }
  };
  return app.add_option_function<std::vector<std::string>>(flag, read, help)
      ->delimiter(',')
      ->type_name("ACTION=CALLS");
}

void AddListeners(CLI::App& app, Options& options) {
  app.option_defaults()->group("Listeners");
  AddBindAddress(app, options.bind_address, "Address of all listeners");
  AddPort(app, "--webhook-port", options.webhook_port,
          "HTTPS: admission webhooks (0: any free port)");
  AddPort(app, "--api-port", options.api_port, "HTTPS: the aggregated API");
  AddPort(app, "--metrics-port", options.metrics_port, "HTTP: Prometheus metrics at /metrics");
  AddPort(app, "--health-port", options.health_port, "HTTP: /livez, /readyz, /healthz");
}

void AddTls(CLI::App& app, Options& options) {
  app.option_defaults()->group("TLS and identity");
  auto* cert = app.add_option("--tls-cert-file", options.tls_cert_file,
                              "Serving certificate, PEM; read again when it changes. Without it "
                              "one is made below --state-dir");
  auto* key =
      app.add_option("--tls-private-key-file", options.tls_private_key_file, "Its key, PEM");
  cert->needs(key);
  key->needs(cert);
  app.add_option("--tls-names", options.tls_names,
                 "DNS names and addresses of a certificate made here")
      ->delimiter(',');
  app.add_option("--tls-min-version", options.tls_min_version, "Lowest TLS version: 1.2 or 1.3")
      ->check(CLI::IsMember({"1.2", "1.3"}));
  app.add_option("--tls-cipher-suites", options.tls_cipher_suites,
                 "Cipher suites by OpenSSL's names, for both TLS versions")
      ->delimiter(',');
  app.add_option("--requestheader-client-ca-file", options.requestheader_client_ca_file,
                 "CA of the API server's front proxy; by default read from the cluster "
                 "(kube-system/extension-apiserver-authentication)");
  app.add_option("--requestheader-allowed-names", options.requestheader_allowed_names,
                 "Common names of the front proxy, with the CA file only")
      ->delimiter(',');
  auto* webhook_ca = app.add_option("--webhook-client-ca-file", options.webhook_client_ca_file,
                                    "CA of the certificate that the API server shows to webhooks; "
                                    "nobody else is served there. Without it anybody is");
  app.add_option("--webhook-client-names", options.webhook_client_names,
                 "Common names of that certificate; by default any that the CA has signed")
      ->delimiter(',')
      ->needs(webhook_ca);
}

void AddLimits(CLI::App& app, Options& options) {
  app.option_defaults()->group("Limits");
  app.add_option("--io-threads", options.io_threads, "Threads for TLS, HTTP and JSON")
      ->check(CLI::Range(1, 64));
  app.add_option("--max-in-flight", options.max_in_flight,
                 "Requests served at once; more are answered 429")
      ->check(CLI::Range(1, 100'000));
  app.add_option("--max-connections", options.max_connections,
                 "Connections of all listeners; more are closed. An idle one takes up to 45 KB")
      ->check(CLI::Range(16, 1'000'000));
  AddDuration(app, "--request-timeout", options.request_timeout,
              "Time for a whole request to arrive");
  AddDuration(app, "--idle-timeout", options.idle_timeout,
              "Time an idle connection is kept; the API server drops its own after 90s");
  AddDuration(app, "--shutdown-delay", options.shutdown_delay,
              "After SIGTERM: time to serve on, not ready, until no more traffic comes");
  AddDuration(app, "--grace-period", options.grace_period,
              "After SIGTERM: time in all until requests under way are given up");
}

void AddAliyun(CLI::App& app, systems::AliyunOptions& options) {
  app.option_defaults()->group("Alibaba Cloud");
  app.add_option("--aliyun-region", options.region,
                 "Region of EIPs and ENIs, as in cn-hangzhou; without it neither is looked after");
  app.add_option("--aliyun-credentials-dir", options.credentials_dir,
                 "Folder of a mounted Secret: accessKeyID, accessKeySecret and perhaps "
                 "securityToken; read again when it changes. Without it ALIBABA_CLOUD_… variables "
                 "name a key or a role");
  app.add_flag("--aliyun-vpc-network", options.vpc_network,
               "Reach the cloud from inside a VPC of the region");
  app.add_option("--aliyun-vpc-endpoint", options.vpc_endpoint,
                 "Where the VPC API is, as in https://vpc.cn-hangzhou.aliyuncs.com");
  app.add_option("--aliyun-ecs-endpoint", options.ecs_endpoint, "Where the ECS API is");
  app.add_option("--aliyun-eflo-endpoint", options.eflo_endpoint, "Where the EFLO API is");
  app.add_option("--aliyun-sts-endpoint", options.sts_endpoint, "Where the STS API is");
  app.add_option("--aliyun-ca-file", options.ca_file,
                 "CA of these endpoints, PEM; by default the system's");
  app.add_option("--aliyun-signature", options.signature, "How calls are signed: acs3 or v1")
      ->check(CLI::IsMember({"acs3", "v1"}));
  app.add_option("--aliyun-calls-per-minute", options.calls_per_minute,
                 "Calls of each action in a minute")
      ->check(CLI::Range(1, 1'000'000));
  AddLimitsOfActions(app, "--aliyun-limit", options.limits,
                     "Calls of one action in a minute, as in AllocateEipAddress=120");
  app.add_flag("--eip,!--no-eip", options.eip, "Look after EIPs; the default with a region");
  app.add_flag("--eni", options.eni,
               "Look after the ENIs of nodes, in the place of Terway's multi-ip-node controller");
  AddDuration(app, "--eip-resync", options.eip_resync,
              "How often every EIP is compared with the cloud")
      ->check(CLI::Range(1, 86'400));
}

void AddAzure(CLI::App& app, systems::AzureOptions& options) {
  app.option_defaults()->group("Azure");
  app.add_option(
      "--azure-cloud-config", options.cloud_config,
      "Azure's cloud config, JSON or YAML: tenantId, subscriptionId, resourceGroup, vnetName, "
      "aadClientId and aadClientSecret, or useWorkloadIdentityExtension");
  app.add_flag("--service-gateway", options.service_gateway,
               "Look after Services of type LoadBalancer and egress pods in a service gateway");
  app.add_option("--azure-gateway", options.gateway,
                 "Name of the service gateway; by default the file's, or servicegateway");
  app.add_option("--azure-arm-endpoint", options.arm_endpoint,
                 "Where Azure Resource Manager is, as in https://management.azure.com");
  app.add_option("--azure-authority", options.authority,
                 "Where tokens come from, as in https://login.microsoftonline.com");
  app.add_option("--azure-api-version", options.api_version,
                 "API version of Microsoft.Network; by default 2025-05-01");
  app.add_option("--azure-ca-file", options.ca_file,
                 "CA of these endpoints, PEM; by default the system's");
}

void AddSandbox(CLI::App& app, systems::SandboxOptions& options) {
  app.option_defaults()->group("Sandboxes");
  app.add_flag("--sandbox", options.enabled,
               "Look after Sandboxes and SandboxPools, in the place of fast-sandbox's controller");
  app.add_option("--sandbox-agent-port", options.agent_port, "Port of the agents")
      ->check(CLI::Range(1, 65'535));
  app.add_option(
      "--sandbox-agent-tls-dir", options.tls_dir,
      "Folder of a mounted Secret: ca.crt of the agents, tls.crt and tls.key that we show "
      "them. Without it agents are called over plain HTTP, as fast-sandbox's are");
}

// Options of all commands that run.
template <typename AnyOptions>
void AddProcess(CLI::App& app, AnyOptions& options) {
  app.add_option("--state-dir", options.state_dir,
                 "Directory for files of this process, private to it")
      ->check(Check([](const std::string& dir) { return dir.empty() ? "give a directory" : ""; }));
  app.add_option("--log-format", options.log_format,
                 "Form of the log lines on standard error: json or text")
      ->check(CLI::IsMember({"json", "text"}));
  app.add_option("--log-level", options.log_level,
                 "Least level that is logged: debug, info, warn or error")
      ->check(CLI::IsMember({"debug", "info", "warn", "error"}));
}

// Each option can be given in the environment too.
void NameVariables(CLI::App& app) {
  for (CLI::Option* option : app.get_options()) {
    std::string name = option->get_single_name();
    if (name.empty() || name == "help") continue;
    for (char& c : name)
      c = c == '-' ? '_' : static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
    option->envname("BERTH_" + name)->capture_default_str();
  }
}

void AddServe(CLI::App& app, Options& options) {
  app.add_option("--kubeconfig", options.kubeconfig,
                 "How to reach the API server; by default the pod's service account");
  AddProcess(app, options);
  app.add_option("--config",
                 "File with these options, a line each, as in webhook-port=9443; flags and "
                 "environment go before it");
  AddListeners(app, options);
  AddTls(app, options);
  AddLimits(app, options);
  AddAliyun(app, options.systems.aliyun);
  AddAzure(app, options.systems.azure);
  AddSandbox(app, options.systems.sandbox);
  NameVariables(app);
}

// This user's, for what is tried out.
std::filesystem::path OwnStateDir(const std::string& name) {
  const char* runtime = std::getenv("XDG_RUNTIME_DIR");
  if (runtime != nullptr && *runtime != '\0') return std::filesystem::path(runtime) / name;
  return "/tmp/" + name + "-" + std::to_string(geteuid());
}

void AddDemo(CLI::App& app, DemoOptions& options) {
  options.state_dir = OwnStateDir("berth-demo");
  AddPort(app, "--port", options.port, "HTTPS: the API server in memory (0: any free port)");
  app.add_flag("--no-cloud", options.no_cloud,
               "Have no simulated cloud, and leave what needs one to another server");
  AddProcess(app, options);
  NameVariables(app);
}

// Options of all simulated clouds.
template <typename AnyOptions>
void AddSimulated(CLI::App& app, AnyOptions& options, const char* state_dir) {
  options.state_dir = OwnStateDir(state_dir);
  AddBindAddress(app, options.bind_address, "Address to listen on");
  AddPort(app, "--port", options.port, "HTTPS: the cloud's API (0: any free port)");
  app.add_option("--tls-names", options.tls_names, "DNS names and addresses of its certificate")
      ->delimiter(',');
  AddMilliseconds(app, "--latency", options.latency, "Of a call");
  app.add_option("--lost-answers", options.lost_answers,
                 "Part of the calls that are carried out and never answered")
      ->check(CLI::Range(0.0, 1.0));
  app.add_option("--refused", options.refused, "Part of the calls answered 503")
      ->check(CLI::Range(0.0, 1.0));
}

void AddSimulateCloud(CLI::App& app, SimulateCloudOptions& options) {
  AddSimulated(app, options, "berth-cloud");
  app.add_option("--region", options.region, "Its one region");
  AddLimitsOfActions(app, "--limit", options.limits,
                     "Calls of an action in a minute before it throttles, as in "
                     "AllocateEipAddress=120");
  AddMilliseconds(app, "--until-visible", options.until_visible,
                  "Until a new address or network interface is in the lists");
  AddMilliseconds(app, "--background", options.background,
                  "What it does in the background takes: release, association, packages, the end "
                  "of a network interface");
  AddMilliseconds(app, "--attaching", options.attaching,
                  "The attachment of a network interface takes");
  AddProcess(app, options);
  NameVariables(app);
}

void AddSimulateAzure(CLI::App& app, SimulateAzureOptions& options) {
  AddSimulated(app, options, "berth-azure");
  AddPort(app, "--console-port", options.console_port,
          "HTTPS: what a cloud does not tell, and its faults (0: any free port)");
  AddMilliseconds(app, "--operation", options.operation,
                  "A long-running operation takes half of it to one and a half");
  app.add_option("--page", options.page, "Items of a page of a list")->check(CLI::Range(1, 10'000));
  app.add_flag("--rate-limits,!--no-rate-limits", options.rate_limits,
               "Throttle as Azure does; the default");
  AddProcess(app, options);
  NameVariables(app);
}

// The variable that agents' pods have wins over no flag.
void TakeVariable(const char* name, std::string& value) {
  const char* given = std::getenv(name);
  if (given != nullptr && *given != '\0') value = given;
}

void AddSimulateAgent(CLI::App& app, SimulateAgentOptions& options) {
  TakeVariable("POD_NAME", options.pod_name);
  TakeVariable("POD_UID", options.pod_uid);
  TakeVariable("NODE_NAME", options.node_name);
  std::string capacity = std::to_string(options.capacity);
  TakeVariable("AGENT_CAPACITY", capacity);
  std::from_chars(capacity.data(), capacity.data() + capacity.size(), options.capacity);
  AddSimulated(app, options, "berth-agent");
  app.get_option("--port")->description("HTTP: the agents' API (0: any free port)");
  AddPort(app, "--console-port", options.console_port,
          "HTTPS: what an agent does not tell, and its faults (0: any free port)");
  app.add_flag("--tls", options.tls, "The agents' API is HTTPS");
  app.add_option("--client-ca-file", options.client_ca,
                 "The agents' API is HTTPS, for clients with a certificate of this CA");
  app.add_option("--pod-name", options.pod_name, "Name of the agent's pod; by default $POD_NAME");
  app.add_option("--pod-uid", options.pod_uid, "UID of the agent's pod; by default $POD_UID");
  app.add_option("--node-name", options.node_name, "Its node; by default $NODE_NAME");
  app.add_option("--capacity", options.capacity, "Slots of an agent; by default $AGENT_CAPACITY")
      ->check(CLI::Range(0, 100'000));
  app.add_flag("--fences,!--no-fences", options.fences,
               "Refuse creates for another pod, of an old attempt or beyond the capacity, as "
               "fast-sandbox's agents do not; the default");
  AddMilliseconds(app, "--pull", options.pull, "The pull of an image takes");
  AddMilliseconds(app, "--stop", options.stop, "A container takes to stop");
  AddProcess(app, options);
  NameVariables(app);
}

void AddPreflight(CLI::App& app, PreflightOptions& options) {
  app.add_option("--kubeconfig", options.kubeconfig,
                 "How to reach the API server; by default as kubectl does, or in a pod its service "
                 "account");
  app.add_option("--values", options.values,
                 "Values of the chart that Berth is or will be installed with, a YAML file; by "
                 "default the chart's own");
  app.add_option("--namespace", options.ns, "Namespace of the Helm release");
  NameVariables(app);
}

// The file is read before the flags, so it must be found before they are parsed.
std::optional<std::string> ConfigFile(int argc, char** argv) {
  constexpr std::string_view kFlag = "--config";
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    if (argument == kFlag && i + 1 < argc) return argv[i + 1];
    if (argument.starts_with("--config=")) return std::string(argument.substr(kFlag.size() + 1));
  }
  const char* given = std::getenv("BERTH_CONFIG");
  return given ? std::optional<std::string>(given) : std::nullopt;
}

// CLI11 reads a file for a whole program only, not for a subcommand: here the file is the
// subcommand's.
void ReadConfigFile(const std::string& file, Options& options) {
  std::ifstream in(file);
  if (!in) throw CLI::FileError::Missing(file);
  CLI::App app;
  AddServe(app, options);
  app.allow_config_extras(CLI::config_extras_mode::error);
  app.parse_from_stream(in);
}

// CLI11 passes over a variable whose value a check refuses. `add` adds the command's options: as a
// flag the value is refused with the reason.
void RefuseWrongVariables(const CLI::App& command, const std::function<void(CLI::App&)>& add) {
  for (const CLI::Option* option : command.get_options()) {
    const std::string& variable = option->get_envname();
    const char* value = variable.empty() ? nullptr : std::getenv(variable.c_str());
    if (value == nullptr || *value == '\0' || option->count() > 0) continue;
    CLI::App app;
    add(app);
    try {
      app.parse(std::vector<std::string>{option->get_name() + "=" + value});
    } catch (const CLI::ParseError& error) {
      throw CLI::ValidationError(variable, error.what());
    }
  }
}

void CheckTogether(const Options& options) {
  const auto text = [](std::chrono::seconds time) { return std::to_string(time.count()) + "s"; };
  if (options.shutdown_delay > options.grace_period) {
    throw CLI::ValidationError("--shutdown-delay",
                               text(options.shutdown_delay) + " is longer than --grace-period, " +
                                   text(options.grace_period) + ", which it is a part of");
  }
  const systems::AzureOptions& azure = options.systems.azure;
  if (azure.service_gateway && azure.cloud_config.empty()) {
    throw CLI::ValidationError("--service-gateway", "needs --azure-cloud-config");
  }
}

// A first word that is no command, which CLI11 would say nothing of.
bool RefusesCommand(const CLI::App& app, std::string_view word) {
  if (word.empty() || word.starts_with('-') || app.get_subcommand_no_throw(std::string(word)))
    return false;
  std::cerr << "There is no command \"" << word
            << "\"; the commands are serve, demo, simulate-cloud, simulate-azure, simulate-agent, "
               "manifest, preflight and version.\n"
               "Run berth --help for more information.\n";
  return true;
}

}  // namespace

std::expected<CommandLine, int> ParseCommandLine(int argc, char** argv) {
  CommandLine line;
  CLI::App app("Berth: cloud network resources for Kubernetes, in one server.", "berth");
  app.require_subcommand(1);
  app.set_version_flag("--version", "berth " BERTH_VERSION, "Print the version");
  app.formatter(std::make_shared<Help>());
  app.get_formatter()->column_width(72);
  CLI::App* serve = app.add_subcommand(
      "serve", "Run the server: admission webhooks, aggregated API, controllers");
  CLI::App* demo = app.add_subcommand(
      "demo", "Run the server with an API server in memory: for kubectl, without a cluster");
  CLI::App* simulate_cloud = app.add_subcommand(
      "simulate-cloud", "Run a simulated Alibaba Cloud: to try EIPs without an account");
  CLI::App* simulate_azure = app.add_subcommand(
      "simulate-azure", "Run a simulated Azure: to try service gateways without an account");
  CLI::App* simulate_agent = app.add_subcommand(
      "simulate-agent", "Run simulated agents of sandboxes: to try sandboxes without containers");
  CLI::App* manifest = app.add_subcommand(
      "manifest", "Print the kinds, webhooks and live resources of each system, as YAML");
  manifest->add_option("--into", line.manifest.into,
                       "Directory: write a file for each system, as in charts/berth/files/systems");
  CLI::App* preflight = app.add_subcommand(
      "preflight",
      "List objects of a cluster that would behave otherwise under Berth; reads only. Exit status: "
      "0 nothing found, 1 something found, 2 could not look");
  app.add_subcommand("version", "Print the version");
  const std::string_view word = argc > 1 ? argv[1] : "";
  const bool serves = word == "serve";
  if (word == "help") {
    std::cout << app.help();
    return std::unexpected(0);
  }
  if (RefusesCommand(app, word)) return std::unexpected(2);
  try {
    if (const auto file = serves ? ConfigFile(argc, argv) : std::nullopt)
      ReadConfigFile(*file, line.options);
    AddServe(*serve, line.options);
    AddDemo(*demo, line.demo);
    AddSimulateCloud(*simulate_cloud, line.simulate_cloud);
    AddSimulateAzure(*simulate_azure, line.simulate_azure);
    AddSimulateAgent(*simulate_agent, line.simulate_agent);
    AddPreflight(*preflight, line.preflight);
    app.parse(argc, argv);
    CommandLine unused;
    if (serves) {
      RefuseWrongVariables(*serve, [&](CLI::App& probe) { AddServe(probe, unused.options); });
      CheckTogether(line.options);
    } else if (app.got_subcommand(demo)) {
      RefuseWrongVariables(*demo, [&](CLI::App& probe) { AddDemo(probe, unused.demo); });
    } else if (app.got_subcommand(simulate_cloud)) {
      RefuseWrongVariables(*simulate_cloud, [&](CLI::App& probe) {
        AddSimulateCloud(probe, unused.simulate_cloud);
      });
    } else if (app.got_subcommand(simulate_azure)) {
      RefuseWrongVariables(*simulate_azure, [&](CLI::App& probe) {
        AddSimulateAzure(probe, unused.simulate_azure);
      });
    } else if (app.got_subcommand(simulate_agent)) {
      RefuseWrongVariables(*simulate_agent, [&](CLI::App& probe) {
        AddSimulateAgent(probe, unused.simulate_agent);
      });
    }
  } catch (const CLI::ParseError& error) {
    const int status = app.exit(error);
    return std::unexpected(status == 0 ? 0 : 2);
  }
  if (app.got_subcommand("demo")) line.command = CommandLine::Command::kDemo;
  if (app.got_subcommand("simulate-cloud")) line.command = CommandLine::Command::kSimulateCloud;
  if (app.got_subcommand(simulate_azure)) line.command = CommandLine::Command::kSimulateAzure;
  if (app.got_subcommand(simulate_agent)) line.command = CommandLine::Command::kSimulateAgent;
  if (app.got_subcommand(manifest)) line.command = CommandLine::Command::kManifest;
  if (app.got_subcommand(preflight)) line.command = CommandLine::Command::kPreflight;
  if (app.got_subcommand("version")) line.command = CommandLine::Command::kVersion;
  return line;
}

}  // namespace berth::server
