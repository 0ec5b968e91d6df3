// The DiffTracker engine with the addresses of a large cluster: the time that an event takes, the
// memory, and the time from a start to the first decision. Time is virtual; the gateway's end keeps
// nothing but takes every request. Prints one JSON object.
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "log/format.h"
#include "reconcile/difftracker/engine.h"

namespace {

using namespace berth;
using namespace berth::difftracker;
using namespace std::chrono_literals;

constexpr int kEndpoints = 50;                // of a service, in one slice
constexpr int kPods = 100;                    // of an egress
constexpr auto kEventPause = 500us;           // 2,000 events a second
constexpr auto kRequestTime = 300ms;          // until the gateway answers
constexpr std::size_t kPublishEvery = 1'000;  // events: 0.5 s
constexpr int kSlots = 10;

[[noreturn]] void Fail(const std::string& what) {
  std::fprintf(stderr, "error: %s\n", what.c_str());
  std::exit(1);
}

double RssMib() {
  std::ifstream file("/proc/self/statm");
  double size = 0;
  double resident = 0;
  file >> size >> resident;
  return resident * static_cast<double>(sysconf(_SC_PAGESIZE)) / (1 << 20);
}

// CPU time: other programs on the machine do not count.
double Seconds() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) / 1e9;
}
double Since(double began) { return Seconds() - began; }

double Part(std::vector<double>& values, double part) {
  std::ranges::sort(values);
  return values[static_cast<std::size_t>(part * static_cast<double>(values.size() - 1))];
}

// A cluster of so many load balancers, a quarter as many egresses, and 2.5 times as many nodes.
class Cluster {
 public:
  explicit Cluster(int services)
      : services_(services), egresses_(services / 4), nodes_(services * 5 / 2) {}

  int addresses() const { return services_ * kEndpoints + egresses_ * kPods; }

  // The objects of the cluster, as informers list them.
  void Fill(Engine& engine) const {
    for (int service = 0; service < services_; ++service) {
      engine.SetService(Uid(service), Format("default/service-{}", service), 1, now_);
      engine.SetSlice(Format("slice-{}", service), Uid(service), Endpoints(service, -1), now_);
    }
    for (int egress = 0; egress < egresses_; ++egress) {
      for (int pod = 0; pod < kPods; ++pod) SetPod(engine, egress, pod);
    }
  }
  // The state of the cloud when all is in sync.
  std::vector<CloudService> Services() const {
    std::vector<CloudService> list;
    for (int service = 0; service < services_; ++service) {
      list.push_back({.name = Uid(service), .registered = true, .in_sync = true});
    }
    for (int egress = 0; egress < egresses_; ++egress) {
      list.push_back({.name = Egress(egress),
                      .type = cloud::ServiceType::kOutbound,
                      .registered = true,
                      .in_sync = true});
    }
    return list;
  }
  std::vector<cloud::Location> Locations() const {
    std::map<std::string, cloud::Location> locations;
    const auto add = [&](const Placement& place, const std::string& name) {
      cloud::Location& location = locations[place.node_ip];
      location.node_ip = place.node_ip;
      location.addresses.push_back({place.address, {name}});
    };
    for (int service = 0; service < services_; ++service) {
      for (const Placement& place : Endpoints(service, -1)) add(place, Uid(service));
    }
    for (int egress = 0; egress < egresses_; ++egress) {
      for (int pod = 0; pod < kPods; ++pod) add(PodPlace(egress, pod), Egress(egress));
    }
    std::vector<cloud::Location> list;
    for (auto& [node_ip, location] : locations) list.push_back(std::move(location));
    return list;
  }

  // An endpoint that is replaced, a pod that goes or one that comes; the time that the engine
  // takes.
  double Event(Engine& engine) {
    const int kind = Below(4);
    const int service = Below(services_);
    const int egress = Below(egresses_);
    const int pod = Below(kPods);
    const std::string name = PodName(egress, pod);
    const std::string slice = Format("slice-{}", service);
    const std::string uid = Uid(service);
    const std::vector<Placement> endpoints =
        kind < 2 ? Endpoints(service, Below(kEndpoints)) : std::vector<Placement>();
    const std::vector<Placement> places = {PodPlace(egress, pod)};
    const std::string label = Egress(egress);
    now_ += kEventPause;
    const double began = Seconds();
    if (kind < 2) {
      engine.SetSlice(slice, uid, endpoints, now_);
    } else if (kind == 2) {
      engine.RemovePod(name, now_);
    } else {
      engine.SetPod(name, label, places, now_);
    }
    const auto wake = engine.next_wake(now_);  // the owner sets its timer
    const double took = Since(began);
    if (wake) last_wake_ = *wake;
    return took;
  }

  async::TimePoint now() const { return now_; }

