#include <charconv>

#include "handlers/apis/resource.h"

namespace berth::apis {

Row::Row(const std::vector<Cell>& cells) {
  // JSON has no raw line break, and begins with no '@'.
  for (const Cell& cell : cells) {
    text_.append(cell.since ? "@" + std::to_string(*cell.since) : cell.json).append("\n");
  }
  text_.shrink_to_fit();
}

Cell Row::Iterator::operator*() const {
  const std::string_view line = rest_.substr(0, rest_.find('\n'));
  if (!line.starts_with('@')) return {std::string(line), std::nullopt};
  std::int64_t since = 0;
  std::from_chars(line.data() + 1, line.data() + line.size(), since);
  return Cell::Age(since);
}

Row::Iterator& Row::Iterator::operator++() {
  rest_.remove_prefix(rest_.find('\n') + 1);
  return *this;
}

}  // namespace berth::apis
