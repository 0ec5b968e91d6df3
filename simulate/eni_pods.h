#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "async/executor.h"
#include "simulate/eni_nodes.h"

namespace berth::simulate {

class World;

// Pods that come and go, and the daemon of each node: it gives a pod the
// address that the Node's status binds to it, and tells of pods that it set up
// and tore down in the NodeRuntime, at once, late, in the wrong order, or not
// at all before it collects garbage. It tells of every pod of the status that
// is gone, whether it set it up or not.
class EniPods {
 public:
  static constexpr const char* kRuntimes = "/apis/network.alibabacloud.com/v1beta1/noderuntimes";

  struct Pod {
    std::string name;
    std::string uid;
    std::string node;
    bool erdma = false;    // asks for RDMA, on a node that has it
    bool needs_ip = true;  // false: hostNetwork, pod-eni, or an address that no pool has
    bool ended = false;    // Succeeded or Failed
    bool deleting = false;
    std::vector<std::string> ips;  // as its status has them
    async::TimePoint since{};      // its creation
    async::TimePoint ips_since{};
    async::TimePoint ended_at{};
    std::string id() const { return "default/" + name; }
  };
  // How a run's daemons keep the NodeRuntimes.
  enum class Telling { kAtOnce, kNever, kUnreliable };

  EniPods(World& world, const EniNodes& nodes, std::vector<std::string> names,
          std::set<std::string> erdma_nodes);

  // Creates the core Nodes and starts the daemons.
  void Start();
  // One act of users: pods are created, in bursts too, end, are deleted or made
  // again.
  void Act();
  // A core Node is deleted, its pods with it, and added again later, when
  // `on_added` is called.
  void ReplaceCoreNode(const std::string& name, std::function<void()> on_added);
  // The daemons tell of every pod that is gone, from now on at once.
  void CollectGarbage();
  void DeleteAll();

  // The live pod that an address is bound to: it exists and has not ended. Null
  // for none.
  const Pod* Live(const NicAddress& address) const;
  // The live pods of a node.
  std::vector<const Pod*> Of(const std::string& node) const;
  // A live pod other than `uid` whose status has the address; null for none.
  const Pod* WithAddress(const std::string& ip, const std::string& uid) const;
  const Pod* Find(const std::string& uid) const;
  // The pod, live or gone, of an address entry, by its uid or name; empty when
  // it never was.
  std::string UidOf(const NicAddress& address) const;
  // True if the NodeRuntime has said since then that the pod is set up, and not
  // that it is gone.
  bool IsSetUp(const std::string& node, const std::string& uid, async::TimePoint since) const;
  bool HasCoreNode(const std::string& name) const { return core_nodes_.contains(name); }
  // A user wrote the NodeRuntime: it cannot be relied on any more.
  void Distrust(const std::string& node) { distrusted_.insert(node); }
  // True while a daemon writes a NodeRuntime.
  bool writing() const { return writing_; }

 private:
  struct Mark {
    bool deleted = false;
    async::TimePoint since{};
  };

  void Create(const std::string& name, const std::string& node);
  void CreateSome();
  void Burst();
  void End();
  void DeleteSome();
  void Delete(const std::string& uid, bool force);
  void Remove(const std::string& uid);
  void Run(const std::string& node);
  void SetUp(Pod& pod);
  void Tell(const std::string& node, const Pod& pod, bool deleted);
  void TellSoon(const Pod& pod, bool deleted);
  void TellOfGone(const std::string& node);
  void WriteMark(const std::string& node, const Pod& pod, const char* what, bool earlier);
  void AddCoreNode(const std::string& name);
  void PatchStatus(const Pod& pod, const std::string& status);
  Pod* FindPod(const std::string& uid);
  std::string SomeNode();
  Pod* SomePod();
  static std::string PathOf(const std::string& name) {
    return "/api/v1/namespaces/default/pods/" + name;
  }

  World& world_;
  const EniNodes& nodes_;
  const std::vector<std::string> names_;  // of nodes
  const std::set<std::string> erdma_nodes_;
  Telling telling_;
  std::set<std::string> core_nodes_;
  std::map<std::string, Pod> pods_;                           // by name, those that exist
  std::map<std::string, Pod> gone_;                           // by uid
  std::map<std::string, std::map<std::string, Mark>> marks_;  // by node and uid
  std::set<std::string> distrusted_;
  bool writing_ = false;
  bool collects_ = false;  // the daemons tell of every pod that is gone
};

}  // namespace berth::simulate
