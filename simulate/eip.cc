#include "simulate/eip.h"

#include <algorithm>
#include <array>
#include <utility>

#include "cloud/aliyun/api_client.h"
#include "cloud/aliyun/credentials.h"
#include "cloud/aliyun/key_accounts.h"
#include "cloud/aliyun/vpc_client.h"
#include "log/format.h"
#include "reconcile/eip/objects.h"
#include "simulate/eip_users.h"
#include "simulate/objects.h"
#include "simulate/world.h"

namespace berth::simulate {
namespace {

using namespace std::chrono_literals;
namespace simulator = cloud::simulator;

constexpr const char* kSecret = "simulated";
constexpr const char* kOtherKeyId = "LTAIother";
constexpr const char* kOtherAccount = "6543210987654321";
constexpr const char* kOtherRegion = "cn-beijing";
constexpr std::array<const char*, 7> kPassingCodes = {"InvalidTimeStamp.Expired",
                                                      "IncompleteSignature",
                                                      "ReserveIpFail",
                                                      "OrderError.EIP",
                                                      "InvalidRegionId.NotFound",
                                                      "Unheard.Of",
                                                      "InvalidOperation.InvalidEniState"};
// Codes that the table does not have, or calls a conflict: a fault that goes on for long alternates
// between them.
constexpr std::array<const char*, 3> kUnknownCodes = {"Strange.News", "Unheard.Of",
                                                      "InvalidOperation.InvalidEniState"};
// Codes of every kind that a repetition may be refused with.
constexpr std::array<const char*, 7> kRefusals = {"COMMODITY.INVALID_COMPONENT",
                                                  "InvalidParameter",
                                                  "MissingParameter",
                                                  "IllegalParam.Isp",
                                                  "QuotaExceeded.Eip",
                                                  "ResourceNotFound.PublicIpAddressPool",
                                                  "Unheard.Of"};
// Codes that say nothing of whether the call was carried out.
constexpr std::array<const char*, 6> kUnlistedCodes = {"IdempotentProcessing", "IdempotentFailed",
                                                       "ReserveIpFail",        "OrderError.EIP",
                                                       "SignatureNonceUsed",   "Unheard.Of"};
constexpr std::array<const char*, 7> kActions = {
    "TagResources",      "UnTagResources",    "ModifyEipAddressAttribute",  "AllocateEipAddress",
    "ReleaseEipAddress", "MoveResourceGroup", "AddCommonBandwidthPackageIp"};
constexpr std::uint64_t kRefusedReads = 7;
constexpr std::uint64_t kStormsOfChaos = 8;
constexpr std::size_t kQuota = 100'000;

simulator::Cloud::Options OptionsFor(std::uint64_t seed) {
  Dice random(seed);
  simulator::Cloud::Options options{.seed = seed};
  options.vpc.region = Eip::kRegion;
  // Rarely later than the operator believes that an address is gone.
  options.vpc.until_visible = random.Between(0s, random.Chance(0.1) ? 300s : 20s);
  options.vpc.releasing = random.Between(0s, 10s);
  options.vpc.associating = random.Between(0s, 5s);
  options.vpc.unassociating = random.Between(0s, 5s);
  options.vpc.binding = random.Between(0s, 5s);
  options.client_tokens.processing = random.Chance(0.5) ? random.Between(0s, 3s) : 0s;
  return options;
}

}  // namespace

// Faults on the way to the cloud, as frequent as on the way to the API server.
class Eip::Trouble : public simulator::Fates {
 public:
  Trouble(World& world, Eip& owner) : world_(world), owner_(owner) {}

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
    if (IsStubborn(request)) {
      fate.refusal = {400, kUnknownCodes[random.Below(kUnknownCodes.size())], kPasses};
      fate.carried_out = false;
    } else if (!owner_.passing_.empty()) {
      fate.refusal = {400, owner_.passing_.back(), kPasses};
      fate.carried_out = MayBeCarriedOut(*fate.refusal) && random.Chance(0.2);
    } else if (owner_.blind_ > 0 && Calls(request, "DescribeEipAddresses")) {
      fate.refusal = {400, "InvalidParameter", kPasses};
      fate.carried_out = false;
    } else if (owner_.forbidden_ > 0) {
      fate.refusal = {403, "Forbidden.RAM", "User not authorized to operate on the resource."};
      fate.carried_out = false;
    } else if (owner_.storms_ > 0 && random.Chance(0.9)) {
      fate.refusal = simulator::Throttled();
      fate.carried_out = false;
    } else if (random.Chance(faults.refused)) {
      switch (random.Below(4)) {
        case 0:
          fate.refusal = simulator::Throttled();
          break;
        case 1:
          fate.refusal = simulator::Unavailable();
          break;
        case 2:
          fate.refusal = {400, kUnlistedCodes[random.Below(kUnlistedCodes.size())], kPasses};
          break;
        default:
          fate.refusal = simulator::InternalError();
      }
      fate.carried_out = MayBeCarriedOut(*fate.refusal) && random.Chance(0.3);
    }
    if (Calls(request, "DescribeEipAddresses")) fate.empty_list = DrawEmptyList(request);
    if (fate.empty_list) owner_.empty_list_at_ = world_.scheduler().Now();
    if (Calls(request, "AllocateEipAddress")) DrawRepetition(request, fate);
    world_.scheduler().After(fate.there, [this] { owner_.Note(world_); });
    return fate;
  }

