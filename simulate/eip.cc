#include "simulate/eip.h"

#include <algorithm>
#include <array>
#include <format>
#include <utility>

#include "cloud/aliyun/api_client.h"
#include "cloud/aliyun/credentials.h"
#include "cloud/aliyun/vpc_client.h"
#include "kube/yaml.h"
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

std::string ObjectPath(std::string_view name) {
  return std::string(kCollection).append("/").append(name);
}

std::string Text(const Json& object, std::string_view member) {
  return object.get_value_or<std::string>(member, "");
}

Json Part(const Json& object, std::string_view member) {
  return object.get_value_or<Json>(member, Json(jsoncons::json_object_arg));
}

std::string NameOf(const Json& object) { return Text(object["metadata"], "name"); }
std::string UidOf(const Json& object) { return Text(object["metadata"], "uid"); }
bool Deleting(const Json& object) { return object["metadata"].contains("deletionTimestamp"); }

Json ReadyOf(const Json& object) {
  const Json conditions =
      Part(object, "status").get_value_or<Json>("conditions", Json(jsoncons::json_array_arg));
  for (const Json& condition : conditions.array_range()) {
    if (Text(condition, "type") == "Ready") return condition;
  }
  return Json(jsoncons::json_object_arg);
}

// The object that an allocation was made for: its token begins with "berth-UID-".
std::string UidOf(const simulator::LedgerEntry& entry) {
  const auto end = entry.client_token.rfind('-');
  return end == std::string::npos || end < 6 ? "" : entry.client_token.substr(6, end - 6);
}

simulator::Cloud::Options OptionsFor(std::uint64_t seed) {
  Dice random(seed);
  simulator::Cloud::Options options{.seed = seed};
  options.vpc.region = kRegion;
  options.vpc.until_visible = random.Between(0s, 20s);
  options.vpc.releasing = random.Between(0s, 10s);
  options.vpc.associating = random.Between(0s, 5s);
  options.vpc.unassociating = random.Between(0s, 5s);
  options.vpc.binding = random.Between(0s, 5s);
  options.client_tokens.processing = random.Chance(0.5) ? random.Between(0s, 3s) : 0s;
  return options;
}

}  // namespace

// What goes wrong on the way to the cloud, as often as on the way to the API server.
class Eip::Trouble : public simulator::Fates {
 public:
  explicit Trouble(World& world) : world_(world) {}

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
    if (random.Chance(faults.refused)) {
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
};

class Eip::Replica : public Program {
 public:
  Replica(Eip& owner, Process& process, kube::Transport& transport)
      : to_cloud_(*owner.network_, process),
        credentials_({.key_id = kKeyId, .secret = kSecret, .security_token = ""}),
        api_(process, to_cloud_, credentials_, nullptr,
             {.endpoint = cloud::aliyun::VpcEndpoint(kRegion, false),
              .version = std::string(cloud::aliyun::kVpcVersion),
              .region = kRegion}),
        vpc_(api_),
        leadership_(process, transport,
                    {.ns = "default",
                     .name = "berth",
                     .identity = std::format("{}.{}", process.name(), process.life())}),
        system_(process, transport, leadership_, vpc_, {}) {
    leadership_.Start();
  }

  async::Task<void> Stop() override { return leadership_.Stop(); }

