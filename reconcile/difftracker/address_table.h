#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "async/executor.h"
#include "cloud/service_gateway.h"
#include "reconcile/difftracker/views.h"

namespace berth::difftracker {

using ServiceIndex = std::uint32_t;
using AddressIndex = std::uint32_t;
using LocationIndex = std::uint32_t;

// An address of a pod behind a node. Canonical, both of one family.
struct Placement {
  std::string node_ip;
  std::string address;

  friend auto operator<=>(const Placement&, const Placement&) = default;
};

// The addresses of all locations: for each the services that are desired, and those that the cloud
// has (the mirror). An address differs while a serving service that is desired is not in the
// mirror, or the mirror has another one.
//
// Costs are those of the addresses named; r is the number of services of an address, mostly 1.
class AddressTable {
 public:
  static constexpr AddressIndex kNone = ~AddressIndex{0};

  // The counts of one service. All O(1).
  struct Counts {
    std::size_t desired = 0;
    std::size_t mirrored = 0;
    std::size_t synced = 0;               // both
    std::array<std::size_t, 2> wanted{};  // desired, by family: IPv4, IPv6
    std::array<std::size_t, 2> shown{};   // mirrored or sent, by family
  };

  // The index of a service, made if there is none; Free it when it is not used. O(1).
  ServiceIndex InternService(std::string_view name);
  std::optional<ServiceIndex> FindService(std::string_view name) const;
  const std::string& NameOf(ServiceIndex service) const { return services_[service].name; }
  bool IsUsed(ServiceIndex service) const { return !services_[service].addresses.empty(); }
  void FreeService(ServiceIndex service);

  AddressIndex FindAddress(std::string_view node_ip, std::string_view address) const;  // or kNone
  // One more, or one less, who wants the service at the address. O(r).
  AddressIndex AddDesired(std::string_view node_ip, std::string_view address, ServiceIndex service);
  void RemoveDesired(AddressIndex address, ServiceIndex service);
  // O(the service's addresses).
  void SetServing(ServiceIndex service, bool serving);
  // Mappings of a service stay as they are until it serves for the first time, or until this: one
  // that is not known here is another cluster's. O(the service's addresses).
  void SetManaged(ServiceIndex service);
  bool IsManaged(ServiceIndex service) const { return services_[service].is_managed; }
  // Mappings of such a service stay as they are. O(the service's addresses).
  void SetProtected(ServiceIndex service);
  const Counts& CountsOf(ServiceIndex service) const { return services_[service].counts; }
  std::size_t LocationsOf(ServiceIndex service) const;  // that the mirror has. O(its addresses)

  // The cloud may show the service at the address, and nobody live wants it there. O(r).
  bool IsResidue(AddressIndex address, ServiceIndex service) const;
  // Tells by TakeCleared when the pair is no residue any more. A watched address is kept.
  void Watch(AddressIndex address);
  void Unwatch(AddressIndex address);
  std::vector<std::pair<AddressIndex, ServiceIndex>> TakeCleared();
  Placement PlaceOf(AddressIndex address) const;
  bool IsAt(AddressIndex address, const Placement& place) const;
  std::vector<ServiceIndex> ServicesAt(AddressIndex address) const;  // O(r)

  // Services whose counts changed since the last time.
  std::vector<ServiceIndex> TakeTouched();

  // --- The mirror.

  // Replaces it by what was read. The number of addresses that were not as expected. O(all).
  std::size_t Replace(const std::vector<cloud::Location>& locations);

  // --- Requests. One at a time: Build or BuildPart, then one of Confirm, Abandon, Doubt.

  // Addresses of a request.
  using Part = std::vector<std::pair<AddressIndex, std::uint32_t>>;  // and their stamps
  bool HasPending() const { return !queue_.empty(); }
  // The next request, of at most `most` addresses; nothing if nothing differs. O(its addresses).
  std::vector<cloud::LocationUpdate> Build(std::size_t most);
  std::vector<cloud::LocationUpdate> BuildPart(const Part& part);
  // The request was applied.
  void Confirm(async::TimePoint now);
  // It was not. What differs comes again.
  void Abandon(std::string_view error);
  // It may have been: both outcomes are taken for shown, until Replace.
  void Doubt(std::string_view error);
  // The addresses of the request that were to change.
  Part Changes() const;
  // Leaves these addresses as they are until `until`, or until what is desired of them changes.
  void Park(const Part& part, async::TimePoint until, std::string_view error);
  void Unpark(async::TimePoint now);
  std::optional<async::TimePoint> next_unpark() const;
  // The next updates of the locations that name the service are full ones. O(its addresses).
  void ReplaceLocationsOf(ServiceIndex service);

  // --- Views.
  std::optional<LocationView> FindLocation(std::string_view node_ip) const;
  void ForEachLocation(const std::function<void(const LocationView&)>& visit) const;
  std::vector<std::pair<std::string, std::optional<LocationView>>> TakeLocationChanges();
  std::string Dump(async::TimePoint now) const;
  std::size_t locations() const { return present_locations_; }
  std::size_t addresses() const { return present_addresses_; }
  std::size_t pending() const { return pending_; }
  std::size_t parked() const { return parked_count_; }

 private:
  enum class Pending : std::uint8_t { kNone, kChange, kRemove };

  static constexpr std::uint32_t kMostDesired = (1u << 30) - 1;

