#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "http/error.h"
#include "http/peer.h"
#include "http/transport.h"

namespace berth::http {

// Names one call or stream of a Client.
enum class CallId : std::uint64_t { kNone = 0 };

struct CallOptions {
  // With it the call is a stream: the body of an answer of 200–299 goes here instead of into the
  // Response, one or more whole lines at a time, each with its newline.
  std::function<void(std::string lines)> on_lines;
  bool ahead = false;  // goes before those that wait for their peer to admit them
};

// Talks to all servers there are from one thread of its own (libcurl multi, HTTP/2, TLS 1.2 at
// least, connections kept, no redirects, no proxies).
//
// Every answer, whatever its code, is a Response; errors are Transport's. Answers over kMaxAnswer
// or kMaxHeaders are refused. A stream that breaks off or is not over in time is an error, too.
// Errors hold no credentials, queries, headers or bodies. What a call waits for its peer counts
// towards its time.
//
// Thread-safe. Callbacks come on the client's thread: they must not block and should post elsewhere
// at once; they may use the client. Only a call that is malformed (kTerminal), that finds kMaxCalls
// to its peer (kThrottled) or whose peer is closed is answered by Send itself, on the caller's
// thread.
class Client {
 public:
  using Done = std::function<void(Result<Response>)>;
  static constexpr std::size_t kMaxAnswer = std::size_t{32} << 20;
  static constexpr std::size_t kMaxHeaders = std::size_t{64} << 10;  // of an answer, in all
  static constexpr std::size_t kMaxCalls = 10'000;                   // to a peer, streams included
  static constexpr std::size_t kMaxLine = std::size_t{8} << 20;
  static constexpr std::size_t kMaxUnacknowledged = std::size_t{4} << 20;

  Client();
  ~Client();  // ends all calls as Close does
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  // `done` is called once, last, unless the call is cancelled. kNone when it has been already.
  CallId Send(PeerPtr peer, Request request, Done done, CallOptions options = {});

  // Says that so many bytes of a stream's lines are dealt with. While more than kMaxUnacknowledged
  // are not, nothing is read, which holds up the server. A line over kMaxLine is an error.
  void Acknowledge(CallId stream, std::size_t bytes);

  // Gives the call up; a write may have been carried out. Never waits. Once Cancel has returned no
  // callback of the call begins, but one that had begun may still be running, unless Cancel is
  // called on the client's thread. The callbacks are destroyed on that thread, soon. A call that
  // has ended, and kNone, are let be.
  void Cancel(CallId call);

  // Asks the peers again that had calls wait.
  void Wake();

  // Ends the calls to a peer with "the client is shutting down", kRetry or, for writes already
  // sent, kAmbiguous, and waits until all is quiet. Calls sent afterwards end so on the caller's
  // thread. Must not be called from a callback.
  void Close(Peer& peer);

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace berth::http
