#include "kube/token.h"

#include <utility>

#include "http/file.h"
#include "log/format.h"
#include "log/log.h"

namespace berth::kube {
namespace {

bool IsSame(const struct stat& a, const struct stat& b) {
  // The kubelet swaps a symbolic link, so the inode tells where the time is too coarse.
  return a.st_dev == b.st_dev && a.st_ino == b.st_ino && a.st_size == b.st_size &&
         a.st_mtim.tv_sec == b.st_mtim.tv_sec && a.st_mtim.tv_nsec == b.st_mtim.tv_nsec;
}

// The token without the white space around it; empty when the file holds nothing that fits into a
// header.
std::string ReadToken(const std::filesystem::path& file) {
  const std::string text = ReadSecretFile(file);
  return IsSecret(text) ? text : std::string();
}

}  // namespace

TokenSource::TokenSource(std::string fixed, std::filesystem::path file)
    : token_(std::move(fixed)), file_(std::move(file)) {}

Result<std::string> TokenSource::Get() {
  if (file_.empty()) return token_;
  struct stat now = {};
  const bool found = ::stat(file_.c_str(), &now) == 0;
  if (found && !IsSame(now, seen_)) {
    seen_ = now;
    if (std::string token = ReadToken(file_); !token.empty()) {
      token_ = std::move(token);
    } else {
      log::Warn("the token file holds no token", {{"file", file_.string()}});
    }
  }
  if (token_.empty()) {
    return std::unexpected(
        Error{ErrorClass::kRetry, {}, Format("there is no token in {}", file_.string())});
  }
  return token_;
}

}  // namespace berth::kube
