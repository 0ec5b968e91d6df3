#include "async/event_loop.h"

#include <pthread.h>
#include <signal.h>

#include <cassert>
#include <future>

namespace berth::async {

EventLoop::EventLoop(std::string name) {
  thread_ = std::thread([this, name = std::move(name)] {
    // Signals belong to the main thread.
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, nullptr);
    pthread_setname_np(pthread_self(), name.substr(0, 15).c_str());
    Loop();
  });
}

EventLoop::~EventLoop() { Stop(); }

void EventLoop::Post(Work work) {
  {
    const std::lock_guard lock(mutex_);
    if (stop_) return;
    posted_.push_back(std::move(work));
    if (posted_.size() > 1) return;  // the thread has been woken for the first
  }
  wake_.notify_one();
}

Handle EventLoop::RunAt(TimePoint when, Work work) {
  assert(InLoop());
  const TimerKey key{when, ++last_timer_};
  timers_.emplace(key, std::move(work));
  return Handle([this, key] { timers_.erase(key); });
}

void EventLoop::Run(Work work) {
  assert(!InLoop());
  std::promise<void> done;
  Post([&] {
    work();
    done.set_value();
  });
  done.get_future().wait();
}

void EventLoop::Stop() {
  assert(!InLoop());
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  wake_.notify_one();
  if (thread_.joinable()) thread_.join();
}

void EventLoop::RunDue() {
  // Only what is due already: a timer that sets another for now must not keep the thread from its
  // posts.
  const TimerKey until{Now(), last_timer_};
  while (!timers_.empty() && timers_.begin()->first <= until) {
    Work work = std::move(timers_.begin()->second);
    timers_.erase(timers_.begin());
    work();
  }
}

void EventLoop::Loop() {
  while (true) {
    std::vector<Work> posted;
    {
      std::unique_lock lock(mutex_);
      auto ready = [this] { return stop_ || !posted_.empty(); };
      if (timers_.empty()) {
        wake_.wait(lock, ready);
      } else {
        wake_.wait_until(lock, timers_.begin()->first.first, ready);
      }
      if (stop_ && posted_.empty()) return;
      posted.swap(posted_);
    }
    for (Work& work : posted) work();
    RunDue();
  }
}

}  // namespace berth::async
