#include "simulate/eip.h"

#include <algorithm>
#include <array>
#include <utility>

#include "cloud/aliyun/api_client.h"
#include "cloud/aliyun/credentials.h"
#include "cloud/aliyun/key_accounts.h"
#include "cloud/aliyun/vpc_client.h"
#include "kube/yaml.h"
#include "log/format.h"
#include "reconcile/crds.h"
#include "reconcile/eip/system.h"
#include "simulate/world.h"

namespace berth::simulate {
namespace {

using namespace std::chrono_literals;
namespace simulator = cloud::simulator;

constexpr const char* kCollection = "/apis/eip.alibabacloud.com/v1alpha1/eips";
constexpr const char* kMergePatch = "application/merge-patch+json";
constexpr const char* kKeyId = "LTAIsimulated";
constexpr const char* kSecret = "simulated";
constexpr const char* kRegion = "cn-hangzhou";
constexpr const char* kOtherKeyId = "LTAIother";
constexpr const char* kOtherAccount = "6543210987654321";
constexpr const char* kOtherRegion = "cn-beijing";
// In the message of every refusal that passes.
constexpr const char* kPasses = "this will pass";
constexpr std::array<const char*, 6> kPassingCodes = {
    "InvalidTimeStamp.Expired", "IncompleteSignature",      "ReserveIpFail",
    "OrderError.EIP",           "InvalidRegionId.NotFound", "Unheard.Of"};
constexpr std::size_t kQuota = 100'000;

std::string ObjectPath(std::string_view name) {
  return std::string(kCollection).append("/").append(name);
}

std::string Text(const Json& object, std::string_view member) {
  return object.get_value_or<std::string>(member, "");
}

Json Part(const Json& object, std::string_view member) {
  return object.get_value_or<Json>(member, Json::Object());
}

std::string NameOf(const Json& object) { return Text(object["metadata"], "name"); }
std::string UidOf(const Json& object) { return Text(object["metadata"], "uid"); }
bool Deleting(const Json& object) { return object["metadata"].contains("deletionTimestamp"); }

Json ConditionOf(const Json& object, std::string_view type) {
  const Json conditions = Part(object, "status").get_value_or<Json>("conditions", Json::Array());
  for (const Json& condition : conditions.array_range()) {
    if (Text(condition, "type") == type) return condition;
  }
  return Json::Object();
}

Json ReadyOf(const Json& object) { return ConditionOf(object, "Ready"); }

// Its address, or attempt, is where Berth does not work in the end.
bool IsElsewhere(const Json& object) {
  const Json status = Part(object, "status");
  const std::string account = Text(status, "account");
  if (Text(status, "allocationID").empty() && !Part(status, "attempt").contains("clientToken")) {
    return false;
  }
  return !account.empty() &&
         (account != simulator::kDefaultAccount || Text(status, "region") != kRegion);
}

std::string Annotate(std::string_view annotation, std::string_view value) {
  return Format(R"({{"metadata":{{"annotations":{{"{}":"{}"}}}}}})", annotation, value);
}

simulator::Cloud::Options OptionsFor(std::uint64_t seed) {
  Dice random(seed);
  simulator::Cloud::Options options{.seed = seed};
  options.vpc.region = kRegion;
  // Rarely later than the operator believes that an address is gone.
  options.vpc.until_visible = random.Between(0s, random.Chance(0.1) ? 300s : 20s);
  options.vpc.releasing = random.Between(0s, 10s);
  options.vpc.associating = random.Between(0s, 5s);
  options.vpc.unassociating = random.Between(0s, 5s);
  options.vpc.binding = random.Between(0s, 5s);
  options.client_tokens.processing = random.Chance(0.5) ? random.Between(0s, 3s) : 0s;
  return options;
}

// Somebody thinks better of the tags.
void DropTagsWithin(World& world, async::Duration most, std::string name) {
  world.scheduler().After(world.random().Between(0s, most), [&world, name = std::move(name)] {
    world.Ask({.method = kube::Method::kPatch,
               .path = ObjectPath(name),
               .body = R"({"spec":{"tags":null}})",
               .content_type = kMergePatch});
  });
}

}  // namespace

// What goes wrong on the way to the cloud, as often as on the way to the API server.
class Eip::Trouble : public simulator::Fates {
 public:
  Trouble(World& world, const Eip& owner) : world_(world), owner_(owner) {}

