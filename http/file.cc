#include "http/file.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>

#include "log/format.h"

namespace berth {

Result<std::string> ReadFile(const std::filesystem::path& file) {
  std::error_code ignored;
  if (std::filesystem::is_directory(file, ignored))
    return Terminal(Format("cannot read {}: it is a directory, not a file", file.string()));
  errno = 0;
  std::ifstream in(file, std::ios::binary);
  if (!in) {
    const auto error_class = errno == ENOENT ? ErrorClass::kNotFound : ErrorClass::kTerminal;
    return std::unexpected(
        Error{error_class, {}, Format("cannot read {}: {}", file.string(), std::strerror(errno))});
  }
  std::string content(kMaxFile + 1, '\0');
  in.read(content.data(), static_cast<std::streamsize>(content.size()));
  content.resize(static_cast<std::size_t>(in.gcount()));
  if (content.size() > kMaxFile) return Terminal(Format("{} is over 1 MiB", file.string()));
  return content;
}

std::string ReadSecretFile(const std::filesystem::path& file) {
  const auto text = ReadFile(file);
  if (!text || text->size() > kMaxSecretFile) return {};
  return Trimmed(*text);
}

std::string Trimmed(const std::string& text) {
  const std::size_t begin = text.find_first_not_of(" \r\n\t");
  if (begin == std::string::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \r\n\t") - begin + 1);
}

bool IsSecret(const std::string& text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) { return c > ' ' && c < '\x7F'; });
}

}  // namespace berth
