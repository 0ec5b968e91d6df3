#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>

#include "kube/config.h"
#include "kube/error.h"

namespace berth::kube {

enum class Method { kGet, kPost, kPut, kPatch, kDelete };

struct Request {
  Method method = Method::kGet;
  std::string path;  // with its query, as in "/api/v1/namespaces/x/configmaps/y?limit=1"
  std::string body;  // JSON; empty for none
  std::string content_type = "application/json";
  std::chrono::milliseconds timeout{10'000};  // for the whole call; 0 is not allowed
};

struct Response {
  int code = 0;
  std::string body;
};

// Talks to one Kubernetes API server from one thread of its own (libcurl multi, HTTP/2, connections
// kept, no redirects, no proxies). An answer outside 200–299 is an Error made from its Status body;
// see ErrorFromStatus. Answers over kMaxAnswer are refused. A write that was sent and got no whole
// answer is kAmbiguous, and is never sent twice by the client itself; a call that was not sent is
// kRetry. Errors hold no credentials, headers or bodies.
// Thread-safe. `done` is called exactly once, on the client's thread: it must not block and should
// post elsewhere at once. Only a call that is refused because kMaxCalls are waiting (kThrottled),
// or after Shutdown, is answered by Send itself, on the caller's thread.
class Client {
 public:
  using Done = std::function<void(Result<Response>)>;
  static constexpr std::size_t kMaxAnswer = std::size_t{32} << 20;
  static constexpr std::size_t kMaxCalls = 10'000;

  explicit Client(Config config);
  ~Client();
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  void Send(Request request, Done done);

  // Ends calls under way with "the client is shutting down", kRetry or, for writes already sent,
  // kAmbiguous, and joins the thread; the destructor does the same. Calls sent afterwards end so on
  // the caller's thread. Must not be called from `done`.
  void Shutdown();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace berth::kube
