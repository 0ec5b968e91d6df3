#include "server/agent_access.h"

#include <utility>

#include "http/client_transport.h"
#include "http/file.h"

namespace berth::server {
namespace {

Result<http::Peer::Options> PeerOptionsOf(const std::filesystem::path& tls_dir) {
  http::Peer::Options peer;
  if (tls_dir.empty()) return peer;
  http::Credential credential;
  for (const auto& [name, text] :
       {std::pair{"ca.crt", &peer.ca_pem}, std::pair{"tls.crt", &credential.client_cert_pem},
        std::pair{"tls.key", &credential.client_key_pem}}) {
    auto read = ReadFile(tls_dir / name);
    if (!read) return std::unexpected(read.error());
    *text = std::move(*read);
  }
  peer.credential = std::make_shared<const http::Credential>(std::move(credential));
  return peer;
}

}  // namespace

Result<std::unique_ptr<AgentAccess>> AgentAccess::Open(async::Executor& executor,
                                                       http::Client& client,
                                                       cloud::CallObserver* observer,
                                                       const systems::SandboxOptions& options) {
  auto peer = PeerOptionsOf(options.tls_dir);
  if (!peer) return std::unexpected(peer.error());
  return std::make_unique<AgentAccess>(
      executor,
      std::make_unique<http::ClientTransport>(
          client, std::make_shared<http::Peer>(std::move(*peer)), executor),
      observer, !options.tls_dir.empty(), options.agent_port);
}

}  // namespace berth::server
