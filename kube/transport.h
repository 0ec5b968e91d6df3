#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <string_view>

#include "async/executor.h"
#include "http/transport.h"
#include "kube/error.h"

namespace berth::kube {

enum class Method { kGet, kPost, kPut, kPatch, kDelete };

inline const char* Name(Method method) {
  constexpr const char* kNames[] = {"GET", "POST", "PUT", "PATCH", "DELETE"};
  return kNames[static_cast<int>(method)];
}

struct Request {
  Method method = Method::kGet;
  std::string path;  // with its query, as in "/api/v1/namespaces/x/configmaps/y?limit=1"
  std::string body;  // JSON; empty for none
  std::string content_type = "application/json";
  std::string accept = "application/json";
  std::chrono::milliseconds timeout{10'000};  // for the whole call or stream; 0 is not allowed
  bool ahead = false;  // does not wait for the client's rate limit: leases, reviews
};

using http::kDelivery;

struct Response {
  int code = 0;
  std::string body;
};

// The way to an API server as the control thread's code sees it: a real one over HTTPS, the one in
// memory, or that one behind the simulation's faults. Calls and callbacks are on one executor's
// thread. A callback never comes before the function that was given it returns, nor after its
// handle is gone; letting go of a handle abandons the call, which may have been carried out.
class Transport {
 public:
  using Done = std::function<void(Result<Response>)>;

  struct Stream {
    // One or more whole lines of a watch, each with its newline. A slow reader slows the sender.
    std::function<void(std::string_view lines)> on_lines;
    // Once, last. A stream that the server ended in good order is no error.
    std::function<void(Result<void>)> on_end;
  };

  virtual ~Transport() = default;

  // An answer outside 200–299 is an Error; see ErrorFromStatus.
  virtual async::Handle Send(Request request, Done done) = 0;
  virtual async::Handle Watch(Request request, Stream stream) = 0;
};

}  // namespace berth::kube
