// Elastic IPs by the thousand: the operator with its real client, on an API server in memory and a
// simulated cloud that takes so many calls of each action in a minute, in virtual time. What takes
// minutes takes seconds here, and the figures are exact: they depend on nothing but the code.
// Prints one JSON object.
#include <malloc.h>
#include <prometheus/registry.h>

#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <map>
#include <memory>
#include <string>

#include "async/test_executor.h"
#include "cloud/test_account.h"
#include "kube/memory/local_transport.h"
#include "log/format.h"
#include "reconcile/eip/system.h"
#include "reconcile/runtime/leadership.h"
#include "reconcile/test_crds.h"

namespace {

using namespace berth;
using namespace std::chrono_literals;

constexpr int kLimit = 600;  // calls of an action in a minute
constexpr auto kResync = 5min;
constexpr auto kPatience = 4h;
constexpr const char* kCollection = "/apis/eip.alibabacloud.com/v1alpha1/eips";

[[noreturn]] void Fail(const std::string& what) {
  std::fprintf(stderr, "error: %s\n", what.c_str());
  std::exit(1);
}

double Minutes(async::Duration time) {
  return std::chrono::duration<double, std::ratio<60>>(time).count();
}

cloud::simulator::Cloud::Options CloudOptions() {
  cloud::simulator::Cloud::Options options{.vpc = {.until_visible = 3s, .releasing = 3s}};
  for (const char* action : {"AllocateEipAddress", "DescribeEipAddresses", "ReleaseEipAddress",
                             "TagResources", "ModifyEipAddressAttribute"}) {
    options.calls_per_minute[action] = kLimit;
  }
  return options;
}

// Counts what is written of EIPs, and events, beside their way to the API server.
class Counting : public kube::Transport {
 public:
  explicit Counting(kube::Transport& under) : under_(under) {}

  async::Handle Send(kube::Request request, Done done) override {
    if (request.method != kube::Method::kGet) {
      if (request.path.contains("/eips/")) ++eips;
      if (request.path.contains("/events")) ++events;
    }
    return under_.Send(std::move(request), std::move(done));
  }
  async::Handle Watch(kube::Request request, Stream stream) override {
    return under_.Watch(std::move(request), std::move(stream));
  }

  double eips = 0;
  double events = 0;

 private:
  kube::Transport& under_;
};

// A replica of Berth, as far as it keeps EIPs.
struct Replica {
  Replica(async::TestExecutor& executor, kube::Transport& transport, cloud::Vpcs& vpcs,
          const std::string& name)
      : leadership(executor, transport, {.ns = "default", .name = "berth", .identity = name}),
        system(executor, transport, leadership, vpcs, {.resync = kResync, .registry = &registry}) {
    leadership.Start();
  }

  // The sum of all its series.
  double Gauge(const std::string& name) const {
    for (const auto& family : registry.Collect()) {
      if (family.name != name) continue;
      double sum = 0;
      for (const auto& metric : family.metric) sum += metric.gauge.value;
      return sum;
    }
    Fail("there is no " + name);
  }

  prometheus::Registry registry;
  runtime::Leadership leadership;
  eip::System system;
};

class Bench {
 public:
  explicit Bench(int eips) : eips_(eips) {
    InstallCrds(server_);
    replica_ = std::make_unique<Replica>(executor_, transport_, account_.vpcs, "one");
    Until("nobody leads", [this] { return replica_->system.leading(); });
  }

  void Run() {
    Create();
    Resync();
    Cache();
    Delete();
    std::string figures;
    for (const auto& [name, value] : figures_) {
      figures += Format("{}\"{}\":{}", figures.empty() ? "" : ",", name, value);
    }
    std::printf("{%s}\n", figures.c_str());
  }

 private:
  void Create() {
    const auto began = executor_.Now();
    for (int i = 0; i < eips_; ++i) {
      Send(kube::Method::kPost, kCollection,
           Format(R"({{"apiVersion":"eip.alibabacloud.com/v1alpha1","kind":"EIP","metadata":)"
                  R"({{"name":"eip-{}"}},"spec":{{"bandwidth":"20","tags":{{"n":"{}"}}}}}})",
                  i, i));
    }
    Until("not all become ready", [this] {
      return replica_->Gauge("berth_eip_objects") >= eips_ &&
             replica_->Gauge("berth_eip_not_ready") == 0;
    });
    figures_["ready_minutes"] = Minutes(executor_.Now() - began);
    figures_["writes_per_eip"] = transport_.eips / eips_;
    figures_["events_per_eip"] = transport_.events / eips_;
    CheckLedger(began);
    for (const auto& [action, calls] : cloud_.calls()) {
      figures_["create_" + action] = static_cast<double>(calls.carried_out);
      figures_["throttled"] += static_cast<double>(calls.throttled);
    }
    figures_["cpu_seconds"] = static_cast<double>(std::clock()) / CLOCKS_PER_SEC;
  }

