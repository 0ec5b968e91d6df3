#include "cloud/aliyun/key_accounts.h"

#include <utility>

namespace berth::cloud::aliyun {

KeyAccounts::KeyAccounts(async::Executor& executor, http::Transport& transport,
                         CallObserver* observer, ApiOptions sts)
    : executor_(executor), transport_(transport), observer_(observer), sts_([&sts] {
        sts.version = "2015-04-01";
        return std::move(sts);
      }()) {}

async::Task<Result<std::string>> KeyAccounts::Of(Credential credential) {
  Known& known = Find(credential.key_id);
  if (known.account) co_return known.account;
  if (!known.asking && executor_.Now() >= known.next_try) {
    known.asking = async::Start(Ask(credential, &known), [&known] {
      // A task that goes on may end others that wait, so each is taken out before it is told.
      while (!known.waiting.empty()) known.waiting.extract(known.waiting.begin()).mapped()(true);
    });
  }
  if (known.asking) {
    co_await async::Callback<bool>([this, &known](auto done) {
      const std::uint64_t place = ++last_;
      known.waiting.emplace(place, std::move(done));
      return async::Handle([&known, place] { known.waiting.erase(place); });
    });
  }
  co_return Find(credential.key_id).account;
}

// A key that is being asked about stays, so that its task keeps its place.
KeyAccounts::Known& KeyAccounts::Find(const std::string& key_id) {
  if (!known_.contains(key_id) && known_.size() >= kMostKeys) {
    auto oldest = known_.end();
    for (auto it = known_.begin(); it != known_.end(); ++it) {
      const bool is_idle = !it->second.asking && it->second.waiting.empty();
      if (is_idle && (oldest == known_.end() || it->second.used < oldest->second.used)) oldest = it;
    }
    if (oldest != known_.end()) known_.erase(oldest);
  }
  Known& known = known_[key_id];
  known.used = ++last_;
  return known;
}

async::Task<void> KeyAccounts::Ask(Credential credential, Known* known) {
  FixedCredentials one(std::move(credential));
  ApiClient sts(executor_, transport_, one, observer_, sts_);
  auto answer = co_await sts.Call("GetCallerIdentity", {});
  known->next_try = executor_.Now() + kPause;
  if (!answer) {
    known->account = std::unexpected(std::move(answer.error()));
    co_return;
  }
  std::string account = Text(*answer, "AccountId");
  if (account.empty()) {
    known->account =
        std::unexpected(Error{.error_class = ErrorClass::kRetry,
                              .message = "GetCallerIdentity: the answer has no AccountId"});
  } else {
    known->account = std::move(account);
  }
}

}  // namespace berth::cloud::aliyun
