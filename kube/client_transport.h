#pragma once

#include <memory>

#include "async/executor.h"
#include "http/link.h"
#include "kube/client.h"
#include "kube/transport.h"

namespace berth::kube {

// The real Transport: a Client's calls and streams, with their callbacks on an executor. Lines of a
// watch are acknowledged when on_lines has returned, so a consumer that falls behind holds up the
// server. Client and executor outlive the transport; handles may outlive it. An executor that has
// stopped calls nobody back, and once the transport is gone nothing more is given to it.
class ClientTransport : public Transport {
 public:
  ClientTransport(Client& client, async::Executor& executor);
  ~ClientTransport() override;

  async::Handle Send(Request request, Done done) override;
  async::Handle Watch(Request request, Stream stream) override;

 private:
  Client& client_;
  const std::shared_ptr<http::Link> link_;
};

}  // namespace berth::kube