  simulator::Fate Draw(const http::Request&) override {
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
    if (!owner_.passing_.empty()) {
      fate.refusal = {400, owner_.passing_.back(), kPasses};
      fate.carried_out = false;
    } else if (owner_.forbidden_ > 0) {
      fate.refusal = {403, "Forbidden.RAM", "User not authorized to operate on the resource."};
      fate.carried_out = false;
    } else if (owner_.storms_ > 0 && random.Chance(0.9)) {
      fate.refusal = simulator::Throttled();
      fate.carried_out = false;
    } else if (random.Chance(faults.refused)) {
      switch (random.Below(3)) {
        case 0:
          fate.refusal = simulator::Throttled();
          break;
        case 1:
          fate.refusal = simulator::Unavailable();
          break;
        default:
          fate.refusal = simulator::InternalError();
      }
      // Who says that something went wrong inside may have done it all the same.
      fate.carried_out = fate.refusal->http_code >= 500 && random.Chance(0.3);
    }
    return fate;
  }

 private:
  World& world_;
  const Eip& owner_;
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

// Berth with one region: another one takes a restart.
class Eip::Replica : public Program {
 public:
  Replica(Eip& owner, Process& process, kube::Transport& transport)
      : owner_(owner), process_(process), transport_(transport) {
    owner_.running_.insert(this);
    Restart();
  }
  ~Replica() override { owner_.running_.erase(this); }

  async::Task<void> Stop() override { return berth_->leadership.Stop(); }

  void Restart() {
    berth_.reset();
    const std::string identity =
        Format("{}.{}.{}", process_.name(), process_.life(), ++owner_.starts_);
    berth_ = std::make_unique<Berth>(owner_, process_, transport_, identity);
    berth_->leadership.Start();
  }

 private:
  struct Berth {
    Berth(Eip& owner, Process& process, kube::Transport& transport, const std::string& identity)
        : to_cloud(*owner.network_, process),
          credentials(owner),
          api(process, to_cloud, credentials, nullptr, OptionsFor(owner.region_)),
          accounts(process, to_cloud, nullptr, OptionsFor(owner.region_)),
          vpcs(api, credentials, accounts, owner.region_),
          leadership(process, transport, {.ns = "default", .name = "berth", .identity = identity}),
          system(process, transport, leadership, vpcs, {}) {}

    simulator::Transport to_cloud;
    Keys credentials;
    cloud::aliyun::ApiClient api;
    cloud::aliyun::KeyAccounts accounts;
    cloud::aliyun::VpcClients vpcs;
    runtime::Leadership leadership;
    eip::System system;
  };

  static cloud::aliyun::ApiOptions OptionsFor(const std::string& region) {
    return {.endpoint = cloud::aliyun::VpcEndpoint(region, false),
            .version = std::string(cloud::aliyun::kVpcVersion),
            .region = region};
  }

