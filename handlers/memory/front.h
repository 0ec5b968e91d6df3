#pragma once

#include <string>

#include "handlers/apis/api_server.h"
#include "handlers/http.h"
#include "handlers/memory/server_thread.h"
#include "handlers/memory/watches.h"

namespace berth::memory {

// An in-memory API server as kubectl meets it. Whoever has the token is the administrator, nobody
// else is anybody. A request is handed to the server's thread, its answer queued back in the
// connection's loop; the group of the aggregated API is served by that API itself, as behind a real
// API server. Thread-safe.
class Front {
 public:
  Front(ServerThread& server, apis::ApiServer& aggregated, std::string token)
      : server_(server), aggregated_(aggregated), token_(std::move(token)), watches_(server) {}

  void Serve(const drogon::HttpRequestPtr& request, http::Callback callback);

  // On the connection's loop, when it has ended.
  void Forget(const trantor::TcpConnection* connection) { watches_.Forget(connection); }
  // Ends every watch properly; from any thread.
  void CloseWatches() { watches_.Close(); }

 private:
  void Forward(const drogon::HttpRequestPtr& request, http::Callback callback);
  bool HasToken(const drogon::HttpRequestPtr& request) const;

  ServerThread& server_;
  apis::ApiServer& aggregated_;
  const std::string token_;
  Watches watches_;
};

}  // namespace berth::memory
