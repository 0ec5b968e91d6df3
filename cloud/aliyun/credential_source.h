#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <string>

#include "async/executor.h"
#include "cloud/aliyun/credentials.h"
#include "cloud/call_log.h"
#include "http/transport.h"

namespace berth::cloud::aliyun {

// Where to look for access keys.
struct CredentialSource {
  std::filesystem::path folder;  // of a mounted Secret; empty: the environment has them
  std::string sts_endpoint = "https://sts.aliyuncs.com";
  // The value of a variable, empty for none.
  std::function<std::string(const char* name)> environment;
};

// The credentials of the first that is there, in the order of the cloud's own programs: the folder;
// a key, which takes ALIBABA_CLOUD_ACCESS_KEY_ID and ALIBABA_CLOUD_ACCESS_KEY_SECRET (and perhaps
// ALIBABA_CLOUD_SECURITY_TOKEN); a role, which takes ALIBABA_CLOUD_ROLE_ARN,
// ALIBABA_CLOUD_OIDC_PROVIDER_ARN and ALIBABA_CLOUD_OIDC_TOKEN_FILE (and perhaps
// ALIBABA_CLOUD_ROLE_SESSION_NAME). kTerminal when there is none. The references, and the observer
// if there is one, outlive the credentials.
Result<std::unique_ptr<Credentials>> OpenCredentials(async::Executor& executor,
                                                     http::Transport& transport,
                                                     CallObserver* observer,
                                                     const CredentialSource& source);

}  // namespace berth::cloud::aliyun
