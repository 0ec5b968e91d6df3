#include "kube/memory/warnings.h"

#include <algorithm>

namespace berth::kube::memory {
namespace {

constexpr std::size_t kMostInAll = 4096;  // characters, not bytes
constexpr std::size_t kMostOfOne = 256;

bool StartsCharacter(char byte) { return (static_cast<unsigned char>(byte) & 0xC0) != 0x80; }

std::size_t Characters(std::string_view text) {
  return static_cast<std::size_t>(std::ranges::count_if(text, StartsCharacter));
}

std::string_view Cut(std::string_view text, std::size_t most) {
  std::size_t end = 0;
  for (std::size_t seen = 0; end < text.size(); ++end) {
    if (StartsCharacter(text[end]) && ++seen > most) break;
  }
  return text.substr(0, end);
}

std::string Quoted(std::string_view text) {
  std::string quoted = "299 - \"";
  for (const char c : text) {
    if (c == '"' || c == '\\') quoted += '\\';
    quoted += c;
  }
  return quoted += '"';
}

}  // namespace

void Warnings::Add(std::string_view text) {
  const auto is_control = [](unsigned char c) { return c < 0x20 || c == 0x7F; };
  if (text.empty() || texts_.size() >= kMost || std::ranges::any_of(text, is_control)) return;
  if (std::ranges::find(texts_, text) == texts_.end()) texts_.emplace_back(text);
}

std::vector<std::string> Warnings::Headers() const {
  std::size_t all = 0;
  for (const std::string& text : texts_) all += Characters(text);
  std::vector<std::string> headers;
  std::size_t written = 0;
  for (const std::string& text : texts_) {
    if (written >= kMostInAll) break;
    const std::string_view shown = all > kMostInAll ? Cut(text, kMostOfOne) : text;
    written += Characters(shown);
    headers.push_back(Quoted(shown));
  }
  return headers;
}

}  // namespace berth::kube::memory
