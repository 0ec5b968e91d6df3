#include "simulate/eip_history.h"

#include <algorithm>
#include <utility>

namespace berth::simulate {
namespace {

using namespace std::chrono_literals;

// Longer than anybody asks for.
constexpr auto kKept = 10min;

bool IsSame(const EipHistory::State& left, const EipHistory::State& right) {
  if (!left || !right) return left.has_value() == right.has_value();
  return left->eip == right->eip && left->lock_reasons == right->lock_reasons &&
         left->visible == right->visible;
}

}  // namespace

void EipHistory::Note(async::TimePoint now) {
  std::map<std::string, State> present;
  for (const auto* vpc : cloud_.vpcs()) {
    for (const cloud::Eip& eip : vpc->Eips()) {
      present.emplace(eip.allocation_id, *vpc->FindRecord(eip.allocation_id));
    }
  }
  for (const auto& [id, entries] : entries_) present.try_emplace(id);
  for (auto& [id, state] : present) Put(id, std::move(state), now);
}

void EipHistory::Put(const std::string& id, State state, async::TimePoint now) {
  auto& entries = entries_[id];
  if (!entries.empty() && IsSame(entries.back().state, state)) {
    entries.back().until = now;
    return;
  }
  // The state before it may have lasted until now.
  if (!entries.empty()) entries.back().until = now;
  entries.push_back({now, std::move(state)});
  while (entries.front().until < now - kKept) entries.pop_front();
}

bool EipHistory::HasBeen(const std::string& id, async::TimePoint since,
                         const std::function<bool(const State&)>& like) const {
  const auto found = entries_.find(id);
  if (found == entries_.end()) return like(std::nullopt);
  return std::ranges::any_of(
      found->second, [&](const Entry& entry) { return entry.until >= since && like(entry.state); });
}

}  // namespace berth::simulate
