#include "simulate/difftracker.h"

#include <utility>

#include "cloud/test_azure_account.h"
#include "log/format.h"
#include "simulate/objects.h"
#include "simulate/world.h"

namespace berth::simulate {
namespace {

using namespace std::chrono_literals;
namespace simulator = cloud::simulator;

simulator::azure::Cloud::Options OptionsFor(std::uint64_t seed) {
  Dice random(seed ^ 0xA2u);
  simulator::azure::Cloud::Options options;
  options.seed = seed;
  options.least_operation = random.Chance(0.3) ? 0s : 1s;
  options.most_operation = options.least_operation + random.Between(0s, 15s);
  options.posts_done_at_once = random.Chance(0.5) ? 0.5 : 0;
  options.page = 1 + random.Below(5);
  return options;
}

}  // namespace

// Faults on the way to the cloud, as frequent as on the way to the API server.
class DiffTracker::Trouble : public simulator::Fates {
 public:
  Trouble(World& world, const simulator::azure::Cloud& cloud) : world_(world), cloud_(cloud) {}

  simulator::Fate Draw(const http::Request& request) override {
    if (world_.tracing()) {
      world_.Trace("to the cloud: {} {}", cloud_.ActionOf(request), request.body);
    }
    Dice& random = world_.random();
    const Faults& faults = world_.faults();
    simulator::Fate fate{.there = random.Between(1ms, 50ms), .back = random.Between(1ms, 50ms)};
    fate.sent = !random.Chance(faults.lost_request / 2);
    fate.arrives = !random.Chance(faults.lost_request / 2);
    fate.answered = !random.Chance(faults.lost_answer);
    fate.outlives_caller = random.Chance(0.5);
    if (random.Chance(faults.slow)) fate.there += random.Between(0s, 15s);
    if (random.Chance(faults.slow)) fate.back += random.Between(0s, 15s);
    if (random.Chance(faults.refused)) {
      static constexpr const char* kCodes[] = {"TooManyRequests", "InternalServerError",
                                               "ServiceUnavailable"};
      fate.refusal = cloud_.RefusalWith(kCodes[random.Below(3)]);
      fate.carried_out = fate.refusal->http_code >= 500 && random.Chance(0.3);
    }
    if (NamesBadAddress(request)) {
      fate.refusal = cloud_.RefusalWith("InvalidAddress");
      fate.carried_out = false;
    }
    return fate;
  }
  // The cloud refuses addresses that end so; none with an empty text.
  void Refuse(std::string ending) { bad_ending_ = std::move(ending); }

 private:
  bool NamesBadAddress(const http::Request& request) const {
    if (bad_ending_.empty() || !request.url.contains("updateAddressLocations")) return false;
    const Json body = Json::parse(request.body);
    for (const Json& location : body["addressLocations"].array_range()) {
      for (const Json& address : location["addresses"].array_range()) {
        if (address["services"].size() > 0 && address["address"].as_string().ends_with(bad_ending_))
          return true;
      }
    }
    return false;
  }

  std::string bad_ending_;
  World& world_;
  const simulator::azure::Cloud& cloud_;
};

struct DiffTracker::Subscription : Account {
  Subscription(DiffTracker& owner, Process& process)
      : client(process, *owner.network_, owner.cloud_.options()) {}
  cloud::ServiceGateway* service_gateway() override { return &client.gateway; }

  cloud::AzureTestClient client;
};

DiffTracker::DiffTracker(std::uint64_t seed)
    : SystemScenario("difftracker"), dual_stack_(seed % 3 == 0), cloud_(OptionsFor(seed)) {
  simulator::azure::AddIdentity(cloud_, cloud::AzureTestClient::kSecret);
}
DiffTracker::~DiffTracker() = default;

std::unique_ptr<SystemScenario::Account> DiffTracker::Open(Process& process) {
  return std::make_unique<Subscription>(*this, process);
}

std::uint64_t DiffTracker::Below(std::uint64_t bound) { return world_->random().Below(bound); }

void DiffTracker::SetUp(World& world) {
  world_ = &world;
  Dice& random = world.random();
  site_ = std::make_unique<Process>(world.scheduler(), random, "cloud", [](Process&) {});
  trouble_ = std::make_unique<Trouble>(world, cloud_);
  network_ = std::make_unique<simulator::Network>(cloud_, *site_, *trouble_);
  cloud_.Settle(world.scheduler().WallNow());
  SetUpOthers();
  for (const char* name : {"kube-system", "default"}) {
    world.Ask({.method = kube::Method::kPost,
               .path = "/api/v1/namespaces",
               .body = Format(R"({{"metadata":{{"name":"{}"}}}})", name)});
  }
  InstallWebhooks(world);
  for (const char* node : {"n0", "n1", "n2"}) ActOnNode(world, node);
  const auto at_some_time = [&](std::uint64_t times, auto act) {
    for (std::uint64_t i = 0; i < times; ++i) {
      world.scheduler().After(random.Between(0s, world.chaos()), [act] { act(); });
    }
  };
  at_some_time(10 + random.Below(50), [this, &world] { Act(world); });
  at_some_time(random.Below(6), [this] { SomeFault(); });
  at_some_time(random.Below(3), [this] { AnotherClusterGrows(); });
  at_some_time(random.Below(2), [this] { SomebodyMakesRoom(); });
  if (random.Chance(0.25)) {
    at_some_time(1 + random.Below(3), [this, &world] { Meddle(world); });
  }
  if (random.Chance(0.3)) {
    at_some_time(1 + random.Below(4), [this, &world] { ForceSomeDeletion(world); });
  }
  if (random.Chance(0.3)) {
    at_some_time(1, [this] { trouble_->Refuse(Format("{}", Below(10))); });
  }
}

async::Duration DiffTracker::Aftermath(World& /*world*/) {
  cloud_.faults().Set({});
  trouble_->Refuse({});
  return {};
}

bool DiffTracker::DeleteAll(World& world) {
  for (const char* collection : {"services", "pods"}) {
    const std::string path = Format("/api/v1/namespaces/default/{}", collection);
    for (const Json& object : world.List(path)) {
      world.Ask({.method = kube::Method::kDelete,
                 .path = Format("{}/{}", path, Text(object["metadata"], "name"))});
    }
  }
  return true;
}

}  // namespace berth::simulate
