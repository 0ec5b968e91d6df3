#pragma once

#include <functional>
#include <optional>
#include <utility>

#include "async/executor.h"
#include "kube/transport.h"

namespace berth::ipam {

// Stands between Berth and the API server. `on_request` may change a request or refuse it.
class Interceptor : public kube::Transport {
 public:
  using OnRequest = std::function<std::optional<kube::Error>(kube::Request&)>;

  Interceptor(async::Executor& executor, kube::Transport& inner)
      : executor_(executor), inner_(inner) {}

  async::Handle Send(kube::Request request, Done done) override {
    if (auto error = on_request ? on_request(request) : std::nullopt) {
      return executor_.RunAfter(
          std::chrono::milliseconds(1),
          [error = std::move(*error), done = std::move(done)] { done(std::unexpected(error)); });
    }
    return inner_.Send(std::move(request), std::move(done));
  }
  async::Handle Watch(kube::Request request, Stream stream) override {
    return inner_.Watch(std::move(request), std::move(stream));
  }

  OnRequest on_request;

 private:
  async::Executor& executor_;
  kube::Transport& inner_;
};

}  // namespace berth::ipam
