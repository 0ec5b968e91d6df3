#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace berth::kube {

// A request's target, "/api/v1/pods?limit=5", taken apart and percent-decoded.
struct RequestTarget {
  std::vector<std::string> path;  // segments; empty ones are left out
  std::vector<std::pair<std::string, std::string>> query;

  // None for a broken escape or more than kMaxParts segments or parameters. O(length).
  static constexpr std::size_t kMaxParts = 64;
  static std::optional<RequestTarget> Parse(std::string_view target);

  // The first parameter of the name, "" without one. O(parameters).
  std::string_view Parameter(std::string_view name) const;
  // How often the parameter is given. O(parameters).
  std::size_t Count(std::string_view name) const;
  // As kube-apiserver reads it: false without one, or for "false" and "0"; any other value, also
  // none, is true.
  bool Flag(std::string_view name) const;
};

}  // namespace berth::kube
