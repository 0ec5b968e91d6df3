#include "certs/authority.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ctime>

#include "certs/openssl.h"

namespace berth::certs {
namespace {

using namespace std::chrono_literals;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::SizeIs;

Cert Parse(const std::string& pem) {
  const Bio bio(BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())));
  return Cert(PEM_read_bio_X509(bio.get(), nullptr, nullptr, nullptr));
}

// The extension as OpenSSL prints it, "critical " before it where it is; "" when there is none.
std::string Extension(const std::string& pem, int nid) {
  const Cert cert = Parse(pem);
  const int at = X509_get_ext_by_NID(cert.get(), nid, -1);
  if (at < 0) return "";
  X509_EXTENSION* extension = X509_get_ext(cert.get(), at);
  const Bio bio(BIO_new(BIO_s_mem()));
  X509V3_EXT_print(bio.get(), extension, 0, 0);
  char* data = nullptr;
  const long size = BIO_get_mem_data(bio.get(), &data);
  const std::string critical = X509_EXTENSION_get_critical(extension) != 0 ? "critical " : "";
  return critical + std::string(data, static_cast<std::size_t>(size));
}

std::string Serial(const std::string& pem) {
  const Cert cert = Parse(pem);
  const Bignum number(ASN1_INTEGER_to_BN(X509_get0_serialNumber(cert.get()), nullptr));
  char* hex = BN_bn2hex(number.get());
  std::string out = hex;
  OPENSSL_free(hex);
  return out;
}

std::string Why(const auto& result) { return result ? std::string() : result.error().message; }

class AuthorityTest : public testing::Test {
 protected:
  void TearDown() override { EXPECT_EQ(ERR_peek_error(), 0u) << "left in OpenSSL's queue"; }

  KeyPair Leaf(bool client = false, std::chrono::hours lifetime = 24h) {
    auto pair = Issue(authority_, "berth", names_, lifetime, client);
    EXPECT_TRUE(pair) << Why(pair);
    return pair.value_or(KeyPair());
  }

  const KeyPair authority_ = MakeAuthority("berth-ca", 48h).value();
  const ServingNames names_{{"berth.kube-system.svc", "localhost"}, {"127.0.0.1", "fd00::1"}};
};

TEST_F(AuthorityTest, TheAuthorityMaySignLeavesAndNothingElse) {
  EXPECT_EQ(Extension(authority_.cert_pem, NID_basic_constraints), "critical CA:TRUE, pathlen:0");
  EXPECT_EQ(Extension(authority_.cert_pem, NID_key_usage), "critical Certificate Sign, CRL Sign");
  EXPECT_THAT(Extension(authority_.cert_pem, NID_subject_key_identifier), SizeIs(59));
  EXPECT_THAT(authority_.key_pem, HasSubstr("-----BEGIN PRIVATE KEY-----"));
  EXPECT_EQ(CommonName(authority_.cert_pem).value(), "berth-ca");
  EXPECT_EQ(Why(CheckPair(authority_.cert_pem, authority_.key_pem)), "");
}

TEST_F(AuthorityTest, ALeafServesItsNames) {
  const KeyPair leaf = Leaf();
  EXPECT_EQ(Extension(leaf.cert_pem, NID_subject_alt_name),
            "DNS:berth.kube-system.svc, DNS:localhost, IP Address:127.0.0.1, "
            "IP Address:FD00:0:0:0:0:0:0:1");
  EXPECT_EQ(Extension(leaf.cert_pem, NID_ext_key_usage), "TLS Web Server Authentication");
  EXPECT_EQ(Extension(leaf.cert_pem, NID_key_usage), "critical Digital Signature");
  EXPECT_EQ(Extension(leaf.cert_pem, NID_basic_constraints), "critical CA:FALSE");
  EXPECT_EQ(Extension(leaf.cert_pem, NID_authority_key_identifier),
            Extension(authority_.cert_pem, NID_subject_key_identifier));
  EXPECT_EQ(Why(CheckPair(leaf.cert_pem, leaf.key_pem)), "");
  EXPECT_EQ(Why(CheckServes(authority_.cert_pem, leaf.cert_pem, names_)), "");
  EXPECT_THAT(Extension(Leaf(true).cert_pem, NID_ext_key_usage),
              AllOf(HasSubstr("Web Server"), HasSubstr("Web Client")));
}

