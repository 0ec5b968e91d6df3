#include "handlers/stream.h"

#include <trantor/net/EventLoop.h>

#include <algorithm>
#include <cstring>
#include <memory>

#include "log/format.h"

namespace berth::http {
namespace {

using trantor::TcpConnectionPtr;

constexpr std::string_view kLastChunk = "0\r\n\r\n";
constexpr double kLinger = 5;  // seconds a finished stream's reader has to hang up

}  // namespace

std::string Chunk(std::string_view data) { return Format("{:x}\r\n{}\r\n", data.size(), data); }

// More is sent than what was given: heads, and what TLS adds. So what bytesSent() has ahead of
// `given_` says nothing.
void UnsentBudget::Share::Look(const trantor::TcpConnection& connection) {
  const std::size_t sent = connection.bytesSent();
  given_ = std::max(given_, sent);
  Set(given_ - sent);
}

void UnsentBudget::Share::Set(std::size_t unsent) {
  // Wraps around for less.
  if (unsent != unsent_) budget_.bytes_.fetch_add(unsent - unsent_, std::memory_order_relaxed);
  unsent_ = unsent;
}

void CutOff(const TcpConnectionPtr& connection) {
  connection->getLoop()->queueInLoop([connection] { connection->forceClose(); });
}

void TakeOver(const TcpConnectionPtr& connection, std::size_t most_unsent,
              std::function<void()> cut_off) {
  connection->keepAlive();
  connection->setHighWaterMarkCallback(
      [cut_off = std::move(cut_off)](const TcpConnectionPtr& slow, std::size_t) {
        cut_off();
        CutOff(slow);
      },
      most_unsent);
  // Queued, because the callback to be replaced is the one that is running now.
  connection->getLoop()->queueInLoop([weak = std::weak_ptr(connection)] {
    if (const auto streaming = weak.lock()) {
      streaming->setRecvMsgCallback(
          [](const TcpConnectionPtr&, trantor::MsgBuffer* input) { input->retrieveAll(); });
    }
  });
}

void SendAsTaken(const TcpConnectionPtr& connection, std::string first,
                 std::function<std::string()> next) {
  connection->sendStream([next = std::move(next), pending = std::move(first),
                          sent = std::size_t{0}](char* buffer, std::size_t size) mutable {
    if (buffer == nullptr) return std::size_t{0};
    if (sent == pending.size()) {
      pending = next();
      sent = 0;
    }
    const std::size_t take = std::min(size, pending.size() - sent);
    std::memcpy(buffer, pending.data() + sent, take);
    sent += take;
    return take;
  });
}

void EndStream(const TcpConnectionPtr& connection, std::string_view last_words) {
  connection->send(std::string(last_words) + std::string(kLastChunk));
  connection->shutdown();
  connection->getLoop()->runAfter(kLinger, [weak = std::weak_ptr(connection)] {
    if (const auto lingering = weak.lock()) lingering->forceClose();
  });
}

}  // namespace berth::http
