#pragma once

#include <chrono>
#include <deque>
#include <expected>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "async/executor.h"
#include "cloud/simulator/aliyun/product.h"
#include "cloud/simulator/aliyun/wire.h"

namespace berth::cloud::simulator {

// The account of keys that do not say another.
inline constexpr const char* kDefaultAccount = "1234567890123456";

struct Key {
  std::string id;
  std::string secret;
  // The caller that it speaks for: calls with one key and with the next are known to be the same
  // caller's.
  std::string caller;
  // The account that it belongs to; it reaches the resources of no other.
  std::string account = kDefaultAccount;
  // Only keys from STS have one.
  std::string security_token;
  std::optional<async::WallTime> expires;
};

// The owner of the access key that signed a request.
struct Caller {
  std::string name;
  std::string account;
};

// Lets in who signed with a key that is known, lately, and never with the same nonce twice.
// O(log n) a call; a nonce is kept only as long as its date could be taken.
class Gate {
 public:
  static constexpr std::chrono::minutes kSkew{15};

  // Replaces one of the same ID.
  void Add(Key key);
  void Revoke(std::string_view id);

  std::expected<Caller, Refusal> Admit(const Received& request, async::WallTime now);

 private:
  // The identity that a request claims, in either style of signing.
  struct Claim;

  static std::expected<Claim, Refusal> ReadAcs3(const Received& request);
  static std::expected<Claim, Refusal> ReadV1(const Received& request);
  static Check CheckToken(const Key& key, const Claim& claim, async::WallTime now);
  static Check CheckDate(const std::string& date, async::WallTime now);
  bool UseNonce(const std::string& nonce, async::WallTime now);

  std::map<std::string, Key, std::less<>> keys_;
  std::set<std::string> nonces_;
  std::deque<std::pair<async::WallTime, std::string>> nonce_ends_;
};

}  // namespace berth::cloud::simulator
