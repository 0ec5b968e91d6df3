#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>

#include "async/event_loop.h"
#include "handlers/http.h"
#include "http/transport.h"

namespace berth::server {

// The thread of a simulated cloud, and the calls on their way to it.
class CloudThread {
 public:
  using Reader = std::function<void(http::Request request, std::string path, http::Callback home)>;

  async::EventLoop& loop() { return loop_; }

  // Takes a request to the thread. The callback that `serve` is given may be called there.
  void Serve(const drogon::HttpRequestPtr& request, http::Callback callback, Reader serve);
  // On the thread: sends a request to the cloud and answers with its answer, headers included.
  // Returns the call's number.
  std::uint64_t Call(http::Transport& cloud, http::Request request, http::Callback callback);
  // On the thread: lets go of a call; nothing if it has ended.
  void GiveUp(std::uint64_t call) { calls_.erase(call); }
  // On the thread: gives up all calls.
  void Clear() { calls_.clear(); }

 private:
  async::EventLoop loop_{"cloud"};
  // The thread's own.
  std::map<std::uint64_t, async::Handle> calls_;
  std::uint64_t last_call_ = 0;
};

}  // namespace berth::server
