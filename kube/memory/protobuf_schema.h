#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

// The field numbers of the kinds that clients may send as protobuf, and their JSON names.
namespace berth::kube::memory {

struct ProtobufMessage;

struct ProtobufField {
  enum class Type { kString, kBytes, kBool, kInt, kDouble, kTime, kMicroTime, kJson, kMessage };

  std::uint32_t number = 0;
  std::string name;  // in JSON; "-": the message's members are the holder's own
  Type type = Type::kString;
  bool list = false;
  bool map = false;         // from strings; its entries are messages {1 key, 2 value}
  bool keeps_zero = false;  // shown in JSON when it is "", 0, false or {}, too
  const ProtobufMessage* message = nullptr;

  bool inlined() const { return name == "-"; }
};

struct ProtobufMessage {
  std::string name;
  bool unwrapped = false;             // in JSON it is the first of its fields that is there
  std::vector<ProtobufField> fields;  // in the order of the table

  const ProtobufField* Find(std::uint32_t number) const;  // O(fields)
};

// The message of a kind: "v1", "ConfigMap". Null when there is none. O(log messages).
const ProtobufMessage* FindProtobufKind(std::string_view api_version, std::string_view kind);

// The tables. A line is "Message: NUMBER NAME TYPE, …", continued on lines that begin with a blank;
// "apiVersion/Kind:" is the message of a kind, "Message=:" one that is unwrapped. A type is
// string, bytes, bool, int, double, time, microtime, json or a message, [TYPE] a list, {TYPE} a
// map, *TYPE one that keeps zero.
extern const char* const kProtobufMetadata;
extern const char* const kProtobufCore;
extern const char* const kProtobufReviews;
extern const char* const kProtobufServicesAndNodes;
extern const char* const kProtobufDefinitions;
extern const char* const kProtobufPods;

}  // namespace berth::kube::memory
