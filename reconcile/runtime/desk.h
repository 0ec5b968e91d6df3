#pragma once

#include <functional>
#include <utility>

#include "async/executor.h"

namespace berth::runtime {

// Where other threads ask the control thread about one of its systems. Ask returns at once, from
// any thread; the question is answered on the control thread, in the order asked, with no System
// when there is none (before it has begun, after its end). The executor runs what it was given
// before it ends.
template <typename System>
class Desk {
 public:
  using Question = std::move_only_function<void(System*)>;

  explicit Desk(async::Executor& control) : control_(control) {}

  // On the control thread. None closes the desk.
  void Open(System* system) { system_ = system; }

  void Ask(Question question) {
    control_.Post([this, question = std::move(question)]() mutable { question(system_); });
  }

 private:
  async::Executor& control_;
  System* system_ = nullptr;
};

}  // namespace berth::runtime