TEST_F(AuthorityTest, OtherNamesAndAuthoritiesAreRefused) {
  const KeyPair leaf = Leaf();
  EXPECT_THAT(Why(CheckServes(authority_.cert_pem, leaf.cert_pem, {{"other.svc"}, {}})),
              HasSubstr("not for \"other.svc\""));
  EXPECT_THAT(Why(CheckServes(authority_.cert_pem, leaf.cert_pem, {{}, {"127.0.0.2"}})),
              HasSubstr("not for 127.0.0.2"));
  // Same name, other key.
  const KeyPair other = MakeAuthority("berth-ca", 48h).value();
  EXPECT_THAT(Why(CheckServes(other.cert_pem, leaf.cert_pem, names_)),
              HasSubstr("does not stand under"));
  EXPECT_THAT(Why(CheckServes("x", leaf.cert_pem, names_)), HasSubstr("the authority: "));
  EXPECT_THAT(Why(CheckServes(authority_.cert_pem, "x", names_)), HasSubstr("not a certificate"));
}

TEST_F(AuthorityTest, SerialsAreLongAndRandom) {
  const std::string one = Serial(Leaf().cert_pem), two = Serial(Leaf().cert_pem);
  EXPECT_NE(one, two);
  EXPECT_GE(one.size(), 24u);
  EXPECT_LE(one.size(), 32u);
  EXPECT_NE(one.front(), '-');
}

TEST_F(AuthorityTest, LifetimesBeginALittleAgoAndEndWithTheAuthority) {
  const std::int64_t now = std::time(nullptr);
  const KeyPair leaf = Leaf();
  EXPECT_NEAR(NotBefore(leaf.cert_pem).value(), now - 300, 5);
  EXPECT_NEAR(NotAfter(leaf.cert_pem).value(), now + 24 * 3600, 5);
  const KeyPair longer = Leaf(false, 1000h);
  EXPECT_NEAR(NotAfter(longer.cert_pem).value(), NotAfter(authority_.cert_pem).value(), 2);
  const KeyPair century = MakeAuthority("berth-ca", 24h * 36525).value();
  EXPECT_NEAR(NotAfter(century.cert_pem).value(), now + std::int64_t{36525} * 86400, 5);
}

TEST_F(AuthorityTest, ExpiredCertificatesAreRefused) {
  const KeyPair leaf = Leaf(false, -1h);
  EXPECT_THAT(Why(CheckPair(leaf.cert_pem, leaf.key_pem)), HasSubstr("has expired, on 20"));
  EXPECT_THAT(Why(CheckServes(authority_.cert_pem, leaf.cert_pem, names_)), HasSubstr("expired"));
  const KeyPair ended = MakeAuthority("berth-ca", -1h).value();
  EXPECT_THAT(Why(Issue(ended, "berth", names_, 1h)), HasSubstr("the authority has expired"));
}

TEST_F(AuthorityTest, MismatchedPairsAndGarbageAreRefusedWithoutTheirContents) {
  const KeyPair leaf = Leaf(), other = Leaf();
  EXPECT_THAT(Why(CheckPair(leaf.cert_pem, other.key_pem)), HasSubstr("does not belong"));
  EXPECT_THAT(Why(CheckPair("hunter2", leaf.key_pem)),
              AllOf(HasSubstr("the certificate is not"), Not(HasSubstr("hunter2"))));
  EXPECT_THAT(Why(CheckPair(leaf.cert_pem, "hunter2")),
              AllOf(HasSubstr("the key is not"), Not(HasSubstr("hunter2"))));
  EXPECT_THAT(Why(CheckPair("", "")), HasSubstr("certificate"));
  EXPECT_THAT(Why(CheckPair(leaf.key_pem, leaf.cert_pem)), HasSubstr("certificate"));
  EXPECT_THAT(Why(CheckPair(leaf.cert_pem, "-----BEGIN ENCRYPTED PRIVATE KEY-----\n")),
              HasSubstr("encrypted"));
  std::string cut = leaf.cert_pem;
  cut.erase(cut.size() / 2, 8);
  EXPECT_NE(Why(CheckPair(cut, leaf.key_pem)), "");
}

