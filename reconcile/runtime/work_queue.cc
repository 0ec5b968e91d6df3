#include "reconcile/runtime/work_queue.h"

#include <algorithm>
#include <cassert>
#include <cmath>

namespace berth::runtime {
namespace {

Duration DelayAfter(std::uint32_t failures, const BackOff& back_off) {
  const double delay = static_cast<double>(back_off.base.count()) *
                       std::pow(back_off.factor, static_cast<double>(failures));
  if (delay >= static_cast<double>(back_off.max.count())) return back_off.max;
  return Duration(static_cast<Duration::rep>(delay));
}

}  // namespace

void WorkQueue::MarkDirty(Entry& entry, TimePoint now, Priority priority) {
  if (!entry.dirty) {
    entry.dirty = true;
    entry.priority = priority;
    entry.added = now;
    ++adds_;
    if (!entry.processing) Waiting(priority).PushBack(entry);
  } else if (priority < entry.priority) {
    if (!entry.processing) Waiting(entry.priority).Remove(entry);
    entry.priority = priority;
    if (!entry.processing) Waiting(priority).PushBack(entry);
  }
}

void WorkQueue::AddAfter(std::string_view key, TimePoint now, Duration delay, Priority priority) {
  if (delay <= Duration::zero()) return Add(key, now, priority);
  Delay(entries_.At(key), now, delay, priority);
}

void WorkQueue::Delay(Entry& entry, TimePoint now, Duration delay, Priority priority) {
  ++delays_;
  entry.delayed_priority = entry.delayed() ? std::min(entry.delayed_priority, priority) : priority;
  delayed_.Add(entry, now + delay);
}

void WorkQueue::AddRateLimited(Item item, TimePoint now, Duration at_least) {
  Entry& entry = *item.entry_;
  assert(entry.processing);
  ++retries_;
  const Duration own = DelayAfter(entry.failures++, back_off_);
  Delay(entry, now, std::max({own, bucket_.Reserve(now), at_least}), entry.held_priority);
}

void WorkQueue::PromoteDue(TimePoint now) {
  while (!delayed_.empty() && delayed_.due() <= now) {
    const TimePoint due = delayed_.due();
    Entry& entry = delayed_.Pop();
    MarkDirty(entry, due, entry.delayed_priority);
  }
}

std::optional<WorkQueue::Item> WorkQueue::Get(TimePoint now) {
  PromoteDue(now);
  EntryList& from = fresh_.empty() ? resync_ : fresh_;
  if (from.empty()) return std::nullopt;
  Entry& entry = from.front();
  from.Remove(entry);
  processing_.PushBack(entry);
  entry.dirty = false;
  entry.processing = true;
  entry.held_priority = entry.priority;
  entry.taken = now;
  return Item(entry, now - entry.added);
}

void WorkQueue::Done(Item item) {
  Entry& entry = *item.entry_;
  assert(entry.processing);
  processing_.Remove(entry);
  entry.processing = false;
  if (entry.dirty) {
    Waiting(entry.priority).PushBack(entry);
  } else if (entry.idle()) {
    entries_.Erase(entry);
  }
}

std::optional<TimePoint> WorkQueue::NextDue() const {
  if (delayed_.empty()) return std::nullopt;
  return delayed_.due();
}

WorkQueueStats WorkQueue::Stats(TimePoint now) const {
  WorkQueueStats stats{.depth = fresh_.size() + resync_.size(),
                       .resync = resync_.size(),
                       .processing = processing_.size(),
                       .delayed = delayed_.size(),
                       .adds = adds_,
                       .retries = retries_,
                       .delays = delays_};
  for (const EntryList* list : {&fresh_, &resync_}) {
    if (list->empty()) continue;
    const TimePoint added = list->front().added;
    stats.oldest = std::min(stats.oldest.value_or(added), added);
  }
  processing_.ForEach([&](const Entry& entry) { stats.unfinished += now - entry.taken; });
  if (!processing_.empty()) stats.longest = now - processing_.front().taken;
  return stats;
}

}  // namespace berth::runtime
