#pragma once

#include <cassert>
#include <coroutine>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include "async/executor.h"

namespace berth::async {

template <typename T>
class Task;

namespace internal {

// The part that the promises of all tasks share: the coroutine that goes on afterwards.
struct PromiseBase {
  std::coroutine_handle<> continuation = std::noop_coroutine();

  struct Final {
    bool await_ready() const noexcept { return false; }
    template <typename Promise>
    std::coroutine_handle<> await_suspend(std::coroutine_handle<Promise> ended) const noexcept {
      return ended.promise().continuation;
    }
    void await_resume() const noexcept {}
  };

  std::suspend_always initial_suspend() const noexcept { return {}; }
  Final final_suspend() const noexcept { return {}; }
  // Errors are values here; an exception that gets this far is a defect.
  [[noreturn]] void unhandled_exception() const noexcept { std::terminate(); }
};

template <typename T>
struct Promise : PromiseBase {
  std::optional<T> value;
  Task<T> get_return_object();
  template <typename U>
  void return_value(U&& result) {
    value.emplace(std::forward<U>(result));
  }
  T Take() {
    assert(value);
    return std::move(*value);
  }
};

template <>
struct Promise<void> : PromiseBase {
  Task<void> get_return_object();
  void return_void() const noexcept {}
  void Take() const noexcept {}
};

}  // namespace internal

// A coroutine that ends with a T. It begins when it is awaited, runs on the thread that awaits it,
// and belongs to whoever holds it: a task destroyed while it waits ends there, with all it waits
// for. Its arguments must outlive it, so references go to what the owner of the task keeps.
template <typename T = void>
class [[nodiscard]] Task {
 public:
  using promise_type = internal::Promise<T>;

  Task(Task&& other) noexcept : frame_(std::exchange(other.frame_, nullptr)) {}
  Task& operator=(Task&& other) noexcept {
    std::swap(frame_, other.frame_);
    return *this;
  }
  ~Task() {
    if (frame_) frame_.destroy();
  }

  bool await_ready() const noexcept { return false; }
  std::coroutine_handle<> await_suspend(std::coroutine_handle<> waiting) noexcept {
    frame_.promise().continuation = waiting;
    return frame_;
  }
  T await_resume() { return frame_.promise().Take(); }

 private:
  friend promise_type;
  explicit Task(std::coroutine_handle<promise_type> frame) : frame_(frame) {}
  std::coroutine_handle<promise_type> frame_;
};

namespace internal {

template <typename T>
Task<T> Promise<T>::get_return_object() {
  return Task<T>(std::coroutine_handle<Promise<T>>::from_promise(*this));
}
inline Task<void> Promise<void>::get_return_object() {
  return Task<void>(std::coroutine_handle<Promise<void>>::from_promise(*this));
}

}  // namespace internal

// A task set going by code that is no coroutine. Destroying it ends the task where it waits.
class [[nodiscard]] Running {
 public:
  struct promise_type {
    std::move_only_function<void()> on_end;
    Running get_return_object() {
      return Running(std::coroutine_handle<promise_type>::from_promise(*this));
    }
    std::suspend_always initial_suspend() const noexcept { return {}; }
    struct Final {
      bool await_ready() const noexcept { return false; }
      // The callback may destroy the Running, and this promise with it, so it is taken out first.
      void await_suspend(std::coroutine_handle<promise_type> ended) const noexcept {
        if (auto on_end = std::exchange(ended.promise().on_end, nullptr)) on_end();
      }
      void await_resume() const noexcept {}
    };
    Final final_suspend() const noexcept { return {}; }
    void return_void() const noexcept {}
    [[noreturn]] void unhandled_exception() const noexcept { std::terminate(); }
  };

  Running() = default;
  Running(Running&& other) noexcept : frame_(std::exchange(other.frame_, nullptr)) {}
  Running& operator=(Running&& other) noexcept {
    std::swap(frame_, other.frame_);
    return *this;
  }
  ~Running() {
    if (frame_) frame_.destroy();
  }

  // Whether the task has yet to end.
  explicit operator bool() const { return frame_ && !frame_.done(); }

