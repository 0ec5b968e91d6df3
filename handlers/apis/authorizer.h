#pragma once

#include <expected>
#include <functional>
#include <string>

#include "handlers/apis/authenticator.h"
#include "handlers/apis/expiring_cache.h"
#include "kube/client.h"

namespace berth::apis {

// The attributes of a request, in the words of RBAC.
struct Attributes {
  std::string verb;
  std::string path;  // for requests that are not about a resource
  std::string group;
  std::string version;
  std::string resource;  // empty for a path
  std::string ns;
  std::string name;
};

// Asks the API server whether a user may, by SubjectAccessReview; answers are good for ten seconds.
// Members of system:masters always may. Without a client nobody else may. Thread-safe.
class Authorizer {
 public:
  struct Verdict {
    bool allowed = false;
    std::string reason;
  };
  using Done = std::function<void(std::expected<Verdict, kube::Status>)>;

  explicit Authorizer(kube::Client* client);

  // `done` is called once, on the calling event loop.
  void Authorize(const User& user, const Attributes& attributes, Done done);

 private:
  kube::Client* client_;
  ExpiringCache<Verdict> verdicts_;
};

}  // namespace berth::apis