  void CheckLedger(async::TimePoint began) {
    std::map<std::string, int> by_token;
    async::WallTime last{};
    for (const auto& entry : cloud_.vpc().ledger()) {
      // "berth-UID-ATTEMPT": another attempt of the same object is a duplicate too.
      ++by_token[entry.client_token.substr(0, entry.client_token.rfind('-'))];
      last = entry.at;
    }
    const auto took = last - (executor_.WallNow() - (executor_.Now() - began));
    const double duplicates = static_cast<double>(cloud_.vpc().ledger().size() - by_token.size());
    figures_["duplicates"] = duplicates;
    figures_["allocations_per_minute"] = eips_ / Minutes(took);
    figures_["of_the_limit"] = figures_["allocations_per_minute"] / kLimit;
  }

  // From the middle between two resyncs to the next: what one costs.
  void Resync() {
    executor_.Advance(2 * kResync);
    const double writes = transport_.eips + transport_.events;
    const auto calls = Calls("DescribeEipAddresses");
    executor_.Advance(4 * kResync);
    figures_["resync_describe_calls"] =
        static_cast<double>(Calls("DescribeEipAddresses") - calls) / 4;
    figures_["resync_eips_per_call"] = eips_ / figures_["resync_describe_calls"];
    figures_["resync_writes"] = (transport_.eips + transport_.events - writes) / 4;
  }

  // Memory of another replica's cache of all EIPs.
  void Cache() {
    const auto before = mallinfo2().uordblks;
    Replica other(executor_, transport_, account_.vpcs, "two");
    Until("the cache does not fill", [&] { return other.system.synced(); });
    executor_.Advance(1s);
    figures_["cache_bytes_per_eip"] = static_cast<double>(mallinfo2().uordblks - before) / eips_;
  }

  void Delete() {
    const auto began = executor_.Now();
    for (int i = 0; i < eips_; ++i) {
      Send(kube::Method::kDelete, Format("{}/eip-{}", kCollection, i));
    }
    Until("not all go", [this] { return cloud_.vpc().Eips().empty(); });
    figures_["releases_per_minute"] = eips_ / Minutes(executor_.Now() - began);
  }

  template <typename Done>
  void Until(const char* otherwise, Done done) {
    const auto end = executor_.Now() + kPatience;
    while (!done()) {
      if (executor_.Now() > end) Fail(otherwise);
      executor_.Advance(1s);
      server_.Tick();
      cloud_.vpc().Settle(executor_.WallNow());
    }
  }

  std::uint64_t Calls(const std::string& action) const {
    const auto found = cloud_.calls().find(action);
    return found == cloud_.calls().end() ? 0 : found->second.carried_out;
  }

  kube::Response Send(kube::Method method, const std::string& path, const std::string& body = "") {
    kube::Response answer;
    server_.Handle({.method = method, .path = path, .body = body},
                   [&](kube::Response response) { answer = std::move(response); });
    if (answer.code >= 300) Fail(Format("{}: {}", path, answer.body));
    return answer;
  }

  const int eips_;
  std::map<std::string, double> figures_;
  async::TestExecutor executor_;
  kube::memory::Server server_{{.now = [this] { return executor_.WallNow(); },
                                .random = [this] { return executor_.Random(); }}};
  kube::memory::LocalTransport local_{executor_, server_};
  Counting transport_{local_};
  cloud::simulator::Latency latency_{executor_, 10ms, 40ms};
  cloud::TestAccount account_{executor_, latency_, CloudOptions(),
                              cloud::aliyun::ApiOptions{.calls_per_minute = kLimit}};
  cloud::simulator::Cloud& cloud_ = account_.cloud;
  std::unique_ptr<Replica> replica_;
};

}  // namespace

int main(int argc, char** argv) {
  const int eips = argc > 1 ? std::atoi(argv[1]) : 5000;
  if (eips < 1) Fail("usage: bench_eip [EIPS]");
  Bench(eips).Run();
}
