#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "async/executor.h"
#include "json/json.h"

namespace berth::simulate {

class World;

// An address of a Node's status.
struct NicAddress {
  std::string status;
  bool primary = false;
  std::string pod;      // "ns/name"
  std::string pod_uid;  // may be empty though `pod` is not

  bool bound() const { return !pod.empty() || !pod_uid.empty(); }
  friend bool operator==(const NicAddress&, const NicAddress&) = default;
};

// An entry of status.networkInterfaces.
struct NicView {
  std::string status;
  std::string type;
  bool unschedulable = false;
  bool erdma = false;      // HighPerformance
  bool has_error = false;  // the condition OperationErr
  std::map<std::string, NicAddress> ipv4;
  std::map<std::string, NicAddress> ipv6;
  int prefixes = 0;  // of IPv4 that are not Invalid
  int ipv6_prefixes = 0;

  // An address of either family; null for none.
  const NicAddress* Find(const std::string& address) const;
};

// A Node of network.alibabacloud.com as the API server has it. The scenario
// reads it by itself, so that a mistake in Berth's own reading is seen.
struct NodeView {
  std::string name;
  std::string uid;
  bool deleting = false;
  bool has_finalizer = false;
  bool is_lingjun = false;
  std::string instance;
  std::map<std::string, NicView> nics;  // by ID
  std::set<std::string> attempts;       // tokens
  Json object;

  static NodeView Of(Json object);
  const Json& spec() const;
  const Json& status() const;
};

// All Nodes, after the latest write.
class EniNodes {
 public:
  static constexpr const char* kCollection = "/apis/network.alibabacloud.com/v1beta1/nodes";
  static std::string PathOf(std::string_view name) {
    return std::string(kCollection).append("/").append(name);
  }

  explicit EniNodes(World& world) : world_(world) {}

  // Reads one Node anew; the one of before is returned, none if there was none.
  std::optional<NodeView> Refresh(const std::string& name);
  void RefreshAll();

  const std::map<std::string, NodeView>& all() const { return nodes_; }
  const NodeView* Find(const std::string& name) const;
  // The Node whose status has the ENI; null for none.
  const NodeView* WithNic(const std::string& eni) const;
  // The number of Nodes that name the instance.
  std::size_t OfInstance(const std::string& instance) const;
  // True if a Node's status has ever had the attempt.
  bool HasSeen(const std::string& token) const { return tokens_.contains(token); }

 private:
  void Put(NodeView view);

  World& world_;
  std::map<std::string, NodeView> nodes_;  // by name
  std::set<std::string> tokens_;
};

}  // namespace berth::simulate