  Eip& owner_;
  Process& process_;
  kube::Transport& transport_;
  std::unique_ptr<Berth> berth_;
};

Eip::Eip(std::uint64_t seed) : cloud_(OptionsFor(seed)), key_id_(kKeyId), region_(kRegion) {
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
  // Who looks at an old state cannot know better; nor who stood still between a look and a deed.
  const Faults& faults = world.faults();
  const bool late = faults.stale > 0 || faults.pause > 0 || faults.partition > 0 ||
                    faults.slow > 0 || faults.cut > 0 || faults.lost_request > 0;
  grace_ = late ? 100s : 10s;
  site_ = std::make_unique<Process>(world.scheduler(), world.random(), "cloud", [](Process&) {});
  trouble_ = std::make_unique<Trouble>(world, *this);
  network_ = std::make_unique<simulator::Network>(cloud_, *site_, *trouble_);
  for (const std::string_view yaml : CustomResourceDefinitions()) {
    world.Must({.method = kube::Method::kPost,
                .path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
                .body = kube::YamlToJson(yaml)->to_string()});
  }
  for (int i = 0; i < 3; ++i) own_.push_back(cloud_.vpc().CreateEip({.name = "own"}));
  for (int i = 0; i < 2; ++i) packages_.push_back(cloud_.vpc().CreatePackage(100));
  const int actions = 5 + static_cast<int>(world.random().Below(30));
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
                            [this, &world] { Storm(world); });
  }
}

std::unique_ptr<Program> Eip::Boot(World&, Process& process, kube::Transport& transport) {
  return std::make_unique<Replica>(*this, process, transport);
}

void Eip::GiveRegion(const std::string& region) {
  if (std::exchange(region_, region) == region) return;
  for (Replica* replica : running_) replica->Restart();
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
  world.scheduler().After(random.Between(1s, 90s), [this, &world] {
    world.Trace("{}", "Berth has its own account and region");
    key_id_ = kKeyId;
    GiveRegion(kRegion);
  });
}

void Eip::Act(World& world) {
  const auto roll = world.random().Below(100);
  if (roll < 35) return Make(world);
  if (roll < 58) return Change(world);
  if (roll < 76) return Drop(world);
  if (roll < 79) return Wipe(world);
  if (roll < 82) return Restore(world);
  Meddle(world);
}

// To be imported: mostly one that users had before, or any that there is, or none.
std::string Eip::SomeAddress(World& world) const {
  Dice& random = world.random();
  const auto roll = random.Below(10);
  const auto eips = cloud_.vpc().Eips();
  if (roll < 7) return own_[random.Below(own_.size())];
  if (roll < 9 && !eips.empty()) return eips[random.Below(eips.size())].allocation_id;
  return "eip-nowhere";
}

void Eip::Make(World& world) {
  Dice& random = world.random();
  std::string spec;
  const auto add = [&](const std::string& member) { spec += (spec.empty() ? "" : ",") + member; };
  const bool import = random.Chance(0.25);
  if (import) add(Format(R"("allocationID":"{}")", SomeAddress(world)));
  const bool prepaid = !import && random.Chance(0.1);
  if (prepaid) add(R"("instanceChargeType":"PrePaid","internetChargeType":"PayByBandwidth")");
  if (prepaid || random.Chance(0.6)) {
    add(Format(R"("bandwidth":"{}")", 1 + random.Below(200)));
  }
  if (random.Chance(0.4)) add(Format(R"("name":"n{}")", random.Below(3)));
  if (random.Chance(0.3)) add(R"("description":"made in a simulation")");
  if (random.Chance(0.3)) add(Format(R"("tags":{{"team":"t{}"}})", random.Below(3)));
  if (random.Chance(0.2)) add(Format(R"("resourceGroupID":"rg-{}")", random.Below(2)));
  if (random.Chance(0.2)) {
    add(Format(R"("bandwidthPackageID":"{}")", packages_[random.Below(packages_.size())]));
  }
  if (random.Chance(0.15))
    add(R"("releaseStrategy":"Never")");
  else if (random.Chance(0.2))
    add(R"("releaseStrategy":"OnDelete")");
  // The cloud refuses it, until somebody takes it away.
  if (!prepaid && random.Chance(0.05)) add(R"("internetChargeType":"PayByMoonlight")");
  const std::string name = Format("e{}", random.Below(8));
  world.Ask({.method = kube::Method::kPost,
             .path = kCollection,
             .body = Format(R"({{"apiVersion":"eip.alibabacloud.com/v1alpha1","kind":"EIP",)"
                            R"("metadata":{{"name":"{}"}},"spec":{{{}}}}})",
                            name, spec)});
  // Some think better of it.
  if (random.Chance(0.2)) {
    world.scheduler().After(random.Between(0s, 3s), [&world, name] {
      world.Ask({.method = kube::Method::kDelete, .path = ObjectPath(name)});
    });
  } else if (random.Chance(0.2)) {
    DropTagsWithin(world, 20s, name);
  }
}

