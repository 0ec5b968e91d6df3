#pragma once

#include <prometheus/counter.h>
#include <prometheus/family.h>
#include <trantor/net/TcpConnection.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "server/framing.h"
#include "server/memory_budget.h"

namespace berth::server {

// Stands between the sockets and Drogon: strict framing, a deadline for the handshake and for each
// request, one request of a connection at a time, a bound on what all connections hold together,
// and a clean OpenSSL error queue. docs/drogon.md says against what.
class ConnectionGuard {
 public:
  struct Limits {
    FramingLimits framing;
    std::chrono::seconds handshake{10};
    std::chrono::seconds request{30};       // for a request to arrive, and for an answer to move on
    std::size_t memory = 64 * 1024 * 1024;  // bytes, over all connections; see MemoryBudget
    std::size_t connections = 6'000;        // of all listeners; handshakes under way count
  };
  // A connection as the guard knows it.
  struct State;
  using StatePtr = std::shared_ptr<State>;

  // `refused` counts by HTTP code, `too_many` the connections beyond the limit.
  ConnectionGuard(Limits limits, prometheus::Family<prometheus::Counter>& refused,
                  prometheus::Counter& too_many)
      : limits_(limits), refused_(refused), too_many_(too_many), budget_(limits.memory) {}

  // Connections to this port may be a few more than the limit: probes come through while strangers
  // take all connections there are. Before the listeners open only.
  void Spare(std::uint16_t port) { spared_.push_back(port); }

  // Takes a PostedJson of up to MemoryBudget::kSmall bytes, which ends when it returns, in Drogon's
  // place; false leaves the request to Drogon. On the connection's loop.
  using Direct = std::function<bool(const PostedJson&, const trantor::TcpConnectionPtr&)>;
  // For connections to this port. Before the listeners open only.
  void PassDirectly(std::uint16_t port, Direct direct) { direct_[port] = std::move(direct); }

  // For Drogon's setAfterAcceptSockOptCallback: on the loop, before the handshake.
  void OnAccept(int fd);
  // For Drogon's setConnectionCallback: on the loop, when the handshake is through and when the
  // connection has ended.
  void OnConnection(const trantor::TcpConnectionPtr& connection);

  // The connection whose request this thread is passing on to Drogon, and so to its handler.
  static StatePtr passing();
  // The request that was passed on last is answered with `bytes`, to be sent when this
  // returns. False when there is no room for it: a short answer has to be sent instead. From any
  // thread.
  bool OnAnswer(const StatePtr& state, std::size_t bytes);

  // True once after much memory was held and most of it has been given back. From any thread.
  bool TakeBurstEnd() {
    const bool of_connections = connections_->TakeBurstEnd();
    return budget_.TakeBurstEnd() || of_connections;
  }

  // From now on the time of the last request is kept; from any thread, as the others below.
  void StartDraining() {
    last_request_ = std::chrono::steady_clock::now();
    draining_ = true;
  }
  std::chrono::steady_clock::time_point last_request() const { return last_request_; }
  // From now on a new connection is closed before anything is said on it.
  void RefuseConnections() { closed_ = true; }

 private:
  void OnBytes(State& state, const trantor::TcpConnectionPtr& connection,
               trantor::MsgBuffer* input);
  void Wait(State& state, const trantor::TcpConnectionPtr& connection, trantor::MsgBuffer* input);
  void PassOn(State& state, const trantor::TcpConnectionPtr& connection, trantor::MsgBuffer* input);
  void Refuse(State& state, const trantor::TcpConnectionPtr& connection, int code,
              std::string_view why);
  void StartDeadline(State& state, const trantor::TcpConnectionPtr& connection);
  void SetTimer(State& state, const trantor::TcpConnectionPtr& connection);
  bool GoOn(State& state, const trantor::TcpConnectionPtr& connection);
  void Observe(State& state, const trantor::TcpConnectionPtr& connection);
  void SetObserver(State& state, const trantor::TcpConnectionPtr& connection);
  bool IsStuck(State& state, const trantor::TcpConnectionPtr& connection) const;

  const Limits limits_;
  prometheus::Family<prometheus::Counter>& refused_;
  prometheus::Counter& too_many_;
  MemoryBudget budget_;
  std::vector<std::uint16_t> spared_;
  std::map<std::uint16_t, Direct> direct_;
  // Memory of all open connections, from accept to end. The threads that count may outlive the
  // guard.
  const std::shared_ptr<MemoryUse> connections_ = std::make_shared<MemoryUse>();
  std::atomic<bool> draining_ = false;
  std::atomic<bool> closed_ = false;
  std::atomic<std::chrono::steady_clock::time_point> last_request_;
};

}  // namespace berth::server
