#include "reconcile/eip/lookout.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <unordered_map>
#include <utility>

#include "reconcile/eip/refusal.h"

namespace berth::eip {

async::Task<Lookout::Seen> Lookout::See(std::string id) {
  co_return co_await async::Callback<Seen>([&](auto done) {
    auto waiter = std::make_shared<Waiter>(std::move(id), std::move(done));
    waiting_.push_back(waiter);
    if (waiting_.size() >= cloud::Vpc::kMostIds) {
      Send();
    } else if (!timer_) {
      timer_ = executor_.RunAt(std::max(executor_.Now() + kMoment, next_), [this] { Send(); });
    }
    return async::Handle([waiter] { waiter->done = nullptr; });
  });
}

void Lookout::Send() {
  timer_ = {};
  next_ = executor_.Now() + kPause;
  std::erase_if(calls_, [](const async::Running& call) { return !call; });
  calls_.push_back(
      async::Start(Ask(std::exchange(waiting_, {}), std::make_shared<int>(kMostSplits))));
}

async::Task<void> Lookout::Ask(Waiters waiters, std::shared_ptr<int> splits) {
  std::set<std::string> ids;
  for (const auto& waiter : waiters) {
    if (waiter->done) ids.insert(waiter->id);
  }
  if (ids.empty()) co_return;
  const auto answer = co_await vpc_.DescribeEips({ids.begin(), ids.end()});
  if (!answer && BlamesSpec(answer.error()) && ids.size() > 1 && (*splits)-- > 0) {
    const auto middle = std::next(ids.begin(), std::ssize(ids) / 2);
    const auto second =
        std::ranges::partition(waiters, [&](const auto& waiter) { return waiter->id < *middle; });
    Waiters others(second.begin(), second.end());
    waiters.erase(second.begin(), second.end());
    co_await Ask(std::move(waiters), splits);
    co_await Ask(std::move(others), splits);
    co_return;
  }
  std::unordered_map<std::string_view, const cloud::Eip*> found;
  if (answer) {
    for (const cloud::Eip& eip : *answer) found.emplace(eip.allocation_id, &eip);
  }
  for (const auto& waiter : waiters) {
    const auto done = std::exchange(waiter->done, nullptr);
    if (!done) continue;
    if (!answer) {
      done(std::unexpected(answer.error()));
    } else if (const auto eip = found.find(waiter->id); eip != found.end()) {
      done(std::optional(*eip->second));
    } else {
      done(std::optional<cloud::Eip>());
    }
  }
}

}  // namespace berth::eip
