#include "server/connection_guard.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/err.h>
#include <sys/socket.h>
#include <trantor/net/EventLoop.h>

#include <algorithm>
#include <memory>
#include <string>
#include <unordered_map>

#include "kube/status.h"
#include "log/log.h"

namespace berth::server {
namespace {

using trantor::TcpConnectionPtr;

// The callback Drogon has set is protected; a derived type may name it.
struct ReceiveCallback : trantor::TcpConnection {
  static trantor::RecvMessageCallback Of(const TcpConnectionPtr& connection) {
    return connection.get()->*(&ReceiveCallback::recvMsgCallback_);
  }
};

constexpr std::chrono::steady_clock::time_point kNoDeadline{};

struct Handshake {
  int fd;
  trantor::TimerId deadline;
};

// Handshakes under way on this loop, by their addresses. The socket is known here and not to
// trantor's callers, the connection's end only to them: the addresses are what both have.
std::string HandshakeKey(const trantor::InetAddress& peer, std::uint16_t local_port) {
  return peer.toIpPort() + " " + std::to_string(local_port);
}

std::unordered_map<std::string, Handshake>& Handshakes() {
  static thread_local std::unordered_map<std::string, Handshake> handshakes;
  return handshakes;
}

// The sockets of this loop's connections, which trantor does not tell.
std::unordered_map<const trantor::TcpConnection*, int>& Sockets() {
  static thread_local std::unordered_map<const trantor::TcpConnection*, int> sockets;
  return sockets;
}

std::string_view Reason(int code) {
  switch (code) {
    case 408:
      return "Request Timeout";
    case 413:
      return "Content Too Large";
    case 414:
      return "URI Too Long";
    case 417:
      return "Expectation Failed";
    case 429:
      return "Too Many Requests";
    case 431:
      return "Request Header Fields Too Large";
    case 501:
      return "Not Implemented";
    case 505:
      return "HTTP Version Not Supported";
    default:
      return "Bad Request";
  }
}

std::string StatusReason(int code) {
  switch (code) {
    case 408:
      return "Timeout";
    case 413:
      return "RequestEntityTooLarge";
    case 429:
      return "TooManyRequests";
    default:
      return "BadRequest";
  }
}

}  // namespace

struct ConnectionGuard::State : std::enable_shared_from_this<State> {
  RequestFramer framer;
  trantor::RecvMessageCallback to_drogon;
  std::chrono::steady_clock::time_point deadline =
      kNoDeadline;  // of a request that is half received
  bool has_timer = false;
  std::size_t held = 0;
  bool refused = false;
  std::atomic<std::size_t>* total;

  State(FramingLimits limits, trantor::RecvMessageCallback next, std::atomic<std::size_t>* all)
      : framer(limits), to_drogon(std::move(next)), total(all) {}
  ~State() { *total -= held; }
};

void ConnectionGuard::OnAccept(int fd) const {
  // A peer that is gone without a word is noticed even on a stream nobody writes to.
  const int idle = 60, interval = 15, probes = 4;
  setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle, sizeof idle);
  setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &interval, sizeof interval);
  setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &probes, sizeof probes);

  sockaddr_in6 peer{}, local{};
  socklen_t size = sizeof peer, local_size = sizeof local;
  auto* loop = trantor::EventLoop::getEventLoopOfCurrentThread();
  if (loop == nullptr || getpeername(fd, reinterpret_cast<sockaddr*>(&peer), &size) != 0 ||
      getsockname(fd, reinterpret_cast<sockaddr*>(&local), &local_size) != 0) {
    return;
  }
  const trantor::InetAddress address =
      peer.sin6_family == AF_INET6
          ? trantor::InetAddress(peer)
          : trantor::InetAddress(reinterpret_cast<const sockaddr_in&>(peer));
  const std::string key =
      HandshakeKey(address, ntohs(local.sin6_port));  // at the same place in both families
  const auto deadline = loop->runAfter(limits_.handshake, [key] {
    const auto found = Handshakes().find(key);
    if (found == Handshakes().end()) return;
    ::shutdown(found->second.fd, SHUT_RDWR);
    Handshakes().erase(found);
  });
  Handshakes()[key] = {fd, deadline};
}

void ConnectionGuard::OnConnection(const TcpConnectionPtr& connection) {
  // A failed handshake leaves errors behind that trantor would take for the next connection's: now,
  // and after it returns.
  ERR_clear_error();
  connection->getLoop()->queueInLoop([] { ERR_clear_error(); });
  const auto handshake =
      Handshakes().find(HandshakeKey(connection->peerAddr(), connection->localAddr().toPort()));
  if (handshake != Handshakes().end()) {
    connection->getLoop()->invalidateTimer(handshake->second.deadline);
    Sockets()[connection.get()] = handshake->second.fd;
    Handshakes().erase(handshake);
  }
  if (!connection->connected()) {
    // When trantor closes a TLS connection by force it still writes a farewell. If the peer has
    // stopped reading, that write waits for the socket, and the connection that waits is destroyed:
    // an assertion, and the end of the process. A socket that is shut down takes no farewell and
    // waits for nothing.
    if (const auto socket = Sockets().find(connection.get()); socket != Sockets().end()) {
      ::shutdown(socket->second, SHUT_RDWR);
      Sockets().erase(socket);
    }
    return;
  }
  connection->setHighWaterMarkCallback(
      [](const TcpConnectionPtr& slow, std::size_t) {
        slow->getLoop()->queueInLoop([slow] { slow->forceClose(); });
      },
      limits_.unsent);
  auto state =
      std::make_shared<State>(limits_.framing, ReceiveCallback::Of(connection), &half_received_);
  connection->setRecvMsgCallback(
      [this, state = std::move(state)](const TcpConnectionPtr& sender, trantor::MsgBuffer* input) {
        OnBytes(*state, sender, input);
      });
}

