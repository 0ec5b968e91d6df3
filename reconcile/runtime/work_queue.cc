#include "reconcile/runtime/work_queue.h"

#include <algorithm>
#include <cmath>

namespace berth::runtime {

void WorkQueue::Enqueue(const std::string& key, TimePoint since) {
  State& state = states_[key];
  if (state.dirty) return;
  state.dirty = true;
  ++adds_;
  if (!state.processing) ready_.push_back({key, since});
}

void WorkQueue::Add(const std::string& key, TimePoint now) { Enqueue(key, now); }

void WorkQueue::AddAfter(const std::string& key, TimePoint now, std::chrono::milliseconds delay) {
  if (delay <= std::chrono::milliseconds::zero()) return Enqueue(key, now);
  const TimePoint due = now + delay;
  if (const auto found = delayed_by_key_.find(key); found != delayed_by_key_.end()) {
    if (found->second->first <= due) return;
    delayed_.erase(found->second);
    found->second = delayed_.emplace(due, key);
    return;
  }
  delayed_by_key_.emplace(key, delayed_.emplace(due, key));
}

void WorkQueue::AddRateLimited(const std::string& key, TimePoint now) {
  const int failures = failures_[key]++;
  const double delay =
      static_cast<double>(back_off_.base.count()) * std::pow(back_off_.factor, failures);
  const double bounded = std::min(delay, static_cast<double>(back_off_.max.count()));
  ++retries_;
  AddAfter(key, now, std::chrono::milliseconds(static_cast<std::int64_t>(bounded)));
}

void WorkQueue::PromoteDue(TimePoint now) {
  while (!delayed_.empty() && delayed_.begin()->first <= now) {
    const auto first = delayed_.begin();
    const auto [due, key] = *first;
    delayed_by_key_.erase(key);
    delayed_.erase(first);
    Enqueue(key, due);
  }
}

std::optional<std::string> WorkQueue::Get(TimePoint now) {
  PromoteDue(now);
  if (ready_.empty()) return std::nullopt;
  std::string key = std::move(ready_.front().key);
  ready_.pop_front();
  State& state = states_[key];
  state.dirty = false;
  state.processing = true;
  ++processing_;
  return key;
}

void WorkQueue::Done(const std::string& key, TimePoint now) {
  const auto found = states_.find(key);
  if (found == states_.end() || !found->second.processing) return;
  --processing_;
  found->second.processing = false;
  if (found->second.dirty) {
    ready_.push_back({key, now});
  } else {
    states_.erase(found);
  }
}

std::optional<TimePoint> WorkQueue::NextDue() const {
  if (delayed_.empty()) return std::nullopt;
  return delayed_.begin()->first;
}

WorkQueueStats WorkQueue::Stats() const {
  WorkQueueStats stats{.depth = ready_.size(),
                       .processing = processing_,
                       .delayed = delayed_.size(),
                       .adds = adds_,
                       .retries = retries_};
  if (!ready_.empty()) stats.oldest = ready_.front().since;
  return stats;
}

}  // namespace berth::runtime
