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

bool EventLoop::RunIfIdle(Work& work) {
  {
    const std::lock_guard lock(mutex_);
    if (!is_idle_ || is_lent_ || stop_ || !posted_.empty()) return false;
    if (!timers_.empty() && timers_.begin()->first.first <= Now()) return false;
    is_lent_ = true;
  }
  const auto first_timer = [this] {
    return timers_.empty() ? TimePoint::max() : timers_.begin()->first.first;
  };
  const TimePoint woken_at = first_timer();
  stand_in_ = std::this_thread::get_id();
  work();
  stand_in_ = std::thread::id();
  bool wake = false;
  {
    const std::lock_guard lock(mutex_);
    is_lent_ = false;
    wake = wants_back_ || first_timer() < woken_at;
  }
  if (wake) wake_.notify_one();
  return true;
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

// Until there is work and no other thread stands in.
void EventLoop::Wait(std::unique_lock<std::mutex>& lock) {
  is_idle_ = true;
  while (true) {
    if (is_lent_) {
      wants_back_ = true;
      wake_.wait(lock);
      continue;
    }
    wants_back_ = false;
    if (stop_ || !posted_.empty()) break;
    if (timers_.empty()) {
      wake_.wait(lock);
    } else if (const TimePoint first = timers_.begin()->first.first; first > Now()) {
      wake_.wait_until(lock, first);
    } else {
      break;
    }
  }
  is_idle_ = false;
}

void EventLoop::Loop() {
  while (true) {
    std::vector<Work> posted;
    {
      std::unique_lock lock(mutex_);
      Wait(lock);
      if (stop_ && posted_.empty()) return;
      posted.swap(posted_);
    }
    for (Work& work : posted) work();
    RunDue();
  }
}

}  // namespace berth::async
