#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "async/executor.h"
#include "cloud/simulator/aliyun/wire.h"
#include "http/transport.h"
#include "simulate/eni_nodes.h"
#include "simulate/eni_pods.h"
#include "simulate/eni_products.h"

namespace berth::simulate {

// Sees every call of a replica to the cloud and every write of a Node, and says
// what must never happen:
//
// - an attach of an ENI that the replica has not seen to be Available since it
// last asked for one,
//   or whose task a user has cancelled there;
// - a create whose attempt no Node's status had before;
// - a detach or deletion of an ENI, or of an address, that a live pod has,
// unless its Node goes;
// - an attach, detach or deletion of an ENI that a user has excluded, which the replica has seen;
// - a change of ENIs of others: of Primary ones, of those with a blocked tag,
// of those that were
//   not made for a node;
// - an address bound to two live pods, two addresses of one family to one pod,
// a binding of a live
//   pod that changes, a new one on an ENI or address that is not for pods;
// - a Nic that becomes Deleting with a live pod's address, or because its attach was throttled, or
//   while the cloud is at it and its time is not over;
// - an address that is free while its pod is still set up.
class EniWitness {
 public:
  EniWitness(World& world, const EniProducts& products, const EniNodes& nodes, const EniPods& pods)
      : world_(world), products_(products), nodes_(nodes), pods_(pods) {}

  // A call leaves the replica; its answer arrives there.
  std::optional<std::string> Sent(const std::string& replica,
                                  const cloud::simulator::Received& call);
  void Answered(const std::string& replica, const std::string& action, const std::string& body);
  // The answer to a call, null for none.
  void AttachAnswered(const cloud::simulator::Received& call, const http::Response* answer);
  // A replica has written a Node.
  std::optional<std::string> Wrote(const NodeView& before, const NodeView& after) const;

  // An ENI of others, and one of Terway that is a node's to use.
  void AddOther(const std::string& id) { others_.insert(id); }
  void Inherit(const std::string& id) {
    others_.erase(id);
    inherited_.insert(id);
  }
  bool IsInherited(const std::string& id) const { return inherited_.contains(id); }
  bool IsOthers(const std::string& id) const { return others_.contains(id); }
  // Others changed the ENI: it may be beyond Berth's reach.
  void Meddled(const std::string& id) { meddled_.insert(id); }
  bool IsMeddled(const std::string& id) const { return meddled_.contains(id); }
  // A user has excluded the ENI: it stays as it is once a replica has seen that.
  void Excluded(const std::string& id) { excluded_.try_emplace(id); }
  // A user wrote the Node's status, or replaced the Node.
  void Tampered(const std::string& node);
  // A user has cancelled the attach of the ENI, which the replica has
  // confirmed.
  void Cancelled(const std::string& replica, const std::string& id) {
    cancelled_.insert({replica, id});
  }
  // The replica has renewed its lease. After a long time without it may have led anew, and have
  // forgotten what was cancelled.
  void Renewed(const std::string& replica);
  // For so long a replica may act on a state of before.
  void SetGrace(async::Duration grace) { grace_ = grace; }
  async::Duration grace() const { return grace_; }
  bool WasTampered(const std::string& node) const;
  // Calls of all replicas to the cloud so far.
  std::uint64_t calls() const { return calls_; }
  // The cloud has the address at the ENI now.
  bool HasAddress(const std::string& eni, const std::string& ip) const;

 private:
  std::optional<std::string> CheckAttach(const std::string& replica,
                                         const cloud::simulator::Received& call);
  std::optional<std::string> CheckRemoval(const std::string& action, const std::string& eni,
                                          const std::string& instance) const;
  std::optional<std::string> CheckUnassign(const cloud::simulator::Received& call,
                                           const std::string& eni) const;
  std::optional<std::string> CheckUnassigned(const std::string& eni, const std::string& ip) const;
  std::optional<std::string> CheckCreate(const cloud::simulator::Received& call) const;
  std::optional<std::string> CheckOthers(const std::string& action, const std::string& eni) const;
  std::optional<std::string> CheckExcluded(const std::string& replica, const std::string& action,
                                           const std::string& eni) const;
  std::optional<std::string> CheckKept(const NodeView& before, const NodeView& after) const;
  std::optional<std::string> CheckGivenUp(const NodeView& before, const NodeView& after) const;
  std::optional<std::string> CheckBinding(const NodeView& before, const NodeView& after,
                                          const std::string& eni, const std::string& ip) const;
  std::optional<std::string> CheckSingle(const NodeView& after) const;
  const NicAddress* FindIn(const NodeView& node, const std::string& eni,
                           const std::string& ip) const;

  World& world_;
  const EniProducts& products_;
  const EniNodes& nodes_;
  const EniPods& pods_;
  // When a replica last saw an ENI to be Available.
  std::map<std::pair<std::string, std::string>, async::TimePoint> available_;
  std::map<std::string, std::set<std::string>> attached_to_;  // instances, by ENI
  // The answers to the attaches of an ENI.
  struct Attaches {
    bool throttled = false;
    bool answered = false;                     // otherwise, or not at all
    std::optional<async::TimePoint> accepted;  // the first of them
  };
  std::map<std::string, Attaches> attaches_;  // by ENI
  std::set<std::string> others_;
  std::set<std::string> inherited_;
  std::set<std::string> meddled_;
  // When each replica first saw that the ENI is excluded, by ENI.
  std::map<std::string, std::map<std::string, async::TimePoint>> excluded_;
  std::map<std::string, async::TimePoint> tampered_;         // by Node
  std::set<std::pair<std::string, std::string>> cancelled_;  // replicas and ENIs
  std::map<std::string, async::TimePoint> renewed_;          // by replica
  async::Duration grace_{};
  std::uint64_t calls_ = 0;
};

}  // namespace berth::simulate
