#include "server/apis_fixture_test.h"

namespace berth::server::test {
namespace {

// Whoever may connect must not be able to make the server remember words of theirs.
TEST(ApisMetrics, AClientsWordsNeverBecomeLabels) {
  LiveApi& api = LiveApi::Shared();
  TlsClient client = api.Connect();
  const HeaderLines nobody = {"X-Remote-User: nobody"};
  EXPECT_EQ(Code(client.Exchange(Get(kApi + "/inventions", nobody))), 403);
  EXPECT_EQ(Code(client.Exchange(Get(kApi + "/inventions", kAdmin))), 404);
  EXPECT_EQ(Code(client.Exchange(Get(kGadgets, nobody))), 403);
  EXPECT_EQ(api.Metric("berth_api_requests_total", "inventions"), 0);
  EXPECT_GT(api.Metric("berth_api_requests_total", "gadgets"), 0);
}

}  // namespace
}  // namespace berth::server::test