void Eip::Change(World& world) {
  Dice& random = world.random();
  const std::vector<std::string> changes = {
      Format(R"({{"spec":{{"bandwidth":"{}"}}}})", 1 + random.Below(200)),
      R"({"spec":{"name":"renamed"}})",
      Format(R"({{"spec":{{"tags":{{"team":"t{}","stage":"x"}}}}}})", random.Below(3)),
      R"({"spec":{"tags":{"team":null}}})",
      R"({"spec":{"tags":null}})",
      Format(R"({{"spec":{{"tags":{{"{}":"forged"}}}}}})", eip::kOwnerTag),
      Format(R"({{"spec":{{"bandwidthPackageID":"{}"}}}})", packages_[0]),
      R"({"spec":{"bandwidthPackageID":null}})",
      R"({"spec":{"internetChargeType":null}})",
      R"({"spec":{"resourceGroupID":"rg-2"}})",
      R"({"spec":{"releaseStrategy":"Never"}})",
      R"({"spec":{"releaseStrategy":"OnDelete"}})",
      R"({"spec":{"releaseStrategy":null}})",
      R"({"spec":{"allocationID":null}})",
      Format(R"({{"spec":{{"allocationID":"{}"}}}})", SomeAddress(world)),
      Annotate(eip::kOnLostAnnotation, "reallocate"),
      Annotate(eip::kOnLostAnnotation, "reallocate"),
      Annotate(eip::kOnForeignAnnotation, "adopt"),
      Annotate(eip::kOnStuckAnnotation, "unassociate"),
      Annotate(eip::kOnStuckAnnotation, random.Chance(0.2) ? "abandon" : "wait")};
  const std::string& change = changes[random.Below(changes.size())];
  std::string name = Format("e{}", random.Below(8));
  world.Ask({.method = kube::Method::kPatch,
             .path = ObjectPath(name),
             .body = change,
             .content_type = kMergePatch});
  if (change.contains("stage") && random.Chance(0.5)) {
    DropTagsWithin(world, 3s, std::move(name));
  }
}

void Eip::Drop(World& world) {
  const auto objects = world.List(kCollection);
  if (objects.empty()) return;
  const Json& object = objects[world.random().Below(objects.size())];
  world.Ask({.method = kube::Method::kDelete, .path = ObjectPath(NameOf(object))});
}

// A status goes, as when an object is restored in its place; and perhaps what was written into the
// spec.
void Eip::Wipe(World& world) {
  Dice& random = world.random();
  const auto objects = world.List(kCollection);
  if (objects.empty()) return;
  const Json& object = objects[random.Below(objects.size())];
  const std::string uid = UidOf(object);
  wiped_.insert(uid);
  // Only who has its tag can be known by it.
  const std::string id = Text(Part(object, "status"), "allocationID");
  const bool settled = Text(ReadyOf(object), "status") == "True" && witness_.TagOf(id) == uid;
  // In another account or region its tag is not found either.
  if (!settled || moves_) witness_.Excuse(uid);
  if (random.Chance(0.4)) {
    world.Ask({.method = kube::Method::kPatch,
               .path = ObjectPath(NameOf(object)),
               .body = R"({"spec":{"allocationID":null,"description":"wiped"}})",
               .content_type = kMergePatch});
  }
  world.Ask({.method = kube::Method::kPatch,
             .path = ObjectPath(NameOf(object)) + "/status",
             .body = R"({"status":null})",
             .content_type = kMergePatch});
}

