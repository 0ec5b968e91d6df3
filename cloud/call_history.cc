#include "cloud/call_history.h"

#include <algorithm>
#include <utility>

#include "log/escape.h"

namespace berth::cloud {
namespace {

constexpr std::size_t kLongestName = 64;  // of an action or a code
constexpr std::size_t kLongestText = 1024;

const prometheus::Histogram::BucketBoundaries kDurations = {0.01, 0.025, 0.05, 0.1, 0.25, 0.5,
                                                            1,    2.5,   5,    10,  30};
const prometheus::Histogram::BucketBoundaries kTurnWaits = {0.001, 0.01, 0.1, 0.5, 1, 2.5,
                                                            5,     10,   20,  30,  60};

double Seconds(async::Duration time) { return std::chrono::duration<double>(time).count(); }

bool IsError(const CallRecord& call) { return call.code != "OK"; }
bool WasSent(const CallRecord& call) { return call.code != "NotSent"; }

CallRecord Cut(CallRecord call) {
  call.action = log::ToUtf8(call.action, kLongestName);
  call.code = log::ToUtf8(call.code, kLongestName);
  call.message = log::ToUtf8(call.message, kLongestText);
  call.request_id = log::ToUtf8(call.request_id, kLongestName);
  call.resource = log::ToUtf8(call.resource, kLongestText);
  return call;
}

}  // namespace

async::Duration ActionHistory::Latency() const {
  std::vector<async::Duration> latencies;
  for (const CallRecord& call : recent) {
    if (WasSent(call)) latencies.push_back(call.latency);
  }
  if (latencies.empty()) return {};
  const auto middle = latencies.begin() + static_cast<std::ptrdiff_t>((latencies.size() - 1) / 2);
  std::ranges::nth_element(latencies, middle);
  return *middle;
}

CallHistory::CallHistory(prometheus::Registry* registry) {
  if (!registry) return;
  calls_ = &prometheus::BuildCounter()
                .Name("berth_cloud_calls_total")
                .Help("Calls to the cloud, by action and by the code of the answer.")
                .Register(*registry);
  durations_ = &prometheus::BuildHistogram()
                    .Name("berth_cloud_call_duration_seconds")
                    .Help("How long calls to the cloud took from being sent, by action.")
                    .Register(*registry);
  throttles_ = &prometheus::BuildCounter()
                    .Name("berth_cloud_throttled_total")
                    .Help("Calls that the cloud throttled, by action.")
                    .Register(*registry);
  turn_waits_ = &prometheus::BuildHistogram()
                     .Name("berth_cloud_turn_wait_seconds")
                     .Help("How long calls waited for their turn before they were sent, by action.")
                     .Register(*registry);
}

void CallHistory::Called(const CallRecord& call) {
  CallRecord record = Cut(call);
  Entry& entry = EntryOf(record.action);
  ActionHistory& history = entry.history;
  ++history.calls;
  if (IsError(record)) ++history.errors;
  if (record.throttled) ++history.throttled;
  Count(entry, record);
  dirty_.insert(history.action);
  if (IsError(record)) history.last_error = record;
  if (history.recent.size() == kRecent) history.recent.pop_front();
  history.recent.push_back(std::move(record));
}

std::vector<const ActionHistory*> CallHistory::TakeDirty() {
  std::vector<const ActionHistory*> changed;
  for (const std::string& action : std::exchange(dirty_, {})) changed.push_back(Find(action));
  return changed;
}

const ActionHistory* CallHistory::Find(std::string_view action) const {
  const auto found = actions_.find(action);
  return found == actions_.end() ? nullptr : &found->second.history;
}

CallHistory::Entry& CallHistory::EntryOf(const std::string& action) {
  if (const auto found = actions_.find(action); found != actions_.end()) return found->second;
  const bool is_full = actions_.size() + 1 >= kMostActions;
  const std::string name = is_full ? std::string(kOther) : action;
  const auto [found, is_new] = actions_.try_emplace(name);
  Entry& entry = found->second;
  if (!is_new) return entry;
  entry.history.action = name;
  if (calls_) {
    entry.duration = &durations_->Add({{"action", name}}, kDurations);
    entry.turn_wait = &turn_waits_->Add({{"action", name}}, kTurnWaits);
    entry.throttled = &throttles_->Add({{"action", name}});
  }
  return entry;
}

void CallHistory::Count(Entry& entry, const CallRecord& call) {
  auto& codes = entry.history.codes;
  const bool has_place = codes.contains(call.code) || codes.size() + 1 < kMostCodes;
  const std::string code = has_place ? call.code : std::string(kOther);
  ++codes[code];
  if (!calls_) return;
  calls_->Add({{"action", entry.history.action}, {"code", code}}).Increment();
  entry.turn_wait->Observe(Seconds(call.waited));
  if (WasSent(call)) entry.duration->Observe(Seconds(call.latency));
  if (call.throttled) entry.throttled->Increment();
}

}  // namespace berth::cloud
