#include "server/azure_account.h"

#include <cstdlib>
#include <utility>

#include "http/client_transport.h"
#include "http/file.h"

namespace berth::server {
namespace {

namespace azure = cloud::azure;

std::string Variable(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

Result<azure::Config> ReadConfigOf(const systems::AzureOptions& options) {
  const auto text = ReadFile(options.cloud_config);
  if (!text) return std::unexpected(text.error());
  return azure::ReadConfig(*text,
                           {.gateway = options.gateway,
                            .endpoint = options.arm_endpoint,
                            .authority = options.authority,
                            .api_version = options.api_version},
                           Variable);
}

azure::Identity IdentityOf(const azure::Config& config, AzureAccount::Secret secret) {
  return {.authority = config.authority,
          .tenant = config.tenant,
          .client_id = config.client_id,
          .scope = config.scope,
          .secret = std::move(secret),
          .federated_token_file = config.federated_token_file};
}

azure::ArmOptions ArmOptionsOf(const azure::Config& config) {
  azure::ArmOptions options;
  options.endpoint = config.endpoint;
  options.api_version = config.api_version;
  return options;
}

}  // namespace

Result<std::unique_ptr<AzureAccount>> AzureAccount::Open(async::Executor& executor,
                                                         http::Client& client,
                                                         cloud::CallObserver* observer,
                                                         const systems::AzureOptions& options) {
  const auto config = ReadConfigOf(options);
  if (!config) return std::unexpected(config.error());
  http::Peer::Options peer;
  if (!options.ca_file.empty()) {
    auto ca = ReadFile(options.ca_file);
    if (!ca) return std::unexpected(ca.error());
    peer.ca_pem = std::move(*ca);
  }
  auto transport = std::make_unique<http::ClientTransport>(
      client, std::make_shared<http::Peer>(std::move(peer)), executor);
  const Secret secret = [options, known = config->client_secret] {
    const auto now = ReadConfigOf(options);
    return now ? now->client_secret : known;
  };
  return std::make_unique<AzureAccount>(executor, std::move(transport), observer, *config, secret);
}

AzureAccount::AzureAccount(async::Executor& executor, std::unique_ptr<http::Transport> transport,
                           cloud::CallObserver* observer, const azure::Config& config,
                           Secret secret)
    : transport_(std::move(transport)),
      tokens_(executor, *transport_, observer, IdentityOf(config, std::move(secret))),
      arm_(executor, *transport_, tokens_, observer, ArmOptionsOf(config)),
      gateway_(arm_, config) {}

}  // namespace berth::server
