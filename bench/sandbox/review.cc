// A create's review by the mutating webhook, from its bytes to the bytes of the answer, at 1,000 a
// second of virtual time: a slot of one of 1,000 agents is reserved and signed. The webhook's code
// and the system, without HTTP. Prints one JSON object. Arguments: agents, reviews.
#include <prometheus/registry.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <memory>
#include <string>
#include <vector>

#include "async/test_executor.h"
#include "cloud/agent/agent_client.h"
#include "cloud/simulator/agent/agents.h"
#include "cloud/simulator/agent/transport.h"
#include "handlers/admission/sandbox.h"
#include "json/json.h"
#include "kube/memory/local_transport.h"
#include "kube/yaml.h"
#include "log/format.h"
#include "reconcile/crds.h"
#include "reconcile/sandbox/system.h"

namespace {

using namespace berth;
using namespace std::chrono_literals;
namespace simulator = cloud::simulator;

constexpr int kSlots = 20;

[[noreturn]] void Fail(const std::string& what) {
  std::fprintf(stderr, "error: %s\n", what.c_str());
  std::exit(1);
}

// CPU time: other programs on the machine do not count.
double Milliseconds() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) * 1e3 + static_cast<double>(time.tv_nsec) / 1e6;
}

double Part(std::vector<double>& values, double part) {
  std::ranges::sort(values);
  return values[static_cast<std::size_t>(part * static_cast<double>(values.size() - 1))];
}

// A replica that leads, on an API server in memory and simulated agents.
class Bench {
 public:
  explicit Bench(int agents) {
    for (const std::string_view yaml : CustomResourceDefinitions()) {
      Post("/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
           kube::YamlToJson(yaml)->to_string());
    }
    Post("/api/v1/namespaces", R"({"metadata":{"name":"default"}})");
    Post("/apis/sandbox.fast.io/v1alpha1/namespaces/default/sandboxpools",
         R"({"apiVersion":"sandbox.fast.io/v1alpha1","kind":"SandboxPool",)"
         R"("metadata":{"name":"p","uid":"p"},"spec":{}})");
    const std::string pool_uid = Json::parse(Ask(
        kube::Method::kGet,
        "/apis/sandbox.fast.io/v1alpha1/namespaces/default/sandboxpools/p"))["metadata"]["uid"]
                                     .as_string();
    for (int i = 0; i < agents; ++i) AddAgent(i, pool_uid);
    admission::RegisterSandbox(webhooks_, desk_, account_, true);
    desk_.Open(&system_);
    leadership_.Start();
    for (int i = 0; i < 120 && !system_.leading(); ++i) executor_.Advance(1s);
    if (!system_.leading()) Fail("the system does not lead");
    executor_.Advance(5s);
  }
  ~Bench() { desk_.Open(nullptr); }

  // The time that it takes; whether it was stamped.
  std::pair<double, bool> Review(int number) {
    const std::string review = Format(
        R"({{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{{"uid":"u",)"
        R"("kind":{{"group":"sandbox.fast.io","version":"v1alpha1","kind":"Sandbox"}},)"
        R"("resource":{{"group":"sandbox.fast.io","version":"v1alpha1","resource":"sandboxes"}},)"
        R"("namespace":"default","name":"s-{0}","userInfo":{{"username":"alice"}},)"
        R"("operation":"CREATE","object":{{"apiVersion":"sandbox.fast.io/v1alpha1",)"
        R"("kind":"Sandbox","metadata":{{"name":"s-{0}","namespace":"default"}},)"
        R"("spec":{{"poolRef":"p","image":"alpine:3.20","command":["/bin/sleep","3600"],)"
        R"("envs":[{{"name":"A","value":"b"}}]}}}},"oldObject":null}}}})",
        number);
    std::string answered;
    const double began = Milliseconds();
    webhooks_.Review("/mutate/sandbox.fast.io/sandboxes", review, executor_, [&](auto answer) {
      answered = answer ? std::move(*answer) : answer.error().message;
    });
    executor_.RunUntilIdle();
    const double took = Milliseconds() - began;
    executor_.Advance(1ms);
    // The finalizer alone is far shorter.
    return {took, answered.size() > 600};
  }

