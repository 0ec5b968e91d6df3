#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <atomic>
#include <future>
#include <latch>
#include <list>
#include <mutex>
#include <optional>

#include "http/client.h"
#include "http/client_fixture_test.h"
#include "http/test_server.h"
#include "log/format.h"

namespace berth::http {
namespace {

using test::Answer;
using test::Chunk;
using test::kChunkedHead;
using test::kLastChunk;
using test::ServedRequest;
using test::Server;
using testing::HasSubstr;

// Collects the bytes of a stream. Acknowledges at once unless told to stall.
class Reader {
 public:
  explicit Reader(Client& client, bool stalled = false) : client_(client), stalled_(stalled) {}

  CallId Begin(Request request) {
    const CallId id = client_.Send(
        peer_, std::move(request), [this](Result<Response> end) { end_.set_value(std::move(end)); },
        {.on_lines = [this](std::string lines) { Take(std::move(lines)); }});
    id_.set_value(id);
    return id;
  }

  Result<Response> End() { return end_.get_future().get(); }
  void Close() { client_.Close(*peer_); }

  // Acknowledges what has come and will come.
  void GoOn() {
    const std::lock_guard lock(mutex_);
    stalled_ = false;
    client_.Acknowledge(ready_.get(), text_.size());
  }

  std::string text() const {
    const std::lock_guard lock(mutex_);
    return text_;
  }
  std::size_t size() const {
    const std::lock_guard lock(mutex_);
    return text_.size();
  }

 private:
  void Take(std::string lines) {
    EXPECT_TRUE(lines.ends_with('\n'));
    const std::lock_guard lock(mutex_);
    text_ += lines;
    if (!stalled_) client_.Acknowledge(ready_.get(), lines.size());
  }

