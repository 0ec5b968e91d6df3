#pragma once

#include <expected>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "json/json.h"

namespace berth::kube::memory {

// An object's JSON. Members are sorted, as kube-apiserver keeps custom resources: whatever way an
// object was written, equal ones have equal text. (Json keeps the order given.)
using Value = SortedJson;

// Reads JSON. Reuse it: its buffers are kept.
class Decoder {
 public:
  static constexpr std::size_t kMaxDepth = 64;

  Decoder();
  ~Decoder();

  // The last of members with the same key counts, as in Go; the paths of such members are added to
  // `duplicates`. A whole number, also 1.0, is an integer, past 64 bits a double. Errors are text.
  std::expected<Value, std::string> Decode(std::string_view text,
                                           std::vector<std::string>* duplicates = nullptr);

 private:
  class Builder;
  std::unique_ptr<Builder> builder_;
};

// The member at the end of a path, or null: Find(object, "metadata", "name").
inline const Value* Find(const Value& value) { return &value; }
template <typename... Keys>
const Value* Find(const Value& value, std::string_view key, Keys... keys) {
  const Value* found = value.find(key);
  return found ? Find(*found, keys...) : nullptr;
}

// Its text; "" when there is none.
template <typename... Keys>
std::string_view TextAt(const Value& value, Keys... keys) {
  const Value* found = Find(value, keys...);
  return found && found->is_string() ? found->as_string_view() : std::string_view("");
}

// Its number; 0 when there is none.
template <typename... Keys>
std::int64_t IntAt(const Value& value, Keys... keys) {
  const Value* found = Find(value, keys...);
  return found && found->is_int64() ? found->as<std::int64_t>() : 0;
}

// The member, made an empty object when it isn't one.
Value& ObjectAt(Value& value, std::string_view key);

// Gives `to` the member as `from` has it, or none.
void CopyMember(const Value& from, Value& to, std::string_view key);

// Whether a list has the item. O(items).
bool Contains(const Value& list, const Value& item);

// A step on the way to a value: a member, or an item when there is no key. Walks keep their steps
// and write them out only where there is something to tell.
struct PathStep {
  std::string_view key;
  std::size_t index = 0;
};
// As in spec.parts[0].name.
std::string PathOf(const std::vector<PathStep>& steps, std::string_view last);

// Members that every object has.
inline bool IsMetaMember(std::string_view key) {
  return key == "apiVersion" || key == "kind" || key == "metadata";
}

// Whether it is null, "", {} or [].
bool IsEmpty(const Value& value);

}  // namespace berth::kube::memory
