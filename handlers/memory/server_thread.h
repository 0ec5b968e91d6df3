#pragma once

#include <atomic>
#include <cstdint>
#include <expected>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "async/event_loop.h"
#include "kube/memory/server.h"

namespace berth::memory {

// An in-memory API server on a thread of its own, which also does what time and the controller
// manager do for a real one: bookmarks, ends of watches, garbage; where it is given machinery, also
// what schedulers and kubelets do. All methods but Ask, Run and
// Stop return at once, from any thread; every callback comes on the server's thread, where it
// must not block. How much waits is up to the callers.
class ServerThread {
 public:
  using Server = kube::memory::Server;
  using Line = std::shared_ptr<const std::string>;
  using WatchId = std::uint64_t;

  struct Watcher {
    // First: the lines the watch begins with. Or the answer to give instead, and nothing follows.
    std::function<void(std::expected<std::vector<Line>, kube::Response>)> on_start;
    std::function<void(const Line& line)> on_line;
    std::function<void()> on_end;  // the server ends it; nothing follows
  };

  explicit ServerThread(std::optional<Server::MachineryOptions> machinery = std::nullopt);
  ~ServerThread();
  ServerThread(const ServerThread&) = delete;
  ServerThread& operator=(const ServerThread&) = delete;

  void Send(kube::Request request, Server::Done done);
  WatchId Watch(kube::Request request, Watcher watcher);
  // Nothing is called once this has come through to the thread. Any watch may be ended, over or
  // not.
  void End(WatchId id);

  // The thread itself, for a webhook to come back to.
  async::Executor& executor() { return loop_; }

  // These wait, so not from the thread, nor after Stop.
  kube::Response Ask(kube::Request request);
  void Run(const std::function<void(Server&)>& work);

  // Ends the thread and with it all watches, without a word to them. Calls that come later, or wait
  // for a webhook, are dropped. Idempotent; the destructor does it too.
  void Stop();

 private:
  void Post(std::function<void(Server&)> work);
  void StartWatch(WatchId id, Server& server, const kube::Request& request, const Watcher& watcher);
  void EndFromServer(WatchId id, const Watcher& watcher);
  void Tick();
  void StartBackground();
  void RunBackground();

  std::atomic<WatchId> last_watch_ = 0;
  async::EventLoop loop_{"memory"};
  // The thread's own; no server once it has stopped.
  std::unique_ptr<Server> server_;
  std::map<WatchId, async::Handle> watches_;
  async::Handle tick_;
  bool background_ = false;  // is running
};

}  // namespace berth::memory
