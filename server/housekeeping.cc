#include "server/housekeeping.h"

#include <future>

#include "handlers/apis/workqueues.h"
#include "log/log.h"

namespace berth::server {
namespace {

constexpr double kTick = 0.5;  // seconds

runtime::TimePoint Now() { return std::chrono::steady_clock::now(); }

}  // namespace

Housekeeping::Housekeeping(apis::LiveCollection& queues) : queues_(queues) {}

void Housekeeping::Every(std::chrono::milliseconds period, std::string name, Chore chore) {
  chores_.emplace(std::move(name), Entry{period, std::move(chore)});
}

void Housekeeping::Start() {
  thread_.run();
  thread_.getLoop()->queueInLoop([this] {
    for (const auto& [name, entry] : chores_) queue_.Add(name, Now());
    Work();
  });
  thread_.getLoop()->runEvery(kTick, [this] { Work(); });
}

void Housekeeping::Stop() {
  if (std::exchange(stopped_, true) || !thread_.getLoop()->isRunning()) return;
  thread_.getLoop()->quit();
  thread_.wait();
}

void Housekeeping::Work() {
  while (const auto name = queue_.Get(Now())) {
    chores_.at(*name).chore([this, name = *name](std::string error) {
      thread_.getLoop()->queueInLoop(
          [this, name, error = std::move(error)] { Finish(name, error); });
    });
  }
  apis::PublishWorkQueue(queues_, queue_.name(), queue_.Stats(), origin_);
}

void Housekeeping::Finish(const std::string& name, const std::string& error) {
  if (error.empty()) {
    queue_.Forget(name);
    queue_.AddAfter(name, Now(), chores_.at(name).period);
  } else {
    log::Warn("housekeeping failed", {{"chore", name}, {"error", error}});
    queue_.AddRateLimited(name, Now());
  }
  queue_.Done(name, Now());
}

}  // namespace berth::server
