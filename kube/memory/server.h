#pragma once

#include <cstdint>
#include <expected>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "async/executor.h"
#include "kube/error.h"
#include "kube/memory/response.h"
#include "kube/transport.h"

namespace berth::kube::memory {

struct Object;

// An API server in memory that keeps the real one's rules: resource versions and conflicts,
// generation, finalizers, the status subresource, patches, paging, watches with bookmarks and 410,
// custom resources with their schemas, selectors, admission. What it answers is compared with a
// real kube-apiserver's answers byte for byte; see conformance/. Plain and synchronous: no thread,
// no lock, no clock; the owner passes requests one at a time and says when background work is done.
class Server {
 public:
  struct MachineryOptions {
    bool dual_stack = false;          // nodes and pods have an IPv6 address, too
    std::size_t max_endpoints = 100;  // of an EndpointSlice
  };
  struct Options {
    std::function<async::WallTime()> now;   // dates of objects
    std::function<std::uint64_t()> random;  // uids and generated names
    std::size_t history = 8192;             // events kept for watches; older ones are 410
    // The stand-in that runs pods; see machinery.h. None: pods wait for somebody else.
    std::optional<MachineryOptions> machinery;
  };
  using Done = std::function<void(Response)>;

  explicit Server(const Options& options);
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  // Answers anything but a watch. `done` is called once, before Handle returns unless an admission
  // webhook takes its time. O(log n + size of the answer) but for lists.
  void Handle(const Request& request, Done done);

  // The object that a path names, or those of the collection, in the order of a list: as they are
  // stored, without text that has to be read again. None for a path that nobody serves, or one with
  // a query.
  using Objects = std::vector<std::shared_ptr<const Object>>;
  std::optional<Objects> Look(const std::string& path) const;

  struct Watcher {
    // One line, with its newline, that all watchers with the same view share.
    std::function<void(const std::shared_ptr<const std::string>& line)> on_line;
    // The server has ended the watch: its time is over, or its resource is gone.
    std::function<void()> on_end;
  };
  // Starts a watch: what it begins with comes before Watch returns, everything later from inside
  // the call that causes it. A watcher must not call the server from its callbacks. The handle ends
  // it. An error is the answer to give instead.
  std::expected<async::Handle, Response> Watch(const Request& request, Watcher watcher);

  // Whether a request is a watch; whether it is about a resource, and not discovery or health.
  static bool IsWatch(const Request& request);
  static bool IsResource(const Request& request);

  // Does what a real server does as time goes by: bookmarks for watches that want them, and the end
  // of watches whose time is over. Call it now and then.
  void Tick();
  // Forgets the history: a watch from any version but the present one is 410.
  void Compact();
  // One step of the controller manager's work: the deletion of an object whose owners are gone, the
  // end of one that waited for its dependents, a piece of a namespace's end. False when there is
  // nothing to do.
  bool CollectGarbage();
  // One step of the stand-in for schedulers, kubelets and the EndpointSlice controller. False when
  // there is nothing to do now; there may be as time goes by.
  bool RunMachinery();

  // An admission webhook: called with an AdmissionReview as JSON, answers with one.
  struct Webhook {
    std::string name;
    std::string group;                    // of the resources
    std::vector<std::string> resources;   // plurals, "x/status" for a subresource
    std::vector<std::string> operations;  // CREATE, UPDATE, DELETE
    bool mutating = false;
    using Answer = std::function<void(Result<std::string> review)>;
    std::function<void(std::string review, Answer answer)> call;
  };
  void AddWebhook(Webhook webhook);

  // A group that somebody else serves, so that discovery tells of it. `resources` is the list of
  // them as aggregated discovery has it (APIResourceDiscovery), a JSON array; without it clients
  // are sent to the group's own discovery.
  void AddAggregatedGroup(std::string group, std::string version, std::string resources = "");

  std::uint64_t version() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace berth::kube::memory
