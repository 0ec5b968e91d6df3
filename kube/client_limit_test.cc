#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <latch>
#include <vector>

#include "http/test_server.h"
#include "kube/client.h"
#include "kube/client_fixture_test.h"
#include "log/format.h"

namespace berth::kube {
namespace {

using test::Answer;
using test::ServedRequest;
using test::Server;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

std::vector<std::string> Paths(const Server& server) {
  std::vector<std::string> paths;
  for (const auto& request : server.requests()) {
    const std::string line = request.Line();
    const std::size_t begin = line.find(' ') + 1;
    paths.push_back(line.substr(begin, line.find(' ', begin) - begin));
  }
  return paths;
}

Request Ahead(Request request) {
  request.ahead = true;
  return request;
}

std::string Fine(const ServedRequest&) { return Answer(200, "{}"); }

TEST(ClientLimitTest, WaitingCallsGoInOrderAsTheRateLetsThem) {
  Server server(Fine);
  Client client(To(server), {.qps = 10, .burst = 2});
  const auto begin = std::chrono::steady_clock::now();
  std::vector<std::future<Result<Response>>> calls;
  for (int i = 0; i < 6; ++i) calls.push_back(Begin(client, Get(Format("/{}", i))));
  for (auto& call : calls) EXPECT_TRUE(call.get());
  // Two at once, four more 100 ms apart.
  EXPECT_GE(std::chrono::steady_clock::now() - begin, 400ms);
  const auto paths = Paths(server);
  // Calls of the burst go on two connections, so either may be first.
  EXPECT_THAT(std::vector(paths.begin() + 2, paths.end()), ElementsAre("/2", "/3", "/4", "/5"));
}

TEST(ClientLimitTest, AheadGoesAtOnceAndCostsOthersNothing) {
  Server server(Fine);
  Client client(To(server), {.qps = 1e-3, .burst = 2});
  ASSERT_TRUE(Ask(client, Get("/first")));
  for (int i = 0; i < 5; ++i) ASSERT_TRUE(Ask(client, Ahead(Get("/lease"))));
  ASSERT_TRUE(Ask(client, Get("/second"))) << "its token is still there";
  auto waits = Begin(client, Get("/waits", 10min));
  ASSERT_TRUE(Ask(client, Ahead(Get("/lease"))));
  EXPECT_EQ(waits.wait_for(0s), std::future_status::timeout);
  client.Shutdown();
  EXPECT_EQ(Failed(waits.get()).error_class, ErrorClass::kRetry);
}

TEST(ClientLimitTest, ACallThatWaitsPastItsDeadlineWasNeverSent) {
  Server server(Fine);
  Client client(To(server), {.qps = 1e-3, .burst = 1});
  ASSERT_TRUE(Ask(client, Get("/first")));
  auto patient = Begin(client, Post("{}", 10min));
  auto hasty = Begin(client, Post("{}", 50ms));
  const Error error = Failed(hasty.get());
  EXPECT_EQ(error.error_class, ErrorClass::kRetry) << "a write, but it never left";
  EXPECT_THAT(error.message, AllOf(HasSubstr("POST /things"), HasSubstr("not sent within 50 ms")));
  EXPECT_EQ(patient.wait_for(0s), std::future_status::timeout);
  EXPECT_THAT(Paths(server), ElementsAre("/first"));
}

TEST(ClientLimitTest, TheTimeSpentWaitingCounts) {
  std::latch release(1);
  Server server([&](const ServedRequest& request) {
    if (request.Line().contains("/slow")) release.wait();
    return Answer(200, "{}");
  });
  Client client(To(server), {.qps = 1, .burst = 1});
  ASSERT_TRUE(Ask(client, Get("/first")));
  const auto begin = std::chrono::steady_clock::now();
  const Error error = Failed(Ask(client, Get("/slow", 1200ms)));
  // A second of it goes by before it is sent.
  EXPECT_LT(std::chrono::steady_clock::now() - begin, 2100ms);
  EXPECT_THAT(error.message, HasSubstr("no answer within 1200 ms"));
  release.count_down();
}

TEST(ClientLimitTest, AWaitingCallIsCancelledAndLeavesItsTurn) {
  Server server(Fine);
  Client client(To(server), {.qps = 10, .burst = 1});
  ASSERT_TRUE(Ask(client, Get("/first")));
  std::atomic<bool> called = false;
  const CallId id = client.Send(Get("/unwanted"), [&](Result<Response>) { called = true; });
  auto next = Begin(client, Get("/next"));
  ASSERT_TRUE(Ask(client, Ahead(Get("/ahead")))) << "so that all three have been seen";
  client.Cancel(id);
  EXPECT_TRUE(next.get());
  client.Shutdown();
  EXPECT_FALSE(called);
  EXPECT_THAT(Paths(server), ElementsAre("/first", "/ahead", "/next"));
}

TEST(ClientLimitTest, StreamsWaitToo) {
  Server server([](const ServedRequest&) { return Answer(200, "line\n"); });
  Client client(To(server), {.qps = 1e-3, .burst = 1});
  ASSERT_TRUE(Ask(client, Get("/first")));
  std::promise<Result<void>> end;
  client.Stream(Get("/stream", 50ms), {[](std::string) { ADD_FAILURE() << "never sent"; },
                                       [&](Result<void> result) { end.set_value(result); }});
  const auto result = end.get_future().get();
  ASSERT_FALSE(result);
  EXPECT_THAT(result.error().message, HasSubstr("not sent within 50 ms"));
}

TEST(ClientLimitTest, ByDefaultAHundredAtOnce) {
  Server server(Fine);
  Client client(To(server));
  std::atomic<int> ended = 0;
  const auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < 150; ++i) client.Send(Get("/x"), [&](Result<Response>) { ++ended; });
  EXPECT_TRUE(Eventually([&] { return ended == 150; }));
  // The 50 past the burst come 20 ms apart.
  EXPECT_GE(std::chrono::steady_clock::now() - begin, 980ms);
}

}  // namespace
}  // namespace berth::kube
