#include "server/options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace berth::server {
namespace {

std::expected<CommandLine, int> Parse(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), "berth");
  std::vector<char*> argv;
  for (auto& argument : arguments) argv.push_back(argument.data());
  return ParseCommandLine(static_cast<int>(argv.size()), argv.data());
}

// The message for arguments that are refused.
std::string Refusal(std::vector<std::string> arguments) {
  testing::internal::CaptureStderr();
  const auto line = Parse(std::move(arguments));
  std::string said = testing::internal::GetCapturedStderr();
  EXPECT_FALSE(line);
  return said;
}

class ConfigFile {
 public:
  explicit ConfigFile(const std::string& text)
      : path_(std::filesystem::path(testing::TempDir()) /
              ("berth-" +
               std::string(testing::UnitTest::GetInstance()->current_test_info()->name()))) {
    std::ofstream(path_) << text;
  }
  ~ConfigFile() { std::filesystem::remove(path_); }
  std::string path() const { return path_; }

 private:
  std::filesystem::path path_;
};

class Environment {
 public:
  Environment(const char* name, const char* value) : name_(name) { setenv(name, value, 1); }
  ~Environment() { unsetenv(name_); }

 private:
  const char* name_;
};

TEST(Options, FlagsGoBeforeEnvironmentAndEnvironmentBeforeFile) {
  const ConfigFile file(
      "webhook-port=1001\napi-port=1002\nmetrics-port=1003\nrequest-timeout=2m\n");
  const Environment api("BERTH_API_PORT", "2002");
  const Environment metrics("BERTH_METRICS_PORT", "2003");
  const auto line = Parse({"serve", "--config", file.path(), "--metrics-port", "3003"});
  ASSERT_TRUE(line);
  EXPECT_EQ(line->options.webhook_port, 1001);
  EXPECT_EQ(line->options.api_port, 2002);
  EXPECT_EQ(line->options.metrics_port, 3003);
  EXPECT_EQ(line->options.request_timeout, std::chrono::minutes(2));
  EXPECT_EQ(line->options.health_port, 8081);
}

TEST(Options, TheFileMayBeNamedInTheEnvironment) {
  const ConfigFile file("log-level=\"debug\"\n");
  const Environment config("BERTH_CONFIG", file.path().c_str());
  const auto line = Parse({"serve"});
  ASSERT_TRUE(line);
  EXPECT_EQ(line->options.log_level, "debug");
}

TEST(Options, TheDemoHasItsOwn) {
  const Environment runtime("XDG_RUNTIME_DIR", "/run/user/7");
  const Environment port("BERTH_PORT", "1234");
  const Environment config("BERTH_CONFIG", "/nonexistent/file");
  const auto line = Parse({"demo", "--log-level", "info"});
  ASSERT_TRUE(line);
  EXPECT_EQ(line->command, CommandLine::Command::kDemo);
  EXPECT_EQ(line->demo.port, 1234);
  EXPECT_EQ(line->demo.state_dir, "/run/user/7/berth-demo");
  EXPECT_EQ(line->demo.log_level, "info");
}

TEST(Options, TheCloudsLimitsAreByAction) {
  const auto line = Parse({"serve", "--aliyun-region", "cn-hangzhou", "--aliyun-limit",
                           "AllocateEipAddress=60,TagResources=30", "--aliyun-limit",
                           "ReleaseEipAddress=7", "--eip-resync", "2m"});
  ASSERT_TRUE(line);
  const systems::AliyunOptions& aliyun = line->options.systems.aliyun;
  EXPECT_EQ(aliyun.region, "cn-hangzhou");
  EXPECT_EQ(aliyun.limits,
            (std::map<std::string, int>{
                {"AllocateEipAddress", 60}, {"ReleaseEipAddress", 7}, {"TagResources", 30}}));
  EXPECT_EQ(aliyun.eip_resync, std::chrono::minutes(2));
}

