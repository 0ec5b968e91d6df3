#include "simulate/eni.h"

#include <algorithm>
#include <utility>

#include "cloud/aliyun/api_client.h"
#include "cloud/aliyun/credentials.h"
#include "cloud/aliyun/ecs_client.h"
#include "cloud/aliyun/eflo_client.h"
#include "cloud/aliyun/key_accounts.h"
#include "cloud/aliyun/vpc_client.h"
#include "cloud/simulator/aliyun/wire.h"
#include "log/format.h"
#include "simulate/objects.h"
#include "simulate/world.h"

namespace berth::simulate {
namespace {

using namespace std::chrono_literals;
namespace simulator = cloud::simulator;

simulator::Cloud::Options OptionsFor(std::uint64_t seed) {
  Dice random(seed);
  simulator::Cloud::Options options{.seed = seed};
  options.vpc.region = Eni::kRegion;
  options.ecs.until_visible = random.Between(0s, random.Chance(0.15) ? 50s : 8s);
  // Rarely nearly as long as Berth waits.
  options.ecs.attaching = random.Between(0s, random.Chance(0.15) ? 105s : 12s);
  options.ecs.detaching = random.Between(0s, 10s);
  options.ecs.deleting = random.Between(0s, 10s);
  options.eflo = {.until_visible = options.ecs.until_visible,
                  .attaching = random.Between(0s, random.Chance(0.15) ? 200s : 20s),
                  .detaching = options.ecs.detaching,
                  .deleting = options.ecs.deleting,
                  .assigning = random.Between(0s, 6s)};
  options.client_tokens.processing = random.Chance(0.3) ? random.Between(0s, 3s) : 0s;
  return options;
}

}  // namespace

// Faults on the way to the cloud, as frequent as on the way to the API server.
class Eni::Trouble : public simulator::Fates {
 public:
  Trouble(World& world, Eni& owner) : world_(world), owner_(owner) {}

  simulator::Fate Draw(const http::Request& request) override {
    Dice& random = world_.random();
    const Faults& faults = world_.faults();
    simulator::Fate fate{.there = random.Between(1ms, 50ms), .back = random.Between(1ms, 50ms)};
    fate.sent = !random.Chance(faults.lost_request / 2);
    fate.arrives = !random.Chance(faults.lost_request / 2);
    fate.answered = !random.Chance(faults.lost_answer);
    fate.outlives_caller = random.Chance(0.5);
    if (random.Chance(faults.slow)) fate.there += random.Between(0s, 15s);
    if (random.Chance(faults.slow)) fate.back += random.Between(0s, 15s);
    fate.trusted = owner_.untrusted_ == 0;
    const bool lists = Calls(request, "DescribeNetworkInterfaces") ||
                       Calls(request, "ListElasticNetworkInterfaces");
    fate.refusal = Refusal(lists);
    if (fate.refusal) {
      fate.carried_out = false;
    } else if (random.Chance(faults.refused)) {
      fate.refusal = Trouble::SomeTrouble(random);
      // A cloud that reports an internal error may have carried out the call
      // all the same.
      fate.carried_out = fate.refusal->http_code >= 500 && random.Chance(0.3);
    }
    if (lists && owner_.empty_lists_ > 0) {
      --owner_.empty_lists_;
      fate.empty_list = true;
    }
    return fate;
  }

 private:
  static bool Calls(const http::Request& request, const std::string& action) {
    return std::ranges::contains(request.headers, http::Header{"x-acs-action", action});
  }

  std::optional<simulator::Refusal> Refusal(bool lists) {
    if (!owner_.passing_.empty()) {
      return simulator::Refusal{400, owner_.passing_.back(), "This will pass."};
    }
    if (owner_.blind_ > 0 && lists) {
      return simulator::Refusal{400, "InvalidParameter", "This will pass."};
    }
    if (owner_.forbidden_ > 0) {
      return simulator::Refusal{403, "Forbidden.RAM",
                                "User not authorized to operate on the resource."};
    }
    if (owner_.storms_ > 0 && world_.random().Chance(0.9)) return simulator::Throttled();
    return std::nullopt;
  }

  static simulator::Refusal SomeTrouble(Dice& random) {
    switch (random.Below(3)) {
      case 0:
        return simulator::Throttled();
      case 1:
        return simulator::Unavailable();
      default:
        return simulator::InternalError();
    }
  }

  World& world_;
  Eni& owner_;
};

// The access key that Berth is given at the moment.
class Eni::Keys : public cloud::aliyun::Credentials {
 public:
  explicit Keys(const Eni& owner) : owner_(owner) {}

  async::Task<Result<cloud::aliyun::Credential>> Get() override {
    co_return cloud::aliyun::Credential{owner_.key_id_, kSecret, ""};
  }
  void Refused(const cloud::aliyun::Credential& /*credential*/) override {}

