#include "kube/memory/protobuf.h"

#include <simdjson.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <optional>
#include <utility>
#include <vector>

#include "http/base64.h"
#include "kube/age.h"
#include "kube/memory/protobuf_schema.h"
#include "log/format.h"

namespace berth::kube::memory {
namespace {

constexpr std::string_view kMagic("k8s\0", 4);
constexpr std::int64_t kFirstSecond = -62'135'596'800;  // of the year 1
constexpr std::int64_t kLastSecond = 253'402'300'799;   // of the year 9999

enum class WireType { kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5 };

// One field as it stands on the wire.
struct WireField {
  std::uint32_t number = 0;
  WireType type = WireType::kVarint;
  std::uint64_t bits = 0;  // unless it has bytes
  std::string_view bytes;
};

// Takes the fields of a message apart. Everything is checked against the bytes that are there.
class WireReader {
 public:
  explicit WireReader(std::string_view bytes) : rest_(bytes) {}

  bool AtEnd() const { return rest_.empty(); }

  std::optional<std::uint64_t> Varint() {
    std::uint64_t value = 0;
    for (unsigned shift = 0; shift < 64 && !rest_.empty(); shift += 7) {
      const auto byte = static_cast<unsigned char>(rest_.front());
      rest_.remove_prefix(1);
      value |= std::uint64_t{byte & 0x7FU} << shift;
      if (byte < 0x80) return value;
    }
    return std::nullopt;
  }

  std::optional<WireField> Next() {
    const auto tag = Varint();
    if (!tag || *tag >> 3 == 0 || *tag >> 3 > 0x1FFFFFFF) return std::nullopt;
    WireField field{.number = static_cast<std::uint32_t>(*tag >> 3)};
    switch (*tag & 7) {
      case 0: {
        const auto value = Varint();
        if (!value) return std::nullopt;
        field.bits = *value;
        return field;
      }
      case 1:
        return Fixed<std::uint64_t>(field, WireType::kFixed64);
      case 2:
        return Bytes(field);
      case 5:
        return Fixed<std::uint32_t>(field, WireType::kFixed32);
      default:
        return std::nullopt;  // groups, which nobody sends
    }
  }

 private:
  template <typename Number>
  std::optional<WireField> Fixed(WireField field, WireType type) {
    static_assert(std::endian::native == std::endian::little);
    Number number = 0;
    if (rest_.size() < sizeof number) return std::nullopt;
    std::memcpy(&number, rest_.data(), sizeof number);
    rest_.remove_prefix(sizeof number);
    field.type = type;
    field.bits = number;
    return field;
  }

  std::optional<WireField> Bytes(WireField field) {
    const auto size = Varint();
    if (!size || *size > rest_.size()) return std::nullopt;
    field.type = WireType::kBytes;
    field.bytes = rest_.substr(0, *size);
    rest_.remove_prefix(*size);
    return field;
  }

  std::string_view rest_;
};

// Makes a Value of one object. The first problem ends it.
class ObjectReader {
 public:
  std::expected<Value, std::string> Read(const ProtobufMessage& message, std::string_view bytes) {
    Value object = Value::Object();
    if (!ReadFields(message, bytes, object, 0)) return std::unexpected(std::move(problem_));
    return object;
  }

 private:
  using Type = ProtobufField::Type;
  // A map's entries in the order they came; sorted at the end, so that many cost O(n log n).
  using Entries = std::vector<std::pair<std::string_view, Value>>;
  using Maps = std::vector<std::pair<const ProtobufField*, Entries>>;

  bool Fail(std::string problem) {
    problem_ = std::move(problem);
    return false;
  }

  bool ReadFields(const ProtobufMessage& message, std::string_view bytes, Value& object,
                  std::size_t depth) {
    if (depth >= Decoder::kMaxDepth) return Fail("proto: nested too deeply");
    Maps maps;
    for (WireReader reader(bytes); !reader.AtEnd();) {
      const auto wire = reader.Next();
      if (!wire) return Fail(Format("proto: {}: malformed field", message.name));
      const ProtobufField* field = message.Find(wire->number);
      if (field && !ReadField(*field, *wire, object, maps, depth)) return false;
    }
    for (auto& [field, entries] : maps) object.insert_or_assign(field->name, MapOf(entries));
    return true;
  }