  Client& client_;
  const PeerPtr peer_ = AnyPeer();
  mutable std::mutex mutex_;
  bool stalled_;
  std::string text_;
  std::promise<CallId> id_;
  std::shared_future<CallId> ready_ = id_.get_future().share();
  std::promise<Result<Response>> end_;
};

TEST(ClientStreamTest, LinesComeWholeAndWhenTheyAreThere) {
  std::latch seen(1);
  Server server([&](const ServedRequest& request) {
    request.connection->Write(kChunkedHead);
    request.connection->Write(Chunk("{\"a\":1}\n{\"b\""));
    seen.wait();
    request.connection->Write(Chunk(":2}"));
    request.connection->Write(Chunk("\n"));
    request.connection->Write(Chunk("{\"c\":3}\n"));
    return std::string(kLastChunk);
  });
  Client client;
  Reader reader(client);
  reader.Begin(Get(server, "/things?watch=true"));
  EXPECT_TRUE(Eventually([&] { return reader.text() == "{\"a\":1}\n"; }));
  seen.count_down();
  EXPECT_TRUE(reader.End());
  EXPECT_EQ(reader.text(), "{\"a\":1}\n{\"b\":2}\n{\"c\":3}\n");
  EXPECT_TRUE(Ask(client, Get(server, "/things?watch=true")))
      << "the connection is as good as ever";
  EXPECT_EQ(server.connections(), 1u);
}

TEST(ClientStreamTest, AnotherAnswerIsAResponseWithItsBody) {
  Server server([](const ServedRequest&) { return Answer(410, "too old\n"); });
  Client client;
  Reader reader(client);
  reader.Begin(Get(server, "/gone"));
  const auto response = reader.End();
  ASSERT_TRUE(response) << response.error().message;
  EXPECT_EQ(response->code, 410);
  EXPECT_EQ(response->body, "too old\n");
  EXPECT_EQ(reader.text(), "") << "an error's body is no line";
}

TEST(ClientStreamTest, AnEmptyStreamEndsWell) {
  Server server([](const ServedRequest&) { return Answer(200, ""); });
  Client client;
  Reader reader(client);
  reader.Begin(Get(server, "/x"));
  const auto end = reader.End();
  ASSERT_TRUE(end) << end.error().message;
  EXPECT_EQ(end->code, 200);
  EXPECT_EQ(reader.text(), "");
}

TEST(ClientStreamTest, ACutConnectionIsAnErrorAfterTheLines) {
  Server server([](const ServedRequest& request) {
    request.connection->Write(kChunkedHead);
    request.connection->Write(Chunk("one\ntw"));
    return std::string();
  });
  Client client;
  Reader reader(client);
  reader.Begin(Get(server, "/x"));
  EXPECT_EQ(Failed(reader.End()).error_class, ErrorClass::kRetry);
  EXPECT_EQ(reader.text(), "one\n");
}

TEST(ClientStreamTest, AStreamThatEndsInsideALineIsNoGoodEnd) {
  Server server([](const ServedRequest& request) {
    request.connection->Write("HTTP/1.1 200 OK\r\nConnection: close\r\n\r\none\ntw");
    return std::string();
  });
  Client client;
  Reader reader(client);
  reader.Begin(Get(server, "/x"));
  const Error error = Failed(reader.End());
  EXPECT_EQ(error.error_class, ErrorClass::kRetry);
  EXPECT_THAT(error.message, HasSubstr("inside a line"));
  EXPECT_EQ(reader.text(), "one\n");
}

TEST(ClientStreamTest, ItsTimeIsForTheWholeStream) {
  Server server([](const ServedRequest& request) {
    request.connection->Write(kChunkedHead);
    request.connection->Write(Chunk("one\n"));
    request.connection->WaitUntilClosed(20s);
    return std::string();
  });
  Client client;
  Reader reader(client);
  reader.Begin(Get(server, "/x", 200ms));
  const Error error = Failed(reader.End());
  EXPECT_EQ(error.error_class, ErrorClass::kRetry);
  EXPECT_THAT(error.message, HasSubstr("not over within 200 ms"));
  EXPECT_EQ(reader.text(), "one\n");
}

TEST(ClientStreamTest, ALineTooLongIsAnError) {
  const std::string fits(Client::kMaxLine, 'x');
  Server server([&](const ServedRequest& request) {
    request.connection->Write(kChunkedHead);
    request.connection->Write(Chunk(fits));
    request.connection->Write(Chunk("\n"));
    request.connection->Write(Chunk(fits));
    request.connection->Write(Chunk("x"));
    request.connection->WaitUntilClosed(20s);
    return std::string();
  });
  Client client;
  Reader reader(client);
  reader.Begin(Get(server, "/x"));
  const Error error = Failed(reader.End());
  EXPECT_EQ(error.error_class, ErrorClass::kTerminal);
  EXPECT_THAT(error.message, HasSubstr("a line is over 8 MiB"));
  EXPECT_EQ(reader.size(), Client::kMaxLine + 1);
}

TEST(ClientStreamTest, AReaderThatStallsHoldsUpTheServerAndMissesNothing) {
  constexpr int kLines = 64 << 10;  // of 1 KiB
  auto line = [](int i) { return Format("{:<1023}\n", i); };
  std::atomic<bool> stalled = false;
  std::atomic<int> written = 0;
  Server server([&](const ServedRequest& request) {
    if (request.Line().contains("/call")) return Answer(200, "{}");
    request.connection->Write(kChunkedHead);
    for (; written < kLines; ++written) {
      if (!stalled) stalled = !request.connection->WaitUntilWritable(500ms);
      if (!request.connection->Write(Chunk(line(written)))) return std::string();
    }
    return std::string(kLastChunk);
  });
  Client client;
  Reader reader(client, true);
  reader.Begin(Get(server, "/x", 5min));
  EXPECT_TRUE(Eventually([&] { return stalled || written == kLines; }));
  EXPECT_TRUE(Eventually([&] { return reader.size() > Client::kMaxUnacknowledged; }));
  EXPECT_LT(written, kLines);
  EXPECT_TRUE(Ask(client, Get(server, "/call"))) << "calls go on meanwhile";
  // At most the limit and one piece under way arrive, however much the server has.
  EXPECT_LE(reader.size(), Client::kMaxUnacknowledged + (64 << 10));
  reader.GoOn();
  EXPECT_TRUE(reader.End());
  const std::string text = reader.text();
  ASSERT_EQ(text.size(), std::size_t{kLines} << 10);
  for (int i = 0; i < kLines; ++i) ASSERT_EQ(text.substr(std::size_t(i) << 10, 1024), line(i)) << i;
}

TEST(ClientStreamTest, StreamsLeaveConnectionsForCalls) {
  constexpr int kStreams = 12;  // more than there are connections for calls
  std::latch begun(kStreams), release(1);
  Server server([&](const ServedRequest& request) {
    if (request.Line().contains("/call")) return Answer(200, "{}");
    request.connection->Write(kChunkedHead);
    begun.count_down();
    release.wait();
    return std::string(kLastChunk);
  });
  Client client;
  std::list<Reader> readers;
  for (int i = 0; i < kStreams; ++i) readers.emplace_back(client).Begin(Get(server, "/stream"));
  begun.wait();
  EXPECT_TRUE(Ask(client, Get(server, "/call")));
  release.count_down();
  for (Reader& reader : readers) EXPECT_TRUE(reader.End());
}

TEST(ClientStreamTest, CancelledInAnyPhaseItIsSilentAndItsConnectionCloses) {
  enum Phase { kNoAnswer, kHead, kLines, kPartialLine, kPaused };
  for (const Phase phase : {kNoAnswer, kHead, kLines, kPartialLine, kPaused}) {
    SCOPED_TRACE(static_cast<int>(phase));
    std::latch there(1);
    std::promise<bool> closed;
    Server server([&](const ServedRequest& request) {
      if (phase >= kHead) request.connection->Write(kChunkedHead);
      if (phase >= kLines) request.connection->Write(Chunk("one\n"));
      if (phase == kPartialLine) request.connection->Write(Chunk("tw"));
      there.count_down();
      if (phase == kPaused) {
        while (request.connection->Write(Chunk(std::string(1 << 16, '\n')))) {
        }
      }
      closed.set_value(request.connection->WaitUntilClosed(20s));
      return std::string();
    });
    Client client;
    Reader reader(client, true);
    const CallId id = reader.Begin(Get(server, "/x"));
    there.wait();
    if (phase >= kLines) {
      EXPECT_TRUE(Eventually([&] { return reader.size() > 0; }));
    }
    if (phase == kPaused) {
      EXPECT_TRUE(Eventually([&] { return reader.size() > Client::kMaxUnacknowledged; }));
    }
    client.Cancel(id);
    EXPECT_TRUE(closed.get_future().get());
    reader.Close();
    const std::size_t before = reader.size();
    client.Acknowledge(id, before);
    client.Cancel(id);
    EXPECT_EQ(reader.size(), before);
  }
}

TEST(ClientStreamTest, CancelledByItsOwnLinesNothingFollows) {
  Server server([](const ServedRequest&) { return Answer(200, "one\ntwo\n"); });
  Client client;
  std::promise<CallId> promise;
  auto ready = promise.get_future().share();
  std::atomic<int> lines = 0, ends = 0;
  const PeerPtr peer = AnyPeer();
  promise.set_value(client.Send(peer, Get(server, "/x"), [&](Result<Response>) { ++ends; },
                                {.on_lines = [&](std::string) {
                                  ++lines;
                                  client.Cancel(ready.get());
                                }}));
  EXPECT_TRUE(Eventually([&] { return lines > 0; }));
  ASSERT_TRUE(Ask(client, Get(server, "/y")));
  client.Close(*peer);
  EXPECT_EQ(lines, 1);
  EXPECT_EQ(ends, 0);
}

TEST(ClientStreamTest, CancelledByAnothersLinesNoneOfItsOwnCome) {
  std::latch asked(2), go(1), written(2);
  Server server([&](const ServedRequest& request) {
    if (request.Line().contains("/hold")) {
      asked.wait();
      return Answer(200, "{}");
    }
    request.connection->Write(kChunkedHead);
    asked.count_down();
    go.wait();
    request.connection->Write(Chunk("line\n"));
    written.count_down();
    request.connection->WaitUntilClosed(20s);
    return std::string();
  });
  Client client;
  const PeerPtr peer = AnyPeer();
  CallId ids[2];
  int lines = 0;
  for (int i = 0; i < 2; ++i) {
    ids[i] = client.Send(peer, Get(server, "/x"), [](Result<Response>) {},
                         {.on_lines = [&, i](std::string) {
                           ++lines;
                           client.Cancel(ids[1 - i]);
                         }});
  }
  // Holds the client's thread until both lines are there, so that both come in its next turn.
  client.Send(peer, Get(server, "/hold"), [&](Result<Response>) {
    go.count_down();
    written.wait();
  });
  written.wait();
  ASSERT_TRUE(Ask(client, Get(server, "/hold")));
  client.Close(*peer);
  EXPECT_EQ(lines, 1);
}

TEST(ClientStreamTest, ShuttingDownEndsIt) {
  std::latch begun(1);
  Server server([&](const ServedRequest& request) {
    request.connection->Write(kChunkedHead);
    begun.count_down();
    request.connection->WaitUntilClosed(20s);
    return std::string();
  });
  Client client;
  Reader reader(client);
  reader.Begin(Get(server, "/x"));
  begun.wait();
  reader.Close();
  EXPECT_THAT(Failed(reader.End()).message, HasSubstr("shutting down"));
}

// The socket of this process that is connected to `port`.
std::optional<int> SocketTo(int port) {
  for (int fd = 0; fd < 1024; ++fd) {
    sockaddr_in peer = {};
    socklen_t size = sizeof(peer);
    if (getpeername(fd, reinterpret_cast<sockaddr*>(&peer), &size) == 0 &&
        peer.sin_family == AF_INET && ntohs(peer.sin_port) == port) {
      return fd;
    }
  }
  return std::nullopt;
}

int Option(int fd, int level, int name) {
  int value = -1;
  socklen_t size = sizeof(value);
  getsockopt(fd, level, name, &value, &size);
  return value;
}

TEST(ClientStreamTest, ASilentPeerIsProbed) {
  std::latch begun(1);
  Server server([&](const ServedRequest& request) {
    request.connection->Write(kChunkedHead);
    begun.count_down();
    request.connection->WaitUntilClosed(20s);
    return std::string();
  });
  Client client;
  Reader reader(client);
  reader.Begin(Get(server, "/x"));
  begun.wait();
  const auto socket = SocketTo(server.port());
  ASSERT_TRUE(socket);
  EXPECT_EQ(Option(*socket, SOL_SOCKET, SO_KEEPALIVE), 1);
  EXPECT_EQ(Option(*socket, IPPROTO_TCP, TCP_KEEPIDLE), 20);
  EXPECT_EQ(Option(*socket, IPPROTO_TCP, TCP_KEEPINTVL), 5);
  EXPECT_EQ(Option(*socket, IPPROTO_TCP, TCP_USER_TIMEOUT), kDelivery.count());
  reader.Close();
}

}  // namespace
}  // namespace berth::http
