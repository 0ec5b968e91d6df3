#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>

namespace berth::eni {

// Lets so many tasks do a thing at once; the others wait in line, the oldest first. Tasks go by
// their generation. O(log n).
class Gate {
 public:
  explicit Gate(std::size_t places) : places_(places) {}

  // Whether the task is in, which it is until it leaves. Else it waits in line.
  bool Enter(std::uint64_t task);
  // The task does the thing already, whether there is a place for it or not.
  void Occupy(std::uint64_t task);
  // Takes the task out, or out of the line. The task that is in instead, if any: it is to be told.
  std::optional<std::uint64_t> Leave(std::uint64_t task);

  bool empty() const { return inside_.empty() && line_.empty(); }
  std::size_t inside() const { return inside_.size(); }

 private:
  std::size_t places_;
  std::set<std::uint64_t> inside_;
  std::set<std::uint64_t> line_;
};

}  // namespace berth::eni
