#pragma once

#include <trantor/net/TcpConnection.h>

#include <memory>
#include <mutex>
#include <unordered_map>

#include "handlers/http.h"
#include "handlers/memory/server_thread.h"

namespace berth::memory {

// Streams the watches of an in-memory API server to connections. A stream lives on its connection's
// loop, which the server's thread sends the lines to; the lines themselves are shared by all who
// watch the same. A reader that lets more than kMostUnsent pile up is cut off; the present state,
// sent as the socket takes it, does not count.
class Watches {
 public:
  // Enough for the end of a whole collection, whose events come at once.
  static constexpr std::size_t kMostUnsent = 4 * 1024 * 1024;

  explicit Watches(ServerThread& server) : server_(server) {}

  // Answers with an error or takes the connection over. On the connection's loop.
  void Start(const drogon::HttpRequestPtr& request, kube::Request watch, http::Callback callback);
  // On the connection's loop; for any connection that has ended.
  void Forget(const trantor::TcpConnection* connection);
  // Ends all streams properly: a final chunk, then the connection. From any thread.
  void Close();

 private:
  struct Stream;

  ServerThread& server_;
  std::mutex mutex_;  // of streams_
  std::unordered_map<const trantor::TcpConnection*, std::shared_ptr<Stream>> streams_;
};

}  // namespace berth::memory
