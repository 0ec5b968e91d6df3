#include "cloud/aliyun/credentials.h"

#include <yaml-cpp/yaml.h>

#include <system_error>
#include <utility>

#include "http/file.h"
#include "log/format.h"
#include "log/log.h"

namespace berth::cloud::aliyun {
namespace {

// A mounted Secret's files are links into a folder that is swapped whole; read there, they are all
// of one time.
std::filesystem::path Settled(const std::filesystem::path& folder) {
  std::error_code none;
  const auto inner = std::filesystem::canonical(folder / "..data", none);
  return none ? folder : inner;
}

// The library's exceptions may quote the text, so nothing of them is told.
Credential ReadYaml(const std::string& text) {
  try {
    const YAML::Node yaml = YAML::Load(text);
    if (!yaml.IsMap()) return {};
    const auto value = [&yaml](const char* key) { return yaml[key].as<std::string>(""); };
    return {value("accessKeyID"), value("accessKeySecret"), value("securityToken")};
  } catch (const YAML::Exception&) {
    return {};
  }
}

std::optional<Credential> ReadFolder(const std::filesystem::path& folder) {
  const auto now = Settled(folder);
  return ReadCredential([&now](const char* file) { return ReadSecretFile(now / file); });
}

}  // namespace

bool IsUsable(const Credential& credential) {
  const auto& [id, secret, token] = credential;
  return IsSecret(id) && IsSecret(secret) && (token.empty() || IsSecret(token));
}

std::optional<Credential> ReadCredential(const std::function<std::string(const char* file)>& read) {
  Credential credential{read("accessKeyID"), read("accessKeySecret"), read("securityToken")};
  if (credential.key_id.empty()) credential = ReadYaml(read("ctrl-secret.yaml"));
  return IsUsable(credential) ? std::optional(std::move(credential)) : std::nullopt;
}

async::Task<Result<Credential>> FixedCredentials::Get() { co_return credential_; }

FolderCredentials::FolderCredentials(async::Executor& executor, std::filesystem::path folder)
    : executor_(executor), folder_(std::move(folder)) {}

async::Task<Result<Credential>> FolderCredentials::Get() {
  if (!read_ || executor_.Now() - *read_ >= kFresh) Read();
  if (current_) co_return *current_;
  co_return std::unexpected(
      Error{.error_class = ErrorClass::kRetry,
            .message = Format("there is no access key in {}", folder_.string())});
}

void FolderCredentials::Refused(const Credential& credential) {
  if (credential == current_) read_.reset();
}

void FolderCredentials::Read() {
  read_ = executor_.Now();
  std::optional<Credential> found = ReadFolder(folder_);
  const bool was_missing = std::exchange(is_missing_, !found);
  if (is_missing_ && !was_missing) {
    log::Warn("there is no access key in the folder", {{"folder", folder_.string()}});
  }
  if (!found || found == current_) return;
  log::Info("there is a new access key", {{"folder", folder_.string()}});
  current_ = std::move(found);
}

}  // namespace berth::cloud::aliyun
