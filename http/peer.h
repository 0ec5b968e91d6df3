#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <string>
#include <variant>

#include "async/executor.h"
#include "http/credential.h"
#include "http/curl.h"
#include "http/error.h"

namespace berth::http {

struct Call;

// A Peer's answer to a call that wants to start: the credential it goes with, which may be none,
// or when to ask again, or the error it ends with.
using Admission = std::variant<CredentialPtr, async::TimePoint, Error>;

// The servers of one party, as a Client's calls to them see it: how connections are made and
// trusted, who we are there, and when a call may start. This one lets every call start at once;
// others have a rate limit, or credentials that change. Of one Client; its calls keep it alive.
class Peer {
 public:
  struct Options {
    std::string ca_pem;      // empty: the system's authorities
    std::string connect_to;  // "host:port", where that is not the URL's, whose name the
                             // certificate still has to have
    CredentialPtr credential;
  };

  explicit Peer(Options options = {});
  virtual ~Peer() = default;
  Peer(const Peer&) = delete;
  Peer& operator=(const Peer&) = delete;

  // Tells libcurl how connections are made and kept. The handle must not outlive this.
  void Apply(CURL* easy) const;

  // The functions below are called on the client's thread and must not block.

  // Asked of the first call that waits, and no other until that one has started. When there is no
  // telling how long it has to wait, the time is max() and Client::Wake says when it is over.
  virtual Admission Admit(const Call& call, async::TimePoint now);
  // The server did not accept this one (401). Whether to try once more with what Admit gives next:
  // a 401 says that nothing was done, so even a write may be sent again.
  virtual bool Refused(const CredentialPtr& credential);
  // Once for each request that was started: it has been answered or given up, or lines of its
  // stream begin to come.
  virtual void Answered(const Call& call);

 private:
  friend class Client;

  const Options options_;
  HeaderList connect_to_;
  std::atomic<std::size_t> calls_{0};  // waiting or under way
  bool closing_ = false;               // under the client's lock; no call is taken any more
  bool closed_ = false;                // under the client's lock; all calls have ended
};
using PeerPtr = std::shared_ptr<Peer>;

}  // namespace berth::http
