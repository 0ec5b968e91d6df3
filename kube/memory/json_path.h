#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "kube/memory/value.h"

namespace berth::kube::memory {

// A path as printer columns have it: `.spec.size`, `.a['b.c']`, `.items[0]`, `.items[*].name`,
// `.status.conditions[?(@.type=="Ready")].status`.
class JsonPath {
 public:
  // A path that is none of these finds nothing.
  static JsonPath Parse(std::string_view text);

  // The first value at the path, or null. O(steps + items passed over).
  const Value* First(const Value& value) const;

 private:
  struct Step {
    enum class Kind { kMember, kIndex, kAny, kFilter } kind = Kind::kMember;
    std::string name;  // the member, or the one a filter compares
    std::size_t index = 0;
    std::string wanted;  // of a filter
  };

  bool ReadStep(std::string_view& rest);
  bool ReadBracket(std::string_view& rest);
  static const Value* Walk(const Value& value, const Step* step, const Step* end);

  std::vector<Step> steps_;
  bool valid_ = true;
};

}  // namespace berth::kube::memory
