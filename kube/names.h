#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

// Rules of names, label keys and label values. Each function gives the mistakes, in
// kube-apiserver's words; none when all is well. O(length).
namespace berth::kube {

using Problems = std::vector<std::string>;

Problems SubdomainProblems(std::string_view name);      // "a.b-c"
Problems DnsLabelProblems(std::string_view name);       // "b-c"
Problems QualifiedNameProblems(std::string_view name);  // "a.b/C_d"
Problems LabelValueProblems(std::string_view value);    // "C_d", ""
Problems ConfigKeyProblems(std::string_view key);       // "-C_d.", of config maps and secrets

// Five characters, as the API server appends to generateName: without vowels and look-alikes, so
// that no words come out. Equal for equal numbers.
std::string NameSuffix(std::uint64_t random);

}  // namespace berth::kube
