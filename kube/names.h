#pragma once

#include <string>
#include <string_view>
#include <vector>

// What names, label keys and label values may be. Each function gives what is wrong, in
// kube-apiserver's words; nothing when all is well. O(length).
namespace berth::kube {

using Problems = std::vector<std::string>;

Problems SubdomainProblems(std::string_view name);      // "a.b-c"
Problems DnsLabelProblems(std::string_view name);       // "b-c"
Problems QualifiedNameProblems(std::string_view name);  // "a.b/C_d"
Problems LabelValueProblems(std::string_view value);    // "C_d", ""
Problems ConfigKeyProblems(std::string_view key);       // "-C_d.", of config maps and secrets

}  // namespace berth::kube
