#include "kube/client_transport.h"

#include <mutex>
#include <utility>

namespace berth::kube {

// The way from the client's thread to the executor and back, which callbacks and handles share and
// the transport's end closes.
class ClientTransport::Link {
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

 private:
  std::mutex mutex_;
  Client* client_;
  async::Executor* executor_;
};

namespace {

// Of the executor's thread: the callbacks, gone when there is nobody to call, and the name that the
// client has given the stream.
struct Watched {
  std::shared_ptr<const Transport::Stream> stream;
  CallId id = CallId::kNone;
};

}  // namespace

ClientTransport::ClientTransport(Client& client, async::Executor& executor)
    : client_(client), link_(std::make_shared<Link>(client, executor)) {}

ClientTransport::~ClientTransport() { link_->Close(); }

async::Handle ClientTransport::Send(Request request, Done done) {
  // Of the executor's thread; emptied by whichever comes first, the answer or the handle's end.
  auto waiting = std::make_shared<Done>(std::move(done));
  auto answer = [link = link_, waiting](Result<Response> result) {
    link->Post([waiting, result = std::move(result)]() mutable {
      if (const Done call = std::exchange(*waiting, nullptr)) call(std::move(result));
    });
  };
  const CallId id = client_.Send(std::move(request), std::move(answer));
  return async::Handle([link = link_, waiting, id] {
    if (std::exchange(*waiting, nullptr)) link->Cancel(id);
  });
}

async::Handle ClientTransport::Watch(Request request, Stream stream) {
  auto watched = std::make_shared<Watched>();
  watched->stream = std::make_shared<const Stream>(std::move(stream));
  auto on_lines = [link = link_, watched](std::string lines) {
    link->Post([link, watched, lines = std::move(lines)] {
      const auto callbacks = watched->stream;  // they may let go of the handle
      if (!callbacks) return;
      callbacks->on_lines(lines);
      link->Acknowledge(watched->id, lines.size());
    });
  };
  auto on_end = [link = link_, watched](Result<void> end) {
    link->Post([watched, end = std::move(end)]() mutable {
      if (const auto callbacks = std::exchange(watched->stream, nullptr)) {
        callbacks->on_end(std::move(end));
      }
    });
  };
  watched->id = client_.Stream(std::move(request), {std::move(on_lines), std::move(on_end)});
  return async::Handle([link = link_, watched] {
    if (std::exchange(watched->stream, nullptr)) link->Cancel(watched->id);
  });
}

}  // namespace berth::kube