 private:
  // A cloud that reports an error of its own, or one that nobody has heard of, may have carried out
  // the call all the same.
  static bool MayBeCarriedOut(const simulator::Refusal& refusal) {
    return refusal.http_code >= 500 || std::ranges::contains(kUnlistedCodes, refusal.code);
  }

  static bool Calls(const http::Request& request, const std::string& action) {
    return std::ranges::contains(request.headers, http::Header{"x-acs-action", action});
  }

  bool IsStubborn(const http::Request& request) const {
    return !owner_.stubborn_action_.empty() && Calls(request, owner_.stubborn_action_);
  }

  // A list that is asked for in general, or of an address whose request is not yet repeated.
  bool DrawEmptyList(const http::Request& request) {
    const bool unlisted = std::ranges::any_of(owner_.refused_repetitions_, [&](const auto& entry) {
      return entry.second > 0 && request.url.contains(entry.first);
    });
    if (unlisted || owner_.empty_lists_ == 0) return unlisted;
    --owner_.empty_lists_;
    return true;
  }

  // The answer is lost, or says something else, and the same request refused when it is repeated.
  void DrawRepetition(const http::Request& request, simulator::Fate& fate) {
    static constexpr std::size_t kUidLength = 36;
    static constexpr std::string_view kToken = "ClientToken=berth-";
    Dice& random = world_.random();
    const auto at = request.url.find(kToken);
    if (at == std::string::npos || owner_.told_watch_) return;
    const std::string uid = request.url.substr(at + kToken.size(), kUidLength);
    const auto known = owner_.refused_repetitions_.find(uid);
    if (known == owner_.refused_repetitions_.end()) {
      if (fate.refusal || !random.Chance(world_.faults().lost_answer)) return;
      if (random.Chance(0.5)) {
        fate.answered = false;
      } else {
        fate.refusal = {400, kUnlistedCodes[random.Below(kUnlistedCodes.size())], kPasses};
      }
      if (random.Chance(0.3)) {
        world_.scheduler().After(random.Between(0s, 5s),
                                 [this, uid] { owner_.GiveUp(world_, uid); });
      }
      owner_.refused_repetitions_[uid] = 1 + static_cast<int>(random.Below(2));
      // It may never be repeated, and an address is listed in the end.
      world_.scheduler().After(60s, [this, uid] { owner_.refused_repetitions_[uid] = 0; });
    } else if (known->second > 0) {
      --known->second;
      fate.refusal = {400, kRefusals[random.Below(kRefusals.size())], "Not like this."};
      fate.carried_out = false;
      world_.scheduler().After(random.Between(0s, 20s),
                               [this, uid] { owner_.FollowAdvice(world_, uid); });
    }
  }

