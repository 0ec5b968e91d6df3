#include "kube/client_transport.h"

#include <gtest/gtest.h>

#include <atomic>
#include <optional>

#include "async/event_loop.h"
#include "http/step_executor_test.h"
#include "http/test_server.h"
#include "kube/client_fixture_test.h"

namespace berth::kube {
namespace {

using test::Answer;
using test::Chunk;
using test::kChunkedHead;
using test::kLastChunk;
using test::ServedRequest;
using test::Server;
using test::StepExecutor;

class ClientTransportTest : public testing::Test {
 protected:
  // "/line": a stream that brings one line and then waits for its end; "/lines": one of two chunks;
  // all else is answered with the path.
  static std::string Serve(const ServedRequest& request) {
    if (request.Line().contains("/silent")) {
      request.connection->WaitUntilClosed(20s);
      return {};
    }
    if (!request.Line().contains("/line")) return Answer(200, request.Line());
    request.connection->Write(kChunkedHead);
    request.connection->Write(Chunk("one\n"));
    if (request.Line().contains("/lines")) {
      request.connection->Write(Chunk("two\n"));
      return std::string(kLastChunk);
    }
    request.connection->WaitUntilClosed(20s);
    return {};
  }

  Transport::Stream Into(std::string& text) {
    return {[&text](std::string_view lines) { text += lines; },
            [&text](Result<void> end) { text += end ? "end" : "error"; }};
  }

