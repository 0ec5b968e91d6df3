#include "kube/client_transport.h"

#include <utility>

namespace berth::kube {
namespace {

// Belongs to the executor's thread: the callbacks, gone when there is nobody to call, and the name
// that the client has given the stream.
struct Watched {
  std::shared_ptr<const Transport::Stream> stream;
  CallId id = CallId::kNone;
};

}  // namespace

ClientTransport::ClientTransport(Client& client, async::Executor& executor)
    : client_(client), link_(std::make_shared<http::Link>(client.http(), executor)) {}

ClientTransport::~ClientTransport() { link_->Close(); }

async::Handle ClientTransport::Send(Request request, Done done) {
  return link_->Send(std::move(done), [&](Client::Done answer) {
    return client_.Send(std::move(request), std::move(answer));
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
