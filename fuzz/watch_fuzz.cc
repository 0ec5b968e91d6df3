// Any bytes as the lines of a watch, cut into reads of any size. The cuts change nothing of what
// the informer knows, and after a stream that it cannot follow it asks again.
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "async/test_executor.h"
#include "fuzz/require.h"
#include "http/line_buffer.h"
#include "kube/informer.h"
#include "kube/scripted_transport.h"
#include "log/log.h"
#include "reconcile/ipam/objects.h"

namespace {

using namespace berth;

class Watcher {
 public:
  Watcher() { informer_.Start(); }

  // Until the informer gives the stream up.
  void Read(std::string_view bytes, std::size_t step) {
    const std::size_t first = transport_.size();
    http::LineBuffer lines(64 * 1024);
    while (!bytes.empty() && transport_.size() == first && !transport_.last().abandoned) {
      const std::string_view read = bytes.substr(0, step);
      bytes.remove_prefix(read.size());
      if (!lines.Append(read)) return;
      if (lines.whole() == 0) continue;
      transport_.last().Lines(lines.Take());
      executor_.RunUntilIdle();
    }
  }

  void CheckAsksAgain() {
    if (!transport_.last().abandoned) return;
    const std::size_t asked = transport_.size();
    executor_.Advance(std::chrono::minutes(10));
    Require(transport_.size() > asked, "a stream that was given up is asked for again");
  }

  // By key: what is known of each object.
  std::map<std::string, std::string> Known() const {
    std::map<std::string, std::string> known;
    informer_.ForEach([&](const std::string& key, const ipam::Pool& pool) {
      known[key] = pool.id.uid + "|" + pool.cidr + "|" + pool.status;
    });
    return known;
  }
  const kube::Informer<ipam::Pool>& informer() const { return informer_; }

 private:
  async::TestExecutor executor_;
  kube::ScriptedTransport transport_;
  kube::Informer<ipam::Pool> informer_{executor_, transport_, {.path = "/p"}};
};

}  // namespace

extern "C" int LLVMFuzzerInitialize(int*, char***) {
  log::SetLevel("error");
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 1) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  Watcher in_steps, at_once;
  in_steps.Read(bytes, data[0] % 64 + 1);
  at_once.Read(bytes, bytes.size());
  Require(in_steps.Known() == at_once.Known(), "cuts do not change what is known");
  Require(in_steps.informer().HasSynced() == at_once.informer().HasSynced(),
          "cuts do not change whether the state is whole");
  Require(in_steps.informer().refused() == at_once.informer().refused(),
          "cuts do not change what is refused");
  in_steps.CheckAsksAgain();
  return 0;
}
