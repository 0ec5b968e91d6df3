#pragma once

#include <atomic>
#include <condition_variable>
#include <map>
#include <mutex>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "async/executor.h"

namespace berth::async {

// An Executor on a thread of its own and the machine's clocks. Post from any thread; the rest, and
// the destruction of what runs on it, on the thread. Post: O(1); a timer: O(log n).
class EventLoop : public Executor {
 public:
  // `name` is the thread's, at most 15 characters.
  explicit EventLoop(std::string name);
  ~EventLoop() override;

  TimePoint Now() const override { return std::chrono::steady_clock::now(); }
  WallTime WallNow() const override { return std::chrono::system_clock::now(); }
  void Post(Work work) override;
  Handle RunAt(TimePoint when, Work work) override;
  std::uint64_t Random() override { return random_(); }

  // While `work` runs, the calling thread stands in for the loop's own, which sleeps: InLoop() is
  // true, and timers may be set. Costs two uncontended locks and no switch of threads.
  bool RunIfIdle(Work& work) override;

  // Runs `work` on the thread and waits for its end. Not from the thread itself.
  void Run(Work work);

  // Ends the thread after what was posted before; what is posted later is dropped. Timers that are
  // left never run. Idempotent; not from the thread itself.
  void Stop();

  bool InLoop() const {
    const std::thread::id caller = std::this_thread::get_id();
    return caller == thread_.get_id() || caller == stand_in_;
  }

 private:
  using TimerKey = std::pair<TimePoint, std::uint64_t>;

  void Loop();
  void Wait(std::unique_lock<std::mutex>& lock);
  void RunDue();

  std::mutex mutex_;
  std::condition_variable wake_;
  std::vector<Work> posted_;  // under mutex_
  bool stop_ = false;         // under mutex_
  bool is_idle_ = false;      // under mutex_: the thread waits
  bool is_lent_ = false;      // under mutex_: a thread stands in
  bool wants_back_ = false;   // under mutex_: the thread has work, but another stands in
  std::atomic<std::thread::id> stand_in_;

  // The fields below belong to the thread, or to the one that stands in.
  std::map<TimerKey, Work> timers_;
  std::uint64_t last_timer_ = 0;
  std::mt19937_64 random_{std::random_device{}()};
  std::thread thread_;
};

}  // namespace berth::async
