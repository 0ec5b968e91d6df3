#include "certs/authority.h"

#include <algorithm>
#include <cctype>
#include <ctime>
#include <string_view>
#include <utility>

#include "certs/openssl.h"
#include "log/format.h"
#include "log/timestamp.h"

namespace berth::certs {
namespace {

using kube::Result;
using kube::Terminal;
using std::chrono::seconds;

constexpr seconds kBackdated = std::chrono::minutes(5);
constexpr int kSerialBits = 128;
constexpr std::size_t kMaxCommonName = 64;  // ub-common-name of RFC 5280

Bio BioOf(const std::string& text) {
  return Bio(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
}

std::string TextOf(BIO* bio) {
  char* data = nullptr;
  const long size = BIO_get_mem_data(bio, &data);
  return {data, static_cast<std::size_t>(size)};
}

// Refuses to ask for a passphrase on the terminal, which is OpenSSL's default.
int NoPassphrase(char*, int, int, void*) { return -1; }

Result<Cert> ParseCert(const std::string& pem) {
  const Bio bio = BioOf(pem);
  Cert cert(PEM_read_bio_X509(bio.get(), nullptr, NoPassphrase, nullptr));
  if (!cert) return Terminal("the certificate is not a certificate in PEM");
  return cert;
}

Result<Key> ParseKey(const std::string& pem) {
  if (pem.contains("ENCRYPTED")) return Terminal("the key is encrypted, which is not supported");
  const Bio bio = BioOf(pem);
  Key key(PEM_read_bio_PrivateKey(bio.get(), nullptr, NoPassphrase, nullptr));
  if (!key) return Terminal("the key is not a private key in PEM");
  return key;
}

Result<std::int64_t> Epoch(const ASN1_TIME* time) {
  std::tm parts = {};
  if (ASN1_TIME_to_tm(time, &parts) != 1) return Terminal("the certificate has a malformed time");
  return static_cast<std::int64_t>(timegm(&parts));
}

std::string Date(std::int64_t epoch) {
  return FormatTime(std::chrono::sys_seconds(seconds(epoch)));
}

Result<void> CheckLifetime(const X509* cert, std::string_view what) {
  const auto begin = Epoch(X509_get0_notBefore(cert));
  if (!begin) return std::unexpected(begin.error());
  const auto end = Epoch(X509_get0_notAfter(cert));
  if (!end) return std::unexpected(end.error());
  const std::int64_t now = std::time(nullptr);
  if (now >= *end) return Terminal(Format("the {} has expired, on {}", what, Date(*end)));
  if (now < *begin) {
    return Terminal(Format("the {} is not valid before {}", what, Date(*begin)));
  }
  return {};
}

bool SetSerial(X509* cert) {
  const Bignum serial(BN_new());
  return serial && BN_rand(serial.get(), kSerialBits, BN_RAND_TOP_ANY, BN_RAND_BOTTOM_ANY) == 1 &&
         BN_is_zero(serial.get()) == 0 &&
         BN_to_ASN1_INTEGER(serial.get(), X509_get_serialNumber(cert)) != nullptr;
}

bool SetSubject(X509* cert, const std::string& common_name) {
  const Name name(X509_NAME_new());
  return name &&
         X509_NAME_add_entry_by_NID(name.get(), NID_commonName, MBSTRING_UTF8,
                                    reinterpret_cast<const unsigned char*>(common_name.data()),
                                    static_cast<int>(common_name.size()), -1, 0) == 1 &&
         X509_set_subject_name(cert, name.get()) == 1;
}

bool SetLifetime(X509* cert, seconds lifetime) {
  std::time_t now = std::time(nullptr);
  std::time_t begin = now + std::min(lifetime, seconds(0)).count() - kBackdated.count();
  std::time_t end = now + lifetime.count();
  return X509_time_adj_ex(X509_getm_notBefore(cert), 0, 0, &begin) != nullptr &&
         X509_time_adj_ex(X509_getm_notAfter(cert), 0, 0, &end) != nullptr;
}

// `value` is a constant of this file, never a caller's text: OpenSSL reads it as configuration.
bool AddExtension(X509* cert, X509* issuer, int nid, const char* value) {
  X509V3_CTX context;
  X509V3_set_ctx_nodb(&context);
  X509V3_set_ctx(&context, issuer, cert, nullptr, nullptr, 0);
  const std::unique_ptr<X509_EXTENSION, Free<X509_EXTENSION_free>> extension(
      X509V3_EXT_conf_nid(nullptr, &context, nid, value));
  return extension && X509_add_ext(cert, extension.get(), -1) == 1;
}

bool IsDnsName(std::string_view name) {
  if (name.empty() || name.size() > 253) return false;
  return std::ranges::all_of(name, [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '.' || c == '-' || c == '*';
  });
}

bool AddName(GENERAL_NAMES* names, int type, ASN1_STRING* value) {
  if (value == nullptr) return false;
  GENERAL_NAME* name = GENERAL_NAME_new();
  if (name == nullptr) {
    ASN1_STRING_free(value);
    return false;
  }
  GENERAL_NAME_set0_value(name, type, value);
  if (sk_GENERAL_NAME_push(names, name) > 0) return true;
  GENERAL_NAME_free(name);
  return false;
}

Result<void> AddNames(X509* cert, const ServingNames& names) {
  if (names.dns.empty() && names.ips.empty()) return {};
  const Names list(GENERAL_NAMES_new());
  if (!list) return Terminal("OpenSSL has no memory");
  for (const auto& dns : names.dns) {
    if (!IsDnsName(dns)) return Terminal(Format("\"{}\" is not a DNS name", dns));
    ASN1_IA5STRING* value = ASN1_IA5STRING_new();
    if (value != nullptr) ASN1_STRING_set(value, dns.data(), static_cast<int>(dns.size()));
    if (!AddName(list.get(), GEN_DNS, value)) return Terminal("OpenSSL refused a DNS name");
  }
  for (const auto& ip : names.ips) {
    ASN1_OCTET_STRING* value = a2i_IPADDRESS(ip.c_str());
    if (value == nullptr) return Terminal(Format("\"{}\" is not an IP address", ip));
    if (!AddName(list.get(), GEN_IPADD, value)) return Terminal("OpenSSL refused an IP address");
  }
  if (X509_add1_ext_i2d(cert, NID_subject_alt_name, list.get(), 0, X509V3_ADD_DEFAULT) != 1) {
    return Terminal("OpenSSL refused the certificate's names");
  }
  return {};
}

// A certificate without extensions and signature, and its new key.
Result<std::pair<Cert, Key>> Begin(const std::string& common_name, seconds lifetime) {
  if (common_name.empty() || common_name.size() > kMaxCommonName) {
    return Terminal("a certificate's common name has 1 to 64 characters");
  }
  Key key(EVP_EC_gen("P-256"));
  Cert cert(X509_new());
  if (!key || !cert || X509_set_version(cert.get(), X509_VERSION_3) != 1 ||
      !SetSerial(cert.get()) || !SetSubject(cert.get(), common_name) ||
      !SetLifetime(cert.get(), lifetime) || X509_set_pubkey(cert.get(), key.get()) != 1) {
    return Terminal("OpenSSL could not make the certificate");
  }
  return std::pair(std::move(cert), std::move(key));
}

Result<KeyPair> Sign(X509* cert, EVP_PKEY* key, X509* issuer, EVP_PKEY* issuer_key) {
  const Bio cert_bio(BIO_new(BIO_s_mem()));
  const Bio key_bio(BIO_new(BIO_s_mem()));
  if (X509_set_issuer_name(cert, X509_get_subject_name(issuer)) != 1 ||
      X509_sign(cert, issuer_key, EVP_sha256()) <= 0 || !cert_bio || !key_bio ||
      PEM_write_bio_X509(cert_bio.get(), cert) != 1 ||
      PEM_write_bio_PKCS8PrivateKey(key_bio.get(), key, nullptr, nullptr, 0, nullptr, nullptr) !=
          1) {
    return Terminal("OpenSSL could not sign the certificate");
  }
  return KeyPair{TextOf(cert_bio.get()), TextOf(key_bio.get())};
}

// As CheckPair, without the lifetime.
Result<std::pair<Cert, Key>> ParsePair(const std::string& cert_pem, const std::string& key_pem) {
  auto cert = ParseCert(cert_pem);
  if (!cert) return std::unexpected(cert.error());
  auto key = ParseKey(key_pem);
  if (!key) return std::unexpected(key.error());
  if (X509_check_private_key(cert->get(), key->get()) != 1) {
    return Terminal("the key does not belong to the certificate");
  }
  return std::pair(std::move(*cert), std::move(*key));
}

Result<std::int64_t> TimeOf(const std::string& cert_pem, const ASN1_TIME* (*field)(const X509*)) {
  const ClearErrors clear;
  const auto cert = ParseCert(cert_pem);
  if (!cert) return std::unexpected(cert.error());
  return Epoch(field(cert->get()));
}

}  // namespace

ServingNames ServingNames::Of(const std::vector<std::string>& names) {
  ServingNames sorted;
  for (const std::string& name : names) {
    const bool address =
        name.contains(':') || name.find_first_not_of("0123456789.") == std::string::npos;
    (address ? sorted.ips : sorted.dns).push_back(name);
  }
  return sorted;
}

Result<KeyPair> MakeAuthority(const std::string& common_name, std::chrono::hours lifetime) {
  const ClearErrors clear;
  auto begun = Begin(common_name, lifetime);
  if (!begun) return std::unexpected(begun.error());
  X509* cert = begun->first.get();
  if (!AddExtension(cert, cert, NID_basic_constraints, "critical,CA:TRUE,pathlen:0") ||
      !AddExtension(cert, cert, NID_key_usage, "critical,keyCertSign,cRLSign") ||
      !AddExtension(cert, cert, NID_subject_key_identifier, "hash")) {
    return Terminal("OpenSSL refused the authority's extensions");
  }
  return Sign(cert, begun->second.get(), cert, begun->second.get());
}

Result<KeyPair> Issue(const KeyPair& authority, const std::string& common_name,
                      const ServingNames& names, std::chrono::hours lifetime, bool client) {
  const ClearErrors clear;
  const auto issuer = ParsePair(authority.cert_pem, authority.key_pem);
  if (!issuer) return Terminal("the authority: " + issuer.error().message);
  X509* issuer_cert = issuer->first.get();
  if (X509_check_ca(issuer_cert) != 1) return Terminal("the authority may not sign certificates");
  if (auto fine = CheckLifetime(issuer_cert, "authority"); !fine) {
    return std::unexpected(fine.error());
  }
  const auto issuer_end = Epoch(X509_get0_notAfter(issuer_cert));
  if (!issuer_end) return std::unexpected(issuer_end.error());
  const seconds left(*issuer_end - std::time(nullptr));

  auto begun = Begin(common_name, std::min<seconds>(lifetime, left));
  if (!begun) return std::unexpected(begun.error());
  X509* cert = begun->first.get();
  const char* usage = client ? "serverAuth,clientAuth" : "serverAuth";
  if (!AddExtension(cert, issuer_cert, NID_basic_constraints, "critical,CA:FALSE") ||
      !AddExtension(cert, issuer_cert, NID_key_usage, "critical,digitalSignature") ||
      !AddExtension(cert, issuer_cert, NID_ext_key_usage, usage) ||
      !AddExtension(cert, issuer_cert, NID_subject_key_identifier, "hash") ||
      !AddExtension(cert, issuer_cert, NID_authority_key_identifier, "keyid:always")) {
    return Terminal("OpenSSL refused the certificate's extensions");
  }
  if (auto added = AddNames(cert, names); !added) return std::unexpected(added.error());
  return Sign(cert, begun->second.get(), issuer_cert, issuer->second.get());
}

Result<void> CheckPair(const std::string& cert_pem, const std::string& key_pem) {
  const ClearErrors clear;
  const auto pair = ParsePair(cert_pem, key_pem);
  if (!pair) return std::unexpected(pair.error());
  return CheckLifetime(pair->first.get(), "certificate");
}

Result<void> CheckBundle(const std::string& pem) {
  const ClearErrors clear;
  if (pem.contains("PRIVATE KEY-----")) {
    return Terminal("the bundle holds a private key; it must hold certificates alone");
  }
  const Bio bio = BioOf(pem);
  int count = 0;
  for (;;) {
    ERR_clear_error();
    const Cert cert(PEM_read_bio_X509(bio.get(), nullptr, NoPassphrase, nullptr));
    if (!cert) break;
    ++count;
  }
  const unsigned long error = ERR_peek_last_error();
  const bool at_end =
      ERR_GET_LIB(error) == ERR_LIB_PEM && ERR_GET_REASON(error) == PEM_R_NO_START_LINE;
  if (!at_end) {
    return Terminal(Format("certificate {} of the bundle is malformed", count + 1));
  }
  if (count == 0) return Terminal("the bundle holds no certificate in PEM");
  return {};
}

namespace {

// Whether the certificate stands under one of the store's, for this use.
Result<void> Verify(X509_STORE* store, X509* cert, int purpose) {
  const StoreContext context(X509_STORE_CTX_new());
  if (!context || X509_STORE_CTX_init(context.get(), store, cert, nullptr) != 1 ||
      X509_STORE_CTX_set_purpose(context.get(), purpose) != 1) {
    return Terminal("OpenSSL could not check the certificate");
  }
  if (X509_verify_cert(context.get()) == 1) return {};
  const int why = X509_STORE_CTX_get_error(context.get());
  return Terminal(Format("the certificate does not stand under the authority: {}",
                         X509_verify_cert_error_string(why)));
}

}  // namespace

Result<void> CheckClient(const std::string& bundle_pem, const std::string& cert_pem) {
  const ClearErrors clear;
  const auto cert = ParseCert(cert_pem);
  if (!cert) return std::unexpected(cert.error());
  const Store store(X509_STORE_new());
  const Bio bio = BioOf(bundle_pem);
  while (const Cert authority{PEM_read_bio_X509(bio.get(), nullptr, NoPassphrase, nullptr)})
    X509_STORE_add_cert(store.get(), authority.get());
  return Verify(store.get(), cert->get(), X509_PURPOSE_SSL_CLIENT);
}

Result<void> CheckServes(const std::string& authority_pem, const std::string& cert_pem,
                         const ServingNames& names) {
  const ClearErrors clear;
  auto authority = ParseCert(authority_pem);
  if (!authority) return Terminal("the authority: " + authority.error().message);
  auto cert = ParseCert(cert_pem);
  if (!cert) return std::unexpected(cert.error());
  const Store store(X509_STORE_new());
  if (!store || X509_STORE_add_cert(store.get(), authority->get()) != 1)
    return Terminal("OpenSSL could not check the certificate");
  if (auto verified = Verify(store.get(), cert->get(), X509_PURPOSE_SSL_SERVER); !verified)
    return verified;
  for (const auto& dns : names.dns) {
    if (X509_check_host(cert->get(), dns.data(), dns.size(), 0, nullptr) != 1) {
      return Terminal(Format("the certificate is not for \"{}\"", dns));
    }
  }
  for (const auto& ip : names.ips) {
    if (X509_check_ip_asc(cert->get(), ip.c_str(), 0) != 1) {
      return Terminal(Format("the certificate is not for {}", ip));
    }
  }
  return {};
}

Result<std::string> CommonName(const std::string& cert_pem) {
  const ClearErrors clear;
  const auto cert = ParseCert(cert_pem);
  if (!cert) return std::unexpected(cert.error());
  const X509_NAME* subject = X509_get_subject_name(cert->get());
  const int at = X509_NAME_get_index_by_NID(subject, NID_commonName, -1);
  if (at < 0) return Terminal("the certificate has no common name");
  const ASN1_STRING* value = X509_NAME_ENTRY_get_data(X509_NAME_get_entry(subject, at));
  unsigned char* text = nullptr;
  const int size = ASN1_STRING_to_UTF8(&text, value);
  if (size < 0) return Terminal("the certificate has a malformed common name");
  std::string name(reinterpret_cast<const char*>(text), static_cast<std::size_t>(size));
  OPENSSL_free(text);
  return name;
}

Result<std::int64_t> NotBefore(const std::string& cert_pem) {
  return TimeOf(cert_pem, X509_get0_notBefore);
}

Result<std::int64_t> NotAfter(const std::string& cert_pem) {
  return TimeOf(cert_pem, X509_get0_notAfter);
}

}  // namespace berth::certs
