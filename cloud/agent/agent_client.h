#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "async/executor.h"
#include "async/task.h"
#include "cloud/answer.h"
#include "cloud/call_log.h"
#include "cloud/sandbox_agent.h"
#include "http/transport.h"

namespace berth::cloud::agent {

struct AgentOptions {
  // HTTPS: an agent's certificate has its pod's IP among its names; the transport has the CA and,
  // for mTLS, our certificate.
  bool tls = false;
  std::optional<std::uint16_t> port = {};  // in the place of the addresses' own
  std::chrono::milliseconds create_timeout = SandboxAgents::kCreateTimeout;
  std::chrono::milliseconds status_timeout = SandboxAgents::kStatusTimeout;
  std::chrono::milliseconds delete_timeout = SandboxAgents::kDeleteTimeout;
};

// Sandbox agents over HTTP. Each call is told to the observer, if there is one, as CreateSandbox,
// DeleteSandbox or GetAgentStatus, unless its task is destroyed before it ends. A call is sent
// once.
class AgentClient : public SandboxAgents {
 public:
  // All outlive the client.
  AgentClient(async::Executor& executor, http::Transport& transport, CallObserver* observer,
              AgentOptions options);

  async::Task<Result<void>> Create(AgentAddress agent, SandboxRequest request) override;
  async::Task<Result<void>> Delete(AgentAddress agent, std::string sandbox_id) override;
  async::Task<Result<AgentStatus>> Status(AgentAddress agent) override;

 private:
  struct Call;

  async::Task<Result<http::Response>> Send(const Call* call);
  // Tells the observer, and names the call in its error.
  void Complete(const Call& call, Answer& answer) const;
  http::Request RequestOf(const Call& call) const;

  async::Executor& executor_;
  http::Transport& transport_;
  CallObserver* observer_;
  const AgentOptions options_;
};

}  // namespace berth::cloud::agent
