#include "cloud/azure/config.h"

#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <array>
#include <utility>

#include "cloud/names.h"
#include "http/file.h"
#include "log/format.h"

namespace berth::cloud::azure {
namespace {

struct Endpoints {
  std::string_view cloud;
  std::string_view arm;
  std::string_view authority;
};

constexpr std::array kClouds = {
    Endpoints{"AzurePublicCloud", "https://management.azure.com",
              "https://login.microsoftonline.com"},
    Endpoints{"AzureUSGovernmentCloud", "https://management.usgovcloudapi.net",
              "https://login.microsoftonline.us"},
    Endpoints{"AzureChinaCloud", "https://management.chinacloudapi.cn",
              "https://login.chinacloudapi.cn"},
};

// The library's exceptions may quote the text, and with it a secret: nothing of them is told.
YAML::Node Load(std::string_view text) {
  try {
    return YAML::Load(std::string(text));
  } catch (const YAML::Exception&) {
    return {};
  }
}

// The members of a cloud config as text.
class Members {
 public:
  explicit Members(const YAML::Node& node) : node_(node) {}

  std::string operator[](const char* name) const {
    const YAML::Node value = node_[name];
    if (!value || !value.IsScalar() || value.IsNull()) return {};
    return Trimmed(value.as<std::string>(""));
  }
  bool Is(const char* name) const { return IsSameName((*this)[name], "true"); }

 private:
  const YAML::Node node_;
};

std::string FirstGiven(std::initializer_list<std::string> texts) {
  const auto given = std::ranges::find_if(texts, [](const auto& text) { return !text.empty(); });
  return given == texts.end() ? std::string() : *given;
}

std::string WithoutSlash(std::string url) {
  while (url.ends_with('/')) url.pop_back();
  return url;
}

const Endpoints* CloudOf(const std::string& name) {
  if (name.empty()) return &kClouds.front();
  const auto found = std::ranges::find_if(
      kClouds, [&](const Endpoints& cloud) { return IsSameName(cloud.cloud, name); });
  return found == kClouds.end() ? nullptr : &*found;
}

// Takes the credentials; the error says which are missing.
Result<void> ReadIdentity(const Members& file, const Environment& environment, Config& config) {
  const bool federated =
      file.Is("useFederatedWorkloadIdentityExtension") || file.Is("useWorkloadIdentityExtension");
  config.tenant = FirstGiven({file["networkResourceTenantID"], file["tenantId"]});
  config.client_id = file["aadClientId"];
  if (federated) {
    config.tenant = FirstGiven({config.tenant, environment("AZURE_TENANT_ID")});
    config.client_id = FirstGiven({config.client_id, environment("AZURE_CLIENT_ID")});
    config.federated_token_file =
        FirstGiven({file["aadFederatedTokenFile"], environment("AZURE_FEDERATED_TOKEN_FILE")});
    if (config.federated_token_file.empty()) {
      return Terminal(
          "Azure's cloud config has no aadFederatedTokenFile, and AZURE_FEDERATED_TOKEN_FILE is "
          "not set");
    }
    return {};
  }
  if (file.Is("useManagedIdentityExtension")) {
    return Terminal(
        "Azure's cloud config asks for a managed identity, which Berth does not use; give "
        "aadClientId and aadClientSecret, or useFederatedWorkloadIdentityExtension");
  }
  config.client_secret = file["aadClientSecret"];
  if (!IsSecret(config.client_secret)) {
    return Terminal("Azure's cloud config has no usable aadClientSecret");
  }
  return {};
}

Result<void> CheckComplete(const Config& config) {
  const std::pair<const char*, const std::string&> needed[] = {
      {"tenantId", config.tenant},
      {"subscriptionId", config.subscription},
      {"resourceGroup", config.resource_group},
      {"location", config.location},
      {"vnetName", config.vnet},
      {"aadClientId", config.client_id}};
  for (const auto& [name, value] : needed) {
    if (value.empty()) return Terminal(Format("Azure's cloud config has no {}", name));
  }
  for (const std::string& url : {config.endpoint, config.authority}) {
    if (!url.starts_with("https://")) {
      return Terminal(Format("{} is not an address of Azure; it begins with https://", url));
    }
  }
  return {};
}

}  // namespace

Result<Config> ReadConfig(std::string_view text, const ConfigOverrides& overrides,
                          const Environment& environment) {
  const YAML::Node node = Load(text);
  if (!node.IsMap()) return Terminal("Azure's cloud config is no JSON or YAML object");
  const Members file(node);
  const Endpoints* cloud = CloudOf(file["cloud"]);
  if (!cloud) return Terminal("Azure's cloud config names a cloud that Berth does not know");

  Config config;
  if (auto read = ReadIdentity(file, environment, config); !read) {
    return std::unexpected(read.error());
  }
  config.subscription = FirstGiven({file["networkResourceSubscriptionID"], file["subscriptionId"]});
  config.resource_group = file["resourceGroup"];
  config.location = file["location"];
  config.vnet = file["vnetName"];
  config.vnet_resource_group = FirstGiven({file["vnetResourceGroup"], config.resource_group});
  config.gateway = FirstGiven({overrides.gateway, file["serviceGatewayName"], config.gateway});
  config.endpoint = WithoutSlash(
      FirstGiven({overrides.endpoint, file["resourceManagerEndpoint"], std::string(cloud->arm)}));
  const std::string host =
      config.federated_token_file.empty() ? "" : environment("AZURE_AUTHORITY_HOST");
  config.authority = WithoutSlash(FirstGiven(
      {overrides.authority, file["activeDirectoryEndpoint"], host, std::string(cloud->authority)}));
  config.scope = Format("{}/.default", cloud->arm);
  config.api_version = FirstGiven({overrides.api_version, config.api_version});
  if (auto complete = CheckComplete(config); !complete) return std::unexpected(complete.error());
  return config;
}

}  // namespace berth::cloud::azure
