#include "server/http_server.h"

#include "server/apis_fixture_test.h"

namespace berth::server::test {
namespace {

TEST(HttpServer, MoreThanItCanServeAtOnceIsTurnedAwayWith429AndTheRestIsServed) {
  LiveApi& api = LiveApi::Shared();
  constexpr std::size_t kOfOneClient = 20;
  std::vector<PlainClient> clients;
  for (std::size_t sent = 0; sent < LiveApi::kMaxInFlight; sent += kOfOneClient) {
    clients.emplace_back(api.parked_port());
    for (std::size_t i = 0; i < kOfOneClient; ++i) ASSERT_TRUE(clients.back().Send(Get("/")));
  }
  ASSERT_TRUE(WaitUntil([&] { return api.Parked() == LiveApi::kMaxInFlight; })) << api.Parked();

  PlainClient late(api.parked_port());
  const auto turned_away = late.Exchange(Get("/"));
  ExpectStatus(turned_away, 429);
  EXPECT_EQ(turned_away->Header("retry-after"), "1");

  api.AnswerParked();
  for (auto& client : clients) {
    for (std::size_t i = 0; i < kOfOneClient; ++i) EXPECT_EQ(Code(client.ReadResponse()), 200);
  }
  ASSERT_TRUE(late.Send(Get("/")));
  ASSERT_TRUE(WaitUntil([&] { return api.Parked() == 1; }));
  api.AnswerParked();
  EXPECT_EQ(Code(late.ReadResponse()), 200);
}

}  // namespace
}  // namespace berth::server::test
