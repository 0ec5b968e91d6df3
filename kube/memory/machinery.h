#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "kube/memory/cluster.h"

namespace berth::kube::memory {

// The least numbers from 1 that nobody has. O(log n).
class Numbers {
 public:
  std::uint32_t Of(const std::string& uid);  // the one it has, or a free one, which it has now
  void Release(std::string_view uid);

 private:
  std::map<std::string, std::uint32_t, std::less<>> taken_;
  std::set<std::uint32_t> free_;  // below next_
  std::uint32_t next_ = 1;
};

// A stand-in for the parts of a cluster that act on nodes, pods and services: kube-scheduler,
// kubelet, the pod garbage collector and the EndpointSlice controller.
//
// - A node gets addresses and the condition Ready, unless it has them.
// - A pod gets the ready and schedulable node with the fewest pods that its nodeSelector allows,
//   then an address and the phase Running. See pod_status.h for the annotations that keep it from
//   getting ready, or give it another address.
// - A pod that is being deleted isn't ready. When its grace period is over it is Succeeded, its
//   address is free, and the object is deleted.
// - The pods of a node that has been gone for 40 s are deleted.
// - A Service with a selector has EndpointSlices; see endpoint_slices.h.
//
// It is a client of the server: it listens to all changes and sends one request a step, through
// admission. It has no clock: its owner calls Step now and then, and again after what it waits for
// (pod deletions, nodes that are gone) has fallen due. The same changes, times and random numbers
// give the same requests.
//
// A change costs O(log n) but for these: a node's change of addresses or readiness O(its pods), of
// any kind O(pods without a node); a pod's change O(its labels + the pods of the services that
// select it); a new selector O(pods of the namespace).
class Machinery {
 public:
  // Carries out a request, with its admission, and gives the status code, perhaps later.
  using Send = std::function<void(const Request& request, std::function<void(int code)> done)>;

  // Listens to the cluster, which has the built-in kinds, from now on; all outlive it.
  Machinery(Cluster& cluster, Send send, Server::MachineryOptions options);

  // One request; false when there is nothing to do now.
  bool Step();
  // Refused requests are tried again.
  void Retry();

 private:
  enum class Kind : std::uint8_t { kNode, kPod, kService };
  struct Key {
    Kind kind;
    std::string name;  // "name", "namespace/name"
    auto operator<=>(const Key&) const = default;
  };
  struct Selected {
    Value selector;
    std::set<std::string> pods;
  };
  using Index = std::map<std::string, std::set<std::string>, std::less<>>;

  void Notice(const Resource& resource, const Change& change);
  void NoticeNode(const Change& change);
  void NoticePod(const Change& change);
  void NoticeService(const Change& change);
  void NoticeSlice(const Change& change);
  void MovePod(const std::string& pod, const std::string& from, const std::string& to);
  void Rank(const std::string& node);
  std::vector<std::string> ServicesOf(const Object& pod) const;
  void Unselect(const std::string& service);
  void Select(const std::string& service, const Value& selector);

  void Enqueue(Kind kind, const std::string& name);
  void Answered(const Key& key, int code);
  std::vector<Request> Next(const Key& key);
  std::vector<Request> NextOfNode(const Object& node);
  std::vector<Request> NextOfPod(const std::string& key, const Object& pod);
  std::vector<Request> NextOfService(const std::string& key, const Object& service);
  std::vector<Request> Schedule(const std::string& key, const Object& pod);
  std::vector<std::string> PodIps(const Object& pod, const Value& node);

  Cluster& cluster_;
  const Send send_;
  const Server::MachineryOptions options_;
  const std::shared_ptr<Resource> nodes_, pods_, services_, slices_;

  Numbers node_numbers_, pod_numbers_;                         // of which addresses are made
  Index pods_on_;                                              // by node, there or not
  std::set<std::pair<std::size_t, std::string>> schedulable_;  // nodes by their pods
  std::map<std::string, std::size_t, std::less<>> ranks_;      // their places in it
  std::set<std::string> unscheduled_;                          // pods that found no node
  std::map<std::string, std::int64_t, std::less<>> missing_;   // nodes of pods, since when
  std::map<std::string, Selected, std::less<>> selected_;      // by service
  Index services_by_label_;                                    // "namespace/label=value"
  Index slices_of_;                                            // by service
  std::set<std::pair<std::int64_t, std::string>> due_;         // pods by Unix seconds

  std::deque<Key> queue_;
  std::set<Key> queued_;
  std::deque<std::pair<Key, Request>> outbox_;
  std::map<Key, std::size_t> busy_;  // requests in the outbox or under way
  std::set<Key> again_;              // busy ones that have changed
  std::set<Key> refused_;            // until the next Retry
};

}  // namespace berth::kube::memory
