#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>

#include "async/executor.h"
#include "reconcile/runtime/desk.h"

namespace berth {

// How long the control thread may take before an answer is given without it.
inline constexpr std::chrono::seconds kPatience{2};

// Puts a question to the control thread and gives its answer to `done`, once, on `home`, the
// thread this is called on. `question` is called with the System there; or here and with none,
// when there is no answer in time. It is not asked there once it has been given up, but the two
// can fall together: it must be safe to call from both threads. When the desk's thread has ended
// there is no answer at all.
template <typename T, typename System>
void Consult(runtime::Desk<System>& desk, async::Executor& home,
             std::type_identity_t<std::function<T(System*)>> question,
             std::move_only_function<void(T)> done) {
  struct Inquiry {
    std::function<T(System*)> question;
    std::move_only_function<void(T)> done;  // of home, as is the deadline
    async::Handle deadline;
    std::atomic<bool> over = false;

    void Answer(T answer) {
      if (over.exchange(true)) return;
      deadline = {};
      std::exchange(done, nullptr)(std::move(answer));
    }
  };
  auto inquiry = std::make_shared<Inquiry>(std::move(question), std::move(done));
  // Weak, so that an inquiry ends on this thread: the desk's gives it back with the answer.
  inquiry->deadline = home.RunAfter(kPatience, [weak = std::weak_ptr(inquiry)] {
    if (const auto late = weak.lock()) late->Answer(late->question(nullptr));
  });
  desk.Ask([inquiry = std::move(inquiry), &home](System* system) mutable {
    std::optional<T> answer;
    if (!inquiry->over) answer = inquiry->question(system);
    home.Post([inquiry = std::move(inquiry), answer = std::move(answer)]() mutable {
      if (answer) inquiry->Answer(std::move(*answer));
    });
  });
}

}  // namespace berth
