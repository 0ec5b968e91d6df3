#include "kube/request_target.h"

#include <algorithm>

namespace berth::kube {
namespace {

int HexDigit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

// In a query a plus stands for a space.
bool Decode(std::string_view text, bool query, std::string& out) {
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '%') {
      if (i + 2 >= text.size()) return false;
      const int high = HexDigit(text[i + 1]), low = HexDigit(text[i + 2]);
      if (high < 0 || low < 0) return false;
      out += static_cast<char>(high * 16 + low);
      i += 2;
    } else {
      out += query && text[i] == '+' ? ' ' : text[i];
    }
  }
  return true;
}

// The text before the separator; what follows it is left in `rest`.
std::string_view Cut(std::string_view& rest, char separator) {
  const std::size_t end = rest.find(separator);
  const std::string_view part = rest.substr(0, end);
  rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
  return part;
}

}  // namespace

std::optional<RequestTarget> RequestTarget::Parse(std::string_view target) {
  RequestTarget parsed;
  target = target.substr(0, target.find('#'));
  std::string_view path = Cut(target, '?');
  while (!path.empty()) {
    const std::string_view segment = Cut(path, '/');
    if (segment.empty()) continue;
    if (parsed.path.size() == kMaxParts) return std::nullopt;
    if (!Decode(segment, false, parsed.path.emplace_back())) return std::nullopt;
  }
  while (!target.empty()) {
    std::string_view value = Cut(target, '&');
    if (value.empty()) continue;
    const std::string_view name = Cut(value, '=');
    if (parsed.query.size() == kMaxParts) return std::nullopt;
    auto& parameter = parsed.query.emplace_back();
    if (!Decode(name, true, parameter.first) || !Decode(value, true, parameter.second))
      return std::nullopt;
  }
  return parsed;
}

std::string_view RequestTarget::Parameter(std::string_view name) const {
  for (const auto& [key, value] : query) {
    if (key == name) return value;
  }
  return {};
}

std::size_t RequestTarget::Count(std::string_view name) const {
  return static_cast<std::size_t>(
      std::ranges::count(query, name, &std::pair<std::string, std::string>::first));
}

bool RequestTarget::Flag(std::string_view name) const {
  for (const auto& [key, value] : query) {
    if (key != name) continue;
    constexpr std::string_view kFalse = "false";
    const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; };
    return value != "0" && !std::ranges::equal(value, kFalse, {}, lower);
  }
  return false;
}

}  // namespace berth::kube
