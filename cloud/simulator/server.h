#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "async/executor.h"
#include "cloud/simulator/faults.h"
#include "http/transport.h"

namespace berth::cloud::simulator {

// An error as a cloud tells it.
struct Refusal {
  int http_code = 400;  // 200: an error of Alibaba's EFLO, whose code is a number
  std::string code;
  std::string message;
};

// Calls of an action that were let in.
struct CallCounts {
  std::uint64_t carried_out = 0;  // whatever the answer was
  std::uint64_t throttled = 0;
};

// A simulated cloud as the way to it sees it: a request goes in, a response comes out. One thread
// at a time.
class Server {
 public:
  virtual ~Server() = default;

  // Takes any request and always has an answer. `now` is the cloud's time, by which dates are
  // judged and everything in the background goes on.
  virtual http::Response Answer(const http::Request& request, async::WallTime now) = 0;
  // The answer of a cloud that refuses a request without looking at it.
  virtual http::Response Decline(const http::Request& request, const Refusal& refusal) = 0;
  // The action that a request asks for, as faults name it.
  virtual std::string ActionOf(const http::Request& request) const = 0;
  // The refusal with this code that a fault asks for.
  virtual Refusal RefusalWith(std::string code) const = 0;
  // Empties the lists of an answer: a cloud whose index is behind.
  virtual void EmptyLists(http::Response& /*response*/) const {}
  // On the way from any Transport, and in the background.
  virtual Faults& faults() = 0;
};

}  // namespace berth::cloud::simulator
