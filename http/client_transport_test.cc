#include "http/client_transport.h"

#include <gtest/gtest.h>

#include <atomic>
#include <optional>

#include "async/event_loop.h"
#include "async/task.h"
#include "http/client_fixture_test.h"
#include "http/step_executor_test.h"
#include "http/test_server.h"

namespace berth::http {
namespace {

using test::Answer;
using test::ServedRequest;
using test::Server;
using test::StepExecutor;

class ClientTransportTest : public testing::Test {
 protected:
  // "/silent" waits for the connection's end; all else is answered with the path.
  static std::string Serve(const ServedRequest& request) {
    if (!request.Line().contains("/silent")) return Answer(404, request.Line());
    request.connection->WaitUntilClosed(20s);
    return {};
  }

  Request Path(const std::string& path) const { return Get(server_, path); }

  Server server_{Serve};
  Client client_;
  const PeerPtr peer_ = AnyPeer();
  StepExecutor executor_;
  std::optional<ClientTransport> transport_{std::in_place, client_, peer_, executor_};
};

TEST_F(ClientTransportTest, AnswersComeOnTheExecutorAfterSendHasReturned) {
  std::string answer;
  const auto handle = transport_->Send(Path("/x"), [&](Result<Response> result) {
    answer = result ? result->body : result.error().message;
  });
  EXPECT_TRUE(Eventually([&] { return executor_.waiting() == 1; }));
  EXPECT_EQ(answer, "");
  executor_.Step();
  EXPECT_EQ(answer, "GET /x HTTP/1.1");
}

TEST_F(ClientTransportTest, EvenWhatTheClientRefusesItself) {
  bool called = false;
  const auto handle =
      transport_->Send({.url = "not a URL"}, [&](Result<Response>) { called = true; });
  EXPECT_FALSE(called);
  executor_.Step();
  EXPECT_TRUE(called);
}

TEST_F(ClientTransportTest, ACallLetGoOfCallsNobodyEvenWhenItsAnswerIsPosted) {
  auto held = std::make_shared<int>();
  bool called = false;
  auto handle = transport_->Send(Path("/x"), [&called, held](Result<Response>) { called = true; });
  EXPECT_TRUE(Eventually([&] { return executor_.waiting() == 1; }));
  handle.Cancel();
  EXPECT_EQ(held.use_count(), 1) << "what the callback held is let go on this thread";
  executor_.Step();
  EXPECT_FALSE(called);
}

TEST_F(ClientTransportTest, ACallLetGoOfUnderWayIsCancelled) {
  // The handler waits until the client closes the connection: without that, the server's end would
  // take 20 s.
  auto handle = transport_->Send(Path("/silent"), [](Result<Response>) { ADD_FAILURE(); });
  EXPECT_TRUE(Eventually([&] { return server_.requests().size() == 1; }));
  handle.Cancel();
  client_.Close(*peer_);
  EXPECT_EQ(executor_.waiting(), 0u);
}

TEST_F(ClientTransportTest, TheCallbackMayLetGoOfItsOwnHandle) {
  async::Handle handle;
  int called = 0;
  handle = transport_->Send(Path("/x"), [&](Result<Response>) {
    handle = {};
    ++called;
  });
  executor_.Step();
  EXPECT_EQ(called, 1);
}

TEST_F(ClientTransportTest, HandlesAndAnswersMayOutliveTheTransport) {
  auto executor = std::make_unique<StepExecutor>();
  std::optional<ClientTransport> transport(std::in_place, client_, peer_, *executor);
  auto silent = transport->Send(Path("/silent"), [](Result<Response>) { ADD_FAILURE(); });
  auto posted = transport->Send(Path("/x"), [](Result<Response>) { ADD_FAILURE(); });
  EXPECT_TRUE(Eventually([&] { return executor->waiting() == 1; }));
  transport.reset();
  executor.reset();
  client_.Close(*peer_);  // ends it, with nobody to tell
  silent.Cancel();
  posted.Cancel();
}

TEST_F(ClientTransportTest, AnExecutorMayStopFirst) {
  auto loop = std::make_unique<async::EventLoop>("test");
  ClientTransport transport(client_, peer_, *loop);
  async::Handle call;
  std::atomic<bool> stopped = false;
  loop->Run([&] {
    call = transport.Send(Path("/silent"), [&](Result<Response>) { EXPECT_FALSE(stopped); });
  });
  loop->Stop();
  stopped = true;
  EXPECT_TRUE(Eventually([&] { return server_.requests().size() == 1; }));
  client_.Close(*peer_);
}

async::Task<> AskTwice(Transport* transport, Request first, Request second, std::string* log) {
  for (Request* request : {&first, &second}) {
    const auto result = co_await async::Callback<Result<Response>>(
        [&](auto done) { return transport->Send(std::move(*request), std::move(done)); });
    *log += result ? result->body : result.error().message;
  }
}

TEST_F(ClientTransportTest, ACoroutineThatIsDestroyedGivesItsCallUp) {
  std::string log;
  {
    const async::Running running =
        async::Start(AskTwice(&*transport_, Path("/x"), Path("/silent"), &log));
    executor_.Step();
    EXPECT_TRUE(Eventually([&] { return server_.requests().size() == 2; }));
    EXPECT_TRUE(running);
  }
  client_.Close(*peer_);
  EXPECT_EQ(executor_.waiting(), 0u);
  EXPECT_EQ(log, "GET /x HTTP/1.1");
}

}  // namespace
}  // namespace berth::http
