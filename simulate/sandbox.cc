#include "simulate/sandbox.h"

#include <utility>

#include "cloud/agent/agent_client.h"
#include "log/format.h"
#include "simulate/objects.h"
#include "simulate/world.h"

namespace berth::simulate {
namespace {

using namespace std::chrono_literals;
namespace simulator = cloud::simulator;

simulator::agent::Agents::Options OptionsFor(std::uint64_t seed) {
  Dice random(seed ^ 0x5Bu);
  simulator::agent::Agents::Options options;
  options.seed = seed;
  options.fences = random.Chance(0.5);
  options.pull = random.Between(0s, 10s);
  options.start = random.Between(1ms, 500ms);
  options.stop = random.Between(1ms, 2s);
  options.stubborn = random.Chance(0.3) ? 0.3 : 0;
  return options;
}

}  // namespace

// Faults on the way to agents, as frequent as on the way to the API server. A connection ends with
// its client, so nothing arrives after that.
class Sandbox::Trouble : public simulator::Fates {
 public:
  Trouble(World& world, Sandbox& owner) : world_(world), owner_(owner) {}

  simulator::Fate Draw(const http::Request& request) override {
    if (auto wrong = owner_.CheckContainers()) world_.Violate(std::move(*wrong));
    if (world_.tracing() && request.method != "GET") {
      world_.Trace("to an agent: {} {} {}", request.method, request.url, request.body);
    }
    Dice& random = world_.random();
    const Faults& faults = world_.faults();
    simulator::Fate fate{.there = random.Between(1ms, 20ms), .back = random.Between(1ms, 20ms)};
    fate.sent = !random.Chance(faults.lost_request / 2);
    fate.arrives = !random.Chance(faults.lost_request / 2);
    fate.answered = !random.Chance(faults.lost_answer);
    fate.outlives_caller = false;
    if (random.Chance(faults.slow)) fate.back += random.Between(0s, 8s);
    return fate;
  }

 private:
  World& world_;
  Sandbox& owner_;
};

struct Sandbox::Way : Account {
  Way(Sandbox& owner, Process& process)
      : transport(*owner.network_, process), client(process, transport, nullptr, {}) {}
  cloud::SandboxAgents* sandbox_agents() override { return &client; }

  simulator::agent::Transport transport;
  cloud::agent::AgentClient client;
};

Sandbox::Sandbox(std::uint64_t seed) : SystemScenario("sandbox"), agents_(OptionsFor(seed)) {}
Sandbox::~Sandbox() = default;

std::unique_ptr<SystemScenario::Account> Sandbox::Open(Process& process) {
  return std::make_unique<Way>(*this, process);
}

std::uint64_t Sandbox::Below(std::uint64_t bound) { return world_->random().Below(bound); }

void Sandbox::SetUp(World& world) {
  world_ = &world;
  Dice& random = world.random();
  site_ = std::make_unique<Process>(world.scheduler(), random, "agents", [](Process&) {});
  trouble_ = std::make_unique<Trouble>(world, *this);
  network_ = std::make_unique<simulator::agent::Network>(agents_, *site_, *trouble_);
  world.InstallDefinitions();
  for (const char* name : {"default", "other"}) {
    world.Ask({.method = kube::Method::kPost,
               .path = "/api/v1/namespaces",
               .body = Format(R"({{"metadata":{{"name":"{}"}}}})", name)});
  }
  for (const char* node : {"n0", "n1"}) {
    world.Must({.method = kube::Method::kPost,
                .path = "/api/v1/nodes",
                .body = Format(R"({{"metadata":{{"name":"{}"}}}})", node)});
  }
  InstallWebhooks(world);
  ActOnPool(world, "default", "p0");
  const auto at_some_time = [&](std::uint64_t times, auto act) {
    for (std::uint64_t i = 0; i < times; ++i) {
      world.scheduler().After(random.Between(0s, world.chaos()), [act] { act(); });
    }
  };
  at_some_time(10 + random.Below(60), [this, &world] { Act(world); });
  at_some_time(random.Below(6), [this] { SomeFault(); });
  at_some_time(random.Below(4), [this, &world] { ActOnAgent(world); });
}

async::Duration Sandbox::Aftermath(World& /*world*/) {
  agents_.faults().Set({});
  calm_ = true;
  return {};
}

bool Sandbox::DeleteAll(World& world) {
  for (const char* plural : {"sandboxes", "sandboxpools"}) {
    for (const Json& object : world.List(Format("/apis/sandbox.fast.io/v1alpha1/{}", plural))) {
      world.Ask({.method = kube::Method::kDelete,
                 .path = Format("/apis/sandbox.fast.io/v1alpha1/namespaces/{}/{}/{}",
                                Text(object["metadata"], "namespace"), plural, NameOf(object))});
    }
  }
  return true;
}

}  // namespace berth::simulate
