#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "async/executor.h"
#include "http/client.h"
#include "http/curl.h"
#include "http/line_buffer.h"
#include "http/peer.h"

namespace berth::http {

// One call or stream of a Client, from Send to its end, and the libcurl handle that carries it.
// libcurl keeps pointers into it, so it stays where it is. Of the client's thread.
struct Call {
  using Time = async::TimePoint;

  Call(PeerPtr to, Request what, Client::Done then, CallOptions how = {});

  CallId id = CallId::kNone;
  PeerPtr peer;
  Request request;
  Client::Done done;
  CallOptions options;
  Time created;
  Time deadline;
  bool tried_again = false;

  // The transfer's state, once there is one.
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
  bool told = false;  // the peer, that there is an answer
  std::array<char, CURL_ERROR_SIZE> error = {};
  EasyHandle easy;  // last, to go first: it points at the others

  bool IsWrite() const { return request.method != "GET"; }
  bool IsStream() const { return options.on_lines != nullptr; }
  // "https://host:port".
  std::string Host() const;

  // The mistake of the request; empty for none.
  std::string WhyMalformed() const;

  // Makes the handle, which has until the deadline. `share`: wait for a connection that is being
  // made, to share it. False when libcurl has no memory.
  bool Prepare(CredentialPtr with, bool share, Time now);

  // The lines that have come since, for `on_lines`; they are unacknowledged from now on.
  std::string TakeLines();
  // Lets a paused stream go on when enough has been acknowledged. libcurl may bring lines at once.
  void Acknowledge(std::size_t bytes);

  // 0 before there is an answer.
  int HttpCode() const;
  bool HasHttp2() const;
  // The result of the transfer that libcurl says has ended with `code`.
  Result<Response> Outcome(CURLcode code);
  // Makes it a call that has not started yet, for its one other try. It has had its turn already,
  // so it goes ahead.
  void Rewind();
  // The error of a call that was given up: kAmbiguous for a write that may have left, else kRetry.
  Error Abandoned(std::string_view why) const;
  Error Failure(ErrorClass error_class, std::string_view why) const;

 private:
  void SetRequest();
  void SetHeaders();
  void SetCallbacks();
  Result<std::vector<Header>> AnswerHeaders() const;
  Error FailureOf(CURLcode code) const;
  Error TooLarge(std::string_view what) const;
};

}  // namespace berth::http