  World& world_;
  Eip& owner_;
};

// The access key that Berth is given at the moment.
class Eip::Keys : public cloud::aliyun::Credentials {
 public:
  explicit Keys(const Eip& owner) : owner_(owner) {}

  async::Task<Result<cloud::aliyun::Credential>> Get() override {
    co_return cloud::aliyun::Credential{owner_.key_id_, kSecret, ""};
  }
  void Refused(const cloud::aliyun::Credential& /*credential*/) override {}

 private:
  const Eip& owner_;
};

// The way to the cloud with one region: another one takes a restart.
struct Eip::InRegion : Account {
  InRegion(Eip& owner, Process& process)
      : to_cloud(*owner.network_, process),
        credentials(owner),
        api(process, to_cloud, credentials, nullptr, OptionsFor(owner.region_)),
        accounts(process, to_cloud, nullptr, OptionsFor(owner.region_)),
        clients(api, credentials, accounts, owner.region_) {}
  cloud::Vpcs* vpcs() override { return &clients; }

  static cloud::aliyun::ApiOptions OptionsFor(const std::string& region) {
    return {.endpoint = cloud::aliyun::VpcEndpoint(region, false),
            .version = std::string(cloud::aliyun::kVpcVersion),
            .region = region};
  }

  simulator::Transport to_cloud;
  Keys credentials;
  cloud::aliyun::ApiClient api;
  cloud::aliyun::KeyAccounts accounts;
  cloud::aliyun::VpcClients clients;
};

std::unique_ptr<SystemScenario::Account> Eip::Open(Process& process) {
  return std::make_unique<InRegion>(*this, process);
}

Eip::Eip(std::uint64_t seed)
    : SystemScenario("eip"), cloud_(OptionsFor(seed)), key_id_(kKeyId), region_(kRegion) {
  cloud_.keys().Add({.id = kKeyId, .secret = kSecret, .caller = "berth"});
  cloud_.keys().Add(
      {.id = kOtherKeyId, .secret = kSecret, .caller = "berth", .account = kOtherAccount});
  cloud_.vpc(simulator::kDefaultAccount, kOtherRegion);
  cloud_.vpc(kOtherAccount, kRegion);
  cloud_.vpc(kOtherAccount, kOtherRegion);
}
Eip::~Eip() = default;

void Eip::SetUp(World& world) {
  moves_ = world.random().Chance(0.25);
  // A replica with an old state cannot know better; nor one that was paused before it acted.
  const Faults& faults = world.faults();
  const bool late = faults.stale > 0 || faults.pause > 0 || faults.partition > 0 ||
                    faults.slow > 0 || faults.cut > 0 || faults.lost_request > 0;
  grace_ = late ? 100s : 10s;
  // With another region Berth starts anew, and waits for the old lease to end.
  prompt_ = !late && faults.crash == 0 && !moves_;
  site_ = std::make_unique<Process>(world.scheduler(), world.random(), "cloud", [](Process&) {});
  trouble_ = std::make_unique<Trouble>(world, *this);
  network_ = std::make_unique<simulator::Network>(cloud_, *site_, *trouble_);
  world.InstallDefinitions();
  for (int i = 0; i < 3; ++i) {
    own_.push_back(cloud_.vpc().CreateEip({.name = "own", .tags = {{kOthersTag, kOthersValue}}}));
  }
  for (int i = 0; i < 2; ++i) packages_.push_back(cloud_.vpc().CreatePackage(100));
  InstallWebhooks(world);
  users_ = std::make_unique<Users>(
      world,
      std::vector{EipUsers([this](World& where) { return SomeAddress(where); }, own_, packages_)},
      std::vector<std::string>());
  users_->on_tampered = [this](const Json& object, const std::string& action) {
    Tampered(object, action);
  };
  const int actions = 5 + static_cast<int>(world.random().Below(40));
  for (int i = 0; i < actions; ++i) {
    world.scheduler().After(world.random().Between(0s, world.chaos()),
                            [this, &world] { Act(world); });
  }
  if (moves_) {
    world.scheduler().After(world.random().Between(0s, world.chaos()),
                            [this, &world] { Move(world); });
  }
  const int storms = static_cast<int>(world.random().Below(4));
  for (int i = 0; i < storms; ++i) {
    world.scheduler().After(world.random().Between(0s, world.chaos()),
                            [this, &world] { SomeStorm(world); });
  }
}

