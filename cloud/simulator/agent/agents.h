#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "async/executor.h"
#include "cloud/simulator/agenda.h"
#include "cloud/simulator/agent/agent.h"
#include "cloud/simulator/faults.h"
#include "cloud/simulator/server.h"
#include "http/transport.h"
#include "json/json.h"

namespace berth::cloud::simulator::agent {

// Names a request that an agent has not answered yet.
enum class CallId : std::uint64_t { kNone = 0 };

// Sandbox agents as they answer on the wire, each by its pod's IP: the host of a request, whatever
// the port. Unlike a simulated cloud's, their calls take time and end when the client hangs up. No
// clock: the caller passes the time, which does not go back. One thread at a time. O(log n).
class Agents {
 public:
  struct Options {
    bool fences = true;                              // false: the agents of fast-sandbox
    async::Duration pull = std::chrono::seconds(2);  // of an image that the node does not have
    async::Duration start = std::chrono::milliseconds(50);  // of a container
    async::Duration stop = std::chrono::milliseconds(200);  // after SIGTERM
    double stubborn = 0;                   // part of the containers that ignore SIGTERM
    std::uint64_t seed = 1;                // by which they are drawn
    std::optional<AgentPod> unknown = {};  // an agent that is made for a host that has none yet
  };
  static constexpr std::chrono::seconds kLongestCreate{30};
  static constexpr std::chrono::seconds kGrace{10};  // from SIGTERM to SIGKILL

  explicit Agents(Options options) : options_(options), random_(options.seed) {}
  Agents(const Agents&) = delete;
  Agents& operator=(const Agents&) = delete;

  // A request that has arrived: answered, or under way. A response of code 0 says that nothing
  // listens at that address.
  struct Arrival {
    std::optional<http::Response> response;
    CallId call = CallId::kNone;
  };
  Arrival Take(const http::Request& request, async::WallTime now);
  // The client has gone: a create ends, a delete does not. A call that has ended is let be.
  void HangUp(CallId call, async::WallTime now);
  // Lets the time pass. Calls that have ended since are for TakeEnded.
  void Settle(async::WallTime now);
  // A response of code 0 says that the connection was reset.
  struct Ended {
    CallId call;
    http::Response response;
  };
  std::vector<Ended> TakeEnded() { return std::exchange(ended_, {}); }
  // When something happens by itself.
  std::optional<async::WallTime> NextEvent() const { return agenda_.NextTime(); }

  // CreateSandbox, DeleteSandbox, GetAgentStatus; empty for none.
  static std::string ActionOf(const http::Request& request);
  Faults& faults() { return faults_; }

  // Controls that a client does not have. A pod that comes or changes; its agent lives on.
  void Put(const std::string& ip, AgentPod pod);
  // The pod is gone with its containers.
  void Remove(const std::string& ip);
  // The agent's process starts anew. False where there is none.
  bool Restart(const std::string& ip);
  // The agent answers nothing until then; what arrived meanwhile is carried out at the end.
  bool Hang(const std::string& ip, async::WallTime until);
  // A container exits by itself. False where none runs.
  bool Exit(const std::string& ip, const std::string& sandbox_id);
  // All agents, from now on.
  void SetFences(bool fences);
  // Null for none.
  const Agent* Find(const std::string& ip) const;
  bool IsHung(const std::string& ip) const;
  // visit(const std::string& ip, const Agent& agent), by IP.
  template <typename Visit>
  void ForEach(Visit&& visit) const {
    for (const auto& [ip, host] : hosts_) visit(ip, host.agent);
  }
  const std::map<std::string, std::uint64_t>& calls() const { return calls_; }  // by action
  const Options& options() const { return options_; }

 private:
  struct Host {
    Agent agent;
    std::uint64_t incarnation;  // of the process: what it began ends with it
    std::optional<async::WallTime> hung_until = {};
  };
  struct Call {
    std::string ip;
    std::string action;
    std::string creates = {};  // the sandbox that ends with the call
    http::Request request = {};
    std::optional<Fault> fault = {};
    bool waits = false;  // for a hung agent
    bool hung_up = false;
    async::Duration delay = {};  // of its answer
  };
  struct Event {
    enum class Kind : std::uint8_t { kCreateEnds, kCreateFails, kStopped, kAnswer, kWakes } kind;
    std::string ip;
    std::uint64_t incarnation = 0;
    std::string sandbox = {};
    CallId call = CallId::kNone;
    http::Response response = {};
  };

  Host* HostOf(const std::string& ip);
  void Carry(CallId id, async::WallTime now);
  std::optional<http::Response> Create(CallId id, Call& call, Host& host, async::WallTime now);
  std::optional<http::Response> Delete(const Call& call, Host& host, async::WallTime now);
  void Answer(CallId id, http::Response response, async::WallTime now);
  void Happen(Event event, async::WallTime now);
  void ResetCalls(const std::string& ip);
  bool Draw(double part) { return options_.stubborn > 0 && (random_() % 1'000) < part * 1'000; }

  Options options_;
  std::mt19937_64 random_;
  Faults faults_;
  std::map<std::string, Host> hosts_;
  std::map<CallId, Call> under_way_;
  Agenda<Event> agenda_;
  std::vector<Ended> ended_;
  std::map<std::string, std::uint64_t> calls_;
  std::uint64_t last_call_ = 0;
  std::uint64_t last_incarnation_ = 0;
};

}  // namespace berth::cloud::simulator::agent
