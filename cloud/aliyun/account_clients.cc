#include "cloud/aliyun/account_clients.h"

#include "cloud/aliyun/error_table.h"
#include "log/format.h"

namespace berth::cloud::aliyun {

async::Task<Result<void>> AccountApi::CheckWanted(Wanted wanted, Credential key) {
  if (check_) {
    auto good = co_await check_(std::move(key));
    if (!good) co_return good;
  }
  if (!wanted || co_await wanted()) co_return Result<void>();
  co_return std::unexpected(
      Error{.error_class = ErrorClass::kConflict,
            .reason = std::string(kNotSent),
            .message = "the object has changed since: it no longer asks for this"});
}

async::Task<Result<Json>> AccountApi::Call(std::string action, Parameters parameters,
                                           Wanted wanted) {
  co_return co_await api_.Call(
      std::move(action), std::move(parameters),
      [this, &wanted](Credential key) { return CheckWanted(wanted, std::move(key)); });
}

async::Task<Result<void>> AccountApi::Do(std::string action, Parameters parameters, Wanted wanted) {
  const auto answer = co_await Call(std::move(action), std::move(parameters), std::move(wanted));
  if (!answer) co_return std::unexpected(answer.error());
  co_return Result<void>();
}

async::Task<Result<std::string>> AccountKeys::AccountOf(Credential key) {
  auto account = co_await accounts_.Of(key);
  if (!account && RefusesKey(account.error().reason)) credentials_.Refused(key);
  co_return account;
}

async::Task<Result<Place>> AccountKeys::Here() {
  auto key = co_await credentials_.Get();
  if (!key) co_return std::unexpected(std::move(key.error()));
  auto account = co_await AccountOf(std::move(*key));
  if (!account) co_return std::unexpected(std::move(account.error()));
  co_return Place{region_, std::move(*account)};
}

ApiClient::KeyCheck AccountKeys::CheckFor(std::string account) {
  return [this, account = std::move(account)](Credential key) {
    return CheckKey(account, std::move(key));
  };
}

async::Task<Result<void>> AccountKeys::CheckKey(std::string account, Credential key) {
  auto actual = co_await AccountOf(std::move(key));
  if (actual && *actual == account) co_return Result<void>();
  Error error{.error_class = ErrorClass::kRetry, .reason = std::string(kNotSent)};
  error.message = actual ? Format("the access key is of account {} now, not {}", *actual, account)
                         : std::move(actual.error().message);
  co_return std::unexpected(std::move(error));
}

}  // namespace berth::cloud::aliyun
