#include "certs/store.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include "http/file.h"
#include "log/format.h"
#include "log/log.h"

namespace berth::certs {
namespace {

using kube::Result;
using kube::Terminal;
using std::chrono::hours;
using std::chrono::system_clock;

constexpr hours kAuthorityLife = hours(24) * 3653;
constexpr hours kLeafLife = hours(24) * 90;
constexpr mode_t kPrivate = 0600;
constexpr mode_t kPublic = 0644;

class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const { return fd_; }

 private:
  int fd_;
};

std::unexpected<kube::Error> Failed(std::string_view what, const std::filesystem::path& file) {
  return Terminal(Format("cannot {} {}: {}", what, file.string(), std::strerror(errno)));
}

// Nothing when there is no such file.
Result<std::optional<std::string>> ReadIfThere(const std::filesystem::path& file) {
  auto read = ReadFile(file);
  if (read) return std::move(*read);
  if (read.error().error_class == ErrorClass::kNotFound) return std::nullopt;
  return std::unexpected(read.error());
}

bool WriteAll(int fd, std::string_view content) {
  while (!content.empty()) {
    const ssize_t size = ::write(fd, content.data(), content.size());
    if (size < 0 && errno == EINTR) continue;
    if (size < 0) return false;
    content.remove_prefix(static_cast<std::size_t>(size));
  }
  return true;
}

Result<void> Replace(const std::filesystem::path& file, std::string_view content, mode_t mode) {
  // mkstemp makes it 0600: at no time can others read a key.
  std::string temporary = file.string() + ".XXXXXX";
  const Descriptor out(::mkostemp(temporary.data(), O_CLOEXEC));
  if (out.get() < 0) return Failed("write", file);
  if (!WriteAll(out.get(), content) || ::fchmod(out.get(), mode) != 0 || ::fsync(out.get()) != 0 ||
      ::rename(temporary.c_str(), file.c_str()) != 0) {
    auto error = Failed("write", file);
    ::unlink(temporary.c_str());
    return error;
  }
  const Descriptor folder(::open(file.parent_path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (folder.get() < 0 || ::fsync(folder.get()) != 0) return Failed("write", file.parent_path());
  return {};
}

struct PairFiles {
  std::filesystem::path cert;
  std::filesystem::path key;
};

// Nothing when one of the two is missing.
Result<std::optional<KeyPair>> ReadPair(const PairFiles& files) {
  auto cert = ReadIfThere(files.cert);
  if (!cert) return std::unexpected(cert.error());
  auto key = ReadIfThere(files.key);
  if (!key) return std::unexpected(key.error());
  if (!*cert || !*key) return std::nullopt;
  return KeyPair{std::move(**cert), std::move(**key)};
}

Result<void> WritePair(const PairFiles& files, const KeyPair& pair) {
  if (auto done = Replace(files.key, pair.key_pem, kPrivate); !done) return done;
  return Replace(files.cert, pair.cert_pem, kPublic);
}

std::int64_t Seconds(system_clock::time_point time) {
  return std::chrono::floor<std::chrono::seconds>(time.time_since_epoch()).count();
}

Result<void> CheckAuthority(const KeyPair& authority, system_clock::time_point now) {
  if (auto fine = CheckPair(authority.cert_pem, authority.key_pem); !fine) return fine;
  const auto end = NotAfter(authority.cert_pem);
  if (!end) return std::unexpected(end.error());
  if (Seconds(now) >= *end) return Terminal("the certificate has expired");
  return {};
}

Result<void> CheckLeaf(const std::string& authority_pem, const KeyPair& leaf,
                       const ServingNames& names, system_clock::time_point now) {
  if (auto fine = CheckPair(leaf.cert_pem, leaf.key_pem); !fine) return fine;
  if (auto fine = CheckServes(authority_pem, leaf.cert_pem, names); !fine) return fine;
  const auto begin = NotBefore(leaf.cert_pem);
  if (!begin) return std::unexpected(begin.error());
  const auto end = NotAfter(leaf.cert_pem);
  if (!end) return std::unexpected(end.error());
  if ((*end - Seconds(now)) * 3 <= *end - *begin) {
    return Terminal("less than a third of its life is left");
  }
  return {};
}

// The authority to issue under, made when there is none that can be used.
Result<KeyPair> LoadOrMakeAuthority(const PairFiles& files, system_clock::time_point now) {
  auto found = ReadPair(files);
  if (!found) return std::unexpected(found.error());
  std::string why = "the certificate or its key is missing";
  if (*found) {
    auto fine = CheckAuthority(**found, now);
    if (fine) return std::move(**found);
    why = fine.error().message;
  }
  std::error_code ignored;
  if (std::filesystem::exists(files.cert, ignored) || std::filesystem::exists(files.key, ignored)) {
    log::Warn("replacing the certificate authority; CA bundles with the old one stop working",
              {{"file", files.cert.string()}, {"why", why}});
  } else {
    log::Info("making a certificate authority", {{"file", files.cert.string()}});
  }
  auto made = MakeAuthority("berth-ca", kAuthorityLife);
  if (!made) return made;
  if (auto done = WritePair(files, *made); !done) return std::unexpected(done.error());
  return made;
}

}  // namespace

Result<KeyPair> LoadOrMakeServing(const std::filesystem::path& dir, const ServingNames& names,
                                  system_clock::time_point now) {
  std::error_code error;
  if (std::filesystem::create_directories(dir, error) && !error) {
    std::filesystem::permissions(dir, std::filesystem::perms::owner_all, error);
  }
  if (error) return Terminal(Format("cannot make {}: {}", dir.string(), error.message()));

  const PairFiles authority_files{dir / "ca.crt", dir / "ca.key"};
  const PairFiles files{dir / "tls.crt", dir / "tls.key"};
  const auto authority_cert = ReadIfThere(authority_files.cert);
  if (!authority_cert) return std::unexpected(authority_cert.error());
  auto found = ReadPair(files);
  if (!found) return std::unexpected(found.error());
  std::string why = "there is none";
  if (*found && *authority_cert) {
    auto fine = CheckLeaf(**authority_cert, **found, names, now);
    if (fine) return std::move(**found);
    why = fine.error().message;
  }
  auto authority = LoadOrMakeAuthority(authority_files, now);
  if (!authority) return authority;
  auto issued = Issue(*authority, "berth", names, kLeafLife);
  if (!issued) return issued;
  if (auto done = WritePair(files, *issued); !done) return std::unexpected(done.error());
  log::Info("issued a serving certificate", {{"file", files.cert.string()}, {"why", why}});
  return issued;
}

}  // namespace berth::certs
