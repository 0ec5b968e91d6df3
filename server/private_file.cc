#include "server/private_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace berth::server {
namespace {

std::unexpected<kube::Error> Failed(const char* what, const std::filesystem::path& path) {
  return kube::Terminal(std::string("cannot ") + what + " " + path.string() + ": " +
                        std::strerror(errno));
}

}  // namespace

kube::Result<void> WritePrivateFile(const std::filesystem::path& file, std::string_view contents) {
  const std::filesystem::path fresh = file.string() + ".new";
  const int fd = open(fresh.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (fd < 0) return Failed("write", fresh);
  const auto size = static_cast<ssize_t>(contents.size());
  const bool written = fchmod(fd, 0600) == 0 && write(fd, contents.data(), contents.size()) == size;
  close(fd);
  if (!written || rename(fresh.c_str(), file.c_str()) != 0) return Failed("write", file);
  return {};
}

kube::Result<void> MakePrivateDirectory(const std::filesystem::path& dir) {
  std::error_code ignored;  // what cannot be made shows below
  std::filesystem::create_directories(dir.parent_path(), ignored);
  if (mkdir(dir.c_str(), 0700) != 0 && errno != EEXIST) return Failed("make", dir);
  // Through a descriptor, so that what is looked at is what is changed.
  const int fd = open(dir.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  struct stat found{};
  const bool ours = fd >= 0 && fstat(fd, &found) == 0 && found.st_uid == geteuid();
  const bool made = ours && fchmod(fd, 0700) == 0;
  if (fd >= 0) close(fd);
  if (!ours)
    return kube::Terminal("cannot use " + dir.string() + ": it is not a directory of this user");
  if (!made) return Failed("use", dir);
  return {};
}

}  // namespace berth::server
