#include "server/http_server.h"

#include "server/apis_fixture_test.h"

namespace berth::server::test {
namespace {

// One request that Drogon reads, and one that goes past it.
class HttpServerLoad : public testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(Requests, HttpServerLoad, testing::Values(Get("/"), Post("/", "{}")));

TEST_P(HttpServerLoad, MoreThanItCanServeAtOnceIsTurnedAwayWith429AndTheRestIsServed) {
  LiveApi& api = LiveApi::Shared();
  std::vector<PlainClient> clients;
  for (std::size_t i = 0; i < LiveApi::kMaxInFlight; ++i) {
    clients.emplace_back(api.parked_port());
    ASSERT_TRUE(clients.back().Send(GetParam()));
  }
  ASSERT_TRUE(WaitUntil([&] { return api.Parked() == LiveApi::kMaxInFlight; })) << api.Parked();

  PlainClient late(api.parked_port());
  const auto turned_away = late.Exchange(GetParam());
  ExpectStatus(turned_away, 429);
  EXPECT_EQ(turned_away->Header("retry-after"), "1");

  api.AnswerParked();
  for (auto& client : clients) EXPECT_EQ(Code(client.ReadResponse()), 200);
  ASSERT_TRUE(late.Send(GetParam()));
  ASSERT_TRUE(WaitUntil([&] { return api.Parked() == 1; }));
  api.AnswerParked();
  EXPECT_EQ(Code(late.ReadResponse()), 200);
}

TEST(HttpServer, OfAConnectionsRequestsOneIsServedAtATime) {
  LiveApi& api = LiveApi::Shared();
  PlainClient client(api.parked_port());
  ASSERT_TRUE(client.Send(Get("/1") + Get("/2") + Post("/3", "{}") + Post("/4", "{}") + Get("/5")));
  for (int i = 0; i < 5; ++i) {
    ASSERT_TRUE(WaitUntil([&] { return api.Parked() > 0; }));
    EXPECT_EQ(api.Parked(), 1u);
    api.AnswerParked();
    EXPECT_EQ(Code(client.ReadResponse()), 200);
  }
}

}  // namespace
}  // namespace berth::server::test
