#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "async/executor.h"
#include "async/task.h"
#include "cloud/aliyun/credentials.h"
#include "cloud/call_log.h"
#include "cloud/renewed.h"
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

// The temporary keys of a role, for an hour each (AssumeRoleWithOIDC, which is not signed), renewed
// as cloud::Renewed says. Neither token nor keys stand in errors, records or logs.
class RoleCredentials : public Credentials {
 public:
  using Keys = Renewed<Credential>;
  static constexpr async::Duration kRenewal = Keys::kRenewal;
  static constexpr async::Duration kMargin = Keys::kMargin;
  static constexpr async::Duration kPause = Keys::kPause;

  RoleCredentials(async::Executor& executor, http::Transport& transport, CallObserver* observer,
                  OidcRole role);

  async::Task<Result<Credential>> Get() override;
  void Refused(const Credential& credential) override;

 private:
  async::Task<Result<Keys::Lease>> Fetch();
  async::Task<Result<Keys::Lease>> AssumeRole();
  http::Request Request(const std::string& token);

  async::Executor& executor_;
  http::Transport& transport_;
  CallObserver* observer_;
  const OidcRole role_;
  Keys keys_;
};

}  // namespace berth::cloud::aliyun
