#pragma once

#include <array>
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "kube/client.h"
#include "kube/credential.h"
#include "kube/curl.h"
#include "kube/endpoint.h"
#include "kube/line_buffer.h"

namespace berth::kube {

// One call or stream of a Client, from Send to its end, and the libcurl handle that carries it.
// libcurl keeps pointers into it, so it stays where it is. Of the client's thread.
struct Call {
  using Time = std::chrono::steady_clock::time_point;
  using OnLines = std::function<void(std::string)>;

  // With `on_lines` it is a stream: the body of a good answer goes there, not into the Response.
  Call(Request what, Client::Done then, OnLines for_lines = nullptr);

  CallId id = CallId::kNone;
  Request request;
  Client::Done done;
  OnLines on_lines;
  Time created;
  Time deadline;
  bool tried_again = false;

  // Of the transfer, once there is one.
  Time started;
  HeaderList headers;
  CredentialPtr credential;
  std::string answer;  // but for what goes into `lines`
  LineBuffer lines{Client::kMaxLine};
  std::size_t unacknowledged = 0;  // bytes of lines given out
  bool paused = false;
  bool sent = false;      // bytes of the request may have left
  bool repeated = false;  // libcurl wanted to send a write a second time
  bool too_large = false;
  bool counted = false;  // by the metrics
  std::array<char, CURL_ERROR_SIZE> error = {};
  EasyHandle easy;  // last, to go first: it points at the others

  bool IsWrite() const { return request.method != Method::kGet; }
  bool IsStream() const { return on_lines != nullptr; }

  // What is wrong with the request, if anything.
  std::string WhyMalformed() const;

  // Makes the handle, which has until the deadline. False when libcurl has no memory.
  bool Prepare(const Endpoint& endpoint, CredentialPtr with, bool share, Time now);

  // The lines that have come since, for `on_lines`; they are unacknowledged from now on.
  std::string TakeLines();
  // Lets a paused stream go on when enough has been acknowledged. libcurl may bring lines at once.
  void Acknowledge(std::size_t bytes);

  // 0 before there is an answer.
  int HttpCode() const;
  // What came of the transfer that libcurl says has ended with `code`.
  Result<Response> Outcome(CURLcode code);
  // Makes it a call that has not started yet, for its one other try. It has had its turn already,
  // so it goes ahead of the rate limit.
  void Rewind();
  // What came of a call that was given up: kAmbiguous for a write that may have left, else kRetry.
  Error Abandoned(std::string_view why) const;
  Error Failure(ErrorClass error_class, std::string_view why) const;

 private:
  void SetRequest(const Endpoint& endpoint);
  void SetHeaders(const Endpoint& endpoint);
  void SetCallbacks();
  Error FailureOf(CURLcode code) const;
  Error TooLarge() const;
};

const char* Name(Method method);

}  // namespace berth::kube