void Eip::GiveRegion(const std::string& region) {
  if (std::exchange(region_, region) == region) return;
  RestartAll();
}

// Somebody gives Berth the key of another account, or another region, and takes it back later.
void Eip::Move(World& world) {
  Dice& random = world.random();
  if (random.Chance(0.5)) {
    world.Trace("{}", "Berth has another account's key");
    key_id_ = kOtherKeyId;
  } else {
    world.Trace("{}", "Berth has another region");
    GiveRegion(kOtherRegion);
  }
  // So soon that its lease is settled when World looks at it.
  world.scheduler().After(random.Between(1s, 60s), [this, &world] {
    world.Trace("{}", "Berth has its own account and region");
    moved_until_ = world.scheduler().Now();
    key_id_ = kKeyId;
    GiveRegion(kRegion);
  });
}

// For a while the cloud takes next to nothing, or nothing of some kind.
void Eip::SomeStorm(World& world) {
  Dice& random = world.random();
  const auto kind = random.Below(kStormsOfChaos);
  Storm(world, kind, random.Between(1s, random.Chance(0.2) ? 120s : 40s));
}

void Eip::Storm(World& world, std::uint64_t kind, async::Duration length) {
  Dice& random = world.random();
  world.Trace("storm {} for {}", kind, std::chrono::floor<std::chrono::milliseconds>(length));
  if (kind == kThrottles) ++storms_;
  if (kind == 1) cloud_.vpc().SetQuota(0);
  if (kind == 2) cloud_.vpc().SetFunded(false);
  if (kind == 3) cloud_.keys().Revoke(kKeyId);
  if (kind == 4) ++forbidden_;
  if (kind == 5) ++untrusted_;
  if (kind == 6) passing_.emplace_back(kPassingCodes[random.Below(kPassingCodes.size())]);
  if (kind == kRefusedReads) ++blind_;
  if (kind == kStormsOfChaos) stubborn_action_ = kActions[random.Below(kActions.size())];
  world.scheduler().After(length, [this, kind] {
    if (kind == kStormsOfChaos) stubborn_action_.clear();
    if (kind == kRefusedReads) --blind_;
    if (kind == 6) passing_.pop_back();
    if (kind == 5) --untrusted_;
    if (kind == 4) --forbidden_;
    if (kind == kThrottles) --storms_;
    if (kind == 1) cloud_.vpc().SetQuota(kQuota);
    if (kind == 2) cloud_.vpc().SetFunded(true);
    if (kind == 3) cloud_.keys().Add({.id = kKeyId, .secret = kSecret, .caller = "berth"});
  });
}

