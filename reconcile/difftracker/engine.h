#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "async/executor.h"
#include "cloud/service_gateway.h"
#include "http/error.h"
#include "reconcile/difftracker/address_table.h"
#include "reconcile/difftracker/location_line.h"
#include "reconcile/difftracker/service_machine.h"
#include "reconcile/difftracker/views.h"

namespace berth::difftracker {

// A service as a list of the cloud's resources has it: registered in the gateway, or only parts of
// it (a public IP, a load balancer, a NAT gateway of ours).
struct CloudService {
  std::string name;
  cloud::ServiceType type = cloud::ServiceType::kInbound;  // kUnknown: do not start
  bool registered = false;
  bool is_default = false;  // Azure's own: its mappings stay
  // Another cluster's, as its resources' tags say: it stays as it is, and is not taken over.
  bool of_another = false;
  // Registered, and no load balancer, NAT gateway or public IP is seen: lists may be too old.
  bool bare = false;
  bool in_sync = false;  // its resources are as the spec says; asked of wanted services only
};

enum class OperationKind : std::uint8_t { kCreate, kUpdate, kDelete };
std::string_view ToString(OperationKind kind);

struct OperationId {
  std::string service;
  std::uint64_t generation = 0;

  friend auto operator<=>(const OperationId&, const OperationId&) = default;
};

// An operation that is to run now: repeated from its first step after any failure, so every step
// reads before it writes and takes a resource that is gone for deleted. An update has the steps of
// a creation: parts may be missing.
struct Operation {
  OperationId id;
  OperationKind kind = OperationKind::kCreate;
  Direction direction = Direction::kInbound;
  bool ipv4 = false;  // of an egress: the families of its public IPs
  bool ipv6 = false;
  bool orphan = false;  // a deletion of resources that no object asked for in this process
  int attempt = 1;
};

// Something that users are told of by an Event.
struct Notice {
  enum class Kind : std::uint8_t { kParked, kRecovered, kStuck };
  std::string service;
  Direction direction = Direction::kInbound;
  std::string owner;
  Kind kind = Kind::kParked;
  std::string message;
};

struct ServiceChange {
  std::string name;
  std::optional<ServiceView> view;  // none: not tracked any more
};
struct LocationChange {
  std::string node_ip;
  std::optional<LocationView> view;
};

enum class Forced : std::uint8_t {
  kForgotten,
  kNoService,
  kWanted,  // the Service, or a pod of the egress, is there: it would come back
  kBusy,    // its operation runs
};

// The difference between the services and pods of a cluster and the Azure Service Gateway, and the
// order in which it is removed. Plain: no I/O, no clock, no Kubernetes objects; not thread-safe.
// The owner feeds it objects, runs what TakeOperations and TakeLocationWork return, and answers
// each with Completed, Synced or Read. An answer of another generation does nothing.
//
// Held at all times:
// - a location gets the name of a service only between its creation and its deletion, and loses
//   that of a service only that was created here, or is an orphan of this cluster;
// - a deletion runs only after a read of all locations that began after the last write which named
//   the service, and showed no address with it;
// - one operation a service and `slots` in all; one request about locations;
// - a service is forgotten when its deletion has succeeded, or when nothing was ever begun for it;
// - nothing is kept of an object that is gone, but for what the cloud still shows.
//
// n: addresses, s: services. Hash lookups count as O(1). "Changed" are the addresses that the call
// adds or removes, with the services of each.
class Engine {
 public:
  static constexpr async::Duration kStuck = std::chrono::minutes(5);
  static constexpr std::size_t kMostForgotten = 1'000;  // that Observe remembers; the latest

  struct Options {
    std::function<double()> random;  // in [0, 1)
    std::size_t slots = 10;
    std::size_t addresses_of_request = cloud::ServiceGateway::kMostAddresses;
    // From the start of a location request to the next: the cloud's limits are for services, too.
    async::Duration sync_pause = std::chrono::seconds(1);
    async::Duration drift_interval = std::chrono::minutes(10);
  };

  explicit Engine(Options options);
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  // --- Desired state. Idempotent; before Start and after it. Names are lower case.