void ConnectionGuard::Hold(State& state, std::size_t bytes) {
  half_received_ += bytes;
  half_received_ -= state.held;
  state.held = bytes;
}

void ConnectionGuard::StartDeadline(State& state, const TcpConnectionPtr& connection) {
  if (state.deadline == kNoDeadline) {
    state.deadline = std::chrono::steady_clock::now() + limits_.request;
  }
  if (!std::exchange(state.has_timer, true)) SetTimer(state, connection);
}

// One timer serves all requests of a connection: trantor keeps a cancelled one until it falls due,
// and there would be one for every request that came in pieces.
void ConnectionGuard::SetTimer(State& state, const TcpConnectionPtr& connection) {
  const std::chrono::duration<double> left = state.deadline - std::chrono::steady_clock::now();
  connection->getLoop()->runAfter(
      std::max(left.count(), 0.0),
      [this, weak = std::weak_ptr(connection), guarded = state.weak_from_this()] {
        const auto slow = weak.lock();
        const auto still = guarded.lock();
        if (!slow || !still) return;
        if (still->deadline == kNoDeadline) {
          still->has_timer = false;
        } else if (still->deadline > std::chrono::steady_clock::now()) {
          SetTimer(*still, slow);
        } else {
          Refuse(*still, slow, 408, "the request did not arrive in time");
        }
      });
}

void ConnectionGuard::OnBytes(State& state, const TcpConnectionPtr& connection,
                              trantor::MsgBuffer* input) {
  while (input->readableBytes() > 0) {
    if (state.refused) return input->retrieveAll();
    switch (state.framer.Feed({input->peek(), input->readableBytes()})) {
      case RequestFramer::Verdict::kRefused:
        Refuse(state, connection, state.framer.refusal_code(), state.framer.refusal());
        break;
      case RequestFramer::Verdict::kNeedMore:
        if (state.framer.TakeExpectContinue())
          connection->send("HTTP/1.1 100 Continue\r\n\r\n", 25);
        StartDeadline(state, connection);
        Hold(state, input->readableBytes());
        if (half_received_ > limits_.half_received)
          Refuse(state, connection, 429, "too much is being received at once");
        return;
      case RequestFramer::Verdict::kComplete: {
        state.deadline = kNoDeadline;
        Hold(state, 0);
        PassOn(state, connection, input);
        if (input->readableBytes() == 0) return;
        // What follows waits for the next turn of the loop: by then a stream has taken the
        // connection over.
        connection->getLoop()->queueInLoop([weak = std::weak_ptr(connection), input] {
          if (const auto next = weak.lock(); next && next->connected())
            ReceiveCallback::Of(next)(next, input);
        });
        return;
      }
    }
  }
}

void ConnectionGuard::PassOn(State& state, const TcpConnectionPtr& connection,
                             trantor::MsgBuffer* input) {
  const std::size_t length = state.framer.length();
  const std::string rewritten = state.framer.TakeRewritten();
  state.framer.Reset();
  if (rewritten.empty() && length == input->readableBytes()) {
    state.to_drogon(connection, input);
    input->retrieveAll();
    return;
  }
  trantor::MsgBuffer request(rewritten.empty() ? length : rewritten.size());
  if (rewritten.empty()) {
    request.append(input->peek(), length);
  } else {
    request.append(rewritten);
  }
  input->retrieve(length);
  state.to_drogon(connection, &request);
}

void ConnectionGuard::Refuse(State& state, const TcpConnectionPtr& connection, int code,
                             std::string_view why) {
  if (state.refused) return;
  state.refused = true;
  Hold(state, 0);
  refused_.Add({{"code", std::to_string(code)}}).Increment();
  log::Debug("request refused",
             {{"peer", connection->peerAddr().toIp()}, {"code", code}, {"error", why}});
  const std::string body = kube::ToJson(
      {.code = code, .reason = StatusReason(code), .message = std::string(why), .details = {}});
  std::string answer = "HTTP/1.1 " + std::to_string(code) + " " + std::string(Reason(code)) +
                       "\r\nContent-Type: application/json\r\nConnection: close\r\n";
  if (code == 429) answer += "Retry-After: 1\r\n";
  answer += "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
  connection->send(std::move(answer));
  connection->shutdown();
  connection->getLoop()->runAfter(1.0, [weak = std::weak_ptr(connection)] {
    if (const auto lingering = weak.lock()) lingering->forceClose();
  });
}

}  // namespace berth::server