TEST(Options, AServiceGatewayNeedsACloudConfig) {
  EXPECT_FALSE(Parse({"serve", "--service-gateway"}));
  const auto line = Parse({"serve", "--service-gateway", "--azure-cloud-config", "azure.json",
                           "--azure-gateway", "gw", "--azure-arm-endpoint", "https://arm"});
  ASSERT_TRUE(line);
  const systems::AzureOptions& azure = line->options.systems.azure;
  EXPECT_TRUE(azure.service_gateway);
  EXPECT_EQ(azure.cloud_config, "azure.json");
  EXPECT_EQ(azure.gateway, "gw");
  EXPECT_EQ(azure.arm_endpoint, "https://arm");
}

TEST(Options, SandboxesAreSwitchedOnByTheirOwn) {
  EXPECT_FALSE(Parse({"serve"})->options.systems.sandbox.enabled);
  EXPECT_FALSE(Parse({"serve", "--sandbox", "--sandbox-agent-port", "0"}));
  const auto line = Parse({"serve", "--sandbox", "--sandbox-agent-tls-dir", "/etc/agents",
                           "--sandbox-agent-port", "15758"});
  ASSERT_TRUE(line);
  EXPECT_TRUE(line->options.systems.sandbox.enabled);
  EXPECT_EQ(line->options.systems.sandbox.tls_dir, "/etc/agents");
  EXPECT_EQ(line->options.systems.sandbox.agent_port, 15758);
}

TEST(Options, TheSimulatedAzureHasItsOwn) {
  const auto line = Parse({"simulate-azure", "--operation", "5s", "--console-port", "0",
                           "--no-rate-limits", "--page", "7"});
  ASSERT_TRUE(line);
  EXPECT_EQ(line->command, CommandLine::Command::kSimulateAzure);
  EXPECT_EQ(line->simulate_azure.operation, std::chrono::seconds(5));
  EXPECT_EQ(line->simulate_azure.console_port, 0);
  EXPECT_FALSE(line->simulate_azure.rate_limits);
  EXPECT_EQ(line->simulate_azure.page, 7u);
}

TEST(Options, TheSimulatedAgentHasItsOwn) {
  const auto line = Parse({"simulate-agent", "--pull", "5s", "--console-port", "0", "--no-fences",
                           "--capacity", "7", "--pod-uid", "u"});
  ASSERT_TRUE(line);
  EXPECT_EQ(line->command, CommandLine::Command::kSimulateAgent);
  EXPECT_EQ(line->simulate_agent.pull, std::chrono::seconds(5));
  EXPECT_EQ(line->simulate_agent.console_port, 0);
  EXPECT_FALSE(line->simulate_agent.fences);
  EXPECT_EQ(line->simulate_agent.capacity, 7u);
  EXPECT_EQ(line->simulate_agent.pod_uid, "u");
}

TEST(Options, TheSimulatedCloudHasItsOwn) {
  const auto line = Parse({"simulate-cloud", "--limit", "AllocateEipAddress=60", "--until-visible",
                           "2s", "--latency", "5ms"});
  ASSERT_TRUE(line);
  EXPECT_EQ(line->command, CommandLine::Command::kSimulateCloud);
  EXPECT_EQ(line->simulate_cloud.limits.at("AllocateEipAddress"), 60);
  EXPECT_EQ(line->simulate_cloud.until_visible, std::chrono::seconds(2));
  EXPECT_EQ(line->simulate_cloud.latency, std::chrono::milliseconds(5));
}

TEST(Options, WhatIsWrongIsRefused) {
  for (const char* limit : {"AllocateEipAddress", "=5", "AllocateEipAddress=0", "TagResources=5x"})
    EXPECT_FALSE(Parse({"serve", "--aliyun-limit", limit})) << limit;
  EXPECT_FALSE(Parse({"serve", "--eip-resync", "0s"}));
  EXPECT_FALSE(Parse({"serve", "--aliyun-signature", "v2"}));
  const ConfigFile unknown("web-hook-port=1\n");
  for (const std::vector<std::string>& arguments :
       std::vector<std::vector<std::string>>{{"serve", "--config", "/nonexistent/file"},
                                             {"serve", "--config", unknown.path()},
                                             {"serve", "--webhook-port", "70000"},
                                             {"serve", "--tls-min-version", "1.4"},
                                             {"serve", "--tls-cert-file", "only.crt"},
                                             {"serve", "--log-level", "loud"},
                                             {"serve", "--bind-address", "localhost"},
                                             {"serve", "--idle-timeout", "-1s"},
                                             {"serve", "--nonsense"},
                                             {"demo", "--port", "70000"},
                                             {"demo", "--kubeconfig", "x"},
                                             {}}) {
    const auto line = Parse(arguments);
    ASSERT_FALSE(line) << (arguments.empty() ? "" : arguments.back());
    EXPECT_EQ(line.error(), 2);
  }
  EXPECT_EQ(Parse({"--help"}).error(), 0);
}

