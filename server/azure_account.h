#pragma once

#include <functional>
#include <memory>
#include <string>

#include "async/executor.h"
#include "cloud/azure/arm_client.h"
#include "cloud/azure/config.h"
#include "cloud/azure/gateway_client.h"
#include "cloud/azure/token_source.h"
#include "cloud/call_log.h"
#include "http/client.h"
#include "http/transport.h"
#include "systems/options.h"

namespace berth::server {

// Access to Azure and all that calling it takes. Of the control thread.
class AzureAccount {
 public:
  // Over HTTPS, as the options and the cloud config say. kTerminal when a file cannot be read or
  // lacks a member. A secret that changes in the file is used for the next token. Executor, client
  // and observer, if there is one, outlive the account.
  static Result<std::unique_ptr<AzureAccount>> Open(async::Executor& executor, http::Client& client,
                                                    cloud::CallObserver* observer,
                                                    const systems::AzureOptions& options);

  // In whatever cloud `transport` leads to. `secret` gives the client secret of the moment.
  AzureAccount(async::Executor& executor, std::unique_ptr<http::Transport> transport,
               const cloud::azure::Config& config, std::function<std::string()> secret,
               cloud::CallObserver* observer);

  cloud::ServiceGateway& service_gateway() { return gateway_; }

 private:
  const std::unique_ptr<http::Transport> transport_;
  cloud::azure::TokenSource tokens_;
  cloud::azure::ArmClient arm_;
  cloud::azure::GatewayClient gateway_;
};

}  // namespace berth::server
