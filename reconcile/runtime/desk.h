#pragma once

#include <algorithm>
#include <atomic>
#include <cassert>
#include <chrono>
#include <memory>
#include <mutex>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

#include "async/executor.h"

namespace berth::runtime {

// How long the control thread may take before a question is answered without it.
inline constexpr std::chrono::seconds kAnswerWithin{2};

// Where other threads ask the control thread about one of its systems. While the control thread
// sleeps, the asking thread stands in for it, and no thread is woken. Else the questions of one
// turn of a thread's loop travel together, and so do their answers: a turn costs one wake of the
// control thread and one of the asking thread, however many questions it has. A question costs two
// allocations and an uncontended lock, a turn a few more.
template <typename System>
class Desk {
 public:
  // `within`: how long the control thread may take.
  explicit Desk(async::Executor& control, async::Duration within = kAnswerWithin)
      : control_(control), within_(within) {}

  // On the control thread. None closes the desk.
  void Open(System* system) { system_ = system; }

  // Calls `question(System*)` in the control thread's place or on it, in the order asked, with no
  // System while the desk is closed; and `done`, once, with its answer on `home`, the thread that
  // this is called on. When there is no answer in time, `question` is called at home
  // with no System instead. It is not called on the control thread once it was given up, but the
  // two calls can overlap: it must be safe to call from both threads. After the end of the control
  // thread there is no answer at all. The desk and both executors outlive what is asked.
  template <typename Question, typename Done>
  void AskWithDeadline(async::Executor& home, Question question, Done done) {
    Add(home, std::make_unique<TypedInquiry<Question, Done>>(std::move(question), std::move(done)));
  }

 private:
  struct Inquiry {
    virtual ~Inquiry() = default;
    virtual void Ask(System* system) = 0;  // on the control thread; the answer is kept
    virtual void Answer() = 0;             // at home, after Ask
    virtual void AnswerWithout() = 0;      // at home, perhaps during Ask
  };

  template <typename Question, typename Done>
  struct TypedInquiry : Inquiry {
    TypedInquiry(Question asked, Done to_tell)
        : question(std::move(asked)), done(std::move(to_tell)) {}
    void Ask(System* system) override { answer.emplace(question(system)); }
    void Answer() override {
      assert(answer);
      done(std::move(*answer));
    }
    void AnswerWithout() override { done(question(nullptr)); }

    const Question question;
    Done done;                                                             // of home
    std::optional<std::invoke_result_t<const Question&, System*>> answer;  // of the control thread
  };

  // The questions of one turn. It is made and ends at home: the control thread gives it back.
  struct Batch {
    std::vector<std::unique_ptr<Inquiry>> inquiries;
    async::Handle deadline;
    std::atomic<bool> over = false;
  };

  struct OpenBatch {
    async::Executor* home;
    std::shared_ptr<Batch> batch;
  };

  void Add(async::Executor& home, std::unique_ptr<Inquiry> inquiry) {
    {
      const std::lock_guard lock(mutex_);
      auto open = std::ranges::find(open_, &home, &OpenBatch::home);
      const bool is_first = open == open_.end();
      if (is_first) open = open_.insert(open, {&home, std::make_shared<Batch>()});
      open->batch->inquiries.push_back(std::move(inquiry));
      if (!is_first) return;
    }
    home.Post([this, &home] { Send(home); });
  }

  void Send(async::Executor& home) {
    std::shared_ptr<Batch> batch;
    {
      const std::lock_guard lock(mutex_);
      const auto open = std::ranges::find(open_, &home, &OpenBatch::home);
      batch = std::move(open->batch);
      open_.erase(open);
    }
    async::Work ask_all = [this, &inquiries = batch->inquiries] {
      for (const auto& inquiry : inquiries) inquiry->Ask(system_);
    };
    if (control_.RunIfIdle(ask_all)) {
      for (const auto& inquiry : batch->inquiries) inquiry->Answer();
      return;
    }
    batch->deadline = home.RunAfter(within_, [weak = std::weak_ptr(batch)] {
      const auto late = weak.lock();
      if (!late || late->over.exchange(true)) return;
      for (const auto& inquiry : late->inquiries) inquiry->AnswerWithout();
    });
    control_.Post([this, &home, batch = std::move(batch)]() mutable {
      for (const auto& inquiry : batch->inquiries) {
        if (!batch->over) inquiry->Ask(system_);
      }
      home.Post([batch = std::move(batch)] {
        if (batch->over.exchange(true)) return;
        batch->deadline = {};
        for (const auto& inquiry : batch->inquiries) inquiry->Answer();
      });
    });
  }

  async::Executor& control_;
  const async::Duration within_;
  System* system_ = nullptr;  // of the control thread
  std::mutex mutex_;
  std::vector<OpenBatch> open_;  // under mutex_: at most one for each asking thread
};

}  // namespace berth::runtime
