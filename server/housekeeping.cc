#include "server/housekeeping.h"

#include <utility>

namespace berth::server {

Housekeeping::Housekeeping(async::Executor& executor, prometheus::Registry& registry)
    : controller_(executor, {.name = "housekeeping", .registry = &registry},
                  [this](std::string name) { return Do(std::move(name)); }) {}

void Housekeeping::Every(std::chrono::milliseconds period, std::string name, Chore chore) {
  chores_.emplace(std::move(name), Entry{period, std::move(chore)});
}

void Housekeeping::Start() {
  for (const auto& [name, entry] : chores_) controller_.Add(name);
  controller_.Start();
}

async::Task<kube::Result<runtime::Requeue>> Housekeeping::Do(std::string name) {
  const Entry& entry = chores_.at(name);
  if (auto done = entry.chore(); !done) {
    // A file that is being replaced is whole a moment later: whatever it was, it is tried again.
    co_return std::unexpected(kube::Error{kube::ErrorClass::kRetry, {}, done.error().message});
  }
  co_return runtime::Requeue{entry.period};
}

}  // namespace berth::server
