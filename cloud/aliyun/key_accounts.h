#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>

#include "async/executor.h"
#include "async/task.h"
#include "cloud/aliyun/api_client.h"
#include "cloud/aliyun/credentials.h"
#include "cloud/call_log.h"
#include "http/transport.h"

namespace berth::cloud::aliyun {

// The account of each access key: STS tells it (GetCallerIdentity), which every key may ask. A key
// is asked about once; after a failure, again no sooner than kPause. Remembers kMostKeys keys. Of
// the control thread; outlives its tasks.
class KeyAccounts {
 public:
  static constexpr async::Duration kPause = std::chrono::seconds(5);
  static constexpr std::size_t kMostKeys = 16;

  // `sts` says where STS is and how to sign. The references, and the observer if there is one,
  // outlive this.
  KeyAccounts(async::Executor& executor, http::Transport& transport, CallObserver* observer,
              ApiOptions sts);

  // The ID of the account. Errors are ApiClient's, as of a call that reads. O(log n) once known.
  async::Task<Result<std::string>> Of(Credential credential);

 private:
  struct Known {
    Result<std::string> account = std::unexpected(Error{ErrorClass::kRetry, {}, "not asked yet"});
    async::TimePoint next_try{};
    std::uint64_t used = 0;  // the higher the later
    async::Running asking;
    std::map<std::uint64_t, std::function<void(bool)>> waiting;  // for the answer
  };

  Known& Find(const std::string& key_id);
  async::Task<void> Ask(Credential credential, Known* known);

  async::Executor& executor_;
  http::Transport& transport_;
  CallObserver* observer_;
  const ApiOptions sts_;
  std::map<std::string, Known> known_;  // by the key's ID
  std::uint64_t last_ = 0;
};

}  // namespace berth::cloud::aliyun
