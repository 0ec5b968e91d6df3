#pragma once

#include <memory>
#include <string>

#include "async/executor.h"
#include "cloud/simulator/agent/agents.h"
#include "cloud/simulator/agent/transport.h"
#include "handlers/memory/agent_pods.h"
#include "http/transport.h"
#include "server/weather.h"

namespace berth::server {

// The agents of the demo: one in each pod of an API server in memory that is labelled as one and
// has an address. They run in the process, on the executor's thread.
class DemoAgents : public http::Transport {
 public:
  // The pods are followed until `pods`' server ends; `executor` outlives that. On its thread.
  explicit DemoAgents(async::Executor& executor);
  ~DemoAgents() override;

  // Follows the pods of the server from now on. Once.
  void Follow(memory::AgentPods& pods);

  async::Handle Send(http::Request request, Done done) override {
    return transport_.Send(std::move(request), std::move(done));
  }

 private:
  void Notice(const memory::AgentPods::Change& change);

  async::Executor& executor_;
  cloud::simulator::agent::Agents agents_;
  Weather weather_;
  cloud::simulator::agent::Network network_;
  cloud::simulator::agent::Transport transport_;
  std::shared_ptr<DemoAgents*> self_;  // null once this is gone; of the executor's thread
};

}  // namespace berth::server
