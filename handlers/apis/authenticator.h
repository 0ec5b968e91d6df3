#pragma once

#include <drogon/HttpRequest.h>

#include <atomic>
#include <expected>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "handlers/apis/expiring_cache.h"
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

// Who is asking. The TLS listener has already refused client certificates that the request-header
// CA did not sign; here the certificate's name decides whether its X-Remote-* headers count.
// Anybody else needs a bearer token, which the API server reviews. Thread-safe.
class Authenticator {
 public:
  using Done = std::function<void(std::expected<User, kube::Status>)>;
  using CommonNameOf = std::function<std::string(const std::string& cert_pem)>;

  // Without a client there are no token reviews: tokens are refused.
  Authenticator(kube::Client* client, CommonNameOf common_name_of);

  void SetRequestHeader(std::shared_ptr<const RequestHeaderConfig> config) {
    config_.store(std::move(config));
  }

  // `done` is called once, on the calling event loop.
  void Authenticate(const drogon::HttpRequestPtr& request, Done done);

  // The common name of the client certificate, which there must be.
  std::string CertificateName(const drogon::HttpRequestPtr& request) const;

 private:
  std::expected<User, kube::Status> FromHeaders(const drogon::HttpRequestPtr& request,
                                                const RequestHeaderConfig& config) const;
  void ReviewToken(const std::string& token, Done done);
  std::expected<User, kube::Status> Remember(const std::string& key, const std::string& review);

  kube::Client* client_;
  CommonNameOf common_name_of_;
  std::atomic<std::shared_ptr<const RequestHeaderConfig>> config_;
  ExpiringCache<User> tokens_;
  // Apart from the good ones: tokens that somebody makes up push none of those out.
  ExpiringCache<kube::Status> refused_;
};

}  // namespace berth::apis
