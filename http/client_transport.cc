#include "http/client_transport.h"

#include <utility>

namespace berth::http {

ClientTransport::ClientTransport(Client& client, PeerPtr peer, async::Executor& executor)
    : client_(client), peer_(std::move(peer)), link_(std::make_shared<Link>(client, executor)) {}

ClientTransport::~ClientTransport() { link_->Close(); }

async::Handle ClientTransport::Send(Request request, Done done) {
  return link_->Send(std::move(done), [&](Client::Done answer) {
    return client_.Send(peer_, std::move(request), std::move(answer));
  });
}

}  // namespace berth::http
