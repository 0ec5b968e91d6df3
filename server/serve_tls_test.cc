#include <gmock/gmock.h>
#include <openssl/ssl.h>

#include "server/serve_fixture_test.h"

// TLS as configured, and what the program does when it cannot be.
namespace berth::server::test {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

class TlsVersions : public ServeTest {};
class CertificateReload : public ServeTest {};

// Not for a reason of the client's own; trantor hangs up without an alert.
const auto kEndedByServer = testing::AnyOf(HasSubstr("alert"), HasSubstr("unexpected eof"));

constexpr auto kReloadPatience = 20s;  // the files are looked at every 5 s

// A start that must fail: with this status, having said this.
void ExpectNoStart(const Pki& pki, const BerthProcess::Flags& flags, int status,
                   const std::string& said) {
  BerthProcess berth(pki, flags);
  EXPECT_FALSE(berth.listening());
  EXPECT_EQ(berth.Wait(), status) << berth.Log();
  EXPECT_THAT(berth.Log(), HasSubstr(said));
}

TEST(StartRefused, UnknownCipherSuiteIsNamed) {
  const Pki pki;
  ExpectNoStart(pki, {{"tls-cipher-suites", "NOPE"}}, 1, "NOPE");
  ExpectNoStart(pki, {{"tls-cipher-suites", "TLS_NOPE"}}, 1, "TLS_NOPE");
}

// OpenSSL itself would skip the word it does not know.
TEST(StartRefused, UnknownCipherSuiteAmongKnownOnesIsNamed) {
  const Pki pki;
  ExpectNoStart(pki, {{"tls-cipher-suites", "ECDHE-ECDSA-AES128-GCM-SHA256,NOPE"}}, 1, "NOPE");
}

TEST(StartRefused, UnknownTlsVersionIsAUsageError) {
  ExpectNoStart(Pki(), {{"tls-min-version", "1.4"}}, 2, "--tls-min-version");
  ExpectNoStart(Pki(), {{"tls-min-version", "1.1"}}, 2, "--tls-min-version");
}

TEST(StartRefused, UnknownFlagIsAUsageError) {
  ExpectNoStart(Pki(), {{"no-such-flag", "1"}}, 2, "--no-such-flag");
}

TEST(StartRefused, CertificateAndKeyThatDoNotBelongTogether) {
  const Pki pki;
  WriteFile(pki.key_file(), pki.NewServingPair().key_pem);
  ExpectNoStart(pki, {}, 1, "cannot start");
}

TEST(StartRefused, MissingFilesAreNamed) {
  const Pki pki;
  ExpectNoStart(pki, {{"tls-cert-file", "/no/such/tls.crt"}}, 1, "/no/such/tls.crt");
  ExpectNoStart(pki, {{"tls-private-key-file", "/no/such/tls.key"}}, 1, "/no/such/tls.key");
  ExpectNoStart(pki, {{"requestheader-client-ca-file", "/no/such/ca.crt"}}, 1, "/no/such/ca.crt");
}

TEST(StartRefused, ClientCaThatIsNoCertificate) {
  const Pki pki;
  WriteFile(pki.client_ca_file(), "not PEM at all");
  ExpectNoStart(pki, {}, 1, "cannot start");
}

TEST(StartRefused, CertificateWithoutItsKeyIsAUsageError) {
  ExpectNoStart(Pki(), {{"tls-private-key-file", ""}}, 2, "--tls-private-key-file");
}

TEST(StartRefused, PortInUseIsNamed) {
  const Pki pki;
  BerthProcess first(pki);
  ASSERT_TRUE(first.listening()) << first.Log();
  const std::string port = std::to_string(first.port("webhook"));
  ExpectNoStart(pki, {{"webhook-port", port}}, 1, "127.0.0.1:" + port);
  ExpectNoStart(pki, {{"health-port", port}}, 1, "choose another port by --health-port");
}

// With SO_REUSEPORT both would open and take each other's connections.
TEST(StartRefused, TwoListenersOnOnePort) {
  const Pki pki;
  BerthProcess first(pki);
  ASSERT_TRUE(first.listening()) << first.Log();
  ASSERT_EQ(first.Stop(), 0);
  const std::string port = std::to_string(first.port("webhook"));
  ExpectNoStart(pki, {{"webhook-port", port}, {"metrics-port", port}}, 1, "127.0.0.1:" + port);
}

TEST_F(TlsVersions, Tls12And13AreSpokenByDefault) {
  Start();
  for (const int version : {TLS1_2_VERSION, TLS1_3_VERSION}) {
    TlsClient client(berth_->port("webhook"),
                     TlsOptions{.least_version = version, .most_version = version});
    EXPECT_TRUE(client.connected()) << client.error();
    ExpectStatus(client.Exchange(Post(kValidate, "{}")), 400);
  }
}

TEST_F(TlsVersions, Tls12IsSpokenWithAuthenticatedEncryptionOnly) {
  Start();
  const auto connects = [&](const char* listener, const char* ciphers) {
    const TlsContext context(TlsOptions{.most_version = TLS1_2_VERSION});
    SSL_CTX_set_cipher_list(context.get(), ciphers);
    return TlsClient(berth_->port(listener), context).connected();
  };
  for (const char* listener : {"webhook", "api"}) {
    EXPECT_TRUE(connects(listener, "ECDHE-ECDSA-AES128-GCM-SHA256"));
    EXPECT_TRUE(connects(listener, "ECDHE-ECDSA-CHACHA20-POLY1305"));
    EXPECT_FALSE(connects(listener, "ECDHE-ECDSA-AES128-SHA256:ECDHE-ECDSA-AES256-SHA384"));
    EXPECT_FALSE(connects(listener, "ECDHE-ECDSA-AES128-SHA:ECDHE-ECDSA-AES256-SHA"));
  }
}

TEST_F(TlsVersions, Tls11IsRefusedByTheServer) {
  Start();
  for (const char* listener : {"webhook", "api"}) {
    TlsClient client(berth_->port(listener),
                     TlsOptions{.least_version = TLS1_VERSION, .most_version = TLS1_1_VERSION});
    EXPECT_FALSE(client.connected());
    EXPECT_THAT(client.error(), kEndedByServer);
  }
}

TEST_F(TlsVersions, MinimumOf13RefusesTls12) {
  Start({{"tls-min-version", "1.3"}});
  for (const char* listener : {"webhook", "api"}) {
    TlsClient old(berth_->port(listener), TlsOptions{.most_version = TLS1_2_VERSION});
    EXPECT_FALSE(old.connected());
    EXPECT_THAT(old.error(), kEndedByServer);
    EXPECT_TRUE(TlsClient(berth_->port(listener)).connected());
  }
}

TEST_F(TlsVersions, CertificateOfAnotherAuthorityIsRefusedInTls12Too) {
  Start();
  TlsClient client(berth_->port("api"),
                   TlsOptions{.identity = &pki_.foreign, .most_version = TLS1_2_VERSION});
  EXPECT_FALSE(client.connected());
  EXPECT_THAT(client.error(), kEndedByServer);
}

TEST_F(CertificateReload, NewPairIsServedAndOldConnectionsGoOn) {
  Start();
  TlsClient before = Webhook();
  ASSERT_EQ(before.PeerCertificate(), pki_.serving.cert_pem);
  const certs::KeyPair fresh = pki_.NewServingPair();
  WriteFile(pki_.key_file(), fresh.key_pem);
  WriteFile(pki_.cert_file(), fresh.cert_pem);
  EXPECT_TRUE(
      WaitUntil([&] { return Webhook().PeerCertificate() == fresh.cert_pem; }, kReloadPatience));
  // Each listener takes it over by itself.
  EXPECT_TRUE(
      WaitUntil([&] { return Api(nullptr).PeerCertificate() == fresh.cert_pem; }, kReloadPatience));
  ExpectStatus(before.Exchange(Post(kValidate, "{}")), 400);
  // The reload reads the client CA again as well.
  EXPECT_EQ(Code(FrontProxy().Exchange(Get(kWorkQueues, kAdmin))), 200);
  TlsClient stranger = Api(&pki_.foreign);
  stranger.Send(Get(kWorkQueues, kAdmin));
  EXPECT_FALSE(stranger.ReadResponse());
}

TEST_F(CertificateReload, PairThatDoesNotBelongTogetherIsNotTakenOver) {
  Start();
  TlsClient before = Webhook();
  WriteFile(pki_.key_file(), pki_.NewServingPair().key_pem);
  WriteFile(pki_.cert_file(), pki_.NewServingPair().cert_pem);
  EXPECT_TRUE(berth_->WaitForLog("reconcile failed", kReloadPatience));
  EXPECT_TRUE(berth_->LogContains("serving-certificate"));
  EXPECT_TRUE(berth_->Running());
  ExpectStatus(before.Exchange(Post(kValidate, "{}")), 400);
  EXPECT_EQ(Webhook().PeerCertificate(), pki_.serving.cert_pem);
  // Put right, it is taken.
  const certs::KeyPair fresh = pki_.NewServingPair();
  WriteFile(pki_.key_file(), fresh.key_pem);
  WriteFile(pki_.cert_file(), fresh.cert_pem);
  EXPECT_TRUE(
      WaitUntil([&] { return Webhook().PeerCertificate() == fresh.cert_pem; }, kReloadPatience));
}

TEST_F(CertificateReload, AnOpenConnectionIsRefusedWhenTheRequestHeaderCaIsAnother) {
  Start();
  TlsClient old = FrontProxy();
  ASSERT_EQ(Code(old.Exchange(Get(kWorkQueues, kAdmin))), 200);
  WriteFile(pki_.client_ca_file(), pki_.foreign_ca.cert_pem);
  ASSERT_TRUE(berth_->WaitForLog("request-header CA reloaded", kReloadPatience));
  ExpectStatus(old.Exchange(Get(kWorkQueues, kAdmin)), 401);
  EXPECT_TRUE(old.Closed());
  EXPECT_TRUE(WaitUntil(
      [&] { return Code(Api(&pki_.foreign).Exchange(Get(kWorkQueues, kAdmin))) == 200; }));
}

TEST_F(CertificateReload, AnOpenConnectionOutlivesACaThatIsAdded) {
  Start();
  TlsClient old = FrontProxy();
  ASSERT_EQ(Code(old.Exchange(Get(kWorkQueues, kAdmin))), 200);
  WriteFile(pki_.client_ca_file(), pki_.foreign_ca.cert_pem + pki_.front_proxy_ca.cert_pem);
  ASSERT_TRUE(berth_->WaitForLog("request-header CA reloaded", kReloadPatience));
  EXPECT_EQ(Code(old.Exchange(Get(kWorkQueues, kAdmin))), 200);
}

TEST_F(CertificateReload, WithoutFilesACertificateIsMadeForTheNames) {
  Start({{"tls-cert-file", ""}, {"tls-private-key-file", ""}});
  TlsClient client(berth_->port("webhook"));
  ASSERT_TRUE(client.connected()) << client.error();
  EXPECT_NE(client.PeerCertificate(), pki_.serving.cert_pem);
  ExpectStatus(client.Exchange(Post(kValidate, "{}")), 400);
}

}  // namespace
}  // namespace berth::server::test
