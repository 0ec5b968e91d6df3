#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "cloud/simulator/azure/cloud.h"
#include "cloud/simulator/transport.h"
#include "simulate/documents.h"
#include "simulate/system_scenario.h"

namespace berth::simulate {

// DiffTracker: the system with its real client, two replicas of which one leads, on a simulated
// Azure whose operations take seconds and that loses requests and answers, is slow, throttles,
// refuses, and fails operations that it has begun. Users make, change and delete Services, pods and
// nodes; the stand-in for a cluster's machinery gives pods addresses and makes EndpointSlices.
// Others delete and write what Berth has made, take its tags off, and have resources of their own
// beside it: NAT gateways in the gateway, names that users give to egresses, another cluster with
// its registrations and locations. Some resources were made by cloud-provider-azure, without tags.
// The cloud refuses some addresses for a while. A user gives up waiting for a deletion.
//
// At all times: no location names a service that is not registered; resources, registrations and
// locations of others are byte for byte as they were; a pod's finalizer goes only when no location
// shows its address for its egress; a Service that is written to be Provisioned has a load balancer
// as its spec says, and the address that its status shows. In the end
// the gateway and the resource group have exactly what the objects say, every Service shows its
// address, no object waits to be deleted; and when users have deleted everything nothing is left.
class DiffTracker : public SystemScenario {
 public:
  explicit DiffTracker(std::uint64_t seed);
  ~DiffTracker() override;

  std::optional<kube::memory::Server::MachineryOptions> machinery() const override {
    return kube::memory::Server::MachineryOptions{.dual_stack = dual_stack_, .max_endpoints = 2};
  }
  void SetUp(World& world) override;
  std::optional<std::string> Check(World& world, const std::string& writer,
                                   const kube::Request& request) override;
  async::Duration Aftermath(World& world) override;
  // Resources are looked at every 10 min, and what is parked is tried again after 5.
  async::Duration patience() const override { return std::chrono::minutes(60); }
  std::optional<std::string> Unsettled(World& world) override;
  bool DeleteAll(World& world) override;
  std::optional<std::string> Left(World& world) override;

 private:
  class Trouble;
  struct Subscription;
  using Locations = std::map<std::string, std::map<std::string, std::set<std::string>>>;
  // The wishes of the objects.
  struct Wanted {
    Locations locations;
    std::set<std::string> services;   // in the gateway
    std::set<std::string> egresses;   // of live pods
    std::set<std::string> resources;  // keys in the resource group
  };
  // A pod with our finalizer.
  struct HeldPod {
    std::string egress;
    std::vector<std::string> addresses;
  };

  std::unique_ptr<Account> Open(Process& process) override;
  std::uint64_t Below(std::uint64_t bound);

  // difftracker_acts.cc
  void Act(World& world);
  void ActOnService(World& world, const std::string& name);
  void ActOnPod(World& world, const std::string& name);
  void ActOnNode(World& world, const std::string& name);
  void CreateService(World& world, const std::string& name);
  void CreatePod(World& world, const std::string& name);
  void Meddle(World& world);
  void SomeFault();
  void ForceSomeDeletion(World& world);
  // difftracker_others.cc: others' resources.
  void SetUpOthers();
  void AnotherClusterGrows();
  void SomebodyMakesRoom();
  void MakeMigratedEgress(const std::string& name);
  void MakeMigratedService(const std::string& uid);
  void RemoveSomeTag(const std::string& service);
  std::vector<std::string> ResourcesOf(const std::string& service) const;  // keys
  bool IsTagged(const std::string& service) const;                         // all of them
  void KeepInMind(const std::string& key);
  std::optional<std::string> CheckOthers() const;
  // The egress's name is taken by a resource of others.
  bool IsTaken(const std::string& egress) const;

  // difftracker_checks.cc
  std::optional<std::string> CheckCloud() const;
  std::optional<std::string> CheckPods(World& world);
  std::optional<std::string> CheckService(const Json& service) const;
  std::optional<std::string> CheckProvisioned(const Json& service) const;
  std::optional<std::string> CheckTags(World& world, const Wanted& wanted) const;
  Wanted ComputeWanted(World& world) const;
  void WantService(World& world, const Json& service, const Documents& slices,
                   const std::map<std::string, std::vector<std::string>>& nodes,
                   Wanted& wanted) const;

  const bool dual_stack_;
  World* world_ = nullptr;
  cloud::simulator::azure::Cloud cloud_;
  std::unique_ptr<Process> site_;  // the cloud's own
  std::unique_ptr<Trouble> trouble_;
  std::unique_ptr<cloud::simulator::Network> network_;
  // Of others: resources by key, as text; registrations; locations.
  std::map<std::string, std::string> foreign_;
  std::map<std::string, cloud::simulator::azure::Service> foreign_services_;
  std::map<std::string, cloud::simulator::azure::Addresses> foreign_locations_;
  int clusters_services_ = 0;            // that another cluster has registered
  std::set<std::string> forced_;         // deletions that users have forced
  bool meddled_ = false;                 // others have written locations
  std::map<std::string, HeldPod> pods_;  // by UID
};

}  // namespace berth::simulate