TEST(Options, AWrongValueInTheEnvironmentIsRefusedAsTheFlagIs) {
  for (const auto& [variable, value] : std::vector<std::pair<const char*, const char*>>{
           {"BERTH_TLS_MIN_VERSION", "TLS1.3"},
           {"BERTH_LOG_LEVEL", "loud"},
           {"BERTH_IO_THREADS", "0"},
           {"BERTH_REQUEST_TIMEOUT", "5x"},
           {"BERTH_BIND_ADDRESS", "hello"},
           {"BERTH_WEBHOOK_PORT", "99999"},
           {"BERTH_ALIYUN_LIMIT", "AllocateEipAddress=0"}}) {
    const Environment wrong(variable, value);
    EXPECT_THAT(Refusal({"serve"}),
                testing::AnyOf(testing::HasSubstr(variable), testing::HasSubstr("--aliyun-limit")));
    EXPECT_TRUE(Parse({"version"})) << variable;
  }
  const Environment level("BERTH_LOG_LEVEL", "loud");
  EXPECT_FALSE(Parse({"demo"}));
  EXPECT_FALSE(Parse({"simulate-cloud"}));
  EXPECT_TRUE(Parse({"serve", "--log-level", "info"})) << "the flag goes before it";
}

TEST(Options, AnEmptyVariableIsNone) {
  const Environment empty("BERTH_LOG_LEVEL", "");
  EXPECT_TRUE(Parse({"serve"}));
}

TEST(Options, RefusalsSayWhatToGive) {
  const auto said = [](std::vector<std::string> arguments) {
    return Refusal(std::move(arguments));
  };
  using testing::HasSubstr;
  EXPECT_THAT(said({"foo"}), HasSubstr("no command \"foo\"; the commands are serve, demo"));
  EXPECT_THAT(said({"demo", "--port", "99999"}), HasSubstr("from 0 to 65535"));
  EXPECT_THAT(said({"serve", "--bind-address", "hello"}), HasSubstr("give an IPv4 address"));
  EXPECT_THAT(said({"serve", "--state-dir", ""}), HasSubstr("--state-dir: give a directory"));
  EXPECT_THAT(said({"serve", "--aliyun-limit", "TagResources=0"}), HasSubstr("1 call or more"));
  EXPECT_THAT(said({"serve", "--shutdown-delay", "5s", "--grace-period", "1s"}),
              HasSubstr("--shutdown-delay: 5s is longer than --grace-period, 1s"));
}

TEST(Options, APreflightIsToldOfTheClusterAndTheChart) {
  const auto usual = Parse({"preflight"});
  ASSERT_TRUE(usual);
  EXPECT_EQ(usual->command, CommandLine::Command::kPreflight);
  EXPECT_EQ(usual->preflight.kubeconfig, "");
  EXPECT_EQ(usual->preflight.ns, "berth-system");
  const auto line =
      Parse({"preflight", "--kubeconfig", "k", "--values", "v.yaml", "--namespace", "net"});
  ASSERT_TRUE(line);
  EXPECT_EQ(line->preflight.kubeconfig, "k");
  EXPECT_EQ(line->preflight.values, "v.yaml");
  EXPECT_EQ(line->preflight.ns, "net");
}

TEST(Options, HelpAndVersionAreWordsToo) {
  EXPECT_EQ(Parse({"--version"}).error(), 0);
  EXPECT_EQ(Parse({"help"}).error(), 0);
}

}  // namespace
}  // namespace berth::server
