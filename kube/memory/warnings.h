#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace berth::kube::memory {

// The Warning headers of an answer. Each text counts once.
class Warnings {
 public:
  // Ignored: "", what was said before, text with control characters, whatever is over kMost.
  void Add(std::string_view text);  // O(warnings)
  bool empty() const { return texts_.empty(); }

  // The values of the headers: 299 - "text". As in kube-apiserver, texts that have more than 4,096
  // characters together are cut to 256 each, and those beyond 4,096 are left out.
  std::vector<std::string> Headers() const;

 private:
  static constexpr std::size_t kMost = 256;

  std::vector<std::string> texts_;
};

}  // namespace berth::kube::memory
