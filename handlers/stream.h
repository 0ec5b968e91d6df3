#pragma once

#include <trantor/net/TcpConnection.h>

#include <atomic>
#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

// An answer that goes on: a watch's lines, in chunks on the connection itself, because Drogon's own
// streams have no back-pressure. All on the connection's loop.
namespace berth::http {

// The connection serves nothing else afterwards: Drogon still waits for an answer on it.
inline constexpr std::string_view kStreamHead =
    "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nCache-Control: no-cache, private\r\n"
    "Connection: close\r\nTransfer-Encoding: chunked\r\n\r\n";

std::string Chunk(std::string_view data);

// The bytes that all streams together have not sent yet, and how many these may be. Thread-safe.
class UnsentBudget {
 public:
  explicit UnsentBudget(std::size_t limit) : limit_(limit) {}
  UnsentBudget(const UnsentBudget&) = delete;
  UnsentBudget& operator=(const UnsentBudget&) = delete;

  std::size_t limit() const { return limit_; }
  std::size_t bytes() const { return bytes_.load(std::memory_order_relaxed); }
  // Bytes beyond the limit.
  std::size_t excess() const {
    const std::size_t now = bytes();
    return now > limit_ ? now - limit_ : 0;
  }

  // One stream's part, given back when it ends. On the connection's loop.
  class Share {
   public:
    explicit Share(UnsentBudget& budget) : budget_(budget) {}
    ~Share() { Set(0); }
    Share(const Share&) = delete;
    Share& operator=(const Share&) = delete;

    // The connection was given `bytes` more to send. They count from the next look on.
    void Give(std::size_t bytes) { given_ += bytes; }
    // Counts what the connection has not sent yet.
    void Look(const trantor::TcpConnection& connection);
    std::size_t unsent() const { return unsent_; }

   private:
    void Set(std::size_t unsent);

    UnsentBudget& budget_;
    std::size_t given_ = 0;  // what bytesSent() says at least once all is sent
    std::size_t unsent_ = 0;
  };

 private:
  const std::size_t limit_;
  std::atomic<std::size_t> bytes_ = 0;
};

// Takes the connection over from Drogon: no idle timeout, and what the client still sends is thrown
// away. A reader that lets more than `most_unsent` bytes pile up is cut off, after a call of
// `cut_off`. Nothing is sent yet, the head least of all.
void TakeOver(const trantor::TcpConnectionPtr& connection, std::size_t most_unsent,
              std::function<void()> cut_off);

// Ends the connection of a reader that is too slow, after the callbacks that run now.
void CutOff(const trantor::TcpConnectionPtr& connection);

// Sends `first` and then what `next` gives, as the socket takes it, until that is empty: however
// much there is, little of it waits in buffers. What is sent later comes after it.
void SendAsTaken(const trantor::TcpConnectionPtr& connection, std::string first,
                 std::function<std::string()> next);

// Sends `last_words` and the last chunk; whoever does not hang up soon after is hung up on.
void EndStream(const trantor::TcpConnectionPtr& connection, std::string_view last_words);

}  // namespace berth::http
