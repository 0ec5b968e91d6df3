#include "simulate/process.h"

#include <utility>

namespace berth::simulate {

Process::Process(Scheduler& scheduler, Dice& random, std::string name, BeforeTurn before_turn)
    : scheduler_(scheduler),
      random_(random),
      name_(std::move(name)),
      before_turn_(std::move(before_turn)) {}

void Process::Post(async::Work work) {
  // Posted work has no handle: it ends with the process alone.
  const std::uint64_t id = ++last_;
  pending_.emplace(id, std::move(work));
  scheduler_.After({}, [this, id] { Turn(id); });
}

async::Handle Process::RunAt(async::TimePoint when, async::Work work) {
  const std::uint64_t id = ++last_;
  pending_.emplace(id, std::move(work));
  scheduler_.At(when, [this, id] { Turn(id); });
  return async::Handle([this, id] { pending_.erase(id); });
}

bool Process::RunIfIdle(async::Work& work) {
  if (!running() || paused()) return false;
  work();
  return true;
}

void Process::Turn(std::uint64_t id) {
  if (!pending_.contains(id)) return;
  before_turn_(*this);
  if (paused()) {
    scheduler_.At(paused_until_, [this, id] { Turn(id); });
    return;
  }
  auto turn = pending_.extract(id);
  if (turn) turn.mapped()();
}

void Process::Crash() {
  ++life_;
  program_.reset();
  pending_.clear();
}

}  // namespace berth::simulate
