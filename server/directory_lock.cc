#include "server/directory_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "log/format.h"

namespace berth::server {

kube::Result<DirectoryLock> DirectoryLock::Take(const std::filesystem::path& dir) {
  const std::filesystem::path file = dir / "lock";
  DirectoryLock lock(open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (lock.fd_ < 0)
    return kube::Terminal(Format("cannot write {}: {}", file.string(), std::strerror(errno)));
  if (flock(lock.fd_, LOCK_EX | LOCK_NB) == 0) return lock;
  return kube::Terminal(
      Format("another berth uses the state directory {}: end it, or choose another directory by "
             "--state-dir",
             dir.string()));
}

DirectoryLock::~DirectoryLock() {
  if (fd_ >= 0) close(fd_);
}

}  // namespace berth::server
