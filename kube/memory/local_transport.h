#pragma once

#include <memory>
#include <utility>

#include "async/executor.h"
#include "kube/memory/server.h"
#include "kube/status.h"
#include "kube/transport.h"

namespace berth::kube::memory {

// For tests only: the way to an API server in memory on the same executor, without delay or fault.
class LocalTransport : public Transport {
 public:
  LocalTransport(async::Executor& executor, Server& server)
      : executor_(executor), server_(server) {}

  async::Handle Send(Request request, Done done) override {
    auto call = std::make_shared<Done>(std::move(done));
    executor_.Post([this, call, request = std::move(request)] {
      if (!*call) return;
      const bool write = request.method != Method::kGet;
      server_.Handle(request, [this, call, write](Response response) {
        executor_.Post([call, write, response = std::move(response)]() mutable {
          if (*call) Finish(*call, std::move(response), write);
        });
      });
    });
    return async::Handle([call] { *call = nullptr; });
  }

  async::Handle Watch(Request request, Stream stream) override {
    auto feed = std::make_shared<Feed>(std::move(stream));
    executor_.Post([this, feed, request = std::move(request)] {
      if (feed->open) Open(request, feed);
    });
    return async::Handle([feed] {
      feed->open = false;
      feed->watch = {};
    });
  }

 private:
  struct Feed {
    Stream stream;
    async::Handle watch;
    bool open = true;
  };

  static void Finish(Done& done, Response response, bool write) {
    const Done call = std::exchange(done, nullptr);
    if (response.code >= 200 && response.code < 300) return call(std::move(response));
    call(std::unexpected(ErrorFromStatus(response.code, response.body, {}, write)));
  }

  // The server must not be called from its callbacks, which a reader might do.
  void Deliver(const std::weak_ptr<Feed>& feed, std::function<void(Stream&)> tell) {
    executor_.Post([feed, tell = std::move(tell)] {
      const auto reader = feed.lock();
      if (reader && reader->open) tell(reader->stream);
    });
  }

  void Open(const Request& request, const std::shared_ptr<Feed>& feed) {
    const std::weak_ptr<Feed> weak = feed;
    auto watch = server_.Watch(
        request,
        {.on_line =
             [this, weak](const std::shared_ptr<const std::string>& line) {
               Deliver(weak, [line](Stream& stream) { stream.on_lines(*line); });
             },
         .on_end = [this, weak] { Deliver(weak, [](Stream& stream) { stream.on_end({}); }); }});
    if (watch) {
      feed->watch = std::move(*watch);
      return;
    }
    Deliver(weak, [error = watch.error()](Stream& stream) {
      stream.on_end(std::unexpected(ErrorFromStatus(error.code, error.body, {}, false)));
    });
  }

  async::Executor& executor_;
  Server& server_;
};

}  // namespace berth::kube::memory
