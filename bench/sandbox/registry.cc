// The registry of slots with the agents of a large cluster: the time of an allocation. Half of the
// slots are taken; each allocation is followed by the release of some other. Prints one JSON
// object. Arguments: agents, allocations.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <random>
#include <string>
#include <vector>

#include "log/format.h"
#include "reconcile/sandbox/registry.h"

namespace {

using namespace berth;
using namespace berth::sandbox;

constexpr int kSlots = 10;
constexpr int kImages = 50;        // of all sandboxes
constexpr int kImagesOfAgent = 5;  // that a node has
constexpr int kPorts = 20;         // a third of the sandboxes has one of them

// CPU time: other programs on the machine do not count.
double Microseconds() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) * 1e6 + static_cast<double>(time.tv_nsec) / 1e3;
}

double Part(std::vector<double>& values, double part) {
  std::ranges::sort(values);
  return values[static_cast<std::size_t>(part * static_cast<double>(values.size() - 1))];
}

class Bench {
 public:
  explicit Bench(int agents) {
    for (int agent = 0; agent < agents; ++agent) {
      AgentFacts facts{.pod_uid = Format("uid-{}", agent),
                       .pod = Format("pool-agent-{}", agent),
                       .ns = "default",
                       .pool = "pool",
                       .node = Format("node-{}", agent),
                       .ip = Format("10.{}.{}.1", agent / 256, agent % 256),
                       .capacity = kSlots,
                       .open = true};
      for (int i = 0; i < kImagesOfAgent; ++i) facts.images.push_back(Image((agent + i) % kImages));
      std::ranges::sort(facts.images);
      registry_.PutAgent(std::move(facts));
    }
    for (int i = 0; i < agents * kSlots / 2; ++i) Allocate();
  }

  // The time that it takes.
  double Allocate() {
    SlotRequest request{
        .ns = "default", .pool = "pool", .image = Image(Below(kImages)), .ports = {}};
    if (Below(3) == 0) request.ports = {8000 + Below(kPorts)};
    std::string holder = Format("sandbox-{}", ++last_);
    const double began = Microseconds();
    const auto placed = registry_.Allocate(holder, request);
    const double took = Microseconds() - began;
    if (!placed) {
      std::fprintf(stderr, "error: no slot\n");
      std::exit(1);
    }
    holders_.push_back(std::move(holder));
    return took;
  }
  void Release() {
    std::string& holder =
        holders_[static_cast<std::size_t>(Below(static_cast<int>(holders_.size())))];
    registry_.Release(holder);
    std::swap(holder, holders_.back());
    holders_.pop_back();
    registry_.TakeChangedAgents();
    registry_.TakeFreedPools();
  }

 private:
  static std::string Image(int number) { return Format("registry.example.com/image:{}", number); }
  int Below(int bound) { return static_cast<int>(random_() % static_cast<unsigned>(bound)); }

  Registry registry_;
  std::vector<std::string> holders_;
  std::mt19937 random_{1};
  int last_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
  const int agents = argc > 1 ? std::atoi(argv[1]) : 1'000;
  const int allocations = argc > 2 ? std::atoi(argv[2]) : 100'000;
  Bench bench(agents);
  std::vector<double> times;
  times.reserve(static_cast<std::size_t>(allocations));
  double sum = 0;
  for (int i = 0; i < allocations; ++i) {
    times.push_back(bench.Allocate());
    sum += times.back();
    bench.Release();
  }
  std::printf("%s\n", Format(R"({{"agents":{},"allocate_p99_us":{:.3f},"allocate_p50_us":{:.3f},)"
                             R"("allocate_mean_us":{:.3f}}})",
                             agents, Part(times, 0.99), Part(times, 0.5), sum / allocations)
                          .c_str());
  return 0;
}
