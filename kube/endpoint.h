#pragma once

#include <string>

#include "kube/config.h"
#include "kube/curl.h"

namespace berth::kube {

// The API server as libcurl is told of it: its address, and how connections to it are made and
// kept. Handles it was applied to must not outlive it.
class Endpoint {
 public:
  explicit Endpoint(const Config& config);
  Endpoint(const Endpoint&) = delete;
  Endpoint& operator=(const Endpoint&) = delete;

  // Scheme, name, port and the path that stands before a request's own.
  const std::string& url() const { return url_; }
  // "host:port" as the configuration has it: the Host header, and the label of metrics.
  const std::string& authority() const { return authority_; }

  // `share`: wait for a connection that is being made, to share it.
  void Apply(CURL* easy, bool share) const;

 private:
  std::string authority_;
  std::string url_;
  std::string ca_pem_;
  HeaderList connect_to_;  // the real address, where the certificate has another name
};

}  // namespace berth::kube