// An object is lost, with nobody asking its finalizer, and made again from a backup of its spec.
void Eip::Restore(World& world) {
  Dice& random = world.random();
  const auto objects = world.List(kCollection);
  if (objects.empty()) return;
  const Json& object = objects[random.Below(objects.size())];
  witness_.Orphan(UidOf(object));
  const std::string path = ObjectPath(NameOf(object));
  world.Ask({.method = kube::Method::kPatch,
             .path = path,
             .body = R"({"metadata":{"finalizers":null}})",
             .content_type = kMergePatch});
  world.Ask({.method = kube::Method::kDelete, .path = path});
  Json copy;
  copy["apiVersion"] = "eip.alibabacloud.com/v1alpha1";
  copy["kind"] = "EIP";
  copy["metadata"] = Json::Object();
  copy["metadata"]["name"] = NameOf(object);
  copy["spec"] = object["spec"];
  world.Ask({.method = kube::Method::kPost, .path = kCollection, .body = copy.to_string()});
}

// What others do in the cloud.
void Eip::Meddle(World& world) {
  Dice& random = world.random();
  const auto eips = cloud_.vpc().Eips();
  if (eips.empty()) return;
  const std::string id = eips[random.Below(eips.size())].allocation_id;
  cloud::Eip& eip = cloud_.vpc().Edit(id);
  switch (random.Below(8)) {
    case 0:
    case 1:
      world.Trace("others delete {}", id);
      cloud_.vpc().DeleteEip(id);
      return;
    case 2:
      eip.name = "meddled";
      return;
    case 3:
      // An object that has lost its status as well is beyond help, and so is a PrePaid address of
      // which its object was not told.
      if (eip.instance_charge_type != "PrePaid" && !wiped_.contains(witness_.TagOf(id)))
        cloud_.vpc().SetTags(id, {});
      return;
    case 4:
      eip.deletion_protection = true;
      return;
    case 5:
      eip.resource_group_id = "rg-meddled";
      return;
    case 6:
      if (eip.bandwidth_package_status != "BINDED") return;
      eip.bandwidth_package_id.clear();
      eip.bandwidth_package_status.clear();
      return;
    default:
      if (eip.status == "Available") {
        eip.status = "InUse";
        eip.instance_id = "i-1";
        eip.instance_type = "EcsInstance";
      }
  }
}

// For a while the cloud takes next to nothing, or nothing of some kind.
void Eip::Storm(World& world) {
  Dice& random = world.random();
  const auto kind = random.Below(7);
  const auto length = random.Between(1s, random.Chance(0.2) ? 120s : 40s);
  world.Trace("storm {} for {}", kind, std::chrono::floor<std::chrono::milliseconds>(length));
  if (kind == 0) ++storms_;
  if (kind == 1) cloud_.vpc().SetQuota(0);
  if (kind == 2) cloud_.vpc().SetFunded(false);
  if (kind == 3) cloud_.keys().Revoke(kKeyId);
  if (kind == 4) ++forbidden_;
  if (kind == 5) ++untrusted_;
  if (kind == 6) passing_.emplace_back(kPassingCodes[random.Below(kPassingCodes.size())]);
  world.scheduler().After(length, [this, kind] {
    if (kind == 6) passing_.pop_back();
    if (kind == 5) --untrusted_;
    if (kind == 4) --forbidden_;
    if (kind == 0) --storms_;
    if (kind == 1) cloud_.vpc().SetQuota(kQuota);
    if (kind == 2) cloud_.vpc().SetFunded(true);
    if (kind == 3) cloud_.keys().Add({.id = kKeyId, .secret = kSecret, .caller = "berth"});
  });
}