  Server server_{Serve};
  Client client_{To(server_), {.qps = 0}};
  StepExecutor executor_;
  std::optional<ClientTransport> transport_{std::in_place, client_, executor_};
};

TEST_F(ClientTransportTest, AnswersComeOnTheExecutorAfterSendHasReturned) {
  std::string answer;
  const auto handle = transport_->Send(Get("/x"), [&](Result<Response> result) {
    answer = result ? result->body : result.error().message;
  });
  EXPECT_TRUE(Eventually([&] { return executor_.waiting() == 1; }));
  EXPECT_EQ(answer, "");
  executor_.Step();
  EXPECT_EQ(answer, "GET /x HTTP/1.1");
}

TEST_F(ClientTransportTest, EvenWhatTheClientRefusesItself) {
  bool called = false;
  const auto handle = transport_->Send(Get("not a path"), [&](Result<Response>) { called = true; });
  EXPECT_FALSE(called);
  executor_.Step();
  EXPECT_TRUE(called);
  std::string text;
  const auto watch = transport_->Watch(Get("not a path"), Into(text));
  EXPECT_EQ(text, "");
  executor_.Step();
  EXPECT_EQ(text, "error");
}

TEST_F(ClientTransportTest, LinesComeInOrderTheEndLast) {
  std::string text;
  const auto handle = transport_->Watch(Get("/lines"), Into(text));
  while (!text.ends_with("end")) executor_.Step();
  EXPECT_EQ(text, "one\ntwo\nend");
}

TEST_F(ClientTransportTest, AWatchLetGoOfIsSilent) {
  std::string text;
  auto handle = transport_->Watch(Get("/lines"), Into(text));
  EXPECT_TRUE(Eventually([&] { return executor_.waiting() > 0; }));
  handle.Cancel();
  client_.Shutdown();
  while (executor_.waiting() > 0) executor_.Step();
  EXPECT_EQ(text, "");
}

TEST_F(ClientTransportTest, AWatchMayBeLetGoOfByItsLines) {
  async::Handle handle;
  auto held = std::make_shared<std::string>();
  int lines = 0;
  handle = transport_->Watch(Get("/lines"), {[&, held](std::string_view) {
                                               handle = {};
                                               *held += "still there";
                                               ++lines;
                                             },
                                             [&](Result<void>) { ADD_FAILURE(); }});
  executor_.Step();
  EXPECT_EQ(held.use_count(), 1);
  client_.Shutdown();
  while (executor_.waiting() > 0) executor_.Step();
  EXPECT_EQ(lines, 1);
}

TEST_F(ClientTransportTest, HandlesAndAnswersMayOutliveTheTransport) {
  auto executor = std::make_unique<StepExecutor>();
  std::optional<ClientTransport> transport(std::in_place, client_, *executor);
  auto call = transport->Send(Get("/silent"), [](Result<Response>) { ADD_FAILURE(); });
  auto watch = transport->Watch(
      Get("/line"), {[](std::string_view) { ADD_FAILURE(); }, [](Result<void>) { ADD_FAILURE(); }});
  EXPECT_TRUE(Eventually([&] { return executor->waiting() == 1; }));
  transport.reset();
  executor.reset();
  client_.Shutdown();  // ends both, with nobody to tell
  call.Cancel();
  watch.Cancel();
}

TEST_F(ClientTransportTest, AnExecutorMayStopFirst) {
  auto loop = std::make_unique<async::EventLoop>("test");
  ClientTransport transport(client_, *loop);
  async::Handle call, watch;
  std::atomic<bool> stopped = false;
  loop->Run([&] {
    call = transport.Send(Get("/silent"), [&](Result<Response>) { EXPECT_FALSE(stopped); });
    watch = transport.Watch(Get("/line"), {[&](std::string_view) { EXPECT_FALSE(stopped); },
                                           [&](Result<void>) { EXPECT_FALSE(stopped); }});
  });
  loop->Stop();
  stopped = true;
  EXPECT_TRUE(Eventually([&] { return server_.requests().size() == 2; }));
  client_.Shutdown();
}

TEST_F(ClientTransportTest, AConsumerThatFallsBehindHoldsUpTheServer) {
  constexpr int kPieces = 64;  // of 1 MiB
  std::string piece(1 << 20, 'x');
  for (std::size_t i = 1023; i < piece.size(); i += 1024) piece[i] = '\n';
  std::atomic<int> written = 0;
  std::atomic<bool> stalled = false;
  Server server([&](const ServedRequest& request) {
    request.connection->Write(kChunkedHead);
    for (; written < kPieces; ++written) {
      if (!stalled) stalled = !request.connection->WaitUntilWritable(500ms);
      if (!request.connection->Write(Chunk(piece))) return std::string();
    }
    return std::string(kLastChunk);
  });
  Client client(To(server), {.qps = 0});
  ClientTransport transport(client, executor_);
  std::size_t bytes = 0;
  bool ended = false;
  const auto handle =
      transport.Watch(Get("/x", 5min), {[&](std::string_view lines) { bytes += lines.size(); },
                                        [&](Result<void> end) { ended = end.has_value(); }});
  EXPECT_TRUE(Eventually([&] { return stalled || written == kPieces; }));
  EXPECT_LT(written, kPieces) << "nothing has been taken, so nothing is acknowledged";
  while (bytes < piece.size() * kPieces || !ended) executor_.Step();
  EXPECT_EQ(bytes, piece.size() * kPieces);
}

TEST_F(ClientTransportTest, ManyCallsAndWatchesLetGoOfInARace) {
  async::EventLoop loop("test");
  auto transport = std::make_unique<ClientTransport>(client_, loop);
  std::vector<async::Handle> handles;
  std::atomic<int> ended = 0;
  for (int round = 0; round < 50; ++round) {
    loop.Run([&] {
      if (round % 3 == 0) handles.clear();
      for (int i = 0; i < 4; ++i) {
        handles.push_back(transport->Send(Get("/x"), [&](Result<Response>) { ++ended; }));
        handles.push_back(transport->Watch(
            Get("/lines"), {[](std::string_view) {}, [&](Result<void>) { ++ended; }}));
      }
    });
  }
  EXPECT_TRUE(Eventually([&] { return ended > 0; }));
  loop.Run([&] { handles.clear(); });
  const int at_the_end = ended;
  transport.reset();
  loop.Run([] {});
  EXPECT_EQ(ended, at_the_end);
}

}  // namespace
}  // namespace berth::kube
