#include <gmock/gmock.h>

#include "server/serve_fixture_test.h"

// Webhooks that only the API server may call: --webhook-client-ca-file.
namespace berth::server::test {
namespace {

using testing::HasSubstr;

class WebhookClients : public ServeTest {
 protected:
  void StartFor(const std::string& names = "") {
    Start({{"webhook-client-ca-file", pki_.client_ca_file()}, {"webhook-client-names", names}});
  }
  std::optional<HttpResponse> Review(const certs::KeyPair* identity) {
    return Webhook(kPatience, identity)
        .Exchange(Post(kValidate, ReadTestData("admission/create.json")));
  }
};

TEST_F(WebhookClients, AnybodyIsServedWithoutACa) {
  Start();
  EXPECT_EQ(Code(Review(nullptr)), 200);
}

TEST_F(WebhookClients, ACertificateOfTheCaIsServed) {
  StartFor();
  const certs::KeyPair api_server = pki_.NewClient("kube-apiserver");
  EXPECT_EQ(Code(Review(&api_server)), 200);
}

TEST_F(WebhookClients, NobodyIsServedWithoutACertificate) {
  StartFor();
  EXPECT_FALSE(Review(nullptr));
}

TEST_F(WebhookClients, ACertificateOfAnotherCaIsRefusedAtTheHandshake) {
  StartFor();
  EXPECT_FALSE(Review(&pki_.foreign));
}

TEST_F(WebhookClients, TheNameDecidesWhereNamesAreGiven) {
  StartFor("kube-apiserver,kube-apiserver-2");
  const certs::KeyPair second = pki_.NewClient("kube-apiserver-2");
  EXPECT_EQ(Code(Review(&second)), 200);
  const certs::KeyPair kubelet = pki_.NewClient("some-kubelet");
  ExpectStatus(Review(&kubelet), 401);
  EXPECT_TRUE(berth_->WaitForLog("some-kubelet"));
}

TEST_F(WebhookClients, AnOpenConnectionIsRefusedWhenTheCaIsAnother) {
  StartFor();
  const certs::KeyPair api_server = pki_.NewClient("kube-apiserver");
  TlsClient old = Webhook(kPatience, &api_server);
  const std::string review = Post(kValidate, ReadTestData("admission/create.json"));
  ASSERT_EQ(Code(old.Exchange(review)), 200);
  WriteFile(pki_.client_ca_file(), pki_.foreign_ca.cert_pem);
  ASSERT_TRUE(berth_->WaitForLog("CA of webhook clients reloaded"));
  ExpectStatus(old.Exchange(review), 401);
  EXPECT_TRUE(old.Closed());
}

TEST_F(WebhookClients, TheAggregatedApiIsServedAsBefore) {
  StartFor();
  EXPECT_EQ(Code(FrontProxy().Exchange(Get(kWorkQueues, kAdmin))), 200);
  ExpectStatus(Api(nullptr).Exchange(Get(kWorkQueues)), 401);
}

TEST(WebhookClientsRefused, NamesWithoutACa) {
  const Pki pki;
  BerthProcess berth(pki, {{"webhook-client-names", "kube-apiserver"}});
  EXPECT_FALSE(berth.listening());
  EXPECT_THAT(berth.Log(), HasSubstr("--webhook-client-ca-file"));
}

}  // namespace
}  // namespace berth::server::test
