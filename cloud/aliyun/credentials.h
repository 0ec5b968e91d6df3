#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <utility>

#include "async/executor.h"
#include "async/task.h"
#include "http/error.h"

namespace berth::cloud::aliyun {

// An access key. Never to be logged, nor to stand in an error message.
struct Credential {
  std::string key_id;
  std::string secret;
  std::string security_token;  // of temporary keys; empty for others

  friend bool operator==(const Credential&, const Credential&) = default;
};

// Whether a call can be signed with it: an ID and a secret, and nothing that a header cannot carry.
bool IsUsable(const Credential& credential);

// The key in the files of a Secret: accessKeyID, accessKeySecret and perhaps securityToken; or, as
// AlibabaCloud-EIP-Operator has it, ctrl-secret.yaml with these as its keys. `read` gives what is
// in a file, "" for none. None when there is no usable key.
std::optional<Credential> ReadCredential(const std::function<std::string(const char* file)>& read);

// Where access keys come from. Of the control thread; outlives the tasks it gives.
class Credentials {
 public:
  virtual ~Credentials() = default;

  // The key to sign with now; to be asked for again for every try of a call. An error is kRetry or
  // kThrottled, since keys may be there later.
  virtual async::Task<Result<Credential>> Get() = 0;

  // The cloud did not take this key: the next Get looks for another one at once.
  virtual void Refused(const Credential& credential) = 0;
};

// One key for good.
class FixedCredentials : public Credentials {
 public:
  explicit FixedCredentials(Credential credential) : credential_(std::move(credential)) {}

  async::Task<Result<Credential>> Get() override;
  void Refused(const Credential& /*credential*/) override {}

 private:
  const Credential credential_;
};

// The key in a folder, as a Secret is mounted: see ReadCredential. Get looks there at most once in
// kFresh, or at once after a refusal. While there is no key to read the last one stands.
class FolderCredentials : public Credentials {
 public:
  static constexpr async::Duration kFresh = std::chrono::seconds(5);

  FolderCredentials(async::Executor& executor, std::filesystem::path folder);

  async::Task<Result<Credential>> Get() override;
  void Refused(const Credential& credential) override;

 private:
  void Read();

  async::Executor& executor_;
  const std::filesystem::path folder_;
  std::optional<Credential> current_;
  std::optional<async::TimePoint> read_;  // none: read at the next Get
  bool is_missing_ = false;
};

}  // namespace berth::cloud::aliyun
