#pragma once

#include <filesystem>
#include <utility>

#include "kube/error.h"

namespace berth::server {

// A directory that one process has at a time: a lock on the file `lock` in it, which ends with the
// process.
class DirectoryLock {
 public:
  static kube::Result<DirectoryLock> Take(const std::filesystem::path& dir);

  DirectoryLock(DirectoryLock&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  DirectoryLock& operator=(DirectoryLock&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~DirectoryLock();

 private:
  explicit DirectoryLock(int fd) : fd_(fd) {}

  int fd_;
};

}  // namespace berth::server