// Others let go of what they held, so that everything can come to its end.
void Eip::Calm() {
  key_id_ = kKeyId;
  GiveRegion(kRegion);
  for (const cloud::Eip& eip : cloud_.vpc().Eips()) {
    cloud::Eip& held = cloud_.vpc().Edit(eip.allocation_id);
    held.deletion_protection = false;
    if (held.status == "InUse") held.status = "Available";
    held.instance_id.clear();
    held.instance_charge_type = "PostPaid";  // its time is over
  }
}

std::optional<std::string> Eip::Check(World& world, const std::string& writer,
                                      const kube::Request&) {
  if (auto wrong = See(world)) return wrong;
  if (writer == "user") return std::nullopt;
  for (const Json& object : world.List(kCollection)) {
    if (auto wrong = CheckTold(object)) return wrong;
  }
  return std::nullopt;
}

// Whether a status contradicts itself, or says of a fault that passes that the spec is to blame.
std::optional<std::string> Eip::CheckTold(const Json& object) {
  const Json status = Part(object, "status");
  const Json ready = ReadyOf(object);
  const std::string reason = Text(ready, "reason");
  const std::string message = Text(ready, "message");
  const auto holds = [&](const char* type) {
    return Text(ConditionOf(object, type), "status") == "True";
  };
  if (reason == "InvalidConfig" && message.contains(kPasses)) {
    return Format("{} is told that its spec is wrong: {}", NameOf(object), message);
  }
  const bool lost = reason == "Lost" && !holds("Progressing");
  if (lost && !Text(status, "allocationID").empty() && !Text(status, "eipAddress").empty()) {
    return NameOf(object) + " is lost and shows its old address";
  }
  if (!message.empty() && message == Text(ConditionOf(object, "Synced"), "message")) {
    return NameOf(object) + " says the same thing twice";
  }
  const std::string synced = Text(status, "lastSyncTime");
  std::string& before = sync_time_[UidOf(object)];
  if (!synced.empty() && synced != before && !holds("Synced")) {
    return NameOf(object) + " says that it was synced, and that it was not";
  }
  before = synced;
  return std::nullopt;
}

std::optional<std::string> Eip::See(World& world) {
  return witness_.See(world.List(kCollection), world.scheduler().Now(), grace_);
}

std::optional<std::string> Eip::Unsettled(World& world) {
  Calm();
  cloud_.Settle(world.scheduler().WallNow());  // there may be nobody left who asks it anything
  if (auto wrong = See(world)) return wrong;
  const auto objects = world.List(kCollection);
  if (auto leaked = witness_.Leaked(objects)) return leaked;
  for (const Json& object : objects) {
    if (auto wrong = CheckObject(object, objects)) return wrong;
  }
  return std::nullopt;
}

std::optional<std::string> Eip::CheckObject(const Json& object,
                                            const std::vector<Json>& all) const {
  const std::string name = NameOf(object);
  const Json ready = ReadyOf(object);
  const std::string reason = Text(ready, "reason");
  const std::string message = Text(ready, "message");
  // Only a person can help.
  if (message.contains("was used before") && MayHaveLostAnAddress(UidOf(object))) {
    return std::nullopt;
  }
  if (IsElsewhere(object)) {
    if (reason == "WrongAccount" || reason == "WrongRegion") return std::nullopt;
    return Format("{} is elsewhere and {}: {}", name, reason, message);
  }
  if (Deleting(object)) return Format("{} is still being deleted: {}", name, message);
  const std::string id = Text(Part(object, "status"), "allocationID");
  const cloud::Eip* eip = cloud_.vpc().Find(id);
  if (Text(ready, "status") == "True") {
    if (!eip) return name + " is Ready and has no address";
    if (Part(object, "status").contains("attempt")) return name + " still has an attempt";
    return CheckAddress(object, *eip);
  }
  if (reason == "Lost") {
    const std::string wanted = Text(Part(object, "spec"), "allocationID");
    if (eip || cloud_.vpc().Find(wanted)) return name + " is told that its address is lost";
    return std::nullopt;
  }
  if (reason == "InvalidConfig") return CheckBlame(object, all);
  return Format("{} is {}: {}", name, reason, message);
}

