#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "handlers/memory/server_thread.h"
#include "json/json.h"

namespace berth::memory {

// The pods of an API server in memory that agents of sandboxes run in, for who plays those agents.
// All but Start is of the server's thread.
class AgentPods {
 public:
  struct Change {
    bool gone = false;  // the pod that had this address
    std::string ip;
    std::string name;
    std::string uid;
    std::string node;
    std::size_t capacity = 0;
  };
  using OnChange = std::function<void(Change change)>;

  explicit AgentPods(ServerThread& server) : server_(server) {}

  // Once. Calls `changed` on the server's thread: for each pod that gets an address, and for each
  // that had one and is gone. The server is stopped before this is destroyed.
  void Start(OnChange changed);

 private:
  void Watch();
  void Notice(std::string_view event);
  void Forget(const std::string& uid);

  ServerThread& server_;
  OnChange changed_;
  std::map<std::string, std::string> addresses_;  // by pod UID
  async::Handle again_;
};

}  // namespace berth::memory
