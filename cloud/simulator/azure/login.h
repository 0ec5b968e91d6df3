#pragma once

#include <chrono>
#include <map>
#include <set>
#include <string>

#include "async/executor.h"
#include "cloud/simulator/azure/wire.h"
#include "cloud/simulator/ids.h"

namespace berth::cloud::simulator::azure {

// An identity that tokens are given to, and its proofs.
struct Client {
  std::string tenant;
  std::string id;
  std::string secret;                // empty: none
  std::set<std::string> assertions;  // tokens of another issuer that are taken
};

// Microsoft Entra ID: tokens for clients, and who calls with one.
class Login {
 public:
  explicit Login(Ids& ids) : ids_(ids) {}

  // Replaces one of the same ID.
  void Add(Client client) { clients_.insert_or_assign(client.id, std::move(client)); }
  void SetLifetime(std::chrono::seconds lifetime) { lifetime_ = lifetime; }
  // Every token given so far is refused from now on.
  void RevokeTokens() { tokens_.clear(); }

  // POST /TENANT/oauth2/v2.0/token
  http::Response Answer(const ReceivedRequest& request, const std::string& tenant,
                        async::WallTime now);
  // GET /TENANT/v2.0/.well-known/openid-configuration, which SDKs ask for first.
  static http::Response Discover(const ReceivedRequest& request);
  // Whether the request has a token that is good.
  Check Admit(const ReceivedRequest& request, async::WallTime now);

 private:
  Ids& ids_;
  std::map<std::string, Client> clients_;
  std::map<std::string, async::WallTime> tokens_;  // and their ends
  std::chrono::seconds lifetime_{3'600};
};

}  // namespace berth::cloud::simulator::azure
