#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <vector>

namespace berth::simulate {

// How often simulated users tried each action on each field of each kind, and how often the API
// server accepted it.
class Coverage {
 public:
  // A row that has to be exercised. Rows are declared from the schemas, so that a field that nobody
  // writes is seen.
  void Declare(const std::string& kind, const std::string& field, const std::string& action);
  void Add(const std::string& kind, const std::string& field, const std::string& action,
           bool accepted);
  void Merge(const Coverage& other);

  bool empty() const { return counts_.empty(); }
  std::string Table() const;
  // Actions that were declared and never tried, and fields of which no value was ever accepted.
  std::vector<std::string> Gaps() const;

 private:
  struct Count {
    std::uint64_t tried = 0;
    std::uint64_t accepted = 0;
  };
  std::map<std::tuple<std::string, std::string, std::string>, Count>
      counts_;  // kind, field, action
};

}  // namespace berth::simulate
