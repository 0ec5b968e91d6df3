#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kube/status.h"

namespace berth::runtime {

// The judgement of an object that somebody wants stored, field by field in the words of the API
// server's own validation. 256 bytes of a value are shown.
struct Verdict {
  // Causes that are kept: more than an object can have that its schema lets pass.
  static constexpr std::size_t kMostCauses = 2048;

  std::vector<kube::StatusCause> causes;  // of a 422
  std::size_t more = 0;                   // causes beyond kMostCauses, which are only counted
  std::vector<std::string> warnings;
  std::optional<kube::Status> refusal;  // for another reason than a field's; it is told instead

  bool allowed() const { return causes.empty() && !refusal; }

  void Required(std::string field, std::string_view what);
  void Invalid(std::string field, std::string_view value, std::string_view why);
  void Invalid(std::string field, std::int64_t value, std::string_view why);
  void NotSupported(std::string field, std::string_view value, std::string_view supported);
  void Forbidden(std::string field, std::string_view why);
  void Duplicate(std::string field, std::string_view value, std::string_view of);
  void TooLong(std::string field, std::size_t most);  // characters
  void TooMany(std::string field, std::size_t count, std::size_t most);
  // Nothing is said when both are the same.
  void Immutable(std::string field, std::string_view before, std::string_view now);
  void Immutable(std::string field, std::optional<int> before, std::optional<int> now);

  // A mistake that the object had before as well becomes a warning: an update of something else
  // need not mend it first. With more than kMostCauses nothing becomes a warning. O(causes log
  // causes).
  void Ratchet(const Verdict& before);

 private:
  void Add(kube::StatusCause cause);
};

}  // namespace berth::runtime
