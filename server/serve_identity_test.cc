#include <gmock/gmock.h>

#include "server/serve_fixture_test.h"

// Identity of callers: X-Remote-* counts from the front proxy's certificate and from nowhere else.
namespace berth::server::test {
namespace {

using testing::HasSubstr;

class FrontProxyIdentity : public ServeTest {};

TEST_F(FrontProxyIdentity, IsTakenFromItsCertificate) {
  Start();
  const auto response = FrontProxy().Exchange(Get(kWorkQueues, kAdmin));
  EXPECT_EQ(Code(response), 200);
  EXPECT_THAT(Body(response), HasSubstr("WorkQueueList"));
}

TEST_F(FrontProxyIdentity, CertificateOfAnotherAuthorityIsRefusedAtTheHandshake) {
  Start();
  TlsClient client = Api(&pki_.foreign);
  client.Send(Get(kWorkQueues, kAdmin));
  EXPECT_FALSE(client.ReadResponse());
  EXPECT_TRUE(client.Closed());
  EXPECT_THAT(client.error(), HasSubstr("closed"));
}

TEST_F(FrontProxyIdentity, HeadersWithoutACertificateAreForged) {
  Start();
  TlsClient client = Api(nullptr);
  ExpectStatus(client.Exchange(Get(kWorkQueues, kAdmin)), 401);
  ExpectStatus(client.Exchange(Get("/apis", kAdmin)), 401);
  ExpectStatus(client.Exchange(Get("/openapi/v2", kAdmin)), 401);
}

TEST_F(FrontProxyIdentity, CertificateWithAnotherNameIsNotTheProxy) {
  Start();
  const certs::KeyPair other = pki_.NewClient("some-kubelet");
  ExpectStatus(Api(&other).Exchange(Get(kWorkQueues, kAdmin)), 401);
  EXPECT_TRUE(berth_->WaitForLog("some-kubelet"));
}

TEST_F(FrontProxyIdentity, AllowedNamesAreASetting) {
  Start({{"requestheader-allowed-names", "aggregator,proxy-2"}});
  const certs::KeyPair second = pki_.NewClient("proxy-2");
  EXPECT_EQ(Code(Api(&second).Exchange(Get(kWorkQueues, kAdmin))), 200);
  ExpectStatus(FrontProxy().Exchange(Get(kWorkQueues, kAdmin)), 401);
}

TEST_F(FrontProxyIdentity, DoesNotMixWithTheCallersOwnCredentials) {
  Start();
  HeaderLines both = kAdmin;
  both.push_back("Authorization: Bearer secret-token");
  ExpectStatus(FrontProxy().Exchange(Get(kWorkQueues, both)), 401);
  EXPECT_FALSE(berth_->LogContains("secret-token"));
}

TEST_F(FrontProxyIdentity, TwoUserNamesAreNone) {
  Start();
  HeaderLines two = kAdmin;
  two.push_back("X-Remote-User: mallory");
  ExpectStatus(FrontProxy().Exchange(Get(kWorkQueues, two)), 401);
}

TEST_F(FrontProxyIdentity, NoUserNameIsNobody) {
  Start();
  ExpectStatus(FrontProxy().Exchange(Get(kWorkQueues, {"X-Remote-Group: system:masters"})), 401);
  ExpectStatus(FrontProxy().Exchange(Get(kWorkQueues, {"X-Remote-User:", kAdmin[1]})), 401);
}

// The names of one user must not reach the next request of the same connection.
TEST_F(FrontProxyIdentity, BelongsToOneRequestOnly) {
  Start();
  TlsClient client = FrontProxy();
  EXPECT_EQ(Code(client.Exchange(Get(kWorkQueues, kAdmin))), 200);
  ExpectStatus(client.Exchange(Get(kWorkQueues, {"X-Remote-User: alice"})), 403);
  ExpectStatus(client.Exchange(Get(kWorkQueues)), 401);
}

TEST_F(FrontProxyIdentity, EveryPathIsAuthorised) {
  Start();
  TlsClient client = FrontProxy();
  for (const char* path :
       {"/", "/apis", "/openapi/v2", "/nothing", "/apis/live.berth.dev/v1alpha1/nothing"}) {
    ExpectStatus(client.Exchange(Get(path, {"X-Remote-User: alice"})), 403);
  }
}

TEST_F(FrontProxyIdentity, LongNamesAreCutInARefusal) {
  Start();
  const std::string name(7000, 'x');
  for (const std::string& path :
       {"/" + name, "/apis/live.berth.dev/v1alpha1/" + name, kWorkQueues + "/" + name}) {
    const auto answer = FrontProxy().Exchange(Get(path, {"X-Remote-User: alice"}));
    ExpectStatus(answer, 403);
    EXPECT_LT(Body(answer).size(), 2048);
  }
}

TEST_F(FrontProxyIdentity, WebhookListenerDoesNotServeTheApiNorTheApiWebhooks) {
  Start();
  ExpectStatus(Webhook().Exchange(Get(kWorkQueues, kAdmin)), 404);
  HeaderLines headers = kAdmin;
  headers.push_back(kJsonBody[0]);
  ExpectStatus(FrontProxy().Exchange(Post(kValidate, "{}", headers)), 404);
}

}  // namespace
}  // namespace berth::server::test