TEST_F(AuthorityTest, OnlyAnAuthorityIssues) {
  const KeyPair leaf = Leaf();
  EXPECT_THAT(Why(Issue(leaf, "x", names_, 1h)), HasSubstr("may not sign"));
  EXPECT_THAT(Why(Issue({authority_.cert_pem, leaf.key_pem}, "x", names_, 1h)),
              HasSubstr("the authority: the key does not belong"));
  EXPECT_THAT(Why(Issue({}, "x", names_, 1h)), HasSubstr("the authority: "));
}

TEST_F(AuthorityTest, NamesThatAreNoneAreRefused) {
  auto refused = [this](const ServingNames& names) {
    return Why(Issue(authority_, "x", names, 1h));
  };
  EXPECT_THAT(refused({{"a,IP:1.2.3.4"}, {}}), HasSubstr("not a DNS name"));
  EXPECT_THAT(refused({{""}, {}}), HasSubstr("not a DNS name"));
  EXPECT_THAT(refused({{std::string(300, 'a')}, {}}), HasSubstr("not a DNS name"));
  EXPECT_THAT(refused({{}, {"300.1.1.1"}}), HasSubstr("not an IP address"));
  EXPECT_EQ(refused({}), "");
  EXPECT_THAT(Why(Issue(authority_, "", names_, 1h)), HasSubstr("common name"));
  EXPECT_THAT(Why(MakeAuthority(std::string(65, 'x'), 1h)), HasSubstr("common name"));
}

TEST_F(AuthorityTest, BundlesHoldWholeCertificatesAlone) {
  const KeyPair other = MakeAuthority("other", 1h).value();
  EXPECT_EQ(Why(CheckBundle(authority_.cert_pem)), "");
  EXPECT_EQ(Why(CheckBundle("# two\n" + authority_.cert_pem + "\n" + other.cert_pem)), "");
  EXPECT_THAT(Why(CheckBundle("")), HasSubstr("no certificate"));
  EXPECT_THAT(Why(CheckBundle("hunter2")),
              AllOf(HasSubstr("no certificate"), Not(HasSubstr("hun"))));
  std::string broken = other.cert_pem;
  broken.replace(broken.size() / 2, 4, "!!!!");
  EXPECT_THAT(Why(CheckBundle(authority_.cert_pem + broken)), HasSubstr("certificate 2"));
  EXPECT_THAT(Why(CheckBundle(authority_.cert_pem + other.key_pem)), HasSubstr("private key"));
}

TEST_F(AuthorityTest, AClientStandsUnderAnyCertificateOfABundle) {
  const KeyPair other = MakeAuthority("other", 1h).value();
  const KeyPair client = Issue(authority_, "front-proxy-client", {}, 1h, /*client=*/true).value();
  const KeyPair ended = Issue(authority_, "front-proxy-client", {}, -1h, /*client=*/true).value();
  const std::string bundle = other.cert_pem + authority_.cert_pem;
  EXPECT_EQ(Why(CheckClient(authority_.cert_pem, client.cert_pem)), "");
  EXPECT_EQ(Why(CheckClient(bundle, client.cert_pem)), "");
  EXPECT_NE(Why(CheckClient(other.cert_pem, client.cert_pem)), "");
  EXPECT_THAT(Why(CheckClient(bundle, ended.cert_pem)), HasSubstr("expired"));
  EXPECT_NE(Why(CheckClient(bundle, Issue(authority_, "x", names_, 1h).value().cert_pem)), "");
  EXPECT_NE(Why(CheckClient("", client.cert_pem)), "");
  EXPECT_NE(Why(CheckClient(bundle, "x")), "");
}

TEST_F(AuthorityTest, WhatIsNoCertificateHasNoNameOrTime) {
  EXPECT_NE(Why(CommonName("x")), "");
  EXPECT_NE(Why(NotAfter("x")), "");
  EXPECT_NE(Why(NotBefore("")), "");
}

}  // namespace
}  // namespace berth::certs
