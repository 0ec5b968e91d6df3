#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "async/executor.h"
#include "http/error.h"

namespace berth::http {

struct Header {
  std::string name;
  std::string value;

  friend bool operator==(const Header&, const Header&) = default;
};

struct Request {
  std::string method = "POST";  // GET, POST, PUT, PATCH or DELETE; all but GET are writes
  std::string url;              // "https://host[:port]/path?query"
  std::vector<Header> headers;
  std::string body;
  std::chrono::milliseconds timeout{10'000};  // for the whole call; 0 is not allowed
};

struct Response {
  int code = 0;
  std::vector<Header> headers;  // names in lower case
  std::string body;
  std::chrono::seconds retry_after{0};  // what the header of that name says, 0 for nothing
};

// A request that has not reached the server this long after it was sent never will: the connection
// is given up.
inline constexpr std::chrono::milliseconds kDelivery{5'000};

// The way to other people's servers as the control thread's code sees it: over HTTPS, or straight
// to a simulated server. Calls and callbacks are on one executor's thread. A callback never comes
// before the function that was given it returns, nor after its handle is gone; letting go of a
// handle abandons the call, which may have been carried out.
class Transport {
 public:
  using Done = std::function<void(Result<Response>)>;

  virtual ~Transport() = default;

  // Every answer, whatever its code, is a Response. An error means that no whole answer came:
  // kAmbiguous for a write that may have been sent, which is never sent twice; else kRetry, or
  // kTerminal where another try would fail the same way, or kThrottled where too many are waiting.
  virtual async::Handle Send(Request request, Done done) = 0;
};

}  // namespace berth::http
