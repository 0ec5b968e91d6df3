#pragma once

#include <filesystem>
#include <functional>
#include <string>

#include "async/executor.h"
#include "async/task.h"
#include "cloud/azure/config.h"
#include "cloud/call_log.h"
#include "cloud/renewed.h"
#include "http/transport.h"

namespace berth::cloud::azure {

// An identity of Microsoft Entra ID, and how it proves itself: with a secret, or with a token of
// another issuer in a file.
struct Identity {
  std::string authority;  // "https://login.microsoftonline.com"
  std::string tenant;
  std::string client_id;
  std::string scope;
  // The secret of the moment, asked for with every token; empty: the file has a token.
  std::function<std::string()> secret;
  std::filesystem::path federated_token_file;  // read for every token
};

// The identity of a cloud config. `secret` is not asked where it proves itself with a file.
Identity IdentityOf(const Config& config, std::function<std::string()> secret);

// Where bearer tokens come from. Of the control thread; outlives the tasks it gives.
class Tokens {
 public:
  virtual ~Tokens() = default;

  // The token to call with now; to be asked for again for every try of a call. An error is kRetry
  // or kThrottled, or kTerminal with a code of 401 when the identity was refused.
  virtual async::Task<Result<std::string>> Get() = 0;
  // The cloud did not take this token: the next Get fetches another one.
  virtual void Refused(const std::string& token) = 0;
};

// The tokens of an identity, renewed as cloud::Renewed says. Neither tokens nor secrets stand in
// errors, records or logs. Fetches are told to the observer as "GetToken".
class TokenSource : public Tokens {
 public:
  TokenSource(async::Executor& executor, http::Transport& transport, CallObserver* observer,
              Identity identity);

  async::Task<Result<std::string>> Get() override { return tokens_.Get(); }
  void Refused(const std::string& token) override;

 private:
  using Leases = Renewed<std::string>;

  async::Task<Result<Leases::Lease>> Fetch();
  async::Task<Result<Leases::Lease>> Ask();
  http::Request Request(const std::string& proof) const;

  async::Executor& executor_;
  http::Transport& transport_;
  CallObserver* observer_;
  const Identity identity_;
  Leases tokens_;
};

}  // namespace berth::cloud::azure