 private:
  int Below(int n) { return std::uniform_int_distribution<>(0, n - 1)(dice_); }
  static std::string Uid(int service) {
    return Format("{:08x}-5c3a-4b13-8b55-0a1e0f9a2f10", service);
  }
  static std::string Egress(int egress) { return Format("egress-{}", egress); }
  static std::string PodName(int egress, int pod) {
    return Format("{:08x}-{:04x}-4b13-8b55-0a1e0f9a2f10", egress, pod);
  }
  Placement Place(int index) const {
    const int node = index % nodes_;
    return {Format("10.200.{}.{}", node / 250, node % 250),
            Format("10.{}.{}.{}", index / 62'500, index / 250 % 250, index % 250)};
  }
  // One endpoint is at another address if `replaced` is not negative.
  std::vector<Placement> Endpoints(int service, int replaced) const {
    std::vector<Placement> endpoints;
    for (int i = 0; i < kEndpoints; ++i) {
      const int index = service * kEndpoints + i;
      endpoints.push_back(Place(i == replaced ? index + 1'000'000 : index));
    }
    return endpoints;
  }
  Placement PodPlace(int egress, int pod) const { return Place(500'000 + egress * kPods + pod); }
  void SetPod(Engine& engine, int egress, int pod) const {
    engine.SetPod(PodName(egress, pod), Egress(egress), {PodPlace(egress, pod)}, now_);
  }

  const int services_;
  const int egresses_;
  const int nodes_;
  std::mt19937_64 dice_{1};
  async::TimePoint now_{1h};
  async::TimePoint last_wake_;
};

// The owner of the engine: answers requests after a while, and follows changes.
class Owner {
 public:
  explicit Owner(Engine& engine) : engine_(engine) {}

  void Turn(async::TimePoint now) {
    if (work_ && now >= answer_at_) {
      if (work_->read) Fail("a read that nobody needs");
      engine_.Synced(work_->generation, {}, now);
      work_.reset();
    }
    for (const Operation& operation : engine_.TakeOperations(now)) {
      engine_.Completed(operation.id, {}, now);
    }
    const double began = Seconds();
    if (auto work = engine_.TakeLocationWork(now)) {
      for (const auto& update : work->updates) synced_ += update.location.addresses.size();
      work_ = std::move(work);
      requests_.push_back(Since(began));
      answer_at_ = now + kRequestTime;
    }
    if (++turns_ % kPublishEvery != 0) return;
    changes_ += engine_.TakeServiceChanges().size() + engine_.TakeLocationChanges().size();
    changes_ += engine_.TakeDrainedPods().size() + engine_.TakeNotices().size();
  }

  std::vector<double>& requests() { return requests_; }
  std::size_t synced() const { return synced_; }

 private:
  Engine& engine_;
  std::optional<LocationWork> work_;
  async::TimePoint answer_at_;
  std::vector<double> requests_;
  std::size_t turns_ = 0;
  std::size_t synced_ = 0;
  std::size_t changes_ = 0;
};

struct Figures {
  std::vector<double> events;
  std::vector<double> requests;
  double start = 0;
  double rss = 0;
};

Figures Measure(int services, int events) {
  Figures figures;
  Cluster cluster(services);
  auto locations = std::make_unique<std::vector<cloud::Location>>(cluster.Locations());
  const std::vector<CloudService> list = cluster.Services();
  const double before = RssMib();
  const double began = Seconds();
  Engine engine({.random = [] { return 0.5; }, .slots = kSlots, .drift_interval = 24h});
  cluster.Fill(engine);
  engine.Start(list, *locations, cluster.now());
  if (!engine.TakeOperations(cluster.now()).empty()) Fail("an operation that nobody needs");
  if (engine.TakeLocationWork(cluster.now())) Fail("a request that nobody needs");
  figures.start = Since(began);
  if (engine.totals().addresses != static_cast<std::size_t>(cluster.addresses())) {
    Fail(Format("{} addresses", engine.totals().addresses));
  }
  locations.reset();
  engine.TakeServiceChanges();
  engine.TakeLocationChanges();
  Owner owner(engine);
  figures.events.reserve(static_cast<std::size_t>(events));
  for (int i = 0; i < events; ++i) {
    figures.events.push_back(cluster.Event(engine));
    owner.Turn(cluster.now());
  }
  figures.rss = RssMib();
  figures.requests = owner.requests();
  if (owner.synced() == 0) Fail("nothing was synced");
  std::fprintf(
      stderr, "%d addresses: %.1f MiB more than its input, %zu addresses written in %zu requests\n",
      cluster.addresses(), figures.rss - before, owner.synced(), figures.requests.size());
  return figures;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) Fail("usage: bench_difftracker EVENTS");
  const int events = std::atoi(argv[1]);
  Figures small = Measure(200, events);
  Figures large = Measure(2'000, events);
  double mean_small = 0;
  double mean_large = 0;
  for (const double took : small.events) mean_small += took / static_cast<double>(events);
  for (const double took : large.events) mean_large += took / static_cast<double>(events);
  std::printf(
      "{\"event_p50_us\":%.3f,\"event_p99_us\":%.3f,\"event_mean_us\":%.3f,"
      "\"event_mean_small_us\":%.3f,\"request_p99_ms\":%.3f,\"rss_mib\":%.1f,"
      "\"restart_to_first_decision_s\":%.3f}\n",
      Part(large.events, 0.5) * 1e6, Part(large.events, 0.99) * 1e6, mean_large * 1e6,
      mean_small * 1e6, Part(large.requests, 0.99) * 1e3, large.rss, large.start);
}