 private:
  friend Running Start(Task<void> task, std::move_only_function<void()> on_end);
  explicit Running(std::coroutine_handle<promise_type> frame) : frame_(frame) {}
  std::coroutine_handle<promise_type> frame_;
};

namespace internal {
inline Running Drive(Task<void> task) { co_await std::move(task); }
}  // namespace internal

// Runs `task` until it first waits. `on_end` is called once it has ended by itself, perhaps before
// Start returns; it may destroy the Running.
inline Running Start(Task<void> task, std::move_only_function<void()> on_end = nullptr) {
  Running running = internal::Drive(std::move(task));
  running.frame_.promise().on_end = std::move(on_end);
  running.frame_.resume();
  return running;
}

// Awaits a callback: `begin` starts an operation, is given what to call with its outcome, and
// returns the handle that cancels it. The outcome may come before `begin` returns.
template <typename T>
class Callback {
 public:
  using Done = std::function<void(T)>;
  using Begin = std::move_only_function<Handle(Done)>;

  explicit Callback(Begin begin) : begin_(std::move(begin)) {}
  Callback(const Callback&) = delete;
  Callback& operator=(const Callback&) = delete;

  bool await_ready() const noexcept { return false; }
  bool await_suspend(std::coroutine_handle<> waiting) {
    handle_ = begin_([this](T value) {
      value_.emplace(std::move(value));
      if (waiting_) std::exchange(waiting_, nullptr).resume();
    });
    if (value_) return false;
    waiting_ = waiting;
    return true;
  }
  T await_resume() {
    handle_ = {};
    assert(value_);
    return std::move(*value_);
  }

 private:
  Begin begin_;
  Handle handle_;
  std::optional<T> value_;
  std::coroutine_handle<> waiting_;
};

// Awaits a time.
class Sleep {
 public:
  Sleep(Executor& executor, Duration delay) : executor_(executor), delay_(delay) {}
  bool await_ready() const noexcept { return false; }
  void await_suspend(std::coroutine_handle<> waiting) {
    timer_ = executor_.RunAfter(delay_, [waiting] { waiting.resume(); });
  }
  void await_resume() const noexcept {}

 private:
  Executor& executor_;
  Duration delay_;
  Handle timer_;
};

// A wait that others can end: Wait() returns at the next Notify(), or at once when there was one
// that nobody has waited for yet. One waiter at a time.
class Signal {
 public:
  explicit Signal(Executor& executor) : executor_(executor) {}

  void Notify() {
    pending_ = true;
    if (waiting_ && !wake_scheduled_) {
      wake_scheduled_ = true;
      wake_ = executor_.RunAfter({}, [this] {
        wake_scheduled_ = false;
        if (waiting_) std::exchange(waiting_, nullptr).resume();
      });
    }
  }

  struct Awaiter {
    Signal& signal;
    bool suspended = false;
    bool await_ready() const noexcept { return signal.pending_; }
    void await_suspend(std::coroutine_handle<> waiting) {
      assert(!signal.waiting_);
      suspended = true;
      signal.waiting_ = waiting;
    }
    void await_resume() noexcept {
      suspended = false;
      signal.pending_ = false;
    }
    ~Awaiter() {
      if (suspended) signal.waiting_ = nullptr;
    }
  };
  Awaiter Wait() { return {*this}; }

 private:
  Executor& executor_;
  std::coroutine_handle<> waiting_;
  bool pending_ = false;
  bool wake_scheduled_ = false;
  Handle wake_;
};

// The task's value, or none when it has not ended within `limit`: then it is destroyed.
template <typename T>
// NOLINTNEXTLINE(cppcoreguidelines-avoid-reference-coroutine-parameters): it outlives every task
Task<std::optional<T>> Within(Executor& executor, Duration limit, Task<T> task) {
  struct State {
    std::optional<T> value;
    Running running;
    Handle timer;
  };
  // The loser is destroyed by the frame's end, never from inside itself.
  State state;
  std::optional<T> outcome = co_await Callback<std::optional<T>>([&](auto done) {
    state.timer = executor.RunAfter(limit, [done] { done(std::nullopt); });
    auto body = [](Task<T> inner, State* into) -> Task<void> {
      into->value = co_await std::move(inner);
    };
    state.running = Start(body(std::move(task), &state), [&executor, &state, done] {
      state.timer = executor.RunAfter({}, [&state, done] { done(std::move(state.value)); });
    });
    return Handle();
  });
  co_return outcome;
}

}  // namespace berth::async
