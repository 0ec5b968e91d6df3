#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "kube/memory/pattern.h"
#include "kube/memory/schema.h"

namespace berth::kube::memory {

// One level of a schema; for the sources of Schema only.
struct Schema::Node {
  enum class Type : std::uint8_t { kAny, kObject, kArray, kString, kInteger, kNumber, kBoolean };
  enum class ListType : std::uint8_t { kAtomic, kSet, kMap };
  using Nodes = std::vector<std::unique_ptr<Node>>;

  Type type = Type::kAny;
  bool nullable = false;
  bool int_or_string = false;
  bool preserve_unknown = false;
  bool embedded_resource = false;
  std::optional<Value> fallback;  // "default"

  std::map<std::string, std::unique_ptr<Node>, std::less<>> properties;
  std::unique_ptr<Node> additional;  // properties
  std::unique_ptr<Node> items;
  std::vector<std::string> required;

  std::vector<Value> allowed;  // "enum"
  std::optional<double> minimum, maximum, multiple_of;
  bool exclusive_minimum = false, exclusive_maximum = false;
  std::optional<std::int64_t> min_length, max_length, min_items, max_items, min_properties,
      max_properties;
  bool unique_items = false;
  std::string format;
  std::string pattern_text;
  std::optional<Pattern> pattern;
  ListType list_type = ListType::kAtomic;
  std::vector<std::string> list_map_keys;
  Nodes all_of, any_of, one_of;
  std::unique_ptr<Node> none_of;       // "not"
  std::vector<std::string> immutable;  // messages of the rules self == oldSelf
};

}  // namespace berth::kube::memory
