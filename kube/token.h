#pragma once

#include <sys/stat.h>

#include <filesystem>
#include <string>

#include "kube/error.h"

namespace berth::kube {

// The bearer token of a Config. A token file is read again when it has changed, at the price of one
// stat() a call; while it cannot be read the last good token stands, then the fixed one. Not
// thread-safe.
class TokenSource {
 public:
  TokenSource(std::string fixed, std::filesystem::path file);

  // Empty when there is no token to send.
  Result<std::string> Get();

 private:
  std::string token_;
  std::filesystem::path file_;
  struct stat seen_ = {};
};

}  // namespace berth::kube
