#pragma once

#include <functional>
#include <string>

#include "async/token_bucket.h"
#include "http/peer.h"
#include "http/transport.h"
#include "kube/client.h"
#include "kube/client_metrics.h"
#include "kube/config.h"
#include "kube/credentials.h"
#include "kube/transport.h"

namespace berth::kube {

// An API server as "host:port" of the configuration, which the Host header and the metrics show,
// and as calls go to it.
struct Endpoint {
  explicit Endpoint(const Config& config);

  std::string authority;
  std::string url;         // scheme, name, port and the path that stands before a request's own
  std::string connect_to;  // the real address, where the certificate has another name
};

// A Client's session with its API server: the credential of the moment, the rate limit and the
// metrics.
class Session : public http::Peer {
 public:
  // `wake` is called from another thread when a credential that calls wait for may be there.
  Session(const Config& config, const ClientOptions& options, std::function<void()> wake);

  http::Request Address(Request request) const;

  http::Admission Admit(const http::Call& call, async::TimePoint now) override;
  bool Refused(const CredentialPtr& credential) override;
  void Answered(const http::Call& call) override;

 private:
  const Endpoint endpoint_;
  ClientMetrics metrics_;
  // The fields below belong to the client's thread.
  async::TokenBucket limit_;
  Credentials credentials_;
  async::TimePoint held_up_until_;  // by a credential that was not there
};

}  // namespace berth::kube