 private:
  std::string Ask(kube::Method method, const std::string& path, const std::string& body = "") {
    kube::Response answer;
    server_.Handle({.method = method, .path = path, .body = body},
                   [&](kube::Response response) { answer = std::move(response); });
    if (answer.code > 299) Fail(Format("{}: {}", path, answer.body));
    return answer.body;
  }
  void Post(const std::string& path, const std::string& body) {
    Ask(kube::Method::kPost, path, body);
  }

  void AddAgent(int number, const std::string& pool_uid) {
    const std::string name = Format("p-agent-{}", number);
    const std::string ip = Format("10.{}.{}.1", number / 256, number % 256);
    const std::string made = Ask(
        kube::Method::kPost, "/api/v1/namespaces/default/pods",
        Format(
            R"({{"metadata":{{"name":"{}","labels":{{"app":"sandbox-agent"}},"ownerReferences":[)"
            R"({{"apiVersion":"sandbox.fast.io/v1alpha1","kind":"SandboxPool","name":"p","uid":"{}",)"
            R"("controller":true}}]}},"spec":{{"nodeName":"n","containers":[{{"name":"agent",)"
            R"("image":"a","env":[{{"name":"AGENT_CAPACITY","value":"{}"}}]}}]}}}})",
            name, pool_uid, kSlots));
    kube::Response answer;
    server_.Handle(
        {.method = kube::Method::kPatch,
         .path = Format("/api/v1/namespaces/default/pods/{}/status", name),
         .body = Format(R"({{"status":{{"phase":"Running","podIP":"{}","podIPs":[{{"ip":"{}"}}],)"
                        R"("conditions":[{{"type":"Ready","status":"True"}}]}}}})",
                        ip, ip),
         .content_type = "application/merge-patch+json"},
        [&](kube::Response response) { answer = std::move(response); });
    if (answer.code != 200) Fail(answer.body);
    agents_.Put(ip, {.name = name,
                     .uid = Json::parse(made)["metadata"]["uid"].as_string(),
                     .node = "n",
                     .capacity = kSlots});
  }

  async::TestExecutor executor_;
  kube::memory::Server server_{{.now = [this] { return executor_.WallNow(); },
                                .random = [this] { return executor_.Random(); }}};
  kube::memory::LocalTransport transport_{executor_, server_};
  simulator::agent::Agents agents_{{}};
  simulator::Latency latency_{executor_, 1ms, 2ms};
  simulator::agent::Network network_{agents_, executor_, latency_};
  simulator::agent::Transport way_{network_, executor_};
  cloud::agent::AgentClient client_{executor_, way_, nullptr, {}};
  runtime::Leadership leadership_{
      executor_, transport_, {.ns = "default", .name = "berth", .identity = "one"}};
  sandbox::System system_{executor_, transport_, leadership_, client_, {.stamp_key = "key"}};
  sandbox::Desk desk_{executor_, admission::kStampWithin};
  admission::OwnAccount account_;
  prometheus::Registry registry_;
  admission::Webhooks webhooks_{registry_};
};

}  // namespace

int main(int argc, char** argv) {
  const int agents = argc > 1 ? std::atoi(argv[1]) : 1'000;
  const int reviews = argc > 2 ? std::atoi(argv[2]) : 5'000;
  Bench bench(agents);
  std::vector<double> times;
  times.reserve(static_cast<std::size_t>(reviews));
  int stamped = 0;
  for (int i = 0; i < reviews; ++i) {
    const auto [took, is_stamped] = bench.Review(i);
    times.push_back(took);
    stamped += is_stamped ? 1 : 0;
  }
  std::printf("%s\n", Format(R"({{"agents":{},"reviews":{},"stamped":{},"webhook_p99_ms":{:.4f},)"
                             R"("webhook_p50_ms":{:.4f}}})",
                             agents, reviews, stamped, Part(times, 0.99), Part(times, 0.5))
                          .c_str());
  return stamped == reviews ? 0 : 1;
}
