#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "cloud/simulator/aliyun/cloud.h"
#include "cloud/simulator/transport.h"
#include "simulate/eni_nodes.h"
#include "simulate/eni_pods.h"
#include "simulate/eni_products.h"
#include "simulate/eni_users.h"
#include "simulate/eni_witness.h"
#include "simulate/system_scenario.h"

namespace berth::simulate {

// Network interfaces: the controller with its real clients, two replicas of
// which one leads, and up to three servers, of ECS and in some runs of Lingjun,
// whose pods come and go. The cloud loses requests and answers, is slow,
// throttles in storms, refuses with every code that Berth knows and some that
// it does not, shows an ENI late, attaches slowly, gives an attach up, leaves
// an ENI Attaching, Detaching or Deleting, has no quota, key or address for a
// while. Others delete, detach, move and tag ENIs, add their own, and take
// addresses and servers away. Users change, delete, restore and forge Nodes;
// daemons write their specs and tell late of pods. Users cancel attaches.
//
// EniWitness has what must never happen. In the end every ENI that Berth made
// is a Node's or gone, every Node shows what the cloud has, every pod that can
// have an address has one, pools are neither too small nor too large,
// conditions and figures are true, and Berth is quiet.
class Eni : public SystemScenario {
 public:
  static constexpr const char* kRegion = "cn-hangzhou";
  // Access keys of the account, and of another.
  static constexpr const char* kKeyId = "LTAIsimulated";
  static constexpr const char* kSecret = "simulated";
  static constexpr const char* kOtherKeyId = "LTAIother";
  static constexpr const char* kOtherAccount = "6543210987654321";

  explicit Eni(std::uint64_t seed);
  ~Eni() override;

  void SetUp(World& world) override;
  std::optional<std::string> Check(World& world, const std::string& writer,
                                   const kube::Request& request) override;
  async::Duration Aftermath(World& world) override;
  // A vSwitch that was full is passed over for 20 min.
  async::Duration patience() const override { return std::chrono::minutes(50); }
  std::optional<std::string> Unsettled(World& world) override;
  bool DeleteAll(World& world) override;
  std::optional<std::string> Left(World& world) override;
  std::vector<std::string> Refusable() const override { return {"nodes"}; }

 private:
  class Trouble;
  class Keys;
  class Wire;
  struct InRegion;

  std::unique_ptr<Account> Open(Process& process) override;
  void SetUpCloud(World& world);
  void AddInstance(const EniFleet::Server& server);
  void Schedule(World& world);

  // eni_acts.cc
  void Act(World& world);
  void StartDaemon(World& world, const std::string& name);
  void ScaleIn(World& world);
  void ReAdd(World& world);
  void LoseStatus(World& world);
  void CancelSome(World& world, int tries);
  void ForceSync(World& world, const std::string& name);
  void ClearAccount(World& world, const NodeView& node);
  const NodeView* SomeNode(World& world) const;

  // eni_cloud.cc
  void Meddle(World& world);
  void MeddleWith(World& world, const std::string& id, std::uint64_t how);
  void AddOthers(World& world);
  bool IsTaken(const EniFleet::Server& server) const;
  void AddOthersOnEflo(World& world, const EniFleet::Server& server);
  void SomeFault(World& world);
  void SomeStorm(World& world);
  void Storm(World& world, std::uint64_t kind, async::Duration length);
  void FillVSwitch(World& world, async::Duration length);
  void Move(World& world);
  void Unstick(World& world);
  void Calm(World& world);
  std::string SomeEni(World& world) const;
  // The cloud's answer to others; none when it refuses.
  std::optional<Json> Do(World& world, const std::string& action,
                         cloud::aliyun::Parameters parameters);

  // eni_checks.cc
  bool IsJudged(const NodeView& node) const;
  std::optional<std::string> CheckLeaks() const;
  std::optional<std::string> CheckNode(World& world, const NodeView& node) const;
  std::optional<std::string> CheckAgreement(const NodeView& node) const;
  bool HasLivePod(const NicView& nic) const;
  bool HoldsEarlier(const NodeView& node, const std::string& id) const;
  std::optional<std::string> CheckNic(const NodeView& node, const std::string& id) const;
  std::optional<std::string> CheckPods(const NodeView& node) const;
  std::optional<std::string> CheckPool(const NodeView& node) const;
  std::optional<std::string> CheckTold(const NodeView& node) const;
  std::optional<std::string> CheckConditions(const NodeView& node) const;
  std::optional<std::string> CheckReady(const NodeView& node) const;
  std::optional<std::string> CheckFigures(const NodeView& node) const;
  std::optional<std::string> CheckQuiet(World& world);
  bool MayLackCapacity(const NodeView& node, bool erdma) const;
  std::size_t FreeOf(const std::string& vswitch) const;
  void Gone(const NodeView& before);

  World* world_ = nullptr;
  cloud::simulator::Cloud cloud_;
  const EniProducts products_{cloud_};
  EniFleet fleet_;
  std::unique_ptr<Process> site_;  // the cloud's own
  std::unique_ptr<Trouble> trouble_;
  std::unique_ptr<cloud::simulator::Network> network_;
  std::unique_ptr<EniNodes> nodes_;
  std::unique_ptr<EniPods> pods_;
  std::unique_ptr<EniWitness> witness_;

  bool tampers_ = false;              // users act on Nodes, not only daemons
  int storms_ = 0;                    // of throttles, under way
  int forbidden_ = 0;                 // times without permission, under way
  int blind_ = 0;                     // times in which every list is refused, under way
  int untrusted_ = 0;                 // times in which TLS fails, under way
  std::vector<std::string> passing_;  // codes that every call is refused with, under way
  int empty_lists_ = 0;               // so many answers to come list no ENI
  std::string key_id_;                // of the moment
  // ENIs that change their state, the state, and since when.
  std::map<std::string, std::pair<std::string, async::TimePoint>> moving_;
  std::set<std::string> orphans_;       // ENIs of Nodes that went without their finalizer
  std::map<std::string, Json> backup_;  // a status of before, by Node
  std::set<std::string> forged_;        // Nodes whose account a user wrote
  struct Quiet {
    async::TimePoint since;
    std::uint64_t calls;
    std::uint64_t writes;
  };
  std::optional<Quiet> quiet_;
  std::uint64_t writes_ = 0;  // of Nodes, by replicas
};

}  // namespace berth::simulate
