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

Result<azure::Config> ReadConfig(const systems::AzureOptions& options) {
  auto text = ReadFile(options.cloud_config);
  if (!text) return std::unexpected(text.error());
  return azure::ReadConfig(*text,
                           {.gateway = options.gateway,
                            .endpoint = options.arm_endpoint,
                            .authority = options.authority,
                            .api_version = options.api_version},
                           Variable);
}

azure::Identity IdentityOf(const azure::Config& config, std::function<std::string()> secret) {
  const bool federated = !config.federated_token_file.empty();
  return {.authority = config.authority,
          .tenant = config.tenant,
          .client_id = config.client_id,
          .scope = config.scope,
          .secret = federated ? nullptr : std::move(secret),
          .federated_token_file = config.federated_token_file};
}

}  // namespace

Result<std::unique_ptr<AzureAccount>> AzureAccount::Open(async::Executor& executor,
                                                         http::Client& client,
                                                         cloud::CallObserver* observer,
                                                         const systems::AzureOptions& options) {
  const auto config = ReadConfig(options);
  if (!config) return std::unexpected(config.error());
  http::Peer::Options peer;
  if (!options.ca_file.empty()) {
    auto ca = ReadFile(options.ca_file);
    if (!ca) return std::unexpected(ca.error());
    peer.ca_pem = std::move(*ca);
  }
  auto transport = std::make_unique<http::ClientTransport>(
      client, std::make_shared<http::Peer>(std::move(peer)), executor);
  // A half-written file leaves the secret as it was.
  auto secret = [options, last = config->client_secret]() mutable {
    if (const auto now = ReadConfig(options)) last = now->client_secret;
    return last;
  };
  return std::make_unique<AzureAccount>(executor, std::move(transport), *config, std::move(secret),
                                        observer);
}

AzureAccount::AzureAccount(async::Executor& executor, std::unique_ptr<http::Transport> transport,
                           const azure::Config& config, std::function<std::string()> secret,
                           cloud::CallObserver* observer)
    : transport_(std::move(transport)),
      tokens_(executor, *transport_, observer, IdentityOf(config, std::move(secret))),
      arm_(executor, *transport_, tokens_, observer,
           {.endpoint = config.endpoint, .api_version = config.api_version}),
      gateway_(arm_, config) {}

}  // namespace berth::server
