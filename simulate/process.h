#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "async/executor.h"
#include "async/task.h"
#include "simulate/scheduler.h"

namespace berth::simulate {

// A program's replica: whatever it has in memory ends with its destruction.
class Program {
 public:
  virtual ~Program() = default;
  // An orderly end, for those who have time for it.
  virtual async::Task<void> Stop() { co_return; }
};

// The executor of a replica. Before each of its turns it may be paused or crash: since code only
// runs in turns, that is a crash between any two awaits. Nothing that an incarnation scheduled
// outlives it.
class Process : public async::Executor {
 public:
  // Called before each turn; may call Pause or Crash.
  using BeforeTurn = std::function<void(Process&)>;

  Process(Scheduler& scheduler, Dice& random, std::string name, BeforeTurn before_turn);

  async::TimePoint Now() const override { return scheduler_.Now(); }
  async::WallTime WallNow() const override { return scheduler_.WallNow(); }
  void Post(async::Work work) override;
  async::Handle RunAt(async::TimePoint when, async::Work work) override;
  std::uint64_t Random() override { return random_.Next(); }
  bool RunIfIdle(async::Work& work) override;

  const std::string& name() const { return name_; }
  bool running() const { return program_ != nullptr; }
  bool paused() const { return paused_until_ > scheduler_.Now(); }
  // The incarnation: one more after each crash.
  int life() const { return life_; }

  void Run(std::unique_ptr<Program> program) { program_ = std::move(program); }
  void Crash();
  // All turns wait until then.
  void PauseUntil(async::TimePoint until) { paused_until_ = std::max(paused_until_, until); }

 private:
  void Turn(std::uint64_t id);

  Scheduler& scheduler_;
  Dice& random_;
  std::string name_;
  BeforeTurn before_turn_;
  std::map<std::uint64_t, async::Work> pending_;  // of this life
  std::uint64_t last_ = 0;
  int life_ = 1;
  async::TimePoint paused_until_{};
  std::unique_ptr<Program> program_;
};

}  // namespace berth::simulate
