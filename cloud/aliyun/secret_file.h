#pragma once

#include <cstddef>
#include <filesystem>
#include <string>

namespace berth::cloud::aliyun {

inline constexpr std::size_t kMaxSecretFile = std::size_t{64} << 10;

// What is in a file, without the white space around it. Empty when it cannot be read, and when it
// is over kMaxSecretFile.
std::string ReadSecretFile(const std::filesystem::path& file);

// Whether the text can be a key or a token: not empty, and nothing in it that a header cannot
// carry.
bool IsSecret(const std::string& text);

}  // namespace berth::cloud::aliyun