// Its status was lost, and there is no address that is known to be its own.
bool Eip::MayHaveLostAnAddress(const std::string& uid) const {
  if (witness_.IsExcused(uid)) return true;
  return wiped_.contains(uid) && std::ranges::none_of(cloud_.vpc().Eips(), [&](const auto& eip) {
           return witness_.TagOf(eip.allocation_id) == uid;
         });
}

// Whether its spec is wrong, as it is told.
std::optional<std::string> Eip::CheckBlame(const Json& object, const std::vector<Json>& all) const {
  const Json spec = Part(object, "spec");
  const Json status = Part(object, "status");
  if (Text(spec, "internetChargeType") == "PayByMoonlight") return std::nullopt;
  if (Text(spec, "instanceChargeType") == "PrePaid") return std::nullopt;
  const std::string named = Text(spec, "allocationID");
  const std::string has = Text(status, "allocationID");
  if (!named.empty() && !has.empty() && named != has) return std::nullopt;
  for (const Json& other : all) {
    if (named.empty() || UidOf(other) == UidOf(object)) continue;
    if (Text(Part(other, "spec"), "allocationID") == named ||
        Text(Part(other, "status"), "allocationID") == named ||
        witness_.TagOf(named) == UidOf(other)) {
      return std::nullopt;
    }
  }
  return Format("{} is told that its spec is wrong: {}", NameOf(object),
                Text(ReadyOf(object), "message"));
}

std::optional<std::string> Eip::CheckAddress(const Json& object, const cloud::Eip& eip) const {
  const Json spec = Part(object, "spec");
  const std::string name = NameOf(object);
  const std::string bandwidth = Text(spec, "bandwidth");
  if (!bandwidth.empty() && eip.bandwidth_package_id.empty() && bandwidth != eip.bandwidth) {
    return Format("{} wants {} Mbps and has {}", name, bandwidth, eip.bandwidth);
  }
  const std::string title = Text(spec, "name");
  if (!title.empty() && title != eip.name) return name + " has another name in the cloud";
  const std::string package = Text(spec, "bandwidthPackageID");
  const bool created = Text(Part(object, "status"), "origin") == "Created";
  if ((created || !package.empty()) && package != eip.bandwidth_package_id) {
    return Format("{} is in the package {}", name, eip.bandwidth_package_id);
  }
  const std::string group = Text(spec, "resourceGroupID");
  if (!group.empty() && group != eip.resource_group_id) {
    return Format("{} is in the resource group {}", name, eip.resource_group_id);
  }
  const Json tags = Part(spec, "tags");
  for (const auto& tag : tags.object_range()) {
    if (tag.key() == eip::kOwnerTag) continue;
    const auto found = eip.tags.find(std::string(tag.key()));
    if (found == eip.tags.end() || found->second != tag.value().as<std::string>()) {
      return Format("{} lacks the tag {}", name, tag.key());
    }
  }
  if (!created) return std::nullopt;
  if (witness_.TagOf(eip.allocation_id) != UidOf(object)) return name + " lacks its owner's tag";
  // What is to be taken off is known only to who has always had it.
  const bool always = witness_.OwnerOf(eip.allocation_id) == UidOf(object) &&
                      !witness_.WasNamedByOthers(eip.allocation_id, UidOf(object));
  for (const char* key : {"team", "stage"}) {
    if (always && !wiped_.contains(UidOf(object)) && eip.tags.contains(key) &&
        !tags.contains(key)) {
      return Format("{} still has the tag {}", name, key);
    }
  }
  return std::nullopt;
}

}  // namespace berth::simulate
