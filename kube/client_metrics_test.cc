#include "kube/client_metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <prometheus/text_serializer.h>

#include <latch>

#include "http/test_server.h"
#include "kube/client.h"
#include "kube/client_fixture_test.h"
#include "log/format.h"

namespace berth::kube {
namespace {

using test::Answer;
using test::Chunk;
using test::kChunkedHead;
using test::kLastChunk;
using test::ServedRequest;
using test::Server;
using testing::HasSubstr;
using testing::Not;

class ClientMetricsTest : public testing::Test {
 protected:
  ClientOptions Counting() { return {.qps = 0, .metrics = &registry_}; }

  std::string Text() const { return prometheus::TextSerializer().Serialize(registry_.Collect()); }

  // The value of "name{labels}", "" when there is none.
  std::string Value(const std::string& series) const {
    const std::string text = Text();
    const std::size_t at = text.find("\n" + series + " ");
    if (at == std::string::npos) return "";
    const std::size_t begin = at + series.size() + 2;
    return text.substr(begin, text.find('\n', begin) - begin);
  }

  static std::string Requests(const Server& server, std::string_view code,
                              std::string_view method) {
    return Format(R"(rest_client_requests_total{{code="{}",host="127.0.0.1:{}",method="{}"}})",
                  code, server.port(), method);
  }
  static std::string Count(const Server& server, std::string_view name, std::string_view verb) {
    return Format(R"({}_count{{host="127.0.0.1:{}",verb="{}"}})", name, server.port(), verb);
  }

  prometheus::Registry registry_;
};

TEST_F(ClientMetricsTest, CountsAnswersByCodeAndMethod) {
  Server server([](const ServedRequest& request) {
    if (request.Line().contains("/cut")) return std::string();
    return Answer(request.Line().contains("/things") ? 201 : 404, "{}");
  });
  Client client(To(server), Counting());
  ASSERT_TRUE(Ask(client, Post("{}")));
  ASSERT_TRUE(Ask(client, Post("{}")));
  EXPECT_FALSE(Ask(client, Get("/missing")));
  EXPECT_FALSE(Ask(client, {.method = Method::kPatch, .path = "/cut", .body = "{}"}));
  client.Shutdown();
  EXPECT_EQ(Value(Requests(server, "201", "POST")), "2");
  EXPECT_EQ(Value(Requests(server, "404", "GET")), "1");
  EXPECT_EQ(Value(Requests(server, "<error>", "PATCH")), "1");
  EXPECT_EQ(Value(Count(server, "rest_client_request_duration_seconds", "POST")), "2");
  EXPECT_EQ(Value(Count(server, "rest_client_request_duration_seconds", "PATCH")), "1");
  EXPECT_THAT(Text(), Not(HasSubstr("missing"))) << "nothing of a path becomes a label";
}

TEST_F(ClientMetricsTest, ACallThatIsNeverSentIsNotCountedACancelledOneIs) {
  std::latch asked(1);
  Server server([&](const ServedRequest& request) {
    if (!request.Line().contains("/hold")) return Answer(200, "{}");
    asked.count_down();
    request.connection->WaitUntilClosed(20s);
    return std::string();
  });
  Client client(To(server), {.qps = 1e-3, .burst = 1, .metrics = &registry_});
  const CallId id = client.Send({.method = Method::kDelete, .path = "/hold"}, nullptr);
  asked.wait();
  client.Cancel(id);
  EXPECT_FALSE(Ask(client, Get("/too-late", 10ms)));
  client.Shutdown();
  EXPECT_EQ(Value(Requests(server, "<error>", "DELETE")), "1");
  EXPECT_EQ(Value(Requests(server, "<error>", "GET")), "");
}

TEST_F(ClientMetricsTest, AStreamCountsOnceWhenItBegins) {
  std::latch counted(1);
  Server server([&](const ServedRequest& request) {
    request.connection->Write(kChunkedHead);
    request.connection->Write(Chunk("line\n"));
    counted.wait();
    return std::string(kLastChunk);
  });
  Client client(To(server), Counting());
  std::promise<void> end;
  // Longer than the test waits: a stream whose time is up would be counted, too, at its end.
  client.Stream(Get("/x", 60s), {[](std::string) {}, [&](Result<void>) { end.set_value(); }});
  EXPECT_TRUE(Eventually([&] { return Value(Requests(server, "200", "GET")) == "1"; }));
  counted.count_down();
  end.get_future().wait();
  client.Shutdown();
  EXPECT_EQ(Value(Requests(server, "200", "GET")), "1");
  EXPECT_EQ(Value(Count(server, "rest_client_request_duration_seconds", "GET")), "")
      << "how long a watch lasts says nothing of latency";
}

TEST_F(ClientMetricsTest, TheRateLimitsWaitIsMeasured) {
  Server server([](const ServedRequest&) { return Answer(200, "{}"); });
  Client client(To(server), {.qps = 20, .burst = 1, .metrics = &registry_});
  std::vector<std::future<Result<Response>>> calls;
  for (int i = 0; i < 3; ++i) calls.push_back(Begin(client, Get("/x")));
  for (auto& call : calls) EXPECT_TRUE(call.get());
  Request ahead = Post("{}");
  ahead.ahead = true;
  ASSERT_TRUE(Ask(client, ahead));
  client.Shutdown();
  const std::string name = "rest_client_rate_limiter_duration_seconds";
  EXPECT_EQ(Value(Count(server, name, "GET")), "3");
  EXPECT_EQ(Value(Count(server, name, "POST")), "") << "it does not pass the limit";
  const std::string sum =
      Format(R"({}_sum{{host="127.0.0.1:{}",verb="GET"}})", name, server.port());
  EXPECT_GE(std::stod(Value(sum)), 0.05) << "50 ms and 100 ms, or a little less";
}

TEST_F(ClientMetricsTest, BucketsAreClientGos) {
  ClientMetrics metrics(&registry_, "h");
  metrics.Took("GET", 61s);
  for (const char* bound :
       {"0.005", "0.025", "0.1", "0.25", "0.5", "1", "2", "4", "8", "15", "30", "60", "+Inf"}) {
    EXPECT_EQ(Value(Format(
                  R"(rest_client_request_duration_seconds_bucket{{host="h",verb="GET",le="{}"}})",
                  bound)),
              std::string_view(bound) == "+Inf" ? "1" : "0")
        << bound;
  }
}

TEST_F(ClientMetricsTest, WithoutARegistryNothingHappensAndTwoMayShareOne) {
  ClientMetrics none(nullptr, "h");
  none.Answered("GET", 200);
  none.Took("GET", 1s);
  none.Waited("GET", 1s);
  ClientMetrics one(&registry_, "h"), two(&registry_, "h");
  one.Answered("GET", 200);
  two.Answered("GET", 200);
  EXPECT_EQ(Value(R"(rest_client_requests_total{code="200",host="h",method="GET"})"), "2");
}

}  // namespace
}  // namespace berth::kube