  bool ReadField(const ProtobufField& field, const WireField& wire, Value& object, Maps& maps,
                 std::size_t depth) {
    if (field.map) return ReadEntry(field, wire, maps, depth);
    if (field.inlined()) {
      return wire.type == WireType::kBytes
                 ? ReadFields(*field.message, wire.bytes, object, depth + 1)
                 : WrongType(field);
    }
    if (field.list && field.type == Type::kInt && wire.type == WireType::kBytes)
      return ReadPacked(field, wire.bytes, object);
    Value value = Value::null();
    if (!ReadValue(field, wire, value, depth)) return false;
    if (field.list) {
      ListAt(object, field.name).push_back(std::move(value));
    } else if (field.keeps_zero ? !value.is_null() : !IsZero(value)) {
      object.insert_or_assign(field.name, std::move(value));
    } else {
      object.erase(field.name);
    }
    return true;
  }

  bool ReadEntry(const ProtobufField& field, const WireField& wire, Maps& maps, std::size_t depth) {
    if (wire.type != WireType::kBytes) return WrongType(field);
    std::pair<std::string_view, Value> entry;
    bool has_value = false;
    for (WireReader reader(wire.bytes); !reader.AtEnd();) {
      const auto part = reader.Next();
      if (!part) return Fail(Format("proto: {}: malformed entry", field.name));
      if (part->number == 1 && part->type == WireType::kBytes) {
        entry.first = part->bytes;
        if (!CheckText(field, entry.first)) return false;
      } else if (part->number == 2) {
        if (!ReadValue(field, *part, entry.second, depth)) return false;
        has_value = true;
      }
    }
    // The value of an entry may be left out when it is empty.
    if (!has_value && field.type != Type::kMessage) entry.second = Value("");
    auto at = std::ranges::find(maps, &field, &Maps::value_type::first);
    if (at == maps.end()) at = maps.insert(maps.end(), {&field, {}});
    at->second.push_back(std::move(entry));
    return true;
  }

  static Value MapOf(Entries& entries) {
    std::ranges::stable_sort(entries, {}, &Entries::value_type::first);
    Value map = Value::Object();
    for (auto& [key, value] : entries) map.insert_or_assign(key, std::move(value));
    return map;
  }

  bool ReadPacked(const ProtobufField& field, std::string_view bytes, Value& object) {
    Value& list = ListAt(object, field.name);
    for (WireReader reader(bytes); !reader.AtEnd();) {
      const auto number = reader.Varint();
      if (!number) return Fail(Format("proto: {}: malformed list", field.name));
      list.push_back(static_cast<std::int64_t>(*number));
    }
    return true;
  }

  bool ReadValue(const ProtobufField& field, const WireField& wire, Value& value,
                 std::size_t depth) {
    const WireType wanted = field.type == Type::kBool || field.type == Type::kInt
                                ? WireType::kVarint
                            : field.type == Type::kDouble ? WireType::kFixed64
                                                          : WireType::kBytes;
    if (wire.type != wanted) return WrongType(field);
    switch (field.type) {
      case Type::kBool:
        value = Value(wire.bits != 0);
        return true;
      case Type::kInt:
        value = Value(static_cast<std::int64_t>(wire.bits));
        return true;
      case Type::kDouble:
        return ReadDouble(field, std::bit_cast<double>(wire.bits), value);
      case Type::kString:
        value = Value(wire.bytes);
        return CheckText(field, wire.bytes);
      case Type::kBytes:
        value = Value(EncodeBase64(wire.bytes));
        return true;
      case Type::kTime:
      case Type::kMicroTime:
        return ReadTime(field, wire.bytes, value);
      case Type::kJson:
        return ReadJson(field, wire.bytes, value);
      case Type::kMessage:
        return ReadMessage(*field.message, wire.bytes, value, depth);
    }
    return false;
  }

  bool ReadMessage(const ProtobufMessage& message, std::string_view bytes, Value& value,
                   std::size_t depth) {
    value = Value::Object();
    if (!ReadFields(message, bytes, value, depth + 1)) return false;
    if (!message.unwrapped) return true;
    Value shown = Value::null();
    for (const ProtobufField& field : message.fields) {
      Value* found = value.find(field.name);
      if (!found) continue;
      shown = std::move(*found);
      break;
    }
    value = std::move(shown);
    return true;
  }

