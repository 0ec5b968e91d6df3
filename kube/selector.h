#pragma once

#include <concepts>
#include <cstdint>
#include <expected>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace berth::kube {

using Labels = std::map<std::string, std::string, std::less<>>;

// Label and field selectors as kubectl sends them: `a=b,c!=d,e in (x,y),!f,g,h>1`,
// `metadata.name=x,status.phase!=y`. Grammar and errors are kube-apiserver's.
class Selector {
 public:
  static constexpr std::size_t kMaxRequirements = 64;
  static constexpr std::size_t kMaxValues = 256;

  // An empty text selects everything. The error says what is wrong, in one sentence.
  static std::expected<Selector, std::string> ParseLabels(std::string_view text);
  // Only equality, on metadata.name, metadata.namespace and the type's selectable fields (`known`).
  static std::expected<Selector, std::string> ParseFields(std::string_view text,
                                                          const std::vector<std::string>& known);

  // `lookup(const std::string& key)` gives a label's or a field's value as something that is true
  // where there is one and points to its text. O(requirements × lookup).
  template <std::invocable<const std::string&> Lookup>
  bool Matches(Lookup&& lookup) const {
    for (const Requirement& requirement : requirements_) {
      const auto value = lookup(requirement.key);
      if (!(value ? Holds(requirement, *value) : HoldsWithout(requirement))) return false;
    }
    return true;
  }
  bool Matches(const Labels& labels) const;

  bool empty() const { return requirements_.empty(); }

  // The value that the first `key=value` requires; null where none does. O(requirements).
  const std::string* ExactValue(std::string_view key) const;

 private:
  friend class LabelSelectorParser;
  enum class Operator : std::uint8_t { kIn, kNotIn, kExists, kNotExists, kGreater, kLess };
  struct Requirement {
    std::string key;
    Operator op = Operator::kIn;
    std::vector<std::string> values;
  };

  static bool Holds(const Requirement& requirement, std::string_view value);
  static bool HoldsWithout(const Requirement& requirement);

  std::vector<Requirement> requirements_;
};

}  // namespace berth::kube
