#pragma once

#include <cstdint>
#include <map>
#include <memory>

#include "async/executor.h"
#include "cloud/simulator/agent/agents.h"
#include "cloud/simulator/transport.h"
#include "http/transport.h"

namespace berth::cloud::simulator::agent {

// The agents' end of the way to them in one process: what has left a caller is here, and goes on
// when the caller has crashed. The executor is the agents' and so is its date. Agents learn at once
// that a client has hung up.
class Network {
 public:
  Network(Agents& agents, async::Executor& executor, Fates& fates)
      : agents_(agents), executor_(executor), fates_(fates) {}
  Network(const Network&) = delete;
  Network& operator=(const Network&) = delete;

  // After a control of the agents: answers what it ended, and sets the timer anew.
  void Settle();

 private:
  friend class Transport;
  struct Call;

  void Carry(const std::shared_ptr<Call>& call);
  void Arrive(const std::shared_ptr<Call>& call);
  void Finish(const std::shared_ptr<Call>& call, http::Response response);
  void HangUp(Call& call);

  Agents& agents_;
  async::Executor& executor_;
  Fates& fates_;
  std::map<std::uint64_t, async::Handle> on_their_way_;
  std::map<CallId, std::shared_ptr<Call>> under_way_;
  async::Handle timer_;
  std::uint64_t last_ = 0;
};

// A caller's end. Its executor may be another than the agents', if both run on one thread and have
// the same time; network and executor outlive it.
class Transport : public http::Transport {
 public:
  Transport(Network& network, async::Executor& executor) : network_(network), executor_(executor) {}

  async::Handle Send(http::Request request, Done done) override;

 private:
  Network& network_;
  async::Executor& executor_;
};

}  // namespace berth::cloud::simulator::agent
