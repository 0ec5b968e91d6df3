#pragma once

#include <drogon/HttpRequest.h>

#include <atomic>
#include <expected>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "handlers/apis/expiring_cache.h"
#include "handlers/peer_certificates.h"
#include "kube/client.h"
#include "kube/json_view.h"
#include "kube/status.h"

namespace berth::apis {

struct User {
  std::string name;
  std::string uid;
  std::vector<std::string> groups;
  std::map<std::string, std::vector<std::string>> extra;
};

// How the API server's front proxy names its users; published in
// kube-system/extension-apiserver-authentication.
struct RequestHeaderConfig {
  std::string client_ca_pem;
  std::vector<std::string> allowed_names;  // empty: any name the CA has signed
  std::vector<std::string> username_headers;
  std::vector<std::string> uid_headers;
  std::vector<std::string> group_headers;
  std::vector<std::string> extra_prefixes;

  // From the ConfigMap itself. An absent CA means that the cluster has no front proxy.
  static kube::Result<RequestHeaderConfig> FromConfigMap(kube::JsonView config_map);
  // The names kubeadm and every known distribution use.
  static RequestHeaderConfig Usual(std::string client_ca_pem,
                                   std::vector<std::string> allowed_names);
};

// Authenticates callers. The X-Remote-* headers count with a client certificate that the
// request-header CA of now has signed, that has not expired and has an allowed name. (At the
// handshake the TLS listener has refused certificates that the CA of then did not sign.) Anybody
// else needs a bearer token, which the API server reviews. Thread-safe.
class Authenticator {
 public:
  using Done = std::function<void(std::expected<User, kube::Status>)>;
  // The common name of the client certificate, as PeerCertificates::NameOf; on any event loop.
  using NameOfPeer = std::function<std::optional<std::string>(
      const drogon::HttpRequestPtr& request, const http::PeerCertificates::Authority& authority)>;

  // Without a client there are no token reviews: tokens are refused.
  Authenticator(kube::Client* client, NameOfPeer name_of_peer);

  void SetRequestHeader(std::shared_ptr<const RequestHeaderConfig> config) {
    config_.store(std::move(config));
  }

  // `done` is called once, on the calling event loop.
  void Authenticate(const drogon::HttpRequestPtr& request, Done done);

 private:
  std::expected<User, kube::Status> FromHeaders(const drogon::HttpRequestPtr& request,
                                                const RequestHeaderConfig& config) const;
  void ReviewToken(const std::string& token, Done done);
  std::expected<User, kube::Status> Remember(const std::string& key, const std::string& review);

  kube::Client* client_;
  NameOfPeer name_of_peer_;
  std::atomic<std::shared_ptr<const RequestHeaderConfig>> config_;
  ExpiringCache<User> tokens_;
  // Apart from the good ones: tokens that somebody makes up push none of those out.
  ExpiringCache<kube::Status> refused_;
};

}  // namespace berth::apis
