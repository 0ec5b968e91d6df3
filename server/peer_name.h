#pragma once

#include <drogon/HttpRequest.h>

#include <optional>
#include <string>

#include "handlers/peer_certificates.h"

namespace berth::server {

// The common name of the request's client certificate, if the authority has signed it and it has
// not expired. See PeerCertificates for the cost. On any event loop.
std::optional<std::string> NameOfPeer(const drogon::HttpRequestPtr& request,
                                      const http::PeerCertificates::Authority& authority);

}  // namespace berth::server
