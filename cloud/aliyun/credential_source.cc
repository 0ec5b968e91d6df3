#include "cloud/aliyun/credential_source.h"

#include <utility>

#include "cloud/aliyun/role_credentials.h"

namespace berth::cloud::aliyun {

Result<std::unique_ptr<Credentials>> OpenCredentials(async::Executor& executor,
                                                     http::Transport& transport,
                                                     CallObserver* observer,
                                                     const CredentialSource& source) {
  if (!source.folder.empty()) return std::make_unique<FolderCredentials>(executor, source.folder);

  Credential key{source.environment("ALIBABA_CLOUD_ACCESS_KEY_ID"),
                 source.environment("ALIBABA_CLOUD_ACCESS_KEY_SECRET"),
                 source.environment("ALIBABA_CLOUD_SECURITY_TOKEN")};
  if (IsUsable(key)) {
    return std::make_unique<FixedCredentials>(std::move(key));
  }

  OidcRole role{.role_arn = source.environment("ALIBABA_CLOUD_ROLE_ARN"),
                .provider_arn = source.environment("ALIBABA_CLOUD_OIDC_PROVIDER_ARN"),
                .token_file = source.environment("ALIBABA_CLOUD_OIDC_TOKEN_FILE"),
                .endpoint = source.sts_endpoint};
  if (!role.role_arn.empty() && !role.provider_arn.empty() && !role.token_file.empty()) {
    const std::string session = source.environment("ALIBABA_CLOUD_ROLE_SESSION_NAME");
    if (!session.empty()) role.session_name = session;
    return std::make_unique<RoleCredentials>(executor, transport, observer, std::move(role));
  }
  return Terminal(
      "there is no access key: neither a folder, nor a key (ALIBABA_CLOUD_ACCESS_KEY_ID, "
      "ALIBABA_CLOUD_ACCESS_KEY_SECRET), nor a role (ALIBABA_CLOUD_ROLE_ARN, "
      "ALIBABA_CLOUD_OIDC_PROVIDER_ARN, ALIBABA_CLOUD_OIDC_TOKEN_FILE)");
}

}  // namespace berth::cloud::aliyun