 private:
  const Eni& owner_;
};

// A replica's way to the cloud, on which the witness stands.
class Eni::Wire : public http::Transport {
 public:
  Wire(Eni& owner, World& world, Process& process)
      : owner_(owner),
        world_(world),
        replica_(Format("{}.{}", process.name(), process.life())),
        to_cloud_(*owner.network_, process) {}

  async::Handle Send(http::Request request, Done done) override {
    const simulator::Received call(request);
    if (world_.tracing()) world_.Trace("{} calls {} {}", replica_, call.action, request.url);
    if (auto wrong = owner_.witness_->Sent(replica_, call)) world_.Violate(std::move(*wrong));
    return to_cloud_.Send(std::move(request), [this, call, action = call.action,
                                               done =
                                                   std::move(done)](Result<http::Response> answer) {
      owner_.witness_->AttachAnswered(call, answer ? &*answer : nullptr);
      if (world_.tracing()) {
        world_.Trace("{} {}: {}", replica_, action, answer ? answer->body : answer.error().message);
      }
      if (answer && answer->code == 200) {
        owner_.witness_->Answered(replica_, action, answer->body);
      }
      done(std::move(answer));
    });
  }

 private:
  Eni& owner_;
  World& world_;
  const std::string replica_;
  simulator::Transport to_cloud_;
};

struct Eni::InRegion : Account {
  InRegion(Eni& owner, World& world, Process& process)
      : wire(owner, world, process),
        credentials(owner),
        ecs_api(process, wire, credentials, nullptr,
                OptionsFor(cloud::aliyun::EcsEndpoint(kRegion, false), cloud::aliyun::kEcsVersion)),
        vpc_api(process, wire, credentials, nullptr,
                OptionsFor(cloud::aliyun::VpcEndpoint(kRegion, false), cloud::aliyun::kVpcVersion)),
        eflo_api(process, wire, credentials, nullptr, EfloOptionsFor()),
        leni_apis{process, eflo_api, vpc_api},
        accounts(
            process, wire, nullptr,
            OptionsFor(cloud::aliyun::VpcEndpoint(kRegion, false), cloud::aliyun::kVpcVersion)),
        clients(apis, credentials, accounts, kRegion),
        leni_clients(leni_apis, credentials, accounts, kRegion),
        has_lingjun(owner.fleet_.has_lingjun) {}
  cloud::EniAccounts* ecs() override { return &clients; }
  cloud::EniAccounts* eflo() override { return has_lingjun ? &leni_clients : nullptr; }

  static cloud::aliyun::ApiOptions OptionsFor(std::string endpoint, std::string_view version) {
    return {.endpoint = std::move(endpoint),
            .version = std::string(version),
            .region = kRegion,
            .limits = cloud::aliyun::EniLimits()};
  }
  static cloud::aliyun::ApiOptions EfloOptionsFor() {
    return {.endpoint = cloud::aliyun::EfloEndpoint(kRegion, false),
            .version = std::string(cloud::aliyun::kEfloVersion),
            .region = kRegion,
            .form = true,
            .limits = cloud::aliyun::EfloLimits()};
  }

