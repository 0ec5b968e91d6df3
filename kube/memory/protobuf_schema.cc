#include "kube/memory/protobuf_schema.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <map>
#include <stdexcept>
#include <utility>

namespace berth::kube::memory {
namespace {

using Type = ProtobufField::Type;

constexpr std::array kScalars = std::to_array<std::pair<std::string_view, Type>>({
    {"string", Type::kString},
    {"bytes", Type::kBytes},
    {"bool", Type::kBool},
    {"int", Type::kInt},
    {"double", Type::kDouble},
    {"time", Type::kTime},
    {"microtime", Type::kMicroTime},
    {"json", Type::kJson},
});

std::string_view Trim(std::string_view text) {
  const std::size_t first = text.find_first_not_of(' ');
  if (first == text.npos) return {};
  return text.substr(first, text.find_last_not_of(' ') - first + 1);
}

// Removes the text up to the separator, and the separator, from `rest`; returns the text.
std::string_view Take(std::string_view& rest, char separator) {
  const std::size_t end = std::min(rest.find(separator), rest.size());
  const std::string_view part = rest.substr(0, end);
  rest.remove_prefix(std::min(end + 1, rest.size()));
  return part;
}

// All tables, read once. A table with a mistake throws: tests read every one.
class Catalog {
 public:
  Catalog() {
    for (const char* table : {kProtobufMetadata, kProtobufCore, kProtobufReviews,
                              kProtobufServicesAndNodes, kProtobufDefinitions, kProtobufPods})
      Read(table);
    for (const auto& [field, type] : references_) {
      const auto found = messages_.find(type);
      if (found == messages_.end()) throw std::logic_error("no such message: " + type);
      auto& [message, index] = field;
      message->fields[index].message = &found->second;
    }
  }

  const ProtobufMessage* Find(std::string_view name) const {
    const auto found = messages_.find(name);
    return found == messages_.end() ? nullptr : &found->second;
  }

 private:
  void Read(std::string_view table) {
    ProtobufMessage* message = nullptr;
    while (!table.empty()) {
      std::string_view line = Take(table, '\n');
      if (line.empty()) continue;
      if (line.front() != ' ') {
        std::string_view name = Take(line, ':');
        const bool unwrapped = name.ends_with('=');
        if (unwrapped) name.remove_suffix(1);
        message = &messages_[std::string(name)];
        message->name = name;
        message->unwrapped = unwrapped;
      }
      for (line = Trim(line); !line.empty(); line = Trim(line))
        ReadField(*message, Trim(Take(line, ',')));
    }
  }

  void ReadField(ProtobufMessage& message, std::string_view text) {
    ProtobufField field;
    const std::string_view number = Take(text, ' ');
    std::from_chars(number.data(), number.data() + number.size(), field.number);
    field.name = Take(text, ' ');
    field.list = text.starts_with('[');
    field.map = text.starts_with('{');
    field.keeps_zero = text.starts_with('*');
    if (field.list || field.map || field.keeps_zero) text.remove_prefix(1);
    if (field.list || field.map) text.remove_suffix(1);
    if (field.number == 0 || text.empty()) throw std::logic_error("in " + message.name);
    const auto scalar = std::ranges::find(kScalars, text, &decltype(kScalars)::value_type::first);
    field.type = scalar == kScalars.end() ? Type::kMessage : scalar->second;
    message.fields.push_back(std::move(field));
    if (scalar == kScalars.end())
      references_.push_back({{&message, message.fields.size() - 1}, std::string(text)});
  }

  std::map<std::string, ProtobufMessage, std::less<>> messages_;
  // Fields of messages that may stand further down.
  std::vector<std::pair<std::pair<ProtobufMessage*, std::size_t>, std::string>> references_;
};

}  // namespace

const ProtobufField* ProtobufMessage::Find(std::uint32_t number) const {
  const auto found = std::ranges::find(fields, number, &ProtobufField::number);
  return found == fields.end() ? nullptr : &*found;
}

const ProtobufMessage* FindProtobufKind(std::string_view api_version, std::string_view kind) {
  static const Catalog catalog;
  // Every group has its own DeleteOptions, all the same.
  if (kind == "DeleteOptions") return catalog.Find(kind);
  return catalog.Find(std::string(api_version).append("/").append(kind));
}

}  // namespace berth::kube::memory
