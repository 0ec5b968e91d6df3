// Faults of the cloud, and acts of others in it.
#include <algorithm>
#include <array>
#include <iterator>
#include <utility>

#include "log/format.h"
#include "reconcile/eni/objects.h"
#include "simulate/eni.h"
#include "simulate/objects.h"
#include "simulate/world.h"

namespace berth::simulate {
namespace {

using namespace std::chrono_literals;
namespace simulator = cloud::simulator;
using simulator::Fault;

constexpr std::array kActions = {"CreateNetworkInterface",    "AttachNetworkInterface",
                                 "DetachNetworkInterface",    "DeleteNetworkInterface",
                                 "AssignPrivateIpAddresses",  "UnassignPrivateIpAddresses",
                                 "AssignIpv6Addresses",       "UnassignIpv6Addresses",
                                 "DescribeNetworkInterfaces", "DescribeVSwitches"};
constexpr std::array kEfloActions = {
    "AttachElasticNetworkInterface", "DetachElasticNetworkInterface",
    "DeleteElasticNetworkInterface", "CreateElasticNetworkInterface",
    "AssignLeniPrivateIpAddress",    "UnassignLeniPrivateIpAddress",
    "ListElasticNetworkInterfaces",  "ListLeniPrivateIpAddresses"};
constexpr std::array kEfloCodes = {"1011", "1013", "1017", "Throttling", "Unheard.Of"};
// Every code that Berth knows, and some that it does not.
constexpr std::array kCodes = {"InvalidEniId.NotFound",
                               "InvalidEcsId.NotFound",
                               "InvalidIp.IpUnassigned",
                               "InvalidOperation.InvalidEniState",
                               "IdempotentFailed",
                               "InvalidOperation.InvalidEcsState",
                               "Operation.Conflict",
                               "InvalidVSwitchId.IpNotEnough",
                               "QuotaExceeded.PrivateIpAddress",
                               "EniPerInstanceLimitExceeded",
                               "InvalidOperation.Ipv4CountExceeded",
                               "MaxEniCountExceeded",
                               "SecurityGroupInstanceLimitExceed",
                               "InvalidOperation.AvailabilityZoneMismatch",
                               "InvalidOperation.VpcMismatch",
                               "InvalidOperation.EniServiceManaged",
                               "Throttling",
                               "InternalError",
                               "Unheard.Of",
                               ""};
// Codes that every call is refused with for a while.
constexpr std::array kPassingCodes = {"InvalidTimeStamp.Expired",         "IncompleteSignature",
                                      "InvalidRegionId.NotFound",         "Unheard.Of",
                                      "InvalidOperation.InvalidEniState", "InvalidAccessKeyId"};
constexpr std::uint64_t kStorms = 8;
constexpr std::size_t kQuota = 100'000;
// The cloud's own people put an ENI right that has not changed its state for so
// long.
constexpr auto kStuckFor = 4min;

bool IsMoving(const std::string& status) {
  return status == "Attaching" || status == "Detaching" || status == "Deleting" ||
         status == "Executing";
}

}  // namespace

std::optional<Json> Eni::Do(World& world, const std::string& action,
                            cloud::aliyun::Parameters parameters) {
  parameters["RegionId"] = kRegion;
  auto outcome = cloud_.ecs().Do({.action = action,
                                  .caller = "others",
                                  .account = simulator::kDefaultAccount,
                                  .parameters = std::move(parameters),
                                  .now = world.scheduler().WallNow()});
  return outcome ? std::optional(std::move(*outcome)) : std::nullopt;
}

// Something goes wrong with the next calls of an action.
void Eni::SomeFault(World& world) {
  Dice& random = world.random();
  Fault fault{.action = kActions[random.Below(kActions.size())],
              .count = 1 + random.Below(random.Chance(0.3) ? 5 : 1)};
  const auto roll = random.Below(10);
  if (roll < 4) {
    fault.code = kCodes[random.Below(kCodes.size())];
  } else if (roll < 5) {
    fault.kind = Fault::Kind::kLostAnswer;
  } else if (roll < 6) {
    fault.kind = Fault::Kind::kDelayed;
    fault.delay = random.Between(0s, 12s);
  } else {
    fault.action = kActions[1 + random.Below(3)];
    fault.kind = roll < 9 ? Fault::Kind::kFallsBack : Fault::Kind::kSticks;
  }
  if (fleet_.has_lingjun && random.Chance(0.5)) {
    fault.action = kEfloActions[random.Below(roll < 6 ? kEfloActions.size() : 6)];
    if (roll < 4) fault.code = kEfloCodes[random.Below(kEfloCodes.size())];
  }
  world.Trace("{} calls of {} will go wrong: {} {}", fault.count, fault.action,
              static_cast<int>(fault.kind), fault.code);
  std::list<Fault> faults = cloud_.faults().all();
  faults.push_back(std::move(fault));
  cloud_.faults().Set(std::move(faults));
}

void Eni::SomeStorm(World& world) {
  Dice& random = world.random();
  const auto kind = random.Below(kStorms);
  Storm(world, kind, random.Between(1s, random.Chance(0.2) ? 120s : 40s));
}

// For a while the cloud takes next to nothing, or nothing of some kind.
void Eni::Storm(World& world, std::uint64_t kind, async::Duration length) {
  Dice& random = world.random();
  world.Trace("storm {} for {}", kind, std::chrono::floor<std::chrono::milliseconds>(length));
  if (kind == 0) ++storms_;
  if (kind == 1) cloud_.ecs().SetQuota(cloud_.ecs().enis().size());
  if (kind == 2) return FillVSwitch(world, length);
  if (kind == 3) cloud_.keys().Revoke(kKeyId);
  if (kind == 4) ++forbidden_;
  if (kind == 5) ++untrusted_;
  if (kind == 6) passing_.emplace_back(kPassingCodes[random.Below(kPassingCodes.size())]);
  if (kind == 7) ++blind_;
  world.scheduler().After(length, [this, kind] {
    if (kind == 7) --blind_;
    if (kind == 6) passing_.pop_back();
    if (kind == 5) --untrusted_;
    if (kind == 4) --forbidden_;
    if (kind == 3) cloud_.keys().Add({.id = kKeyId, .secret = kSecret, .caller = "berth"});
    if (kind == 1) cloud_.ecs().SetQuota(kQuota);
    if (kind == 0) --storms_;
  });
}

// Others take all addresses of a vSwitch, and give them back later.
void Eni::FillVSwitch(World& world, async::Duration length) {
  const char* id = world.random().Chance(0.5) ? EniFleet::kLarge : EniFleet::kSmall;
  simulator::AddressPool& pool = cloud_.vpc().vswitches().at(id).pool;
  std::vector<std::string> taken;
  while (auto address = pool.Take()) taken.push_back(std::move(*address));
  world.scheduler().After(length, [&pool, taken] {
    for (const std::string& address : taken) pool.Give(address);
  });
}

// Somebody gives Berth the key of another account, and takes it back later.
void Eni::Move(World& world) {
  world.Trace("{}", "Berth has another account's key");
  key_id_ = kOtherKeyId;
  world.scheduler().After(world.random().Between(1s, 60s), [this, &world] {
    world.Trace("{}", "Berth has its own account's key");
    key_id_ = kKeyId;
  });
}

// An ENI that Berth made; empty for none.
std::string Eni::SomeEni(World& world) const {
  std::vector<std::string> ids;
  for (const auto* record : products_.All()) {
    const cloud::Eni& eni = record->eni;
    if (eni.type != "Primary" && !witness_->IsOthers(eni.id)) ids.push_back(eni.id);
  }
  return ids.empty() ? "" : ids[world.random().Below(ids.size())];
}

// Other users of the account change ENIs, or add their own.
void Eni::Meddle(World& world) {
  cloud_.Settle(world.scheduler().WallNow());
  Dice& random = world.random();
  if (random.Chance(0.3)) return AddOthers(world);
  if (random.Chance(0.15)) {
    world.Trace("{}", "a list will be empty");
    ++empty_lists_;
    return;
  }
  if (const std::string id = SomeEni(world); !id.empty()) {
    // On EFLO others delete and detach.
    static constexpr std::array<std::uint64_t, 2> kOnEflo = {0, 1};
    MeddleWith(world, id, EniProducts::IsEflo(id) ? kOnEflo[random.Below(2)] : random.Below(8));
  }
}

void Eni::MeddleWith(World& world, const std::string& id, std::uint64_t how) {
  Dice& random = world.random();
  simulator::EniProduct& ecs = products_.Of(id);
  const cloud::Eni eni = *ecs.Find(id);
  world.Trace("others meddle with {}: {}", id, how);
  switch (how) {
    case 0:
      ecs.DeleteEni(id);
      return;
    case 1:
      ecs.SetStatus(id, "Available");
      return;
    case 2: {
      // Attached elsewhere it is not Berth's any more.
      const auto& server = fleet_.servers[random.Below(fleet_.servers.size())];
      if (server.instance == eni.instance_id || !ecs.instances().contains(server.instance)) return;
      ecs.SetStatus(id, "Available");
      witness_->Meddled(id);
      Do(world, "AttachNetworkInterface",
         {{"NetworkInterfaceId", id}, {"InstanceId", server.instance}});
      return;
    }
    case 3:
      if (eni.ipv4.size() < 2) return;
      Do(world, "UnassignPrivateIpAddresses",
         {{"NetworkInterfaceId", id}, {"PrivateIpAddress.1", eni.ipv4.back().address}});
      return;
    case 4:
      if (eni.status != "InUse") return;
      Do(world, "AssignPrivateIpAddresses",
         {{"NetworkInterfaceId", id}, {"SecondaryPrivateIpAddressCount", "1"}});
      return;
    case 5: {
      cloud::Tags tags = eni.tags;
      tags["terway.alibabacloud.com/excluded"] = "true";
      ecs.SetTags(id, tags);
      witness_->Meddled(id);
      witness_->Excluded(id);
      return;
    }
    case 6:
      ecs.SetTags(id, {});
      witness_->Meddled(id);
      return;
    default:
      ecs.Edit(id).eni.service_managed = true;
      world.scheduler().After(random.Between(0s, 40s), [this, id] {
        if (cloud_.ecs().Find(id)) cloud_.ecs().Edit(id).eni.service_managed = false;
      });
  }
}

// Whether the Node names ENIs for all places of its server. Others do not take the place of one
// that they have detached under pods: Berth could only ask again without end, and the settled state
// would not be quiet.
bool Eni::IsTaken(const EniFleet::Server& server) const {
  const NodeView* node = nodes_->Find(server.node);
  return node && node->instance == server.instance && node->nics.size() + 1 >= server.adapters;
}

// An ENI of others: with a blocked tag or without, attached to a server or not;
// of Terway, or of Berth in another cluster.
void Eni::AddOthers(World& world) {
  Dice& random = world.random();
  const auto& server = fleet_.servers[random.Below(fleet_.servers.size())];
  static constexpr std::array<std::array<const char*, 2>, 6> kTags = {
      std::array{"creator", "terway"},
      std::array{"owner", "others"},
      std::array{"creator", "alibabacloud-erdma-controller"},
      std::array{"terway.alibabacloud.com/excluded", "true"},
      std::array{"creator", "terway-controller"},
      std::array{"berth.dev/cluster-uid", "another"}};
  const auto which = random.Below(kTags.size());
  if (server.lingjun && which != 0 && random.Chance(0.7)) return AddOthersOnEflo(world, server);
  const auto made = Do(world, "CreateNetworkInterface",
                       {{"VSwitchId", EniFleet::kLarge},
                        {"SecurityGroupId", "sg-others"},
                        {"SecondaryPrivateIpAddressCount", "1"},
                        {"Tag.1.Key", kTags[which][0]},
                        {"Tag.1.Value", kTags[which][1]},
                        {"Tag.2.Key", "team"},
                        {"Tag.2.Value", "others"}});
  if (!made) return;
  const std::string id = (*made)["NetworkInterfaceId"].as<std::string>();
  witness_->AddOther(id);
  // With all the tags that Berth gives, as when a server moves from one cluster to another.
  if (which == 5 && random.Chance(0.7)) {
    cloud::Tags tags = cloud_.ecs().Find(id)->tags;
    tags[std::string(eni::kCreatorTag)] = eni::kCreator;
    tags[std::string(eni::kNodeTag)] = "uid-of-another-cluster";
    tags[std::string(eni::kInstanceTag)] = server.instance;
    cloud_.ecs().SetTags(id, tags);
  }
  world.Trace("others create {} with the tag {}", id, kTags[which][1]);
  if (random.Chance(0.3)) return;
  if (IsTaken(server)) return;
  // One of Terway's is the node's to use, and goes with it.
  if (which == 0) witness_->Inherit(id);
  Do(world, "AttachNetworkInterface",
     {{"NetworkInterfaceId", id}, {"InstanceId", server.instance}});
}

// An ENI of others that EFLO binds to the server, without a tag.
void Eni::AddOthersOnEflo(World& world, const EniFleet::Server& server) {
  if (IsTaken(server)) return;
  const auto made = cloud_.eflo().Do({.action = "CreateElasticNetworkInterface",
                                      .caller = "others",
                                      .account = simulator::kDefaultAccount,
                                      .parameters = {{"RegionId", kRegion},
                                                     {"NodeId", server.instance},
                                                     {"ZoneId", EniFleet::kZone},
                                                     {"VSwitchId", EniFleet::kLarge},
                                                     {"SecurityGroupId", "sg-others"}},
                                      .now = world.scheduler().WallNow()});
  if (!made) return;
  const std::string id = Text(Part(*made, "Content"), "ElasticNetworkInterfaceId");
  witness_->AddOther(id);
  world.Trace("others create {} at {}", id, server.instance);
}

// The cloud's own people put right what is stuck.
void Eni::Unstick(World& world) {
  cloud_.Settle(world.scheduler().WallNow());
  const auto now = world.scheduler().Now();
  std::vector<std::string> stuck;
  for (const auto* record : products_.All()) {
    const std::string& id = record->eni.id;
    const std::string& status = record->eni.status;
    if (!IsMoving(status)) {
      moving_.erase(id);
      continue;
    }
    auto& [was, since] = moving_[id];
    if (was != status) std::tie(was, since) = std::pair(status, now);
    if (now - since > kStuckFor) stuck.push_back(id);
  }
  for (const std::string& id : stuck) {
    world.Trace("{} is put right", id);
    const std::string status = moving_[id].first;
    const bool ends = world.random().Chance(0.5);
    if (status == "Deleting" && ends) {
      products_.Of(id).DeleteEni(id);
    } else {
      const bool attaches = status == "Attaching" || status == "Executing";
      const bool in_use = attaches ? ends : status == "Detaching" && !ends;
      products_.Of(id).SetStatus(id, in_use ? "InUse" : "Available");
    }
  }
  if (!stuck.empty()) {
    for (const std::string& name : fleet_.names()) ForceSync(world, name);
  }
  world.scheduler().After(20s, [this, &world] { Unstick(world); });
}

// All works from now on.
void Eni::Calm(World& world) {
  cloud_.Settle(world.scheduler().WallNow());
  cloud_.faults().Set({});
  empty_lists_ = 0;
  key_id_ = kKeyId;
}

}  // namespace berth::simulate
