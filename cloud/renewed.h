#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <utility>

#include "async/executor.h"
#include "async/task.h"
#include "http/error.h"

namespace berth::cloud {

// A key or a token with an end, fetched again in time. A new one is fetched when it has kRenewal to
// live, while it is still given out; it is given out until it has kMargin to live, so that a call
// has the time to arrive. One fetch serves all who wait, and the next begins no sooner than kPause
// after it. Of the control thread; outlives its tasks.
template <typename Value>
class Renewed {
 public:
  static constexpr async::Duration kRenewal = std::chrono::minutes(10);
  static constexpr async::Duration kMargin = std::chrono::minutes(1);
  static constexpr async::Duration kPause = std::chrono::seconds(5);

  struct Lease {
    Value value;
    async::WallTime expires;
  };
  using Fetch = std::function<async::Task<Result<Lease>>()>;

  // `none` is the error while nothing was fetched yet.
  Renewed(async::Executor& executor, Fetch fetch, Error none)
      : executor_(executor), fetch_(std::move(fetch)), failure_(std::move(none)) {}

  async::Task<Result<Value>> Get() {
    if (!HasFor(kRenewal)) Renew();
    if (!HasFor(kMargin)) co_await Ended();
    if (lease_ && HasFor(kMargin)) co_return lease_->value;
    co_return std::unexpected(failure_);
  }

  // The value is no good: the next Get fetches another one. `why` is the error until then.
  void Drop(const Value& value, Error why) {
    if (!lease_ || lease_->value != value) return;
    lease_.reset();
    failure_ = std::move(why);
  }

 private:
  bool HasFor(async::Duration time) const {
    return lease_ && executor_.WallNow() + time < lease_->expires;
  }

  void Renew() {
    if (renewal_ || executor_.Now() < next_renewal_) return;
    renewal_ = async::Start(Run(), [this] {
      // Whoever goes on may give up others that wait, so each is taken out before it is told.
      while (!waiting_.empty()) waiting_.extract(waiting_.begin()).mapped()(true);
    });
  }

  async::Task<void> Run() {
    auto fetched = co_await fetch_();
    next_renewal_ = executor_.Now() + kPause;
    if (fetched) {
      lease_ = std::move(*fetched);
    } else {
      failure_ = std::move(fetched.error());
    }
  }

  // Returns when the fetch under way, if any, has ended.
  async::Task<void> Ended() {
    if (!renewal_) co_return;
    co_await async::Callback<bool>([this](auto done) {
      const std::uint64_t place = ++last_;
      waiting_.emplace(place, std::move(done));
      return async::Handle([this, place] { waiting_.erase(place); });
    });
  }

  async::Executor& executor_;
  const Fetch fetch_;
  std::optional<Lease> lease_;
  Error failure_;  // why there is none
  async::TimePoint next_renewal_{};
  std::map<std::uint64_t, std::function<void(bool)>> waiting_;  // for the fetch under way
  std::uint64_t last_ = 0;
  async::Running renewal_;
};

}  // namespace berth::cloud