  Wire wire;
  Keys credentials;
  cloud::aliyun::ApiClient ecs_api;
  cloud::aliyun::ApiClient vpc_api;
  const cloud::aliyun::EniApis apis{ecs_api, vpc_api};
  cloud::aliyun::ApiClient eflo_api;
  const cloud::aliyun::EfloApis leni_apis;
  cloud::aliyun::KeyAccounts accounts;
  cloud::aliyun::EniClients clients;
  cloud::aliyun::LeniClients leni_clients;
  const bool has_lingjun;
};

std::unique_ptr<SystemScenario::Account> Eni::Open(Process& process) {
  return std::make_unique<InRegion>(*this, *world_, process);
}

Eni::Eni(std::uint64_t seed) : SystemScenario("eni"), cloud_(OptionsFor(seed)), key_id_(kKeyId) {
  cloud_.keys().Add({.id = kKeyId, .secret = kSecret, .caller = "berth"});
  cloud_.keys().Add(
      {.id = kOtherKeyId, .secret = kSecret, .caller = "berth", .account = kOtherAccount});
  cloud_.ecs(kOtherAccount, kRegion);
}
Eni::~Eni() = default;

void Eni::SetUp(World& world) {
  world_ = &world;
  Dice& random = world.random();
  fleet_ = EniFleet::Draw(random);
  site_ = std::make_unique<Process>(world.scheduler(), random, "cloud", [](Process&) {});
  trouble_ = std::make_unique<Trouble>(world, *this);
  network_ = std::make_unique<simulator::Network>(cloud_, *site_, *trouble_);
  nodes_ = std::make_unique<EniNodes>(world);
  pods_ = std::make_unique<EniPods>(world, *nodes_, fleet_.names(), fleet_.erdma_nodes());
  witness_ = std::make_unique<EniWitness>(world, products_, *nodes_, *pods_);
  const Faults& faults = world.faults();
  const bool late = faults.stale > 0 || faults.pause > 0 || faults.partition > 0 ||
                    faults.slow > 0 || faults.cut > 0 || faults.lost_request > 0;
  witness_->SetGrace(late ? 100s : 10s);
  tampers_ = random.Chance(0.6);
  SetUpCloud(world);
  world.InstallDefinitions();
  InstallWebhooks(world);
  users_ = std::make_unique<Users>(world, EniUsers(fleet_, random.Chance(0.1)),
                                   std::vector<std::string>());
  users_->on_tampered = [this](const Json& object, const std::string& action) {
    witness_->Tampered(NameOf(object));
    if (action == "status.account") forged_.insert(NameOf(object));
    if (Text(object, "kind") == "NodeRuntime") pods_->Distrust(NameOf(object));
  };
  pods_->Start();
  Schedule(world);
}

void Eni::SetUpCloud(World& world) {
  cloud_.Settle(world.scheduler().WallNow());
  for (const auto& [id, zone, cidr, ipv6] :
       {std::array{EniFleet::kLarge, EniFleet::kZone, "10.0.0.0/25", "fd00:0:0:1::/64"},
        std::array{EniFleet::kSmall, EniFleet::kZone, "10.0.1.0/28", "fd00:0:0:2::/64"},
        std::array{EniFleet::kFar, EniFleet::kOtherZone, "10.0.2.0/26", "fd00:0:0:3::/64"}}) {
    cloud_.vpc().CreateVSwitch({.id = id, .zone_id = zone, .cidr = cidr, .ipv6_cidr = ipv6});
  }
  for (const EniFleet::Server& server : fleet_.servers) AddInstance(server);
}

void Eni::AddInstance(const EniFleet::Server& server) {
  products_.Of(server.instance)
      .CreateInstance({.id = server.instance,
                       .vswitch_id = EniFleet::kLarge,
                       // EFLO does not count the primary one.
                       .adapters = server.adapters - (server.lingjun ? 1 : 0),
                       .ipv4_per_adapter = server.ipv4_per_adapter,
                       .ipv6_per_adapter = server.ipv4_per_adapter});
  // Its vSwitch is full: its people try again.
  if (products_.HasServer(server.instance)) return;
  world_->scheduler().After(10s, [this, name = server.node] { AddInstance(*fleet_.Find(name)); });
}

void Eni::Schedule(World& world) {
  Dice& random = world.random();
  const auto at_some_time = [&](int times, auto act) {
    for (int i = 0; i < times; ++i) {
      world.scheduler().After(random.Between(0s, world.chaos()), [act] { act(); });
    }
  };
  for (const EniFleet::Server& server : fleet_.servers) {
    world.scheduler().After(random.Between(0s, 15s),
                            [this, &world, name = server.node] { StartDaemon(world, name); });
  }
  at_some_time(5 + static_cast<int>(random.Below(25)), [this] { pods_->Act(); });
  at_some_time(static_cast<int>(random.Below(tampers_ ? 25 : 6)), [this, &world] { Act(world); });
  at_some_time(static_cast<int>(random.Below(4)), [this, &world] { Meddle(world); });
  at_some_time(static_cast<int>(random.Below(8)), [this, &world] { SomeFault(world); });
  at_some_time(static_cast<int>(random.Below(4)), [this, &world] { CancelSome(world, 100); });
  at_some_time(static_cast<int>(random.Below(3)), [this, &world] { SomeStorm(world); });
  if (random.Chance(0.12)) at_some_time(1, [this, &world] { Move(world); });
  Unstick(world);
}

// Daemons start again and write their specs, and tell of every pod that is
// gone; an operator wants the cloud to be looked at, or nobody does for the
// 12 h after which Berth does so itself.
async::Duration Eni::Aftermath(World& world) {
  Calm(world);
  pods_->CollectGarbage();
  for (const EniFleet::Server& server : fleet_.servers) StartDaemon(world, server.node);
  nodes_->RefreshAll();
  const bool waits = world.random().Chance(0.05);  // it takes long to compute
  const std::map<std::string, NodeView> nodes = nodes_->all();
  for (const auto& [name, node] : nodes) {
    if (!fleet_.Find(name) && world.random().Chance(0.7)) {
      world.Ask({.method = kube::Method::kDelete, .path = EniNodes::PathOf(name)});
    }
    ClearAccount(world, node);
    if (!waits) ForceSync(world, name);
  }
  if (waits) return 13h;
  // By then the cloud shows what others have attached.
  world.scheduler().After(3min, [this, &world] {
    for (const EniFleet::Server& server : fleet_.servers) ForceSync(world, server.node);
  });
  return {};
}

bool Eni::DeleteAll(World& world) {
  quiet_.reset();
  pods_->DeleteAll();
  return SystemScenario::DeleteAll(world);
}

}  // namespace berth::simulate
