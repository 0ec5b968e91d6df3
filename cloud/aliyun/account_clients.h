#pragma once

#include <map>
#include <string>
#include <utility>

#include "cloud/account.h"
#include "cloud/aliyun/api_client.h"
#include "cloud/aliyun/key_accounts.h"

namespace berth::cloud::aliyun {

// An ApiClient whose calls are signed only with keys that a check lets pass. `api` outlives this,
// which outlives its tasks. `check` as ApiClient::Call has it.
class AccountApi {
 public:
  AccountApi(ApiClient& api, ApiClient::KeyCheck check) : api_(api), check_(std::move(check)) {}

  // ApiClient::Call.
  async::Task<Result<Json>> Call(std::string action, Parameters parameters, Wanted wanted = {});
  // The same for a call whose answer says nothing more.
  async::Task<Result<void>> Do(std::string action, Parameters parameters, Wanted wanted = {});

 private:
  async::Task<Result<void>> CheckWanted(Wanted wanted, Credential key);

  ApiClient& api_;
  const ApiClient::KeyCheck check_;
};

// Tells which account the access key of the moment belongs to. References outlive it.
class AccountKeys {
 public:
  AccountKeys(Credentials& credentials, KeyAccounts& accounts, std::string region)
      : credentials_(credentials), accounts_(accounts), region_(std::move(region)) {}

  async::Task<Result<Place>> Here();
  // Lets keys of the account pass; outlived by this.
  ApiClient::KeyCheck CheckFor(std::string account);

 private:
  async::Task<Result<std::string>> AccountOf(Credential key);
  async::Task<Result<void>> CheckKey(std::string account, Credential key);

  Credentials& credentials_;
  KeyAccounts& accounts_;
  const std::string region_;
};

// A Client, which is a Service, for the account of each key that `credentials` gives, one after the
// other. `api` is what a Client is made of, beside its check of keys. References outlive it.
template <typename Service, typename Client, typename Api>
class AccountClients : public Accounts<Service> {
 public:
  AccountClients(Api& api, Credentials& credentials, KeyAccounts& accounts, std::string region)
      : api_(api), keys_(credentials, accounts, std::move(region)) {}

  async::Task<Result<Place>> Here() override { return keys_.Here(); }
  Service& In(const std::string& account) override {
    return clients_.try_emplace(account, api_, keys_.CheckFor(account)).first->second;
  }

 private:
  Api& api_;
  AccountKeys keys_;
  std::map<std::string, Client> clients_;  // by account
};

}  // namespace berth::cloud::aliyun
