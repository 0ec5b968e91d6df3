#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "kube/config.h"
#include "kube/error.h"
#include "kube/transport.h"

namespace prometheus {
class Registry;
}

namespace berth::kube {

// Names one call or stream of a Client.
enum class CallId : std::uint64_t { kNone = 0 };

struct ClientOptions {
  double qps = 50;  // calls and streams begun a second, in the long run; 0: no limit
  int burst = 100;  // and at once, after a quiet time
  prometheus::Registry* metrics = nullptr;  // where to count; outlives the client
};

// Talks to one Kubernetes API server from one thread of its own (libcurl multi, HTTP/2, connections
// kept, no redirects, no proxies).
//
// An answer outside 200–299 is an Error made from its Status body; see ErrorFromStatus. Answers
// over kMaxAnswer are refused. A write that was sent and got no whole answer is kAmbiguous, and the
// client itself never sends it twice; a call that was not sent is kRetry. A 401 for a credential
// plugin's credential brings a new one and one other try. Errors hold no credentials, headers or
// bodies.
//
// Calls past the rate limit start in the order they came, as it lets them; those with
// Request::ahead do not wait for it. Waiting, for the limit or a plugin, counts towards a call's
// time.
//
// Thread-safe. Callbacks come on the client's thread: they must not block and should post elsewhere
// at once; they may use the client. Only a call that is malformed (kTerminal), that finds kMaxCalls
// waiting (kThrottled) or comes after Shutdown is answered by Send itself, on the caller's thread.
class Client {
 public:
  using Done = std::function<void(Result<Response>)>;
  struct StreamCallbacks {
    // One or more whole lines of a good answer, each with its newline.
    std::function<void(std::string lines)> on_lines;
    // Once, last, unless the stream is cancelled. No error: the server ended it in good order. An
    // error is a call's; a stream that breaks off, or is not over in time, is kRetry.
    std::function<void(Result<void>)> on_end;
  };
  static constexpr std::size_t kMaxAnswer = std::size_t{32} << 20;
  static constexpr std::size_t kMaxCalls = 10'000;  // streams included
  static constexpr std::size_t kMaxLine = std::size_t{8} << 20;
  static constexpr std::size_t kMaxUnacknowledged = std::size_t{4} << 20;

  explicit Client(Config config, ClientOptions options = {});
  ~Client();
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  // `done` is called once, unless the call is cancelled. kNone when it has been already.
  CallId Send(Request request, Done done);

  // A call whose answer comes line by line, for as long as request.timeout: a watch. While more
  // than kMaxUnacknowledged bytes of lines are not acknowledged nothing is read, which holds up the
  // server. A line over kMaxLine is an error. Neither callback may be empty.
  CallId Stream(Request request, StreamCallbacks callbacks);

  // Says that so many bytes of the lines that came are dealt with.
  void Acknowledge(CallId stream, std::size_t bytes);

  // Gives the call up; a write may have been carried out. Never waits. Once Cancel has returned no
  // callback of the call begins, but one that had begun may still be running, unless Cancel is
  // called on the client's thread. The callbacks are destroyed on that thread, soon. A call that
  // has ended, and kNone, are let be.
  void Cancel(CallId call);

  // Ends calls under way with "the client is shutting down", kRetry or, for writes already sent,
  // kAmbiguous, and joins the thread; the destructor does the same. Calls sent afterwards end so on
  // the caller's thread. Must not be called from a callback.
  void Shutdown();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace berth::kube
