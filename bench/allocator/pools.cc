// One pool of a namespace changes, among so many: its range grows by a half and shrinks again, as
// the Space sees it. All but one are children of that one, each with a Subnet.
#include <benchmark/benchmark.h>

#include <string>

#include "async/test_executor.h"
#include "log/format.h"
#include "reconcile/ipam/space.h"

namespace {

using namespace berth;
using namespace berth::ipam;

ipam::Pool PoolOf(const std::string& name, const std::string& cidr, const std::string& parent) {
  ipam::Pool pool;
  pool.id.ns = "ns";
  pool.id.name = name;
  pool.id.uid = name;
  pool.cidr = cidr;
  pool.parent = parent;
  return pool;
}

std::string BlockOf(int number, int prefix) {
  return Format("10.{}.{}.0/{}", number / 256, number % 256, prefix);
}

class Namespace {
 public:
  explicit Namespace(int pools) {
    space_.PutPool(PoolOf("root", "10.0.0.0/8", ""));
    for (int i = 1; i < pools; ++i) {
      const std::string name = Format("p{}", i);
      space_.PutPool(PoolOf(name, BlockOf(i, 25), "root"));
      Subnet subnet;
      subnet.id.ns = "ns";
      subnet.id.name = name;
      subnet.id.uid = "s" + name;
      subnet.pool = name;
      subnet.cluster = name;
      subnet.cidr = Cidr::Parse(BlockOf(i, 28)).value();
      space_.PutSubnet(subnet);
    }
  }

  void Change(int number, int prefix) {
    ipam::Pool pool = PoolOf(Format("p{}", number), BlockOf(number, prefix), "root");
    pool.id.generation = ++generation_;
    space_.PutPool(pool);
  }
  bool AllReady() const {
    for (const auto& [key, state] : space_.pools()) {
      if (state.problem) return false;
    }
    return true;
  }

 private:
  async::TestExecutor executor_;
  Space space_{executor_,
               {.on_figures = [](const std::string&) {},
                .on_room = [](const std::string&) {},
                .on_placement = [](const std::string&) {}}};
  std::int64_t generation_ = 0;
};

void PoolChange(benchmark::State& state) {
  const int pools = static_cast<int>(state.range(0));
  Namespace all(pools);
  int turn = 0;
  for (auto _ : state) {
    all.Change(1 + turn / 2 % (pools - 1), turn % 2 == 0 ? 24 : 25);
    ++turn;
  }
  if (!all.AllReady()) state.SkipWithError("a pool is not ready");
}
BENCHMARK(PoolChange)->Arg(1000)->Arg(4000)->Iterations(2000)->MeasureProcessCPUTime();

}  // namespace
