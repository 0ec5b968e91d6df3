#include "handlers/peer_certificates.h"

#include <gtest/gtest.h>

namespace berth::http {
namespace {

using namespace std::chrono_literals;

// "NAME of AUTHORITY", where a real one has PEM.
struct FakeCertificate : trantor::Certificate {
  explicit FakeCertificate(std::string given) : text(std::move(given)) {}
  std::string sha1Fingerprint() const override { return {}; }
  std::string sha256Fingerprint() const override { return {}; }
  std::string pem() const override { return text; }

  const std::string text;
};

class PeerCertificatesTest : public testing::Test {
 protected:
  static trantor::CertificatePtr Certificate(const std::string& text) {
    return std::make_shared<FakeCertificate>(text);
  }
  static PeerCertificates::Authority Authority(const std::string& text) {
    return std::make_shared<const std::string>(text);
  }

  const PeerCertificates::Clock::time_point end_ = PeerCertificates::Clock::time_point() + 1h;
  int verified_ = 0;
  PeerCertificates peers_{
      {.common_name = [](const std::string& pem) { return pem.substr(0, pem.find(' ')); },
       .not_after = [this](const std::string&) { return end_; },
       .is_signed =
           [this](const std::string& pem, const std::string& authority) {
             ++verified_;
             return pem.ends_with(" of " + authority);
           }}};
};

TEST_F(PeerCertificatesTest, ACertificateIsVerifiedOnceUnderAnAuthority) {
  const auto proxy = Certificate("proxy of A");
  const auto authority = Authority("A");
  for (int i = 0; i < 3; ++i) EXPECT_EQ(peers_.NameOf(proxy, authority, end_ - 1s), "proxy");
  EXPECT_EQ(peers_.NameOf(proxy, Authority("A"), end_ - 1s), "proxy");
  EXPECT_EQ(verified_, 1);
}

TEST_F(PeerCertificatesTest, AnotherAuthorityHasToHaveSignedItToo) {
  const auto proxy = Certificate("proxy of A");
  EXPECT_EQ(peers_.NameOf(proxy, Authority("A"), end_ - 1s), "proxy");
  EXPECT_EQ(peers_.NameOf(proxy, Authority("B"), end_ - 1s), std::nullopt);
  EXPECT_EQ(peers_.NameOf(proxy, Authority("B"), end_ - 1s), std::nullopt);
  EXPECT_EQ(peers_.NameOf(proxy, Authority("A"), end_ - 1s), "proxy");
}

TEST_F(PeerCertificatesTest, ACertificateEndsWhileItsConnectionLasts) {
  const auto proxy = Certificate("proxy of A");
  const auto authority = Authority("A");
  EXPECT_EQ(peers_.NameOf(proxy, authority, end_ - 1s), "proxy");
  EXPECT_EQ(peers_.NameOf(proxy, authority, end_), std::nullopt);
}

TEST_F(PeerCertificatesTest, ConnectionsThatEndedAreForgotten) {
  const auto authority = Authority("A");
  for (int i = 0; i < 10'000; ++i) {
    const std::string name = "c" + std::to_string(i);
    EXPECT_EQ(peers_.NameOf(Certificate(name + " of A"), authority, end_ - 1s), name);
  }
}

}  // namespace
}  // namespace berth::http
