#pragma once

#include <memory>

#include "async/executor.h"
#include "cloud/agent/agent_client.h"
#include "cloud/call_log.h"
#include "http/client.h"
#include "http/transport.h"
#include "systems/options.h"

namespace berth::server {

// The way to the agents of sandboxes. Of the control thread.
class AgentAccess {
 public:
  // Over HTTP, or with mTLS if the options name a folder. kTerminal when one of its files cannot be
  // read. Executor, client and observer, if there is one, outlive it.
  static Result<std::unique_ptr<AgentAccess>> Open(async::Executor& executor, http::Client& client,
                                                   cloud::CallObserver* observer,
                                                   const systems::SandboxOptions& options);

  // By whatever way `transport` is.
  AgentAccess(async::Executor& executor, std::unique_ptr<http::Transport> transport,
              cloud::CallObserver* observer, bool tls,
              std::uint16_t port = cloud::AgentAddress::kPort)
      : transport_(std::move(transport)),
        client_(executor, *transport_, observer, {.tls = tls, .port = port}) {}

  cloud::SandboxAgents& agents() { return client_; }

 private:
  const std::unique_ptr<http::Transport> transport_;
  cloud::agent::AgentClient client_;
};

}  // namespace berth::server
