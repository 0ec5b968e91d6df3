#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "reconcile/runtime/work_queue.h"

namespace berth::runtime {
namespace {

using std::chrono::milliseconds;

const TimePoint kStart{};

// A model of the queue, in the plainest way there is: lists that are searched, and tokens that are
// counted.
class Model {
 public:
  struct Held {
    Priority priority;
    Duration waited;
  };

  explicit Model(RetryRate rate) : rate_(rate), credit_(rate.interval * rate.burst) {}

  void Add(const std::string& key, TimePoint now, Priority priority) {
    const auto wanted = wanted_.find(key);
    if (wanted == wanted_.end()) {
      wanted_[key] = {priority, now};
      if (!held.contains(key)) line_.push_back(key);
    } else if (priority == Priority::kFresh && wanted->second.priority == Priority::kResync) {
      wanted->second.priority = priority;
      if (std::erase(line_, key) > 0) line_.push_back(key);
    }
  }

  void AddAfter(const std::string& key, TimePoint now, Duration delay, Priority priority) {
    if (delay == Duration::zero()) return Add(key, now, priority);
    auto found = std::ranges::find(delayed_, key, &Delayed::key);
    if (found == delayed_.end()) {
      delayed_.push_back({key, now + delay, priority});
      return;
    }
    found->priority = std::min(found->priority, priority);
    if (found->due <= now + delay) return;
    const Priority kept = found->priority;
    delayed_.erase(found);
    delayed_.push_back({key, now + delay, kept});
  }

  void AddRateLimited(const std::string& key, TimePoint now, const BackOff& back_off) {
    Duration delay = back_off.base;
    for (int i = 0; i < failures_[key]; ++i) delay = std::min(back_off.max, delay * 2);
    ++failures_[key];
    credit_ = std::min(rate_.interval * rate_.burst, credit_ + (now - counted_)) - rate_.interval;
    counted_ = now;
    AddAfter(key, now, std::max(delay, -credit_), held[key].priority);
  }

  void Forget(const std::string& key) { failures_.erase(key); }

  std::string Get(TimePoint now) {
    std::ranges::stable_sort(delayed_, {}, &Delayed::due);
    while (!delayed_.empty() && delayed_.front().due <= now) {
      Add(delayed_.front().key, delayed_.front().due, delayed_.front().priority);
      delayed_.erase(delayed_.begin());
    }
    if (line_.empty()) return "";
    const auto first = std::ranges::min_element(
        line_, {}, [&](const std::string& key) { return wanted_[key].priority; });
    const std::string key = *first;
    line_.erase(first);
    held[key] = {wanted_[key].priority, now - wanted_[key].added};
    wanted_.erase(key);
    return key;
  }

  void Done(const std::string& key) {
    held.erase(key);
    if (wanted_.contains(key)) line_.push_back(key);
  }

  std::size_t depth() const { return line_.size(); }
  std::size_t delayed() const { return delayed_.size(); }
  std::size_t known() const {
    std::set<std::string> keys;
    for (const auto& [key, unused] : wanted_) keys.insert(key);
    for (const auto& [key, unused] : held) keys.insert(key);
    for (const auto& [key, unused] : failures_) keys.insert(key);
    for (const auto& one : delayed_) keys.insert(one.key);
    return keys.size();
  }

  std::map<std::string, Held> held;

 private:
  struct Wanted {
    Priority priority;
    TimePoint added;
  };
  struct Delayed {
    std::string key;
    TimePoint due;
    Priority priority;
  };

  RetryRate rate_;
  Duration credit_;
  TimePoint counted_ = kStart;
  std::vector<std::string> line_;
  std::map<std::string, Wanted> wanted_;
  std::vector<Delayed> delayed_;
  std::map<std::string, int> failures_;
};

struct Step {
  std::uint8_t what;
  std::uint8_t which;
  std::uint8_t time;
};

// Both sides of the comparison, and the items that are held.
struct Pair {
  static constexpr BackOff kBackOff{milliseconds(10), milliseconds(500), 2};
  static constexpr RetryRate kRate{milliseconds(20), 3};

  WorkQueue queue{"q", kBackOff, kRate};
  Model model{kRate};
  std::map<std::string, WorkQueue::Item> items;
  TimePoint now = kStart;

  void Take(const Step& step) {
    const std::string key = "some-namespace/name-" + std::to_string(step.which % 7);
    const auto priority = step.time % 2 ? Priority::kResync : Priority::kFresh;
    now += milliseconds(step.time % 8);
    switch (step.what % 8) {
      case 0:
      case 1:
        queue.Add(key, now, priority);
        return model.Add(key, now, priority);
      case 2: {
        const milliseconds delay(step.time % 50);
        queue.AddAfter(key, now, delay, priority);
        return model.AddAfter(key, now, delay, priority);
      }
      case 3:
      case 4:
        return Get();
      default:
        if (const auto held = items.find(key); held != items.end()) Finish(held->second, step);
    }
  }

  void Get() {
    const std::string expected = model.Get(now);
    const auto item = queue.Get(now);
    RC_ASSERT((item ? item->key() : "") == expected);
    if (!item) return;
    RC_ASSERT(items.emplace(expected, *item).second);
    RC_ASSERT(item->priority() == model.held[expected].priority);
    RC_ASSERT(item->waited() == model.held[expected].waited);
  }

  void Finish(WorkQueue::Item item, const Step& step) {
    const std::string key = item.key();
    if (step.what % 8 == 5) {
      queue.AddRateLimited(item, now);
      return model.AddRateLimited(key, now, kBackOff);
    }
    if (step.what % 8 == 6) {
      queue.Forget(item);
      return model.Forget(key);
    }
    queue.Done(item);
    model.Done(key);
    items.erase(key);
  }

  void Compare() const {
    const WorkQueueStats stats = queue.Stats(now);
    RC_ASSERT(stats.depth == model.depth());
    RC_ASSERT(stats.processing == model.held.size());
    RC_ASSERT(stats.delayed == model.delayed());
    RC_ASSERT(queue.size() == model.known());
  }
};

TEST(WorkQueue, DoesWhatItsModelDoes) {
  EXPECT_TRUE(rc::check([] {
    const auto steps = *rc::gen::scale(
        5.0,
        rc::gen::container<std::vector<Step>>(rc::gen::build<Step>(
            rc::gen::set(&Step::what), rc::gen::set(&Step::which), rc::gen::set(&Step::time))));
    Pair pair;
    for (const Step& step : steps) {
      pair.Take(step);
      pair.Compare();
    }
  }));
}

}  // namespace
}  // namespace berth::runtime
