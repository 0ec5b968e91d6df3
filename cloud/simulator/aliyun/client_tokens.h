#pragma once

#include <deque>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "cloud/simulator/aliyun/product.h"

namespace berth::cloud::simulator {

// Idempotence: a call that says the same as an earlier one, with the same ClientToken, is answered
// as that one was. Only successes are remembered, and those for a limited time. O(log n).
class ClientTokens {
 public:
  struct Options {
    async::Duration memory = std::chrono::hours(24);
    // For so long the first call counts as being under way, and another is turned away.
    async::Duration processing{};
  };

  explicit ClientTokens(Options options) : options_(options) {}

  // The answer when the call must not be carried out (again), none when it is to be.
  std::optional<Outcome> Recall(const Call& call);
  void Remember(const Call& call, const Json& answer);

 private:
  struct Memory {
    aliyun::Parameters parameters;
    Json answer;
    async::WallTime since;
  };
  using Name = std::pair<std::string, std::string>;  // action, token

  void Forget(async::WallTime now);

  Options options_;
  std::map<Name, Memory> memories_;
  std::deque<std::pair<async::WallTime, Name>> ends_;
};

}  // namespace berth::cloud::simulator
