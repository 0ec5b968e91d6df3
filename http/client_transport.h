#pragma once

#include <memory>

#include "async/executor.h"
#include "http/client.h"
#include "http/link.h"
#include "http/transport.h"

namespace berth::http {

// The real Transport: a Client's calls to a peer, with their callbacks on an executor. Client and
// executor outlive the transport; handles may outlive it. An executor that has stopped calls nobody
// back, and once the transport is gone nothing more is given to it.
class ClientTransport : public Transport {
 public:
  ClientTransport(Client& client, PeerPtr peer, async::Executor& executor);
  ~ClientTransport() override;

  async::Handle Send(Request request, Done done) override;

 private:
  Client& client_;
  const PeerPtr peer_;
  const std::shared_ptr<Link> link_;
};

}  // namespace berth::http
