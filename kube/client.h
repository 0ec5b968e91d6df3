#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>

#include "http/client.h"
#include "kube/config.h"
#include "kube/error.h"
#include "kube/transport.h"

namespace prometheus {
class Registry;
}

namespace berth::kube {

using http::CallId;

struct ClientOptions {
  double qps = 50;  // calls and streams begun a second, in the long run; 0: no limit
  int burst = 100;  // and at once, after a quiet time
  prometheus::Registry* metrics = nullptr;  // where to count; outlives the client
  http::Client* http = nullptr;  // what carries the calls; outlives the client. None: its own
};

class Session;

// Talks to one Kubernetes API server, by an http::Client: what is said there of threads, callbacks,
// bounds and calls that get no answer holds here.
//
// An answer outside 200–299 is an Error made from its Status body; see ErrorFromStatus. A 401 for a
// credential plugin's credential brings a new one and one other try.
//
// Calls past the rate limit start in the order they came, as it lets them; those with
// Request::ahead do not wait for it. Waiting, for the limit or a plugin, counts towards a call's
// time.
class Client {
 public:
  using Done = std::function<void(Result<Response>)>;
  using OnLines = std::function<void(std::string lines)>;
  struct StreamCallbacks {
    OnLines on_lines;  // one or more whole lines of a good answer, each with its newline
    // Once, last, unless the stream is cancelled. No error: the server ended it in good order. An
    // error is a call's; a stream that breaks off, or is not over in time, is kRetry.
    std::function<void(Result<void>)> on_end;
  };

  explicit Client(Config config, ClientOptions options = {});
  ~Client();  // as Shutdown
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  // `done` is called once, unless the call is cancelled. kNone when it has been already.
  CallId Send(Request request, Done done);

  // A call whose answer comes line by line, for as long as request.timeout: a watch. Neither
  // callback may be empty.
  CallId Stream(Request request, StreamCallbacks callbacks);

  // As http::Client has them.
  void Acknowledge(CallId stream, std::size_t bytes);
  void Cancel(CallId call);

  // Ends this client's calls, as http::Client::Close does. Must not be called from a callback.
  void Shutdown();

  // The client that carries the calls.
  http::Client& http() { return http_; }

 private:
  CallId Begin(Request request, Done done, OnLines on_lines);

  const std::unique_ptr<http::Client> own_;
  http::Client& http_;
  const std::shared_ptr<Session> session_;
};

}  // namespace berth::kube
