#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "async/executor.h"
#include "async/task.h"
#include "cloud/aliyun/credentials.h"
#include "cloud/call_log.h"
#include "http/transport.h"

namespace berth::cloud::aliyun {

// A RAM role that whoever shows a token of an OIDC provider may take: a pod's service account.
struct OidcRole {
  std::string role_arn;
  std::string provider_arn;
  std::filesystem::path token_file;  // read for every renewal
  std::string session_name = "berth";
  std::string endpoint = "https://sts.aliyuncs.com";
};

// The endpoint of the STS product, as seen from the internet or from inside a VPC of the region.
std::string StsEndpoint(std::string_view region, bool from_vpc);

// The temporary keys of a role, for an hour each (AssumeRoleWithOIDC, which is not signed). New
// ones are fetched when a key has kRenewal to live, while it is still given out; it is given out
// until it has kMargin to live, so that a call has the time to arrive. One renewal serves all who
// wait, and the next begins no sooner than kPause after it. Neither token nor keys stand in errors,
// records or logs.
class RoleCredentials : public Credentials {
 public:
  static constexpr async::Duration kRenewal = std::chrono::minutes(10);
  static constexpr async::Duration kMargin = std::chrono::minutes(1);
  static constexpr async::Duration kPause = std::chrono::seconds(5);

  RoleCredentials(async::Executor& executor, http::Transport& transport, CallObserver* observer,
                  OidcRole role);

  async::Task<Result<Credential>> Get() override;
  void Refused(const Credential& credential) override;

 private:
  struct Key {
    Credential credential;
    async::WallTime expires;
  };

  bool HasKeyFor(async::Duration time) const;
  void Renew();
  async::Task<void> Fetch();
  async::Task<Result<Key>> AssumeRole();
  http::Request Request(const std::string& token);
  // Returns when the renewal under way, if any, has ended.
  async::Task<void> Renewed();

  async::Executor& executor_;
  http::Transport& transport_;
  CallObserver* observer_;
  const OidcRole role_;
  std::optional<Key> key_;
  Error failure_;  // why there is no key
  async::TimePoint next_renewal_{};
  std::map<std::uint64_t, std::function<void(bool)>> waiting_;  // for the renewal under way
  std::uint64_t last_ = 0;
  async::Running renewal_;
};

}  // namespace berth::cloud::aliyun
