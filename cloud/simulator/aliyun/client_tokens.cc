#include "cloud/simulator/aliyun/client_tokens.h"

#include <algorithm>

namespace berth::cloud::simulator {
namespace {

constexpr std::size_t kLongest = 64;

bool IsWellFormed(const std::string& token) {
  return token.size() <= kLongest &&
         std::ranges::all_of(token, [](unsigned char c) { return c < 0x80; });
}

}  // namespace

std::optional<Outcome> ClientTokens::Recall(const Call& call) {
  const std::string& token = call["ClientToken"];
  if (token.empty()) return std::nullopt;
  if (!IsWellFormed(token)) return Outcome(Invalid("ClientToken"));
  Forget(call.now);
  const auto found = memories_.find({call.action, token});
  if (found == memories_.end()) return std::nullopt;
  const Memory& memory = found->second;
  if (memory.parameters != call.parameters) {
    return Outcome(Refuse(400, "IdempotentParameterMismatch",
                          "The request uses the same client token as a previous, but "
                          "non-identical request."));
  }
  if (call.now < memory.since + options_.processing) {
    return Outcome(Refuse(400, "LastTokenProcessing", "The last token request is processing."));
  }
  return Outcome(memory.answer);
}

void ClientTokens::Remember(const Call& call, const Json& answer) {
  const std::string& token = call["ClientToken"];
  if (token.empty()) return;
  const Name name{call.action, token};
  memories_.insert_or_assign(name, Memory{call.parameters, answer, call.now});
  ends_.emplace_back(call.now + options_.memory, name);
}

void ClientTokens::Forget(async::WallTime now) {
  for (; !ends_.empty() && ends_.front().first <= now; ends_.pop_front()) {
    memories_.erase(ends_.front().second);
  }
}

}  // namespace berth::cloud::simulator
