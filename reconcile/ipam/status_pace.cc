#include "reconcile/ipam/status_pace.h"

#include <algorithm>

#include "reconcile/ipam/objects.h"

namespace berth::ipam {

async::Duration StatusPace::Wait(const std::string& uid, std::string_view content) const {
  const auto found = last_.find(uid);
  if (found == last_.end()) return {};
  const Last& last = found->second;
  if (last.repetitions == 0 || last.content != Fingerprint(content)) return {};
  const auto pause = kShortest * (1 << std::min(last.repetitions - 1, 10));
  const auto left = last.when + std::min<async::Duration>(pause, kLongest) - executor_.Now();
  return std::max(left, async::Duration::zero());
}

void StatusPace::Wrote(const std::string& uid, std::string_view content) {
  Expire();
  const auto now = executor_.Now();
  const auto [entry, first] = last_.try_emplace(uid);
  Last& last = entry->second;
  const auto hash = Fingerprint(content);
  const bool again = !first && last.content == hash;
  last = {.content = hash, .when = now, .repetitions = again ? last.repetitions + 1 : 0};
  writes_.push_back({now, uid});
}

void StatusPace::Expire() {
  const auto until = executor_.Now() - kMemory;
  while (!writes_.empty() && writes_.front().when <= until) {
    const auto found = last_.find(writes_.front().uid);
    if (found != last_.end() && found->second.when <= until) last_.erase(found);
    writes_.pop_front();
  }
}

}  // namespace berth::ipam
