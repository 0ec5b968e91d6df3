#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

namespace berth::http {

// Cuts a stream of bytes into batches of whole lines. Amortised O(bytes).
class LineBuffer {
 public:
  // A longer line, its newline not counted, is refused.
  explicit LineBuffer(std::size_t max_line) : max_line_(max_line) {}

  // Takes the next bytes; false, and nothing taken, when they make a line too long.
  bool Append(std::string_view bytes) {
    for (std::string_view rest = bytes; !rest.empty();) {
      const std::size_t end = std::min(rest.find('\n'), rest.size());
      const std::size_t begun = rest.size() == bytes.size() ? buffer_.size() - whole_ : 0;
      if (begun + end > max_line_) return false;
      rest.remove_prefix(std::min(end + 1, rest.size()));
    }
    const std::size_t last = bytes.rfind('\n');
    if (last != std::string_view::npos) whole_ = buffer_.size() + last + 1;
    buffer_ += bytes;
    return true;
  }

  // The bytes that Take would give.
  std::size_t whole() const { return whole_; }
  // Whether a line has begun that has no end yet.
  bool has_partial() const { return buffer_.size() > whole_; }

  // The whole lines so far, each with its newline. What follows them stays.
  std::string Take() {
    std::string lines = std::exchange(buffer_, buffer_.substr(whole_));
    lines.resize(std::exchange(whole_, 0));
    return lines;
  }

 private:
  std::size_t max_line_;
  std::string buffer_;
  std::size_t whole_ = 0;  // bytes up to and with the last newline
};

}  // namespace berth::http
