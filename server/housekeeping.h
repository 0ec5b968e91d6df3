#pragma once

#include <trantor/net/EventLoopThread.h>

#include <chrono>
#include <functional>
#include <map>
#include <string>

#include "handlers/apis/live_collection.h"
#include "reconcile/runtime/work_queue.h"

namespace berth::server {

// The server's own chores on the control thread, worked off a work queue like any controller's
// keys: each comes again after its period, and sooner, with back-off, after it failed. `kubectl get
// workqueues` shows the queue.
class Housekeeping {
 public:
  // Tells how a chore ended: "" or what went wrong. From any thread, once.
  using Done = std::function<void(std::string error)>;
  using Chore = std::function<void(Done)>;

  explicit Housekeeping(apis::LiveCollection& queues);
  // Stops before anything a chore uses goes away.
  ~Housekeeping() { Stop(); }

  // Before Start() only.
  void Every(std::chrono::milliseconds period, std::string name, Chore chore);
  void Start();
  void Stop();
  // Runs `work` on the control thread. Between Start() and Stop() only; from any thread.
  void Post(std::function<void()> work) { thread_.getLoop()->queueInLoop(std::move(work)); }

 private:
  struct Entry {
    std::chrono::milliseconds period;
    Chore chore;
  };

  void Work();
  void Finish(const std::string& name, const std::string& error);

  apis::LiveCollection& queues_;
  const std::chrono::system_clock::time_point origin_ =
      std::chrono::system_clock::now() - std::chrono::steady_clock::now().time_since_epoch();
  runtime::WorkQueue queue_{"housekeeping"};
  std::map<std::string, Entry> chores_;
  trantor::EventLoopThread thread_{"control"};
  bool stopped_ = false;
};

}  // namespace berth::server
