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
#include "server/plain_answer.h"

namespace berth::server {
namespace {

using trantor::TcpConnectionPtr;

// The callback Drogon has set is protected; a derived type may name it.
struct ReceiveCallback : trantor::TcpConnection {
  static trantor::RecvMessageCallback Of(const TcpConnectionPtr& connection) {
    return connection.get()->*(&ReceiveCallback::recvMsgCallback_);
  }
};

using Clock = std::chrono::steady_clock;

constexpr Clock::time_point kNoDeadline{};
constexpr std::size_t kMostBacklog = 64 * 1024;  // unsent; beyond it the next request waits
constexpr std::size_t kMostAhead = 256 * 1024;   // received while an answer is on its way
constexpr std::size_t kLargeAnswer = 16 * 1024;  // whether it was sent is looked at
constexpr std::size_t kNegligible = 4 * 1024;    // unsent, on one connection
constexpr std::size_t kShortAnswer = 256;        // in place of one that there is no room for
constexpr std::string_view kTooMuch = "too much is being received and sent at once";
constexpr double kLookEvery = 0.1;  // seconds
constexpr std::chrono::seconds kProgressWithin{1};
constexpr std::size_t kLeastProgress = 64 * 1024;

thread_local ConnectionGuard::State* passing_now = nullptr;

// Frees its memory, too, which trantor keeps for the life of the connection.
void Discard(trantor::MsgBuffer* input) {
  trantor::MsgBuffer fresh;
  input->swap(fresh);
}

void Close(const TcpConnectionPtr& connection) {
  connection->getLoop()->queueInLoop([connection] { connection->forceClose(); });
}

constexpr std::size_t kConnectionBytes = 56 * 1024;  // of one that is idle, with TLS
constexpr std::size_t kSpared = 64;                  // connections beyond the limit

// An open connection is counted as long as its place is held.
using Place = std::shared_ptr<void>;
Place TakePlace(const std::shared_ptr<MemoryUse>& connections) {
  connections->Add(kConnectionBytes);
  return {nullptr, [connections](void*) { connections->Add(-kConnectionBytes); }};
}

struct Socket {
  int fd = -1;
  Place place;
};

struct Handshake {
  Socket socket;
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
std::unordered_map<const trantor::TcpConnection*, Socket>& Sockets() {
  static thread_local std::unordered_map<const trantor::TcpConnection*, Socket> sockets;
  return sockets;
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
  const Direct* direct = nullptr;  // of the guard
  std::weak_ptr<trantor::TcpConnection> connection;
  MemoryBudget::Share share;
  Clock::time_point deadline = kNoDeadline;  // of a request that is half received
  bool has_timer = false;
  bool refused = false;
  bool busy = false;                      // a request was passed on and is not answered yet
  trantor::MsgBuffer* waiting = nullptr;  // bytes to be read when it is, and sent
  std::size_t received = 0;               // bytes of a request that is half there
  std::size_t handling = 0;               // bytes of the one that was passed on
  std::size_t unsent = 0;                 // bytes of answers, when last looked at
  std::size_t handed = 0;                 // what bytesSent() says at least once all is sent
  bool head = false;                      // the request that was passed on wants no body
  // While it holds much: how far it was when its progress was looked at last.
  bool observed = false;
  std::size_t moved = 0;
  Clock::time_point looked_at, moved_at;

  State(FramingLimits limits, const TcpConnectionPtr& owner, MemoryBudget& budget)
      : framer(limits), to_drogon(ReceiveCallback::Of(owner)), connection(owner), share(budget) {}

  // A buffer that grows is up to twice as large as what is in it, and so is a body that is parsed.
  static std::size_t Doubled(std::size_t bytes) {
    return bytes > MemoryBudget::kSmall ? 2 * bytes : bytes;
  }
  std::size_t weight() const {
    return Doubled(received) + framer.decoded_bytes() + Doubled(handling) + unsent;
  }
  // More is sent than bodies: heads, and what TLS adds. So what bytesSent() has ahead of `handed`
  // says nothing.
  std::size_t CountUnsent(trantor::TcpConnection& owner) {
    const std::size_t sent = owner.bytesSent();
    handed = std::max(handed, sent);
    return handed - sent;
  }
};

ConnectionGuard::StatePtr ConnectionGuard::passing() {
  return passing_now ? passing_now->shared_from_this() : nullptr;
}

void ConnectionGuard::OnAccept(int fd) {
  if (closed_) ::shutdown(fd, SHUT_RDWR);
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
  const std::uint16_t port = ntohs(local.sin6_port);  // at the same place in both families
  Place place = TakePlace(connections_);
  const std::size_t most =
      limits_.connections + (std::ranges::contains(spared_, port) ? kSpared : 0);
  if (connections_->bytes() / kConnectionBytes > most) {
    too_many_.Increment();
    ::shutdown(fd, SHUT_RDWR);
  }
  const std::string key = HandshakeKey(address, port);
  const auto deadline = loop->runAfter(limits_.handshake, [key] {
    const auto found = Handshakes().find(key);
    if (found == Handshakes().end()) return;
    ::shutdown(found->second.socket.fd, SHUT_RDWR);
    Handshakes().erase(found);
  });
  Handshakes()[key] = {{fd, std::move(place)}, deadline};
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
    Sockets()[connection.get()] = std::move(handshake->second.socket);
    Handshakes().erase(handshake);
  }
  if (!connection->connected()) {
    // When trantor closes a TLS connection by force it still writes a farewell. If the peer has
    // stopped reading, that write waits for the socket, and the connection that waits is destroyed:
    // an assertion, and the end of the process. A socket that is shut down takes no farewell and
    // waits for nothing.
    if (const auto socket = Sockets().find(connection.get()); socket != Sockets().end()) {
      ::shutdown(socket->second.fd, SHUT_RDWR);
      Sockets().erase(socket);
    }
    return;
  }
  connection->setHighWaterMarkCallback(
      [](const TcpConnectionPtr& slow, std::size_t) { Close(slow); }, limits_.memory);
  auto state = std::make_shared<State>(limits_.framing, connection, budget_);
  const auto direct = direct_.find(connection->localAddr().toPort());
  if (direct != direct_.end()) state->direct = &direct->second;
  connection->setRecvMsgCallback(
      [this, state = std::move(state)](const TcpConnectionPtr& sender, trantor::MsgBuffer* input) {
        OnBytes(*state, sender, input);
      });
}

void ConnectionGuard::StartDeadline(State& state, const TcpConnectionPtr& connection) {
  if (state.deadline == kNoDeadline) {
    state.deadline = Clock::now() + limits_.request;
  }
  if (!std::exchange(state.has_timer, true)) SetTimer(state, connection);
}

// One timer serves all requests of a connection: trantor keeps a cancelled one until it falls due,
// and there would be one for every request that came in pieces.
void ConnectionGuard::SetTimer(State& state, const TcpConnectionPtr& connection) {
  const std::chrono::duration<double> left = state.deadline - Clock::now();
  connection->getLoop()->runAfter(
      std::max(left.count(), 0.0),
      [this, weak = std::weak_ptr(connection), guarded = state.weak_from_this()] {
        const auto slow = weak.lock();
        const auto still = guarded.lock();
        if (!slow || !still) return;
        if (still->deadline == kNoDeadline) {
          still->has_timer = false;
        } else if (still->deadline > Clock::now()) {
          SetTimer(*still, slow);
        } else {
          Refuse(*still, slow, 408, "the request did not arrive in time");
        }
      });
}

void ConnectionGuard::OnBytes(State& state, const TcpConnectionPtr& connection,
                              trantor::MsgBuffer* input) {
  while (input->readableBytes() > 0) {
    if (state.refused) return Discard(input);
    if (state.busy || state.CountUnsent(*connection) > kMostBacklog)
      return Wait(state, connection, input);
    switch (state.framer.Feed({input->peek(), input->readableBytes()})) {
      case RequestFramer::Verdict::kRefused:
        Refuse(state, connection, state.framer.refusal_code(), state.framer.refusal());
        break;
      case RequestFramer::Verdict::kNeedMore:
        if (state.framer.TakeExpectContinue())
          connection->send("HTTP/1.1 100 Continue\r\n\r\n", 25);
        StartDeadline(state, connection);
        state.received = input->readableBytes();
        if (!state.share.TrySet(state.weight())) {
          Refuse(state, connection, 429, kTooMuch);
          break;
        }
        if (state.received > MemoryBudget::kSmall) Observe(state, connection);
        return;
      case RequestFramer::Verdict::kComplete:
        state.deadline = kNoDeadline;
        PassOn(state, connection, input);
        if (input->readableBytes() == 0) return;
        // The bytes after it wait for the next turn of the loop: by then a stream has taken the
        // connection over.
        state.waiting = input;
        connection->getLoop()->queueInLoop(
            [this, weak = std::weak_ptr(connection), guarded = state.weak_from_this()] {
              const auto next = weak.lock();
              const auto still = guarded.lock();
              if (next && still && next->connected()) GoOn(*still, next);
            });
        return;
    }
  }
}

// A client that sends ahead has its next request read when the answer before has gone.
void ConnectionGuard::Wait(State& state, const TcpConnectionPtr& connection,
                           trantor::MsgBuffer* input) {
  state.waiting = input;
  state.received = input->readableBytes();
  if (state.received > kMostAhead || !state.share.TrySet(state.weight())) {
    refused_.Add({{"code", "429"}}).Increment();
    state.refused = true;
    return Close(connection);
  }
  if (!state.busy) Observe(state, connection);
}

void ConnectionGuard::PassOn(State& state, const TcpConnectionPtr& connection,
                             trantor::MsgBuffer* input) {
  const std::size_t length = state.framer.length();
  const std::string_view bytes(input->peek(), input->readableBytes());
  const auto posted = state.direct && length <= MemoryBudget::kSmall
                          ? state.framer.posted_json(bytes)
                          : std::nullopt;
  std::string rewritten = state.framer.TakeRewritten();
  state.framer.Reset();
  state.head = bytes.starts_with("HEAD ");
  state.received = 0;
  state.handling = length;
  if (!state.share.TrySet(state.weight())) return Refuse(state, connection, 429, kTooMuch);
  state.busy = true;
  if (draining_) last_request_ = Clock::now();
  passing_now = &state;
  const bool taken = posted && (*state.direct)(*posted, connection);
  passing_now = nullptr;
  if (taken) return input->retrieve(length);
  const auto to_drogon = [&](trantor::MsgBuffer* request) {
    passing_now = &state;
    state.to_drogon(connection, request);
    passing_now = nullptr;
  };
  const bool all = length == input->readableBytes();
  if (rewritten.empty() && all && length <= MemoryBudget::kSmall) {
    to_drogon(input);
    input->retrieveAll();
    return;
  }
  trantor::MsgBuffer request(rewritten.empty() ? 0 : rewritten.size());
  if (!rewritten.empty()) {
    request.append(rewritten);
    rewritten = {};
  } else if (all) {
    request.swap(*input);
  } else {
    request.append(input->peek(), length);
  }
  if (all) {
    Discard(input);
  } else {
    input->retrieve(length);
  }
  to_drogon(&request);
}

bool ConnectionGuard::OnAnswer(const StatePtr& state, std::size_t bytes) {
  const auto connection = state->connection.lock();
  if (!connection) return true;
  if (!connection->getLoop()->isInLoopThread()) {
    connection->getLoop()->queueInLoop([this, state, bytes] { OnAnswer(state, bytes); });
    return true;
  }
  if (state->head) bytes = 0;
  const bool large = bytes > kLargeAnswer;
  state->busy = false;
  state->handling = 0;
  if (large) state->unsent += bytes;
  const bool fits = state->share.TrySet(state->weight());
  if (!fits) {
    state->unsent -= bytes;
    state->share.Set(state->weight());
  }
  state->handed += fits ? bytes : kShortAnswer;
  // By the time this runs Drogon has sent what the socket took.
  if (large || state->waiting)
    connection->getLoop()->queueInLoop([this, state, connection] {
      if (connection->connected()) GoOn(*state, connection);
    });
  return fits;
}

// After an answer, or some time: counts what is unsent, and reads on where it is little. False when
// there is nothing to observe any more.
bool ConnectionGuard::GoOn(State& state, const TcpConnectionPtr& connection) {
  state.unsent = state.CountUnsent(*connection);
  state.share.Set(state.weight());
  if (state.waiting && !state.busy && state.unsent <= kMostBacklog) {
    trantor::MsgBuffer* const input = std::exchange(state.waiting, nullptr);
    // Not OnBytes itself: a stream may have taken the connection over.
    ReceiveCallback::Of(connection)(connection, input);
  }
  const bool much = state.unsent > kNegligible || state.received > MemoryBudget::kSmall;
  if (much) Observe(state, connection);
  return much;
}

void ConnectionGuard::Observe(State& state, const TcpConnectionPtr& connection) {
  if (std::exchange(state.observed, true)) return;
  state.moved = connection->bytesSent() + connection->bytesReceived();
  state.looked_at = state.moved_at = Clock::now();
  SetObserver(state, connection);
}

void ConnectionGuard::SetObserver(State& state, const TcpConnectionPtr& connection) {
  connection->getLoop()->runAfter(
      kLookEvery, [this, weak = std::weak_ptr(connection), guarded = state.weak_from_this()] {
        const auto observed = weak.lock();
        const auto still = guarded.lock();
        if (!observed || !still || !observed->connected()) return;
        if (!GoOn(*still, observed)) {
          still->observed = false;
        } else if (!IsStuck(*still, observed)) {
          SetObserver(*still, observed);
        } else if (still->received > 0 && still->unsent == 0) {
          Refuse(*still, observed, 429, kTooMuch);
        } else {
          refused_.Add({{"code", "408"}}).Increment();
          Close(observed);
        }
      });
}

// Whether it has not moved for as long as a request may take. While memory is scarce, those who
// hold much of it have to move every second.
bool ConnectionGuard::IsStuck(State& state, const TcpConnectionPtr& connection) const {
  const auto now = Clock::now();
  if (now - state.looked_at < kProgressWithin) return false;
  const std::size_t moved = connection->bytesSent() + connection->bytesReceived();
  const std::size_t since = moved - std::exchange(state.moved, moved);
  state.looked_at = now;
  if (since > 0) state.moved_at = now;
  return now - state.moved_at >= limits_.request || (since < kLeastProgress && budget_.scarce());
}

void ConnectionGuard::Refuse(State& state, const TcpConnectionPtr& connection, int code,
                             std::string_view why) {
  if (state.refused) return;
  state.refused = true;
  state.received = state.handling = 0;
  state.share.Set(state.weight());
  refused_.Add({{"code", std::to_string(code)}}).Increment();
  log::Debug("request refused",
             {{"peer", connection->peerAddr().toIp()}, {"code", code}, {"error", why}});
  kube::Status status{
      .code = code, .reason = StatusReason(code), .message = std::string(why), .details = {}};
  if (code == 429) status.details.retry_after_seconds = 1;
  connection->send(PlainAnswer(status, true));
  connection->shutdown();
  connection->getLoop()->runAfter(1.0, [weak = std::weak_ptr(connection)] {
    if (const auto lingering = weak.lock()) lingering->forceClose();
  });
}

}  // namespace berth::server
