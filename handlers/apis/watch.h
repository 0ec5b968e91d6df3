#pragma once

#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <trantor/net/EventLoop.h>
#include <trantor/net/TcpConnection.h>

#include <atomic>
#include <chrono>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "handlers/apis/render.h"
#include "handlers/apis/resource.h"
#include "handlers/stream.h"
#include "kube/selector.h"

namespace berth::apis {

// The objects that one watcher wants to see.
struct Selection {
  std::string ns;
  kube::Selector labels;
  kube::Selector fields;
  Form form;
  std::string key;  // equal for equal selections: watchers that share it share what is written

  bool Matches(const Object& object) const {
    return (ns.empty() || object.ns == ns) && labels.Matches(object.labels) &&
           fields.Matches([&](const std::string& field) { return FieldOf(object, field); });
  }
};

struct WatchRequest {
  Selection selection;
  std::optional<std::uint64_t>
      after;                        // events after this version; none: start with the present state
  bool initial_events_end = false;  // mark the end of the present state with a bookmark
  bool bookmarks = false;
  std::chrono::seconds timeout{0};
};

struct WatchMetrics {
  prometheus::Gauge& watchers;
  prometheus::Counter& cut_off;
  prometheus::Gauge& unsent;  // bytes, of all resources
};

// Streams a store's events to connections. A watcher lives on its connection's event loop; an event
// is rendered once for all watchers of a loop that want to see the same, and written on the
// connection itself, because Drogon's streams have no back-pressure. A reader that lets more than
// kMostUnsent pile up is cut off; when all watchers together have more than the budget unsent, the
// slowest are.
class WatchHub {
 public:
  static constexpr std::size_t kMostUnsent = 1024 * 1024;

  // The budget is shared by hubs and outlives them.
  WatchHub(ResourceStore& store, WatchMetrics metrics, http::UnsentBudget& unsent);
  ~WatchHub();

  // Takes the connection over. On its loop.
  void Start(const trantor::TcpConnectionPtr& connection, WatchRequest request);
  // On the connection's loop; for any connection that has ended.
  void Forget(const trantor::TcpConnection* connection);
  // Ends all streams properly: a final chunk, then the connection. From any thread.
  void Close();

 private:
  struct Shard;

  Shard& ShardOf(trantor::EventLoop* loop);
  void Wake();
  void Schedule(Shard& shard);
  void Drain(Shard& shard);
  void Send(Shard& shard, std::span<const Event> events);
  void Sweep(Shard& shard);
  void CutOffSlowest(Shard& shard);

  ResourceStore& store_;
  WatchMetrics metrics_;
  http::UnsentBudget& unsent_;
  std::mutex mutex_;  // of shards_, which only grows
  std::map<trantor::EventLoop*, std::unique_ptr<Shard>> shards_;
};

}  // namespace berth::apis