// One fault goes on for long, and users change every object in it. The changes are told of soon,
// what is told of each object is bounded, and soon after the fault nobody tells of it any more.
async::Duration Eip::Aftermath(World& world) {
  static constexpr auto kLength = 20min;
  static constexpr auto kUntilSettled = 3min;  // from the chaos
  static constexpr auto kUntilTold = 30s;
  static constexpr auto kUntilOver = 30s;
  Dice& random = world.random();
  if (!random.Chance(0.08)) return {};
  const auto kind = random.Chance(0.5) ? kStormsOfChaos : random.Below(kStormsOfChaos);
  Storm(world, kind, kLength);
  if (stubborn_action_ == "AllocateEipAddress") witness_.RefusePurchases();
  ChangeAll(world, "late");
  world.scheduler().After(kUntilSettled, [this, &world] {
    ChangeAll(world, "later");
    const auto objects = world.List(kCollection);
    if (objects.empty()) return;
    world.Ask({.method = kube::Method::kDelete, .path = PathOf(NameOf(objects[0]))});
  });
  world.scheduler().After(kUntilSettled + kUntilTold, [this, &world, kind] {
    told_watch_.emplace(world.scheduler().Now());
    if (auto wrong = CheckFollowed(world, kind == kThrottles)) world.Violate(*wrong);
    if (kind == kStormsOfChaos) LockOne(world, kLength - 2 * kUntilSettled);
  });
  world.scheduler().After(kLength + kUntilOver, [this, &world] {
    if (auto wrong = CheckOver(world)) world.Violate(*wrong);
  });
  return kLength;
}

// An address is locked for so long; in the end its object does not say that it is Ready.
void Eip::LockOne(World& world, async::Duration length) {
  const auto objects = world.List(kCollection);
  if (objects.empty()) return;
  const Json& locked = objects[world.random().Below(objects.size())];
  const std::string id = Text(Part(locked, "status"), "allocationID");
  if (!cloud_.vpc().Find(id)) return;
  world.Trace("others lock {}", id);
  cloud_.vpc().SetLocks(id, {"financial"});
  world.scheduler().After(length, [this, &world, id] {
    for (const Json& object : world.List(kCollection)) {
      const bool has_it = Text(Part(object, "status"), "allocationID") == id;
      if (!has_it || edited_.contains(UidOf(object)) || !cloud_.vpc().Find(id)) continue;
      if (Text(ReadyOf(object), "status") != "True") continue;
      world.Violate(NameOf(object) + " is Ready and locked");
    }
  });
}

void Eip::ChangeAll(World& world, const std::string& how) {
  for (const Json& object : world.List(kCollection)) {
    world.Merge(PathOf(NameOf(object)),
                Format(R"({{"spec":{{"name":"{0}","tags":{{"team":"{0}"}}}}}})", how));
  }
}

bool Eip::DeleteAll(World& world) {
  // Nobody but the user can end these: see CheckObject.
  for (const Json& object : world.List(kCollection)) {
    if (!IsElsewhere(object) && !MayHaveLostAnAddress(UidOf(object))) continue;
    world.Merge(
        PathOf(NameOf(object)),
        Format(R"({{"metadata":{{"annotations":{{"{}":"abandon"}}}}}})", eip::kOnStuckAnnotation));
  }
  return SystemScenario::DeleteAll(world);
}

std::optional<std::string> Eip::Left(World& world) {
  Calm();
  DeleteAll(world);
  cloud_.Settle(world.scheduler().WallNow());  // there may be nobody left who asks it anything
  const auto objects = world.List(kCollection);
  if (auto wrong = See(world, objects)) return wrong;
  if (!objects.empty()) {
    return Format("{} is left: {}", NameOf(objects[0]), Text(ReadyOf(objects[0]), "message"));
  }
  if (auto leaked = witness_.Leaked(objects)) return leaked;
  return CheckMemory();
}

// Others let go of what they held, so that everything can come to its end.
void Eip::Calm() {
  key_id_ = kKeyId;
  GiveRegion(kRegion);
  for (const cloud::Eip& eip : cloud_.vpc().Eips()) {
    cloud::Eip& held = cloud_.vpc().Edit(eip.allocation_id);
    held.deletion_protection = false;
    cloud_.vpc().SetLocks(eip.allocation_id, {});
    if (held.status == "InUse") held.status = "Available";
    held.instance_id.clear();
    held.instance_charge_type = "PostPaid";  // its time is over
  }
}

}  // namespace berth::simulate
