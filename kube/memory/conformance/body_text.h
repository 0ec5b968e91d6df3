#pragma once

#include <cctype>
#include <charconv>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>

// For tests only: bodies that are easier to read than to send.
namespace berth::kube::memory::conformance {

// Protobuf, written as `v1 ConfigMap { 1 { 1 "name" } 4 1 }`: an object's apiVersion and kind, then
// fields, each a number and its value: a text, a whole number or a message.
class ProtobufText {
 public:
  static std::string Encode(std::string_view text) {
    ProtobufText reader(text);
    const std::string api_version(reader.Word());
    const std::string kind(reader.Word());
    const std::string type = Bytes(1, api_version) + Bytes(2, kind);
    std::string body("k8s\0", 4);
    return body + Bytes(1, type) + Bytes(2, reader.Message());
  }

 private:
  explicit ProtobufText(std::string_view text) : rest_(text) {}

  static std::string Varint(std::uint64_t number) {
    std::string bytes;
    for (; number >= 0x80; number >>= 7) bytes += static_cast<char>((number & 0x7F) | 0x80);
    return bytes + static_cast<char>(number);
  }
  static std::string Bytes(std::uint64_t field, const std::string& bytes) {
    return Varint(field << 3 | 2) + Varint(bytes.size()) + bytes;
  }

  void SkipBlanks() {
    while (!rest_.empty() && std::isspace(static_cast<unsigned char>(rest_.front())))
      rest_.remove_prefix(1);
  }
  std::string_view Word() {
    SkipBlanks();
    const std::string_view word = rest_.substr(0, rest_.find_first_of(" \n"));
    rest_.remove_prefix(word.size());
    return word;
  }
  std::uint64_t Number() {
    const std::string_view word = Word();
    std::uint64_t number = 0;
    if (std::from_chars(word.data(), word.data() + word.size(), number).ec != std::errc{})
      throw std::runtime_error("no number: " + std::string(word));
    return number;
  }

  std::string Message() {
    if (Word() != "{") throw std::runtime_error("no message");
    std::string message;
    while (true) {
      SkipBlanks();
      if (rest_.empty()) throw std::runtime_error("a message has no end");
      if (rest_.front() == '}') break;
      message += Field(Number());
    }
    rest_.remove_prefix(1);
    return message;
  }

  std::string Field(std::uint64_t number) {
    SkipBlanks();
    if (rest_.starts_with('{')) return Bytes(number, Message());
    if (!rest_.starts_with('"')) return Varint(number << 3) + Varint(Number());
    const std::size_t end = rest_.find('"', 1);
    const std::string text(rest_.substr(1, end - 1));
    rest_.remove_prefix(end + 1);
    return Bytes(number, text);
  }

  std::string_view rest_;
};

// <repeat:N>TEXT<end> becomes TEXT,TEXT,… N times.
inline std::string ExpandRepeats(std::string text) {
  static constexpr std::string_view kBegin = "<repeat:", kEnd = "<end>";
  for (std::size_t at; (at = text.find(kBegin)) != std::string::npos;) {
    const std::size_t inside = text.find('>', at) + 1;
    const std::size_t end = text.find(kEnd, inside);
    const std::string part = text.substr(inside, end - inside);
    std::string all;
    for (int left = std::stoi(text.substr(at + kBegin.size())); left > 0; --left)
      all += left > 1 ? part + "," : part;
    text.replace(at, end + kEnd.size() - at, all);
  }
  return text;
}

}  // namespace berth::kube::memory::conformance
