#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "json/json.h"
#include "simulate/scheduler.h"
#include "simulate/users.h"

namespace berth::simulate {

// The servers of a run, and the specs that their daemons write.
struct EniFleet {
  static constexpr const char* kZone = "cn-hangzhou-a";
  static constexpr const char* kOtherZone = "cn-hangzhou-b";
  static constexpr const char* kLarge = "vsw-large";
  static constexpr const char* kSmall = "vsw-small";  // is soon full
  static constexpr const char* kFar = "vsw-far";      // in the other zone
  static constexpr const char* kRival = "rival";      // a Node that names the first one's instance

  struct Server {
    std::string node;
    std::string instance;
    std::size_t adapters = 0;  // the primary ENI among them
    std::size_t ipv4_per_adapter = 0;
    bool lingjun = false;  // of EFLO
    Json spec;             // of its Node
  };
  std::vector<Server> servers;
  bool has_lingjun = false;  // Berth has access to EFLO

  static EniFleet Draw(Dice& random);
  const Server* Find(const std::string& node) const;
  std::vector<std::string> names() const;
  std::set<std::string> erdma_nodes() const;
};

// The spec that a server's daemon writes.
Json DaemonSpec(const EniFleet::Server& server, Dice& random);

// Nodes and NodeRuntimes as their users use them. With `strange` some Nodes
// name another's instance or are of Lingjun, which Berth has no account for.
// The fleet outlives the result.
std::vector<UserKind> EniUsers(const EniFleet& fleet, bool strange);

}  // namespace berth::simulate
