#pragma once

#include <prometheus/counter.h>
#include <prometheus/family.h>
#include <trantor/net/TcpConnection.h>

#include <atomic>
#include <chrono>

#include "server/framing.h"

namespace berth::server {

// Stands between the sockets and Drogon: strict framing, a deadline for the handshake and for each
// request, a bound on what all half-received requests hold together, and a clean OpenSSL error
// queue. docs/drogon.md says against what.
class ConnectionGuard {
 public:
  struct Limits {
    FramingLimits framing;
    std::chrono::seconds handshake{10};
    std::chrono::seconds request{30};
    std::size_t half_received = 64 * 1024 * 1024;  // bytes, over all connections
    std::size_t unsent = 64 * 1024 * 1024;         // bytes an ordinary reader may let pile up
  };

  // `refused` counts, by HTTP code.
  ConnectionGuard(Limits limits, prometheus::Family<prometheus::Counter>& refused)
      : limits_(limits), refused_(refused) {}

  // For Drogon's setAfterAcceptSockOptCallback: on the loop, before the handshake.
  void OnAccept(int fd) const;
  // For Drogon's setConnectionCallback: on the loop, when the handshake is through and when the
  // connection has ended.
  void OnConnection(const trantor::TcpConnectionPtr& connection);

 private:
  struct State;

  void OnBytes(State& state, const trantor::TcpConnectionPtr& connection,
               trantor::MsgBuffer* input);
  void PassOn(State& state, const trantor::TcpConnectionPtr& connection, trantor::MsgBuffer* input);
  void Refuse(State& state, const trantor::TcpConnectionPtr& connection, int code,
              std::string_view why);
  void StartDeadline(State& state, const trantor::TcpConnectionPtr& connection);
  void SetTimer(State& state, const trantor::TcpConnectionPtr& connection);
  void Hold(State& state, std::size_t bytes);

  const Limits limits_;
  prometheus::Family<prometheus::Counter>& refused_;
  std::atomic<std::size_t> half_received_ = 0;
};

}  // namespace berth::server
