#include "simulate/coverage.h"

#include <utility>

#include "log/format.h"

namespace berth::simulate {

void Coverage::Declare(const std::string& kind, const std::string& field,
                       const std::string& action) {
  counts_.try_emplace({kind, field, action});
}

void Coverage::Add(const std::string& kind, const std::string& field, const std::string& action,
                   bool accepted) {
  Count& count = counts_[{kind, field, action}];
  ++count.tried;
  if (accepted) ++count.accepted;
}

void Coverage::Merge(const Coverage& other) {
  for (const auto& [row, count] : other.counts_) {
    Count& sum = counts_[row];
    sum.tried += count.tried;
    sum.accepted += count.accepted;
  }
}

std::string Coverage::Table() const {
  std::string table = Format("{:<17} {:<32} {:<16} {:>10} {:>10}\n", "KIND", "FIELD", "ACTION",
                             "TRIED", "ACCEPTED");
  for (const auto& [row, count] : counts_) {
    const auto& [kind, field, action] = row;
    table += Format("{:<17} {:<32} {:<16} {:>10} {:>10}\n", kind, field, action, count.tried,
                    count.accepted);
  }
  return table;
}

std::vector<std::string> Coverage::Gaps() const {
  std::vector<std::string> gaps;
  std::map<std::pair<std::string, std::string>, std::uint64_t> accepted;  // by kind and field
  for (const auto& [row, count] : counts_) {
    const auto& [kind, field, action] = row;
    if (count.tried == 0) gaps.push_back(Format("{} {}: {} was never tried", kind, field, action));
    accepted[{kind, field}] += count.accepted;
  }
  for (const auto& [row, count] : accepted) {
    if (count == 0) gaps.push_back(Format("{} {}: nothing was accepted", row.first, row.second));
  }
  return gaps;
}

}  // namespace berth::simulate
