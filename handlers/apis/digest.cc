#include "handlers/apis/digest.h"

#include <openssl/evp.h>

#include <array>

namespace berth::apis {

std::string Digest(std::string_view text) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned size = 0;
  EVP_Digest(text.data(), text.size(), digest.data(), &size, EVP_sha256(), nullptr);
  return {reinterpret_cast<const char*>(digest.data()), size};
}

}  // namespace berth::apis
