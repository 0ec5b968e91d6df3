#include "handlers/memory/watches.h"

#include <trantor/net/EventLoop.h>

#include "handlers/stream.h"
#include "log/log.h"

namespace berth::memory {
namespace {

constexpr std::size_t kSlice = 64 * 1024;

// The lines from `position` on that make up about a slice, as a chunk; empty at the end.
std::string NextChunk(const std::vector<ServerThread::Line>& lines, std::size_t& position) {
  std::string out;
  while (out.size() < kSlice && position < lines.size()) out += *lines[position++];
  return out.empty() ? out : http::Chunk(out);
}

}  // namespace

// Used on its connection's loop only.
struct Watches::Stream {
  trantor::TcpConnectionPtr connection;
  http::Callback callback;  // until it has begun
  ServerThread::WatchId id = 0;
  bool ended = false;

  void Begin(std::vector<ServerThread::Line> lines) {
    callback = nullptr;
    if (!connection->connected()) return;
    http::TakeOver(connection, kMostUnsent, [peer = connection->peerAddr().toIpPort()] {
      log::Warn("watcher cut off: it stopped reading", {{"peer", peer}});
    });
    http::SendAsTaken(connection, std::string(http::kStreamHead),
                      [lines = std::move(lines), position = std::size_t{0}]() mutable {
                        return NextChunk(lines, position);
                      });
    if (ended) http::EndStream(connection, "");
  }

  void Send(const ServerThread::Line& line) const {
    if (!ended && connection->connected()) connection->send(http::Chunk(*line));
  }

  void End() {
    if (std::exchange(ended, true) || callback) return;
    http::EndStream(connection, "");
  }
};

void Watches::Start(const drogon::HttpRequestPtr& request, kube::Request watch,
                    http::Callback callback) {
  if (request->version() != drogon::Version::kHttp11)
    return callback(http::Respond(kube::BadRequest("a watch needs HTTP/1.1")));
  const auto connection = request->getConnectionPtr().lock();
  if (!connection || !connection->connected()) return;
  auto stream = std::make_shared<Stream>(connection, std::move(callback));
  const auto on_loop = [loop = connection->getLoop()](auto work) {
    loop->queueInLoop(std::move(work));
  };
  {
    const std::lock_guard lock(mutex_);
    streams_.insert_or_assign(connection.get(), stream);
  }
  stream->id = server_.Watch(
      std::move(watch),
      {.on_start =
           [on_loop, stream](std::expected<std::vector<ServerThread::Line>, kube::Response> begun) {
             on_loop([stream, begun = std::move(begun)]() mutable {
               if (begun) return stream->Begin(std::move(*begun));
               std::exchange(stream->callback, nullptr)(http::Respond(std::move(begun.error())));
             });
           },
       .on_line =
           [on_loop, stream](const ServerThread::Line& line) {
             on_loop([stream, line] { stream->Send(line); });
           },
       .on_end = [on_loop, stream] { on_loop([stream] { stream->End(); }); }});
}

void Watches::Forget(const trantor::TcpConnection* connection) {
  const std::lock_guard lock(mutex_);
  const auto found = streams_.find(connection);
  if (found == streams_.end()) return;
  server_.End(found->second->id);
  streams_.erase(found);
}

void Watches::Close() {
  const std::lock_guard lock(mutex_);
  for (const auto& [connection, stream] : streams_) {
    stream->connection->getLoop()->queueInLoop([stream] { stream->End(); });
  }
}

}  // namespace berth::memory