  // No JSON has what isn't a number.
  bool ReadDouble(const ProtobufField& field, double number, Value& value) {
    if (number - number != 0) return Fail(Format("proto: {}: not a number", field.name));
    const bool whole = number >= -0x1p53 && number <= 0x1p53 &&
                       static_cast<double>(static_cast<std::int64_t>(number)) == number;
    value = whole ? Value(static_cast<std::int64_t>(number)) : Value(number);
    return true;
  }

  // {1 seconds, 2 nanoseconds}; without bytes it is Go's zero time, which JSON shows as null.
  bool ReadTime(const ProtobufField& field, std::string_view bytes, Value& value) {
    if (bytes.empty()) return true;
    std::int64_t seconds = 0, nanoseconds = 0;
    for (WireReader reader(bytes); !reader.AtEnd();) {
      const auto part = reader.Next();
      if (!part) return Fail(Format("proto: {}: malformed time", field.name));
      if (part->type != WireType::kVarint) continue;
      if (part->number == 1) seconds = static_cast<std::int64_t>(part->bits);
      if (part->number == 2) nanoseconds = static_cast<std::int64_t>(part->bits);
    }
    if (seconds < kFirstSecond || seconds > kLastSecond || nanoseconds < 0 ||
        nanoseconds >= 1'000'000'000)
      return Fail(Format("proto: {}: no such time", field.name));
    const std::string text = Timestamp(seconds);
    value = field.type == Type::kTime
                ? Value(text)
                : Value(Format("{}.{:06}Z", text.substr(0, text.size() - 1), nanoseconds / 1000));
    return true;
  }

  bool ReadJson(const ProtobufField& field, std::string_view bytes, Value& value) {
    auto decoded = decoder_.Decode(bytes);
    if (!decoded) return Fail(Format("{}: {}", field.name, decoded.error()));
    value = std::move(*decoded);
    return true;
  }

  bool CheckText(const ProtobufField& field, std::string_view text) {
    if (simdjson::validate_utf8(text.data(), text.size())) return true;
    return Fail(Format("proto: {}: invalid UTF-8", field.name));
  }

  bool WrongType(const ProtobufField& field) {
    return Fail(Format("proto: wrong wireType for field {}", field.name));
  }

  static bool IsZero(const Value& value) {
    if (value.is_bool()) return !value.as<bool>();
    if (value.is_int64()) return value.as<std::int64_t>() == 0;
    return IsEmpty(value);
  }

  static Value& ListAt(Value& object, std::string_view name) {
    Value& list = object[name];
    if (!list.is_array()) list = Value::Array();
    return list;
  }

  Decoder decoder_;
  std::string problem_;
};

bool ReadTypeMeta(std::string_view bytes, ProtobufBody& body) {
  for (WireReader reader(bytes); !reader.AtEnd();) {
    const auto field = reader.Next();
    if (!field) return false;
    if (field->type != WireType::kBytes) continue;
    if (field->number == 1) body.api_version = field->bytes;
    if (field->number == 2) body.kind = field->bytes;
  }
  return simdjson::validate_utf8(body.api_version) && simdjson::validate_utf8(body.kind);
}

}  // namespace

std::expected<ProtobufBody, std::string> ReadProtobuf(std::string_view body) {
  if (body.empty()) return std::unexpected("empty data");
  if (!body.starts_with(kMagic)) {
    return std::unexpected(
        "provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]");
  }
  if (body.size() == kMagic.size()) return std::unexpected("empty body");
  ProtobufBody read;
  for (WireReader reader(body.substr(kMagic.size())); !reader.AtEnd();) {
    const auto field = reader.Next();
    if (!field) return std::unexpected("unexpected EOF");
    if (field->type != WireType::kBytes) continue;
    if (field->number == 1 && !ReadTypeMeta(field->bytes, read))
      return std::unexpected("unexpected EOF");
    if (field->number == 2) read.raw = field->bytes;
  }
  return read;
}

std::expected<Value, std::string> DecodeProtobuf(const ProtobufBody& body) {
  const ProtobufMessage* message = FindProtobufKind(body.api_version, body.kind);
  if (!message) {
    return std::unexpected(Format("the API server in memory reads {} of {} as JSON only", body.kind,
                                  body.api_version));
  }
  auto object = ObjectReader().Read(*message, body.raw);
  if (!object) return object;
  object->insert_or_assign("apiVersion", body.api_version);
  object->insert_or_assign("kind", body.kind);
  return object;
}

}  // namespace berth::kube::memory
