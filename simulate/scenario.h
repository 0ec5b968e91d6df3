#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "kube/memory/server.h"
#include "kube/transport.h"
#include "simulate/coverage.h"
#include "simulate/faults.h"
#include "simulate/process.h"

namespace berth::simulate {

class World;

// A system's part of its simulation. Made anew for each seed.
class Scenario {
 public:
  virtual ~Scenario() = default;

  virtual int replicas() const { return 1; }
  // Options of the stand-in that runs pods and makes EndpointSlices; see kube/memory/machinery.h.
  virtual std::optional<kube::memory::Server::MachineryOptions> machinery() const {
    return std::nullopt;
  }
  // The faults that a seed drew, to be made to suit.
  virtual void Adjust(Faults&, Dice&) {}
  // Installs kinds and schedules what users do during the chaos.
  virtual void SetUp(World& world) = 0;
  // Starts a replica, which may know nothing but what the API server and the clouds hold.
  virtual std::unique_ptr<Program> Boot(World& world, Process& process,
                                        kube::Transport& transport) = 0;
  // After every write that was carried out, by `writer` (a replica's name and life, "user",
  // "garbage" or "machinery"): what is wrong, if anything is. The request's path has no query.
  virtual std::optional<std::string> Check(World& world, const std::string& writer,
                                           const kube::Request& request) = 0;
  // For how long a fault of the scenario's own goes on when all others have ended.
  virtual async::Duration Aftermath(World&) { return {}; }
  // How long it may take to settle, once everything works and users have stopped.
  virtual async::Duration patience() const { return std::chrono::minutes(30); }
  // Once everything works again: what is not yet as it must be, if anything is.
  virtual std::optional<std::string> Unsettled(World& world) = 0;

  // Whether its replicas write no more than a controller that backs off.
  virtual bool writes_are_bounded() const { return true; }
  // Resources that quotas, policies and permissions may refuse to write: PLURAL.GROUP.
  virtual std::vector<std::string> Refusable() const { return {}; }
  // One of these has refused a replica's write. The path has no query.
  virtual void Refused(World&, const kube::Request&) {}
  // After that: users delete everything. False when the scenario has no such end.
  virtual bool DeleteAll(World&) { return false; }
  // The first leftover then: in the API server, or in a replica's memory.
  virtual std::optional<std::string> Left(World&) { return std::nullopt; }
  // The actions of its users, if it counts them.
  virtual const Coverage* coverage() const { return nullptr; }
};

}  // namespace berth::simulate