  // A Service that wants a load balancer. `fingerprint` changes with the spec. O(its addresses) if
  // it is revived, else O(log s). False, and ignored, if an egress has this name.
  bool SetService(std::string_view uid, std::string_view owner, std::uint64_t fingerprint,
                  async::TimePoint now);
  // It wants none any more, is invalid or gone. Its endpoints stay known. O(its addresses).
  void RemoveService(std::string_view uid, async::TimePoint now);
  // The ready endpoints of an EndpointSlice, also of a service that is not tracked. A service has
  // the union of its slices. O(the slice before and after).
  void SetSlice(std::string_view slice, std::string_view service,
                const std::vector<Placement>& endpoints, async::TimePoint now);
  void RemoveSlice(std::string_view slice, async::TimePoint now);
  // A live pod of an egress, one address a family; without any it is removed. The first pod makes
  // the egress wanted, the last one that goes makes it unwanted. `pod` is its UID. False, and the
  // pod is removed, if the egress is not valid (CheckEgress) or names a Service. O(changed).
  bool SetPod(std::string_view pod, std::string_view egress,
              const std::vector<Placement>& placements, async::TimePoint now);
  void RemovePod(std::string_view pod, async::TimePoint now);
  // A pod with a finalizer that is not live and that this engine may not know: it is held while the
  // cloud shows one of its addresses for any egress, or its own, which may be empty, is deleted.
  void DrainPod(std::string_view pod, std::string_view egress,
                const std::vector<Placement>& placements, async::TimePoint now);
  // The address families of an egress's public IPs: IPv4, IPv6. O(1).
  std::pair<bool, bool> FamiliesOf(std::string_view egress) const;
  // The pod is live, or the cloud may still show one of its addresses, or it was one of the last
  // of its egress, which is not deleted yet: its finalizer stays. O(1).
  bool HoldsPod(std::string_view pod) const;
  // Pods that are no longer held, once each. O(taken).
  std::vector<std::string> TakeDrainedPods();

  // --- The cloud's state.

  // Results of a list of services (all pages), one of leftovers and a read of locations, made after
  // the last process ended. Desired objects are set before. Nothing is taken before this. True if
  // Observe should be called soon. O(n + s).
  bool Start(const std::vector<CloudService>& services,
             const std::vector<cloud::Location>& locations, async::TimePoint now);
  bool started() const { return started_; }
  // A later list of the same. `stamp` is from before it was read: services that had an operation
  // since are not judged. Orphans are deleted, registrations that two lists in a row lack made
  // again: one list may be too old. So are bare orphans taken at the second sight only. True if
  // there is one of these for the first time. O(s).
  std::uint64_t ObservationStamp() const { return last_stamp_; }
  bool Observe(std::uint64_t stamp, const std::vector<CloudService>& services,
               async::TimePoint now);
  // The service is tracked, and had no operation, and was not forgotten, since the stamp.
  // O(kMostForgotten).
  bool IsUnchangedSince(std::uint64_t stamp, std::string_view service) const;
  // The resources of a service are not as its spec says: it is updated. O(log s).
  void Repair(std::string_view service, async::TimePoint now);

  // --- Work.

  // Operations to run now, at most as many as slots are free. O(taken + due timers · log s).
  std::vector<Operation> TakeOperations(async::TimePoint now);
  // Still worth its next write: a creation or update whose service is wanted, or a deletion. O(1).
  bool IsWanted(const OperationId& id) const;
  // O(the service's addresses) if it begins or ends to serve.
  void Completed(const OperationId& id, const Result<void>& result, async::TimePoint now);

  // The next request, if none is under way and one is due. O(its addresses).
  std::optional<LocationWork> TakeLocationWork(async::TimePoint now);
  // O(the request's addresses).
  void Synced(std::uint64_t generation, const Result<void>& result, async::TimePoint now);
  // O(n): the only operation that is, and it follows a read of as much.
  void Read(std::uint64_t generation, const Result<std::vector<cloud::Location>>& locations,
            async::TimePoint now);
  // Reads all locations soon. O(1).
  void RequestRead() { line_.RequestRead(); }

  // When TakeOperations or TakeLocationWork may have something next; `now` if they have. O(1).
  std::optional<async::TimePoint> next_wake(async::TimePoint now) const;

  // A user gives up waiting for a deletion: the service is forgotten and its pods are let go. Its
  // resources may stay until a later Observe finds them as orphans. O(its pods).
  Forced ForceDelete(std::string_view service, async::TimePoint now);

  // --- Views.

  // The service is tracked: its finalizer stays. O(1).
  bool Tracks(std::string_view service) const;
  std::optional<ServiceView> Find(std::string_view service) const;  // O(1)
  std::optional<LocationView> FindLocation(std::string_view node_ip) const;
  void ForEachService(const std::function<void(const ServiceView&)>& visit) const;
  void ForEachLocation(const std::function<void(const LocationView&)>& visit) const;
  // Changes since the last time, in no order; none of what came and went in between. O(changed).
  std::vector<ServiceChange> TakeServiceChanges();
  std::vector<LocationChange> TakeLocationChanges();
  std::vector<Notice> TakeNotices();  // the latest of each service

  struct Totals {
    std::array<std::size_t, kStates> services{};  // tracked, by State
    std::size_t running = 0;                      // operations
    std::size_t waiting_for_slot = 0;
    std::size_t blocked_by_locations = 0;  // pending deletions whose addresses are not removed
    std::size_t locations = 0;             // in the cloud, as last read or synced
    std::size_t addresses = 0;
    std::size_t buffered = 0;  // addresses of services that cannot take them yet
    std::size_t pending = 0;   // addresses that differ from the cloud
    std::size_t refused = 0;   // addresses that are parked
    std::size_t draining_pods = 0;
    std::uint64_t bisects = 0;      // requests that were split, since the start
    std::uint64_t drift_found = 0;  // addresses that a read showed other than expected
  };
  Totals totals() const;  // O(s)
  // The whole state as text, times from `now` on: equal for engines that go on alike. For tests.
  std::string Dump(async::TimePoint now) const;  // O(n + s)

