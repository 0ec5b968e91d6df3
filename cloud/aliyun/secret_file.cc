#include "cloud/aliyun/secret_file.h"

#include <algorithm>
#include <fstream>

namespace berth::cloud::aliyun {

std::string ReadSecretFile(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  std::string text(kMaxSecretFile + 1, '\0');
  in.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(in.gcount()));
  if (text.size() > kMaxSecretFile) return {};
  const std::size_t begin = text.find_first_not_of(" \r\n\t");
  if (begin == std::string::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \r\n\t") - begin + 1);
}

bool IsSecret(const std::string& text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) { return c > ' ' && c < '\x7F'; });
}

}  // namespace berth::cloud::aliyun
