#pragma once

#include <cstddef>
#include <filesystem>
#include <string>

#include "http/error.h"

// Files that certificates, credentials and settings are in. They are small, and may be replaced at
// any time.
namespace berth {

inline constexpr std::size_t kMaxFile = std::size_t{1} << 20;
inline constexpr std::size_t kMaxSecretFile = std::size_t{64} << 10;

// kNotFound when there is none; kTerminal when it cannot be read and when it is over kMaxFile.
Result<std::string> ReadFile(const std::filesystem::path& file);

// The content without the white space around it. Empty when it cannot be read, and when it is over
// kMaxSecretFile.
std::string ReadSecretFile(const std::filesystem::path& file);

// The text without the white space around it.
std::string Trimmed(const std::string& text);

// Whether the text can be a key or a token: not empty, and nothing in it that a header cannot
// carry.
bool IsSecret(const std::string& text);

}  // namespace berth
