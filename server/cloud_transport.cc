#include "server/cloud_transport.h"

#include <utility>

#include "http/client_transport.h"
#include "http/file.h"

namespace berth::server {

Result<std::unique_ptr<http::Transport>> OpenCloudTransport(async::Executor& executor,
                                                            http::Client& client,
                                                            const std::filesystem::path& ca_file) {
  http::Peer::Options peer;
  if (!ca_file.empty()) {
    auto ca = ReadFile(ca_file);
    if (!ca) return std::unexpected(ca.error());
    peer.ca_pem = std::move(*ca);
  }
  return std::make_unique<http::ClientTransport>(
      client, std::make_shared<http::Peer>(std::move(peer)), executor);
}

}  // namespace berth::server
