#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <string_view>

#include "http/error.h"

namespace berth::cloud::azure {

// The members of Azure's cloud config (azure.json) that Berth uses, complete: defaults are filled
// in. `client_secret` is never to be logged.
struct Config {
  std::string tenant;
  std::string subscription;  // of network resources
  std::string resource_group;
  std::string location;  // the region
  std::string vnet;
  std::string vnet_resource_group;
  std::string gateway = "servicegateway";
  std::string client_id;
  std::string client_secret;                   // empty with a federated token
  std::filesystem::path federated_token_file;  // empty with a secret
  std::string endpoint;                    // of Azure Resource Manager, without a slash at its end
  std::string authority;                   // of tokens, likewise
  std::string scope;                       // that a token is asked for
  std::string api_version = "2025-05-01";  // of Microsoft.Network
};

// Settings that go before the file's; empty ones do not count.
struct ConfigOverrides {
  std::string gateway;
  std::string endpoint;
  std::string authority;
  std::string api_version;
};

// The value of an environment variable, empty for none.
using Environment = std::function<std::string(const char* name)>;

// Reads a cloud config, JSON or YAML. A workload identity takes AZURE_CLIENT_ID, AZURE_TENANT_ID,
// AZURE_AUTHORITY_HOST and AZURE_FEDERATED_TOKEN_FILE for members that the file lacks. kTerminal
// for a text that is neither, and when a member is missing; the message names the member and quotes
// nothing.
Result<Config> ReadConfig(std::string_view text, const ConfigOverrides& overrides,
                          const Environment& environment);

}  // namespace berth::cloud::azure
