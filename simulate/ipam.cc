#include "simulate/ipam.h"

#include <array>

#include "log/format.h"
#include "simulate/ipam_objects.h"
#include "simulate/ipam_picture.h"
#include "simulate/ipam_stories.h"
#include "simulate/ipam_users.h"
#include "simulate/objects.h"
#include "simulate/world.h"

namespace berth::simulate {
namespace {

using namespace std::chrono_literals;

constexpr std::array kNamespaces = {"default", "other"};
constexpr const char* kOther = "/api/v1/namespaces/other";
// Users go on while everything works: a replica that leads sees what they do step by step.
constexpr auto kCalm = 2min;

}  // namespace

Ipam::Ipam() : SystemScenario("ipam") {}
Ipam::~Ipam() = default;

void Ipam::SetUp(World& world) {
  world.InstallDefinitions();
  world.Must({.method = kube::Method::kPost,
              .path = "/api/v1/namespaces",
              .body = R"({"apiVersion":"v1","kind":"Namespace","metadata":{"name":"other"}})"});
  InstallWebhooks(world);
  users_ = std::make_unique<Users>(
      world, IpamUsers(), std::vector<std::string>(kNamespaces.begin(), kNamespaces.end()));
  users_->on_tampered = [this](const Json& object, const std::string&) {
    told_.erase(UidOf(object));
    tampered_.insert(UidOf(object));
  };
  stories_ = std::make_unique<IpamStories>(
      world, kNamespaces.front(), [this] { RestartAll(); },
      [this](const IpamStories::Act& act) {
        front_->SetBypassed(true);
        act();
        front_->SetBypassed(false);
      });
  if (world.random().Chance(0.1)) stories_->LeaveAsPlexaubnet();
  while (world.random().Chance(0.5)) stories_->Begin();
  // By the seed, not by the dice: a story that comes later leaves other seeds as they were.
  stories_->BeginLater(world.seed());
  if (world.seed() % 10 == 8) {
    world.scheduler().After(world.random().Between(0s, world.chaos() + kCalm / 2), [&world] {
      world.Ask({.method = kube::Method::kDelete, .path = kOther});
    });
  }
  const int actions = 15 + static_cast<int>(world.random().Below(60));
  for (int i = 0; i < actions; ++i) {
    world.scheduler().After(world.random().Between(0s, world.chaos() + kCalm / 2),
                            [this] { users_->Act(); });
  }
}

std::optional<std::string> Ipam::Check(World& world, const std::string& writer,
                                       const kube::Request& request) {
  if (untold_) return untold_;
  for (const std::string ns : kNamespaces) {
    const std::string base = IpamPicture::Collection(ns, "");
    if (writer == "user") {
      if (request.path.starts_with(base + "subnetpoolclaims/")) ForgetForced(world);
      if (request.method != kube::Method::kPost || request.path != base + "subnets") continue;
      const std::string name = NameOf(Json::parse(request.body));
      by_hand_.insert(UidOf(world.Ask({.path = request.path + "/" + name}).body()));
      continue;
    }
    if (!request.path.starts_with(base)) continue;
    const std::string_view path = std::string_view(request.path).substr(base.size());
    if (request.method == kube::Method::kDelete &&
        (path.starts_with("subnetpools/") || path.starts_with("subnetclaims/"))) {
      return IpamPicture(world, ns).CheckDeletion(path);
    }
    if (request.method == kube::Method::kPost && path == "subnetclaims") {
      const auto made = world.Ask({.path = request.path + "/" + NameOf(Json::parse(request.body))});
      const ipam::Identity maker = MakerOf(made.body());
      internal_[UidOf(made.body())] = {maker.uid, base + "subnetpoolclaims/" + maker.name};
    }
    if (request.method == kube::Method::kPost && path == "subnets") {
      if (ns == kNamespaces.front()) stories_->SubnetWasMade(Json::parse(request.body));
      return IpamPicture(world, ns).CheckNew(NameOf(Json::parse(request.body)), told_);
    }
    if (request.method == kube::Method::kPatch && path.ends_with("/status")) {
      const auto slash = path.find('/');
      const std::string_view name = path.substr(slash + 1, path.rfind('/') - slash - 1);
      const IpamPicture picture(world, ns);
      if (path.starts_with("subnets/")) {
        if (auto wrong = picture.CheckRivals(name, tampered_)) return wrong;
      }
      return picture.CheckStatus(path.substr(0, slash), name, told_);
    }
  }
  return std::nullopt;
}

// While a Subnet is refused its claim says so: also if the refusal looks like a passing failure. A
// create that had no answer may be under way, and the claim waits for it.
void Ipam::Refused(World& world, const kube::Request& request) {
  constexpr int kUntilTold = 8;
  if (request.path.contains("/subnetclaims/")) return refused_.clear();
  const Faults& faults = world.faults();
  const bool answers = faults.lost_request == 0 && faults.lost_answer == 0 && faults.slow == 0 &&
                       faults.partition == 0 && faults.stale == 0;
  if (!answers || request.method != kube::Method::kPost || !request.path.ends_with("/subnets")) {
    return;
  }
  const Json subnet = Json::parse(request.body);
  const Json& claim_ref = Part(Part(subnet, "spec"), "claimRef");
  const std::string uid = Text(claim_ref, "uid");
  const auto claims = request.path.substr(0, request.path.rfind('/')) + "/subnetclaims/";
  const auto claim = world.Ask({.path = claims + Text(claim_ref, "name")});
  if (claim.code != 200 || UidOf(claim.body()) != uid || tampered_.contains(uid) ||
      ReasonOf(claim.body()) == "SubnetRefused") {
    refused_.erase(uid);
    return;
  }
  if (++refused_[uid] < kUntilTold || untold_) return;
  untold_ = Format("claim {} does not say that its Subnet is refused", NameOf(claim.body()));
}

void Ipam::ForgetForced(World& world) {
  std::erase_if(internal_, [&](const auto& entry) {
    const auto maker = world.Ask({.path = entry.second.maker_path});
    return maker.code == 404 ||
           !Part(maker.body(), "metadata").to_string().contains(ipam::kFinalizer);
  });
}

std::optional<std::string> Ipam::Unsettled(World& world) {
  for (const char* ns : kNamespaces) {
    if (auto wrong = IpamPicture(world, ns).CheckAll(by_hand_, internal_))
      return Format("{}: {}", ns, *wrong);
  }
  return std::nullopt;
}

async::Duration Ipam::Aftermath(World&) { return kCalm; }

std::vector<std::string> Ipam::Refusable() const {
  return {"subnetpools.plexaubnet.io", "subnets.plexaubnet.io", "subnetclaims.plexaubnet.io"};
}

std::optional<std::string> Ipam::Left(World& world) {
  users_->DeleteAll();
  for (const char* ns : kNamespaces) {
    if (auto wrong = IpamPicture(world, ns).CheckEmpty()) return wrong;
  }
  const auto other = world.Ask({.path = kOther});
  if (other.code == 200 && other.body()["metadata"].find("deletionTimestamp"))
    return "the namespace is still being deleted, with nothing in it";
  return CheckMemory();
}

}  // namespace berth::simulate