 private:
  struct Service {
    std::string owner;
    std::string error;
    Direction direction = Direction::kInbound;
    Machine machine;
    bool tracked = false;
    bool is_default = false;
    bool orphan = false;
    bool throttled = false;
    bool quota = false;
    bool may_pass = false;  // a refusal: its cause is outside the spec
    bool missing = false;   // the last list lacked its registration
    bool published = false;
    bool touched = false;
    bool ipv4 = false;  // of an egress: its spec
    bool ipv6 = false;
    std::uint64_t fingerprint = 0;  // of an inbound one: its spec
    std::uint64_t generation = 0;   // of the operation that runs or ran last
    std::uint64_t stamp = 0;        // of the last operation's start or end
    std::uint64_t place = 0;        // in ready_, 0: not there
    std::size_t pods = 0;
    std::size_t slices = 0;
    std::size_t retries = 0;
    std::vector<std::string> last_pods;  // held until its deletion
    std::optional<async::TimePoint> timer;
    async::TimePoint since;
    async::TimePoint state_since;
    async::TimePoint stuck_at;
    async::TimePoint drain_after;
    std::optional<Notice> notice;
  };
  struct Slice {
    ServiceIndex service = 0;
    std::vector<AddressIndex> addresses;
  };
  struct Pod {
    ServiceIndex service = 0;
    std::vector<AddressIndex> addresses;  // at most one a family
  };
  // A pod that is not live, or has moved, and that the cloud may still show.
  struct Drain {
    std::vector<std::pair<AddressIndex, ServiceIndex>> residue;
    std::optional<ServiceIndex> last_of;
  };
  struct EarlyDrain {  // before Start
    std::string egress;
    std::vector<Placement> placements;
  };
  struct TextHash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const {
      return std::hash<std::string_view>()(text);
    }
  };
  template <typename Value>
  using ByText = std::unordered_map<std::string, Value, TextHash, std::equal_to<>>;

  void ReplaceEndpoints(Slice& slice, const std::vector<Placement>& endpoints);
  Service& At(ServiceIndex index);
  ServiceIndex Intern(std::string_view name);
  void Track(ServiceIndex index, Direction direction, async::TimePoint now);
  void Apply(ServiceIndex index, Event event, async::TimePoint now);
  void ApplyEffects(ServiceIndex index, const Transition& to, async::TimePoint now);
  void Forget(ServiceIndex index);
  void SetTimer(ServiceIndex index, std::optional<async::TimePoint> at);
  void SetReady(ServiceIndex index, bool ready);
  void AwaitDrain(ServiceIndex index, async::TimePoint now);
  void CheckDrained(ServiceIndex index, async::TimePoint now);
  void RunTimers(async::TimePoint now);
  // False for an orphan that is to be seen again first.
  bool Adopt(const CloudService& found, async::TimePoint now);
  // Follows what the table says of services and pods, after every change of it.
  void Settle(async::TimePoint now);
  void UpdateFamilies(ServiceIndex index, async::TimePoint now);
  void Tidy(ServiceIndex index);
  void Touch(ServiceIndex index);
  void Tell(ServiceIndex index, Notice::Kind kind, std::string message);
  std::size_t ShownOf(ServiceIndex index) const;
  ServiceView ViewOf(ServiceIndex index) const;
  std::string BlockedBy(ServiceIndex index) const;

  void RemovePlacements(std::string_view pod, const Pod& old, async::TimePoint now);
  void AddResidue(std::string_view pod, AddressIndex address, ServiceIndex service);
  void Cleared(AddressIndex address, ServiceIndex service);
  void AwaitDeletion(std::string_view pod, ServiceIndex service);
  void ReleaseLastPods(ServiceIndex index);
  void EndDrain(std::string_view pod);
  // Nobody waits for the service's addresses any more. O(draining pods).
  void GiveUpResidue(ServiceIndex index);

  const Options options_;
  AddressTable table_;
  LocationLine line_;
  bool started_ = false;
  std::vector<Service> services_;  // by index
  ByText<Slice> slices_;
  ByText<Pod> pods_;
  ByText<Drain> drains_;
  ByText<EarlyDrain> early_drains_;
  std::unordered_multimap<std::uint64_t, std::string> residue_;  // pods, by address and service
  std::vector<std::string> drained_;
  std::map<std::uint64_t, ServiceIndex> ready_;  // ask for a slot, by their place
  std::set<std::pair<async::TimePoint, ServiceIndex>> timers_;
  std::set<ServiceIndex> pending_deletions_;
  std::deque<std::pair<std::uint64_t, std::string>> forgotten_;  // with their stamps
  std::set<std::string> bare_;                                   // orphans of the last list
  std::vector<ServiceIndex> touched_;
  std::vector<std::string> gone_;  // published ones
  std::vector<ServiceIndex> noticed_;
  std::size_t running_ = 0;
  std::uint64_t last_generation_ = 0;
  std::uint64_t last_stamp_ = 0;
  std::uint64_t last_place_ = 0;
};

}  // namespace berth::difftracker
