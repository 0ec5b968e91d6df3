#pragma once

#include <expected>
#include <string>
#include <string_view>

#include "kube/memory/value.h"

namespace berth::kube::memory {

// An object that a client sent as application/vnd.kubernetes.protobuf: "k8s\0", then a
// runtime.Unknown with apiVersion, kind and the object's bytes.
struct ProtobufBody {
  std::string api_version;
  std::string kind;
  std::string_view raw;  // a part of what was read
};
std::expected<ProtobufBody, std::string> ReadProtobuf(std::string_view body);

// The object as JSON has it, with its apiVersion and kind. Fields that the tables lack are left
// out, as kube-apiserver leaves out what it does not know; of a field that is there twice the last
// counts. Refused: a kind without a table, malformed bytes, text that isn't UTF-8, more than
// Decoder::kMaxDepth messages in each other. The error is for people. O(n log n).
std::expected<Value, std::string> DecodeProtobuf(const ProtobufBody& body);

}  // namespace berth::kube::memory
