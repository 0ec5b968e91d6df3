#pragma once

#include <filesystem>
#include <string_view>

#include "kube/error.h"

// Files that are nobody else's business.
namespace berth::server {

// Replaces `file` as a whole, mode 0600.
kube::Result<void> WritePrivateFile(const std::filesystem::path& file, std::string_view contents);

// Makes `dir`, mode 0700, with its parents. One that is there is taken over if it is a directory of
// ours: somebody else may have made it first where all may write.
kube::Result<void> MakePrivateDirectory(const std::filesystem::path& dir);

}  // namespace berth::server