 private:
  simulator::Transport to_cloud_;
  cloud::aliyun::FixedCredentials credentials_;
  cloud::aliyun::ApiClient api_;
  cloud::aliyun::VpcClient vpc_;
  runtime::Leadership leadership_;
  eip::System system_;
};

Eip::Eip(std::uint64_t seed) : cloud_(OptionsFor(seed)) {
  cloud_.keys().Add({.id = kKeyId, .secret = kSecret, .caller = "berth"});
}
Eip::~Eip() = default;

void Eip::SetUp(World& world) {
  site_ = std::make_unique<Process>(world.scheduler(), world.random(), "cloud", [](Process&) {});
  trouble_ = std::make_unique<Trouble>(world);
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
}

std::unique_ptr<Program> Eip::Boot(World&, Process& process, kube::Transport& transport) {
  return std::make_unique<Replica>(*this, process, transport);
}

void Eip::Act(World& world) {
  const auto roll = world.random().Below(100);
  if (roll < 40) return Make(world);
  if (roll < 60) return Change(world);
  if (roll < 80) return Drop(world);
  Meddle(world);
}

void Eip::Make(World& world) {
  Dice& random = world.random();
  std::string spec;
  const auto add = [&](const std::string& member) { spec += (spec.empty() ? "" : ",") + member; };
  if (random.Chance(0.25)) {
    add(std::format(R"("allocationID":"{}")",
                    random.Chance(0.9) ? own_[random.Below(own_.size())] : "eip-nowhere"));
  }
  if (random.Chance(0.6)) add(std::format(R"("bandwidth":"{}")", 1 + random.Below(200)));
  if (random.Chance(0.4)) add(std::format(R"("name":"n{}")", random.Below(3)));
  if (random.Chance(0.3)) add(R"("description":"made in a simulation")");
  if (random.Chance(0.3)) add(std::format(R"("tags":{{"team":"t{}"}})", random.Below(3)));
  if (random.Chance(0.2)) {
    add(std::format(R"("bandwidthPackageID":"{}")", packages_[random.Below(packages_.size())]));
  }
  if (random.Chance(0.2)) add(R"("releaseStrategy":"Never")");
  // The cloud refuses it, until somebody writes a number.
  if (random.Chance(0.05)) add(R"("internetChargeType":"PayByMoonlight")");
  world.Ask({.method = kube::Method::kPost,
             .path = kCollection,
             .body = std::format(R"({{"apiVersion":"eip.alibabacloud.com/v1alpha1","kind":"EIP",)"
                                 R"("metadata":{{"name":"e{}"}},"spec":{{{}}}}})",
                                 random.Below(8), spec)});
}

void Eip::Change(World& world) {
  Dice& random = world.random();
  const std::vector<std::string> changes = {
      std::format(R"({{"spec":{{"bandwidth":"{}"}}}})", 1 + random.Below(200)),
      R"({"spec":{"name":"renamed"}})",
      std::format(R"({{"spec":{{"tags":{{"team":"t{}","stage":"x"}}}}}})", random.Below(3)),
      R"({"spec":{"tags":null}})",
      std::format(R"({{"spec":{{"bandwidthPackageID":"{}"}}}})", packages_[0]),
      R"({"spec":{"bandwidthPackageID":null}})",
      R"({"spec":{"internetChargeType":null}})",
      std::format(R"({{"metadata":{{"annotations":{{"{}":"reallocate"}}}}}})",
                  eip::kOnLostAnnotation)};
  world.Ask({.method = kube::Method::kPatch,
             .path = ObjectPath(std::format("e{}", random.Below(8))),
             .body = changes[random.Below(changes.size())],
             .content_type = kMergePatch});
}

void Eip::Drop(World& world) {
  const auto objects = world.List(kCollection);
  if (objects.empty()) return;
  const Json& object = objects[world.random().Below(objects.size())];
  if (Text(Part(object, "spec"), "releaseStrategy") == "Never") never_.insert(UidOf(object));
  world.Ask({.method = kube::Method::kDelete, .path = ObjectPath(NameOf(object))});
}

// What others do in the cloud.
void Eip::Meddle(World& world) {
  Dice& random = world.random();
  const auto eips = cloud_.vpc().Eips();
  const std::string id = eips[random.Below(eips.size())].allocation_id;
  cloud::Eip& eip = cloud_.vpc().Edit(id);
  switch (random.Below(5)) {
    case 0:
      if (std::ranges::contains(own_, id)) return;
      world.Trace("others delete {}", id);
      cloud_.vpc().DeleteEip(id);
      return;
    case 1:
      eip.name = "meddled";
      return;
    case 2:
      cloud_.vpc().SetTags(id, {});
      return;
    case 3:
      eip.deletion_protection = true;
      return;
    default:
      if (eip.status == "Available") {
        eip.status = "InUse";
        eip.instance_id = "i-1";
        eip.instance_type = "EcsInstance";
      }
  }
}

// Others let go of what they held, so that everything can come to its end.
void Eip::Calm() {
  if (std::exchange(calm_, true)) return;
  for (const cloud::Eip& eip : cloud_.vpc().Eips()) {
    cloud::Eip& held = cloud_.vpc().Edit(eip.allocation_id);
    held.deletion_protection = false;
    if (held.status == "InUse") held.status = "Available";
    held.instance_id.clear();
  }
}

std::optional<std::string> Eip::Check(World&, const std::string&, const kube::Request&) {
  return CheckLedger();
}

std::optional<std::string> Eip::CheckLedger() const {
  std::map<std::string, std::string> ours;  // the addresses that Berth allocated, to their uid
  std::map<std::string, std::string> held;  // by uid
  for (const simulator::LedgerEntry& entry : cloud_.vpc().ledger()) {
    if (entry.event == simulator::LedgerEntry::Event::kAllocated) {
      if (entry.by != "berth") continue;
      const std::string uid = UidOf(entry);
      const auto [other, first] = held.emplace(uid, entry.allocation_id);
      if (!first) {
        return std::format("{} and {} are both of {}", other->second, entry.allocation_id, uid);
      }
      ours.emplace(entry.allocation_id, uid);
      continue;
    }
    const auto owner = ours.find(entry.allocation_id);
    if (entry.by == "berth" && owner == ours.end()) {
      return std::format("{} was released, and Berth had not allocated it", entry.allocation_id);
    }
    if (owner != ours.end()) held.erase(owner->second);
  }
  return std::nullopt;
}

std::optional<std::string> Eip::Unsettled(World& world) {
  Calm();
  if (auto wrong = CheckLedger()) return wrong;
  std::map<std::string, std::string> claimed;  // addresses, to the object
  const auto objects = world.List(kCollection);
  for (const Json& object : objects) {
    const std::string id = Text(Part(object, "status"), "allocationID");
    if (!id.empty()) claimed.emplace(id, NameOf(object));
  }
  for (const simulator::LedgerEntry& entry : cloud_.vpc().ledger()) {
    const bool there = cloud_.vpc().Find(entry.allocation_id);
    const bool allocated = entry.event == simulator::LedgerEntry::Event::kAllocated;
    if (!allocated || entry.by != "berth" || !there || claimed.contains(entry.allocation_id)) {
      continue;
    }
    if (!never_.contains(UidOf(entry))) return entry.allocation_id + " is leaked";
  }
  for (const Json& object : objects) {
    if (auto wrong = CheckObject(object)) return wrong;
  }
  return std::nullopt;
}

std::optional<std::string> Eip::CheckObject(const Json& object) const {
  const std::string name = NameOf(object);
  if (Deleting(object)) return name + " is still being deleted";
  const Json ready = ReadyOf(object);
  const std::string reason = Text(ready, "reason");
  const std::string id = Text(Part(object, "status"), "allocationID");
  const cloud::Eip* eip = cloud_.vpc().Find(id);
  if (Text(ready, "status") == "True") {
    if (!eip) return name + " is Ready and has no address";
    return CheckAddress(object, *eip);
  }
  if (reason == "Lost") {
    const std::string wanted = Text(Part(object, "spec"), "allocationID");
    if (eip || cloud_.vpc().Find(wanted)) return name + " is told that its address is lost";
    return std::nullopt;
  }
  if (reason == "InvalidConfig") {
    const Json spec = Part(object, "spec");
    const bool bad = spec.contains("internetChargeType");
    if (!bad && !spec.contains("allocationID")) {
      return std::format("{} is told that its spec is wrong: {}", name, Text(ready, "message"));
    }
    return std::nullopt;
  }
  return std::format("{} is {}: {}", name, reason, Text(ready, "message"));
}

std::optional<std::string> Eip::CheckAddress(const Json& object, const cloud::Eip& eip) const {
  const Json spec = Part(object, "spec");
  const std::string name = NameOf(object);
  const std::string bandwidth = Text(spec, "bandwidth");
  if (!bandwidth.empty() && eip.bandwidth_package_id.empty() && bandwidth != eip.bandwidth) {
    return std::format("{} wants {} Mbps and has {}", name, bandwidth, eip.bandwidth);
  }
  const std::string title = Text(spec, "name");
  if (!title.empty() && title != eip.name) return name + " has another name in the cloud";
  const std::string package = Text(spec, "bandwidthPackageID");
  const bool created = Text(Part(object, "status"), "origin") == "Created";
  if ((created || !package.empty()) && package != eip.bandwidth_package_id) {
    return std::format("{} is in the package {}", name, eip.bandwidth_package_id);
  }
  for (const auto& tag : Part(spec, "tags").object_range()) {
    const auto found = eip.tags.find(std::string(tag.key()));
    if (found == eip.tags.end() || found->second != tag.value().as<std::string>()) {
      return std::format("{} lacks the tag {}", name, tag.key());
    }
  }
  const auto owner = eip.tags.find(std::string(eip::kOwnerTag));
  if (created && (owner == eip.tags.end() || owner->second != UidOf(object))) {
    return name + " lacks its owner's tag";
  }
  return std::nullopt;
}

}  // namespace berth::simulate
