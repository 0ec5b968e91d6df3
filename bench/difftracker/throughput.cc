// Load balancers by the thousand, all at once, under Azure's published limits: the system with its
// real client on a simulated Azure that counts, in virtual time. Prints one JSON object.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "async/test_executor.h"
#include "cloud/test_azure_account.h"
#include "json/json.h"
#include "kube/memory/local_transport.h"
#include "log/format.h"
#include "reconcile/difftracker/system.h"

namespace {

using namespace berth;
using namespace std::chrono_literals;

constexpr auto kWindow = cloud::simulator::azure::Limits::kWindow;
constexpr double kChangesOfWindow = 1'000;
constexpr auto kPatience = 3h;

[[noreturn]] void Fail(const std::string& what) {
  std::fprintf(stderr, "error: %s\n", what.c_str());
  std::exit(1);
}

struct Counted {
  double changes = 0;  // PUT, POST and DELETE
  double throttled = 0;
};

Counted Count(const cloud::simulator::azure::Cloud& cloud) {
  Counted counted;
  for (const auto& [action, calls] : cloud.calls()) {
    const bool changes =
        action.starts_with("Put") || action.starts_with("Delete") || action.starts_with("Update");
    if (changes) counted.changes += static_cast<double>(calls.carried_out);
    counted.throttled += static_cast<double>(calls.throttled);
  }
  return counted;
}

class Cluster {
 public:
  Cluster() {
    Post("/api/v1/namespaces", R"({"metadata":{"name":"kube-system"}})");
    Post("/api/v1/namespaces", R"({"metadata":{"name":"default"}})");
    leadership_.Start();
    Until([this] { return system_.started(); });
  }

  void CreateServices(int count) {
    for (int i = 0; i < count; ++i) {
      Post("/api/v1/namespaces/default/services",
           Format(R"({{"metadata":{{"name":"s{}"}},"spec":{{"type":"LoadBalancer",)"
                  R"("ports":[{{"port":80}}]}}}})",
                  i));
    }
  }
  template <typename Done>
  void Until(Done done) {
    const auto end = executor_.Now() + kPatience;
    while (!done()) {
      if (executor_.Now() > end) Fail("it takes too long");
      executor_.Advance(100ms);
    }
  }

  std::size_t Registered() { return account_.cloud.gateway().services().size(); }
  Counted counted() const { return Count(account_.cloud); }
  async::TestExecutor& executor() { return executor_; }

 private:
  void Post(const std::string& path, const std::string& body) {
    int code = 0;
    server_.Handle({.method = kube::Method::kPost, .path = path, .body = body},
                   [&code](const kube::Response& response) { code = response.code; });
    if (code != 201) Fail(Format("{}: {}", path, code));
  }

  async::TestExecutor executor_;
  kube::memory::Server server_{{.now = [this] { return executor_.WallNow(); },
                                .random = [this] { return executor_.Random(); }}};
  kube::memory::LocalTransport transport_{executor_, server_};
  cloud::simulator::Latency latency_{executor_, 5ms, 20ms};
  cloud::AzureTestAccount account_{
      executor_, latency_, {.least_operation = 500ms, .most_operation = 2s}};
  runtime::Leadership leadership_{
      executor_, transport_, {.ns = "default", .name = "berth", .identity = "bench"}};
  difftracker::System system_{executor_, transport_, leadership_, account_.client.gateway, {}};
};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) Fail("usage: bench_difftracker_throughput SERVICES");
  const int services = std::atoi(argv[1]);
  Cluster cluster;
  // From the start of a window of the cloud.
  const auto now = cluster.executor().WallNow().time_since_epoch();
  cluster.executor().Advance(std::chrono::ceil<std::chrono::seconds>(kWindow - now % kWindow));
  const auto began = cluster.executor().Now();
  const double before = cluster.counted().changes;
  cluster.CreateServices(services);
  // The share of the limit in the windows that have work from their start to their end.
  double least = 1;
  double used = before;
  auto window_ends = began + kWindow;
  cluster.Until([&] {
    const bool done = cluster.Registered() >= static_cast<std::size_t>(services);
    if (cluster.executor().Now() < window_ends || done) return done;
    window_ends += kWindow;
    const double changes = cluster.counted().changes;
    least = std::min(least, (changes - used) / kChangesOfWindow);
    used = changes;
    return done;
  });
  const std::chrono::duration<double, std::ratio<60>> took = cluster.executor().Now() - began;
  std::printf(
      "{\"services\":%d,\"minutes\":%.2f,\"throttled\":%.0f,\"limit_used\":%.4f,"
      "\"changes_of_service\":%.3f}\n",
      services, took.count(), cluster.counted().throttled, least,
      (cluster.counted().changes - before) / services);
}
