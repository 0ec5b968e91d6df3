#pragma once

#include <trantor/net/TcpConnection.h>

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

// Takes the connection over from Drogon: no idle timeout, and what the client still sends is thrown
// away. A reader that lets more than `most_unsent` bytes pile up is cut off, after a call of
// `cut_off`. Nothing is sent yet, the head least of all.
void TakeOver(const trantor::TcpConnectionPtr& connection, std::size_t most_unsent,
              std::function<void()> cut_off);

// Sends `first` and then what `next` gives, as the socket takes it, until that is empty: however
// much there is, little of it waits in buffers. What is sent later comes after it.
void SendAsTaken(const trantor::TcpConnectionPtr& connection, std::string first,
                 std::function<std::string()> next);

// Sends `last_words` and the last chunk; whoever does not hang up soon after is hung up on.
void EndStream(const trantor::TcpConnectionPtr& connection, std::string_view last_words);

}  // namespace berth::http
