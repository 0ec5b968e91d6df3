#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <map>
#include <string>

namespace berth::systems {

// The account with Alibaba Cloud that EIPs and ENIs are kept in.
struct AliyunOptions {
  std::string region;  // empty: there is none
  std::filesystem::path credentials_dir;
  bool vpc_network = false;
  std::string vpc_endpoint;  // empty: the region's
  std::string ecs_endpoint;
  std::string eflo_endpoint;
  std::string sts_endpoint;
  std::filesystem::path ca_file;
  std::string signature = "acs3";
  int calls_per_minute = 600;
  std::map<std::string, int> limits;  // by action
  bool eip = true;                    // EIPs are looked after
  std::chrono::seconds eip_resync{300};
  bool eni = false;  // ENIs are, in the place of Terway's controller
};

// The account with Azure whose service gateway carries the traffic of Services and egress pods.
struct AzureOptions {
  bool service_gateway = false;        // Services and egress pods are looked after
  std::filesystem::path cloud_config;  // Azure's cloud config, JSON or YAML
  // These go before the file's. Empty: as the file says, or else as Azure has it.
  std::string gateway;            // the service gateway's name
  std::string arm_endpoint;       // "https://management.azure.com"
  std::string authority;          // of tokens: "https://login.microsoftonline.com"
  std::string api_version;        // of Microsoft.Network
  std::filesystem::path ca_file;  // of both endpoints; empty: the system's
};

// The agents of sandboxes.
struct SandboxOptions {
  bool enabled = false;  // Sandboxes and SandboxPools are looked after
  std::uint16_t agent_port = 5758;
  // mTLS with agents: a folder with ca.crt, tls.crt and tls.key, read at the start. Empty: plain
  // HTTP, which is what fast-sandbox's agents speak.
  std::filesystem::path tls_dir;
};

// The options of all systems: a system is switched on by its own.
struct Options {
  AliyunOptions aliyun;
  AzureOptions azure;
  SandboxOptions sandbox;
};

}  // namespace berth::systems
