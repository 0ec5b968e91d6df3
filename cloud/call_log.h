#pragma once

#include <chrono>
#include <string>

#include "async/executor.h"

namespace berth::cloud {

// One call to a cloud, as people and metrics may see it: of its parameters only what it was about,
// nothing of its credentials.
struct CallRecord {
  std::string action;         // "AllocateEipAddress"
  async::WallTime at;         // when it was sent
  async::Duration waited{};   // for its turn, before that
  async::Duration latency{};  // from then to its answer
  int http_code = 0;          // 0: no answer
  // The cloud's error code, or "OK"; "Timeout" or "Network" without an answer, "Unreadable" for one
  // that is no answer of the cloud's API, "NotSent" for a call that had no turn or no key.
  std::string code;
  std::string message;     // of an error
  std::string request_id;  // the cloud's
  // Which of the cloud's resources it was about: the first one's ID and how many more; of an
  // allocation without an answer the client token. At most 128 bytes.
  std::string resource;
  bool throttled = false;
};

// Is told of every call. On the control thread.
class CallObserver {
 public:
  virtual ~CallObserver() = default;
  virtual void Called(const CallRecord& call) = 0;
};

}  // namespace berth::cloud
