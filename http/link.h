#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <utility>

#include "async/executor.h"
#include "http/client.h"

namespace berth::http {

// The way from a client's thread to an executor and back, which a transport's callbacks and handles
// share and its end closes: after that nothing more is given to either. Client and executor live
// until then.
class Link : public std::enable_shared_from_this<Link> {
 public:
  Link(Client& client, async::Executor& executor) : client_(&client), executor_(&executor) {}

  void Post(async::Work work) {
    const std::lock_guard lock(mutex_);
    if (executor_) executor_->Post(std::move(work));
  }
  void Cancel(CallId id) {
    const std::lock_guard lock(mutex_);
    if (client_) client_->Cancel(id);
  }
  void Acknowledge(CallId id, std::size_t bytes) {
    const std::lock_guard lock(mutex_);
    if (client_) client_->Acknowledge(id, bytes);
  }
  void Close() {
    const std::lock_guard lock(mutex_);
    client_ = nullptr;
    executor_ = nullptr;
  }

  // A call that `begin` begins, with the answer it is given to call: `done` is called on the
  // executor, unless the handle is gone by then.
  template <typename Answer, typename Begin>
  async::Handle Send(std::function<void(Answer)> done, Begin begin) {
    // Belongs to the executor's thread; emptied by the answer or by the handle's end.
    auto waiting = std::make_shared<std::function<void(Answer)>>(std::move(done));
    const CallId id = begin([link = shared_from_this(), waiting](Answer answer) {
      link->Post([waiting, answer = std::move(answer)]() mutable {
        if (const auto call = std::exchange(*waiting, nullptr)) call(std::move(answer));
      });
    });
    return async::Handle([link = shared_from_this(), waiting, id] {
      if (std::exchange(*waiting, nullptr)) link->Cancel(id);
    });
  }

 private:
  std::mutex mutex_;
  Client* client_;
  async::Executor* executor_;
};

}  // namespace berth::http
