#include "server/azure_account.h"

#include <cstdlib>
#include <utility>

#include "http/file.h"
#include "server/cloud_transport.h"

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

}  // namespace

Result<std::unique_ptr<AzureAccount>> AzureAccount::Open(async::Executor& executor,
                                                         http::Client& client,
                                                         cloud::CallObserver* observer,
                                                         const systems::AzureOptions& options) {
  const auto config = ReadConfig(options);
  if (!config) return std::unexpected(config.error());
  auto transport = OpenCloudTransport(executor, client, options.ca_file);
  if (!transport) return std::unexpected(transport.error());
  // A half-written file leaves the secret as it was.
  auto secret = [options, last = config->client_secret]() mutable {
    if (const auto now = ReadConfig(options)) last = now->client_secret;
    return last;
  };
  return std::make_unique<AzureAccount>(executor, *std::move(transport), *config, std::move(secret),
                                        observer);
}

AzureAccount::AzureAccount(async::Executor& executor, std::unique_ptr<http::Transport> transport,
                           const azure::Config& config, std::function<std::string()> secret,
                           cloud::CallObserver* observer)
    : transport_(std::move(transport)),
      tokens_(executor, *transport_, observer, azure::IdentityOf(config, std::move(secret))),
      arm_(executor, *transport_, tokens_, observer,
           {.endpoint = config.endpoint, .api_version = config.api_version}),
      gateway_(arm_, config) {}

}  // namespace berth::server
