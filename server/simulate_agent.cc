#include "server/simulate_agent.h"

#include <iostream>
#include <map>
#include <memory>
#include <set>
#include <utility>

#include "cloud/simulator/agent/agents.h"
#include "cloud/simulator/agent/console.h"
#include "cloud/simulator/agent/transport.h"
#include "log/format.h"
#include "server/cloud_thread.h"
#include "server/process.h"
#include "server/simulation_frame.h"
#include "server/weather.h"

namespace berth::server {
namespace {

namespace simulator = cloud::simulator::agent;

simulator::Agents::Options OptionsOf(async::Executor& executor,
                                     const SimulateAgentOptions& options) {
  return {.fences = options.fences,
          .pull = options.pull,
          .stop = options.stop,
          .seed = executor.Random(),
          .unknown = simulator::AgentPod{.name = options.pod_name,
                                         .uid = options.pod_uid,
                                         .node = options.node_name,
                                         .capacity = options.capacity}};
}

// The agents with their own weather. On the executor's thread.
struct SimulatedAgents {
  SimulatedAgents(async::Executor& executor, const SimulateAgentOptions& options)
      : agents(OptionsOf(executor, options)),
        weather(executor, {options.latency, options.lost_answers, options.refused}),
        network(agents, executor, weather),
        transport(network, executor) {}

  simulator::Agents agents;
  Weather weather;
  simulator::Network network;
  simulator::Transport transport;
};

// The agents as their clients and their operator meet them. A client that closes its connection
// hangs up, which ends its creates.
class AgentFront {
 public:
  using Connection = const trantor::TcpConnection*;

  explicit AgentFront(const SimulateAgentOptions& options) {
    thread_.loop().Run(
        [&] { agents_ = std::make_unique<SimulatedAgents>(thread_.loop(), options); });
  }
  ~AgentFront() {
    thread_.loop().Run([this] {
      thread_.Clear();
      agents_.reset();
    });
  }
  AgentFront(const AgentFront&) = delete;
  AgentFront& operator=(const AgentFront&) = delete;

  void Serve(const drogon::HttpRequestPtr& request, http::Callback callback) {
    const Connection from = request->getConnectionPtr().lock().get();
    thread_.Serve(request, std::move(callback),
                  [this, from](http::Request read, const std::string&, http::Callback home) {
                    const auto id = std::make_shared<std::uint64_t>();
                    *id = thread_.Call(
                        agents_->transport, std::move(read),
                        [this, from, id, home = std::move(home)](const auto& response) {
                          home(response);
                          const auto open = calls_.find(from);
                          if (open != calls_.end()) open->second.erase(*id);
                        });
                    calls_[from].insert(*id);
                  });
  }
  void ServeConsole(const drogon::HttpRequestPtr& request, http::Callback callback) {
    thread_.Serve(request, std::move(callback),
                  [this](const http::Request& read, const std::string& path, http::Callback home) {
                    const async::WallTime now = thread_.loop().WallNow();
                    agents_->network.Settle();
                    const auto answer = simulator::Console(agents_->agents, read, path, now);
                    agents_->network.Settle();
                    home(http::Respond(answer.code, answer.body));
                  });
  }
  // On the connection's thread.
  void HangUp(Connection gone) {
    thread_.loop().Post([this, gone] {
      const auto calls = calls_.extract(gone);
      if (!calls) return;
      for (const std::uint64_t call : calls.mapped()) thread_.GiveUp(call);
    });
  }

 private:
  CloudThread thread_;
  // Of the thread.
  std::unique_ptr<SimulatedAgents> agents_;
  std::map<Connection, std::set<std::uint64_t>> calls_;
};

void Announce(const SimulateAgentOptions& options, std::uint16_t port, std::uint16_t console_port) {
  const std::string dir = options.state_dir.string();
  std::cout << Format(R"(
Simulated agents of sandboxes, one for each address that is called: what runs in them is gone when
this ends (Ctrl-C). Berth calls an agent at its pod's IP, port 5758; this one listens on {}.

The console:  curl --cacert {}/certs/ca.crt https://localhost:{}/sandboxes

)",
                      port, dir, console_port)
            << std::flush;
}

}  // namespace

int SimulateAgent(const SimulateAgentOptions& options) {
  SetUpProcess(options.log_format, options.log_level);
  SimulationFrame frame({options.bind_address, options.tls_names, options.state_dir});
  if (const auto done = frame.Prepare(); !done) return CannotStart(done.error());
  AgentFront front(options);
  using Tls = Listener::Tls;
  const Tls tls = !options.client_ca.empty() ? Tls::kNeedsClientCertificates
                  : options.tls              ? Tls::kServer
                                             : Tls::kNone;
  frame.Listen({.name = "agent",
                .port = options.port,
                .port_flag = "--port",
                .tls = tls,
                .client_ca = options.client_ca,
                .handler = [&front](const auto& request, auto callback) {
                  front.Serve(request, std::move(callback));
                }});
  frame.Listen("console", options.console_port, "--console-port",
               [&front](const auto& request, auto callback) {
                 front.ServeConsole(request, std::move(callback));
               });
  frame.OnDisconnect([&front](const trantor::TcpConnection* gone) { front.HangUp(gone); });
  if (const auto done = frame.Open(); !done) return CannotStart(done.error());
  frame.Run([&] { Announce(options, frame.port(0), frame.port(1)); });
  return 0;
}

}  // namespace berth::server
