// The work queue: a key is added, got and done.
#include <string>
#include <vector>

#include "bench/hot/count.h"
#include "reconcile/runtime/work_queue.h"

using namespace berth;

int main() {
  constexpr int kKeys = 10'000;
  std::vector<std::string> keys;
  for (int i = 0; i < kKeys; ++i)
    keys.push_back("namespace-" + std::to_string(i % 100) + "/name-" + std::to_string(i));

  runtime::WorkQueue queue("hot");
  const runtime::TimePoint now{};
  hot::Count("queue_add_get_done", kKeys, [&] {
    for (const std::string& key : keys) queue.Add(key, now);
    int done = 0;
    while (const auto item = queue.Get(now)) {
      queue.Done(*item);
      ++done;
    }
    hot::Require(done == kKeys, "not every key was handed out once");
  });
}
