#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "cloud/simulator/agent/agents.h"
#include "cloud/simulator/agent/transport.h"
#include "cloud/simulator/transport.h"
#include "simulate/documents.h"
#include "simulate/system_scenario.h"

namespace berth::simulate {

// Sandboxes: the system with its real client, two replicas of which one leads, on simulated agents,
// half of the time those of fast-sandbox, which do not fence. Agents are slow, hang, restart and
// forget, fail creates, lose answers, and their containers exit. Users make, change, reset and
// delete sandboxes and pools, forge allocation annotations, and delete agents' pods; creates are
// refused after admission, reviewed twice, reviewed and never made, and committed long after their
// review. The stand-in for a cluster's machinery runs the pods.
//
// At all times: a Sandbox has a container on one agent at most; no agent has more sandboxes
// assigned than slots, nor two with the same port; a Sandbox is gone only when no agent has a
// container of it. In the end every container is of a Sandbox that says so, every Sandbox that can
// run does, no object has the annotation; and when users have deleted everything nothing is left.
class Sandbox : public SystemScenario {
 public:
  explicit Sandbox(std::uint64_t seed);
  ~Sandbox() override;

  std::optional<kube::memory::Server::MachineryOptions> machinery() const override {
    return kube::memory::Server::MachineryOptions{};
  }
  void SetUp(World& world) override;
  std::optional<std::string> Check(World& world, const std::string& writer,
                                   const kube::Request& request) override;
  async::Duration Aftermath(World& world) override;
  async::Duration patience() const override { return std::chrono::minutes(30); }
  std::optional<std::string> Unsettled(World& world) override;
  bool DeleteAll(World& world) override;
  std::optional<std::string> Left(World& world) override;

 private:
  // How long after its review a create may be committed.
  static constexpr std::chrono::seconds kLatestCommit{40};

  class Trouble;
  struct Way;
  // An assignment, as it was when status first told of it.
  struct Assigned {
    std::string pod_uid;
    std::set<int> ports;
  };
  struct Pod {
    std::string ip;
    std::string name;
    std::size_t capacity = 0;
  };

  std::unique_ptr<Account> Open(Process& process) override;
  std::uint64_t Below(std::uint64_t bound);

  // sandbox_acts.cc
  void Act(World& world);
  void ActOnSandbox(World& world);
  void ActOnPool(World& world, const std::string& ns, const std::string& name);
  void ActOnAgent(World& world);
  void RestartAgent(World& world, const Json& pod, const std::string& ip);
  void Create(World& world, const std::string& ns, const std::string& name);
  std::string SpecOf(const std::string& image);
  void Change(World& world, const std::string& path, const std::string& name);
  void SomeFault();
  std::string TimeAfter(async::Duration delay) const;

  // sandbox_checks.cc
  void FollowPods(World& world);
  std::optional<std::string> CheckContainers() const;
  std::optional<std::string> CheckAssignments(const Documents& sandboxes);
  std::optional<std::string> CheckGone(const Documents& sandboxes);
  std::optional<std::string> UnsettledSandbox(const Json& sandbox) const;
  std::optional<std::string> UnsettledAgents(const Documents& sandboxes) const;
  bool HasRoom(const Json& sandbox, const Documents& sandboxes) const;

  World* world_ = nullptr;
  cloud::simulator::agent::Agents agents_;
  std::unique_ptr<Process> site_;  // the agents' own
  std::unique_ptr<Trouble> trouble_;
  std::unique_ptr<cloud::simulator::agent::Network> network_;
  std::map<std::string, Pod> pods_;           // of agents that run, by UID
  std::map<std::string, Assigned> assigned_;  // by the Sandbox's UID
  std::set<std::string> known_;               // UIDs of Sandboxes that exist
};

}  // namespace berth::simulate
