#pragma once

#include <expected>
#include <string>
#include <string_view>
#include <vector>

#include "handlers/apis/resource.h"

namespace berth::apis {

// Label and field selectors as kubectl sends them: `a=b,c!=d,e in (x,y),!f,g`,
// `metadata.name=x,status.phase!=y`.
class Selector {
 public:
  // An empty text selects everything. The error says what is wrong, in one sentence.
  static std::expected<Selector, std::string> ParseLabels(std::string_view text);
  // Only equality, on metadata.name, metadata.namespace and the type's selectable fields (`known`).
  static std::expected<Selector, std::string> ParseFields(std::string_view text,
                                                          const std::vector<std::string>& known);

  // O(requirements × log labels).
  bool MatchesLabels(const Labels& labels) const;
  bool MatchesFields(const Object& object) const;

  bool empty() const { return requirements_.empty(); }

 private:
  enum class Operator { kIn, kNotIn, kExists, kNotExists };
  struct Requirement {
    std::string key;
    Operator op = Operator::kIn;
    std::vector<std::string> values;
  };

  static std::expected<Requirement, std::string> ParseRequirement(std::string_view text);
  static bool Holds(const Requirement& requirement, const std::string* value);

  std::vector<Requirement> requirements_;
};

}  // namespace berth::apis