  // A service at an address.
  struct Ref {
    ServiceIndex service = 0;
    std::uint32_t position = 0;  // in the service's list
    std::uint32_t desired : 30 = 0;
    std::uint32_t mirrored : 1 = 0;
    std::uint32_t sent : 1 = 0;  // the request under way names it
  };
  struct Address {
    std::string ip;
    std::vector<Ref> refs;
    LocationIndex location = 0;
    std::uint32_t position = 0;    // in the location's list
    std::uint32_t change = kNone;  // in the location's changes: it differs and is not parked
    std::uint32_t stamp = 0;       // of this use of the index
    std::uint32_t watchers = 0;
    std::uint32_t epoch = 0;     // of the last Replace that had it
    AddressIndex chain = kNone;  // the next one of its bucket
    Pending pending = Pending::kNone;
    bool present : 1 = false;      // the mirror has it, perhaps without services
    bool has_content : 1 = false;  // a full update would name it
    bool in_flight : 1 = false;    // in the request under way
    bool parked : 1 = false;
    bool doubted : 1 = false;  // a request had an unknown outcome
  };
  struct Location {
    std::string node_ip;
    std::vector<AddressIndex> addresses;
    std::vector<AddressIndex> changes;
    std::uint64_t place = 0;   // in the queue, 0: not there
    std::size_t present = 0;   // addresses that the mirror has
    std::size_t contents = 0;  // addresses that a full update would name
    std::size_t changing = 0;
    std::size_t removing = 0;
    std::size_t parked = 0;
    std::optional<async::TimePoint> last_sync;
    std::string error;
    std::uint32_t epoch = 0;
    bool used : 1 = false;
    bool in_cloud : 1 = false;  // perhaps without addresses
    bool stays : 1 = false;     // empty, and its removal failed
    bool replace : 1 = false;   // the next update is a full one
    bool touched : 1 = false;
    bool published : 1 = false;
  };
  struct Service {
    std::string name;
    std::vector<AddressIndex> addresses;
    Counts counts;
    bool serving = false;
    bool is_managed = false;
    bool is_protected = false;
    bool touched = false;
  };
  struct SentLocation {
    LocationIndex location = 0;
    bool full = false;
    std::vector<AddressIndex> addresses;
  };
  struct TextHash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const {
      return std::hash<std::string_view>()(text);
    }
  };

  std::size_t BucketOf(LocationIndex location, std::string_view ip) const;
  AddressIndex& Bucket(const Address& address);
  AddressIndex FindPlace(LocationIndex location, std::string_view ip) const;
  void AddPlace(AddressIndex address);
  void ErasePlace(AddressIndex address);
  AddressIndex Intern(std::string_view node_ip, std::string_view address);
  LocationIndex InternLocation(std::string_view node_ip);
  Ref& RefOf(AddressIndex address, ServiceIndex service);
  const Ref* FindRef(AddressIndex address, ServiceIndex service) const;
  // Changes a ref, and the counts with it. The ref is gone if nobody wants or shows it.
  void Set(AddressIndex address, Ref& ref, std::uint32_t desired, bool mirrored, bool sent);
  void Count(const Address& address, const Ref& ref, bool add);
  void EraseRef(AddressIndex address, ServiceIndex service);
  bool Wants(const Ref& ref) const;
  // Judges an address anew, and lists it if it differs.
  void Update(AddressIndex address);
  void UnparkOne(AddressIndex address);
  void SetPresent(AddressIndex address, bool present);
  void SetInCloud(LocationIndex location, bool in_cloud);
  // True if it was otherwise.
  bool SetMirrored(AddressIndex address, const std::vector<ServiceIndex>& services);
  void Tidy(AddressIndex address);
  void TidyLocation(LocationIndex location);
  void Requeue(LocationIndex location);
  void Touch(ServiceIndex service);
  void TouchLocation(LocationIndex location);
  // Ends the request under way. The locations that it had.
  std::vector<SentLocation> EndRequest(bool applied);
  // The services that a request gives to the address.
  std::vector<ServiceIndex> Content(const Address& address) const;
  std::optional<SentLocation> Collect(LocationIndex location, std::size_t room, bool first) const;
  cloud::LocationUpdate Send(SentLocation location);
  static LocationView ViewOf(const Location& location);
  static bool IsShown(const Location& location);

  std::vector<Address> addresses_;
  std::vector<AddressIndex> free_addresses_;
  std::vector<Location> locations_;
  std::vector<LocationIndex> free_locations_;
  std::vector<Service> services_;
  std::vector<ServiceIndex> free_services_;
  std::unordered_map<std::string, LocationIndex, TextHash, std::equal_to<>> by_node_ip_;
  std::unordered_map<std::string, ServiceIndex, TextHash, std::equal_to<>> by_name_;
  // Addresses by location and IP, in chains through the addresses: to find one costs two misses of
  // the processor's cache, and with nodes of their own four.
  std::vector<AddressIndex> buckets_ = std::vector<AddressIndex>(64, kNone);  // a power of two
  std::size_t places_ = 0;
  std::map<std::uint64_t, LocationIndex> queue_;  // locations with changes, by their place
  std::vector<SentLocation> sent_;                // the request under way
  std::multimap<async::TimePoint, std::pair<AddressIndex, std::uint32_t>> parked_;
  std::vector<ServiceIndex> touched_;
  std::vector<LocationIndex> touched_locations_;
  std::vector<std::string> gone_locations_;  // published ones
  std::vector<std::pair<AddressIndex, ServiceIndex>> cleared_;
  std::size_t present_locations_ = 0;
  std::size_t present_addresses_ = 0;
  std::size_t pending_ = 0;
  std::size_t parked_count_ = 0;
  std::uint64_t last_place_ = 0;
  std::uint32_t last_stamp_ = 0;
  std::uint32_t epoch_ = 0;
};

}  // namespace berth::difftracker
