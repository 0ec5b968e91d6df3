#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <utility>

namespace berth::async {

using TimePoint = std::chrono::steady_clock::time_point;
using WallTime = std::chrono::system_clock::time_point;
using Duration = std::chrono::steady_clock::duration;
using Work = std::move_only_function<void()>;

// Something under way that ends when this is destroyed: a timer, a call, a watch. An empty one does
// nothing. Moved freely; used on the thread that made it.
class [[nodiscard]] Handle {
 public:
  Handle() = default;
  explicit Handle(Work cancel) : cancel_(std::move(cancel)) {}
  Handle(Handle&& other) noexcept : cancel_(std::exchange(other.cancel_, nullptr)) {}
  Handle& operator=(Handle&& other) noexcept {
    if (this != &other) {
      Cancel();
      cancel_ = std::exchange(other.cancel_, nullptr);
    }
    return *this;
  }
  ~Handle() { Cancel(); }

  explicit operator bool() const { return static_cast<bool>(cancel_); }

  void Cancel() {
    if (cancel_) std::exchange(cancel_, nullptr)();
  }

 private:
  Work cancel_;
};

// The world as the control thread's code sees it: what time it is, and what runs next. Everything
// given to one executor runs on one thread, one piece at a time. An executor outlives what it runs.
class Executor {
 public:
  virtual ~Executor() = default;

  // Never goes back; what delays and deadlines are counted in.
  virtual TimePoint Now() const = 0;
  // The date, for what people and other processes read.
  virtual WallTime WallNow() const = 0;

  // Runs `work` soon, after what is running now. From any thread, where the executor has one.
  virtual void Post(Work work) = 0;

  // Runs `work` here and now if the executor has a thread that sleeps and nothing else to run; its
  // thread stays asleep meanwhile, so that still one piece runs at a time. False if it cannot: then
  // `work` is as it was. Only for work that is short. From any thread.
  virtual bool RunIfIdle(Work& /*work*/) { return false; }

  // Runs `work` at `when` or soon after, unless the handle is gone by then. On the thread only.
  virtual Handle RunAt(TimePoint when, Work work) = 0;
  Handle RunAfter(Duration delay, Work work) { return RunAt(Now() + delay, std::move(work)); }

  // For jitter and for names; good enough for neither secrets nor keys.
  virtual std::uint64_t Random() = 0;
  // Between 0 and 1, without the 1.
  double RandomFraction() { return static_cast<double>(Random() >> 11) * 0x1.0p-53; }
};

}  // namespace berth::async
