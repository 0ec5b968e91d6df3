#include "cloud/aliyun/signature.h"

#include <openssl/evp.h>
#include <openssl/hmac.h>

#include <array>
#include <charconv>
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

bool IsUnreserved(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
         c == '_' || c == '.' || c == '~';
}

std::string Encode(std::string_view text) {
  std::string encoded;
  for (const char c : text) {
    if (IsUnreserved(c)) {
      encoded += c;
    } else {
      encoded += Format("%{:02X}", static_cast<unsigned char>(c));
    }
  }
  return encoded;
}

std::string Decode(std::string_view text) {
  std::string decoded;
  for (std::size_t i = 0; i < text.size(); ++i) {
    unsigned char byte = 0;
    if (text[i] == '%' && i + 2 < text.size() &&
        std::from_chars(&text[i + 1], &text[i + 1] + 2, byte, 16).ptr == &text[i + 1] + 2) {
      decoded += static_cast<char>(byte);
      i += 2;
    } else {
      decoded += text[i] == '+' ? ' ' : text[i];
    }
  }
  return decoded;
}

}  // namespace

std::string Query(const Parameters& parameters) {
  std::string query;
  for (const auto& [name, value] : parameters) {
    if (!query.empty()) query += '&';
    query += Encode(name) + '=' + Encode(value);
  }
  return query;
}

Parameters ParseQuery(std::string_view query) {
  Parameters parameters;
  for (const auto part : std::views::split(query, '&')) {
    const std::string_view text(part.begin(), part.end());
    if (text.empty()) continue;
    const auto equals = text.find('=');
    const std::string_view value =
        equals == std::string_view::npos ? std::string_view() : text.substr(equals + 1);
    parameters[Decode(text.substr(0, equals))] = Decode(value);
  }
  return parameters;
}

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
