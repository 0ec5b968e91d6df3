#include "cloud/aliyun/signature.h"

#include <openssl/evp.h>
#include <openssl/hmac.h>

#include <array>
#include <ranges>

#include "http/base64.h"
#include "log/format.h"

namespace berth::cloud::aliyun {
namespace {

constexpr std::string_view kAlgorithm = "ACS3-HMAC-SHA256";

std::string Hex(std::string_view bytes) {
  std::string hex;
  for (const char byte : bytes) hex += Format("{:02x}", static_cast<unsigned char>(byte));
  return hex;
}

std::string Mac(const EVP_MD* digest, std::string_view key, std::string_view text) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> mac{};
  unsigned size = 0;
  HMAC(digest, key.data(), static_cast<int>(key.size()),
       reinterpret_cast<const unsigned char*>(text.data()), text.size(), mac.data(), &size);
  return std::string(reinterpret_cast<const char*>(mac.data()), size);
}

}  // namespace

std::string Sha256(std::string_view text) {
  std::string digest(32, '\0');
  EVP_Digest(text.data(), text.size(), reinterpret_cast<unsigned char*>(digest.data()), nullptr,
             EVP_sha256(), nullptr);
  return Hex(digest);
}

std::string Acs3::Canonical() const {
  std::string text = method + '\n' + path + '\n' + Query(query) + '\n';
  for (const auto& [name, value] : headers) text += name + ':' + value + '\n';
  return text + '\n' + SignedHeaders() + '\n' + payload_hash;
}

std::string Acs3::SignedHeaders() const {
  std::string names;
  for (const auto& name : std::views::keys(headers)) names += (names.empty() ? "" : ";") + name;
  return names;
}

std::string Acs3::Signature(std::string_view secret) const {
  return Hex(Mac(EVP_sha256(), secret, Format("{}\n{}", kAlgorithm, Sha256(Canonical()))));
}

std::string Acs3::Authorization(std::string_view key_id, std::string_view secret) const {
  return Format("{} Credential={},SignedHeaders={},Signature={}", kAlgorithm, key_id,
                SignedHeaders(), Signature(secret));
}

std::string SignatureV1(std::string_view method, const Parameters& parameters,
                        std::string_view secret) {
  const std::string text = Format("{}&%2F&{}", method, Encode(Query(parameters)));
  return EncodeBase64(Mac(EVP_sha1(), std::string(secret) + "&", text));
}

}  // namespace berth::cloud::aliyun
