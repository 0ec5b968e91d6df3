#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kube/status.h"

namespace berth::runtime {

// What is to be said of an object that somebody wants stored, field by field in the words of the
// API server's own validation. Of a value 256 bytes are shown.
struct Verdict {
  std::vector<kube::StatusCause> causes;  // of a 422
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

  // What was wrong with the object before as well, and is no other mistake now, becomes a warning:
  // who changes something else need not mend it first. O(causes²).
  void Ratchet(const Verdict& before);
};

}  // namespace berth::runtime
