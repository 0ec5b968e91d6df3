#include "simulate/ipam_stories.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <memory>
#include <utility>

#include "log/format.h"
#include "reconcile/ipam/objects.h"
#include "simulate/ipam_objects.h"
#include "simulate/ipam_picture.h"
#include "simulate/objects.h"
#include "simulate/world.h"

namespace berth::simulate {
namespace {

using namespace std::chrono_literals;

constexpr const char* kSite = R"("cidr":"10.7.@.0/24","defaultBlockSize":29)";

// The API server's word for a kind: SubnetPool, subnetpools.
std::string PluralOf(const std::string& kind) {
  std::string plural = kind + "s";
  std::ranges::transform(plural, plural.begin(), [](unsigned char c) { return std::tolower(c); });
  return plural;
}

// The spec of a claim for any block of a size.
std::string Sized(const std::string& pool, const std::string& cluster, int size) {
  return Format(R"("poolRef":"{}","clusterID":"{}","blockSize":{})", pool, cluster, size);
}

// The spec of a claim for one block.
std::string Exact(const std::string& pool, const std::string& cluster, const std::string& block) {
  return Format(R"("poolRef":"{}","clusterID":"{}","requestedCIDR":"{}")", pool, cluster, block);
}

}  // namespace

std::string IpamStories::Numbered(std::string text) const {
  for (auto at = text.find('@'); at != std::string::npos; at = text.find('@'))
    text.replace(at, 1, std::to_string(number_));
  return text;
}

std::string IpamStories::PathOf(const std::string& kind_and_name) const {
  return IpamPicture::Collection(ns_, Numbered(kind_and_name));
}

IpamStories::Step IpamStories::Create(const std::string& kind, const std::string& name,
                                      const std::string& spec, const std::string& metadata) const {
  const std::string body = Numbered(
      Format(R"({{"apiVersion":"plexaubnet.io/v1alpha1","kind":"{}","metadata":{{"name":"{}"{}}},)"
             R"("spec":{{{}}}}})",
             kind, name, metadata, spec));
  return [this, path = PathOf(PluralOf(kind)), body] {
    const int code = world_.Ask({.method = kube::Method::kPost, .path = path, .body = body}).code;
    return code == 201 || code == 409;
  };
}

IpamStories::Step IpamStories::Merge(const std::string& path, const std::string& patch) const {
  return [this, path = PathOf(path), patch = Numbered(patch)] {
    return world_.Merge(path, patch).code == 200;
  };
}

IpamStories::Step IpamStories::Delete(const std::string& path) const {
  return [this, path = PathOf(path)] {
    const int code = world_.Ask({.method = kube::Method::kDelete, .path = path}).code;
    return code < 300 || code == 404;
  };
}

// A controller that holds an object lets it go in the end, however long a policy refuses that.
void IpamStories::LetGo(const std::string& path) const {
  // A policy may deny it with a 404.
  const int code = world_.Merge(PathOf(path), R"({"metadata":{"finalizers":null}})").code;
  if (code == 200 || world_.Ask({.path = PathOf(path)}).code == 404) return;
  world_.scheduler().After(5s, [this, path] { LetGo(path); });
}

IpamStories::Step IpamStories::Settled(const std::string& path) const {
  return [this, path = PathOf(path)] {
    const auto object = world_.Ask({.path = path});
    const std::string phase = Text(Part(object.body(), "status"), "phase");
    return object.code == 404 || phase == "Bound" || phase == "Error";
  };
}

// A child pool grows over a block that its parent has given out.
IpamStories::Steps IpamStories::GrowChild() const {
  return {Create("SubnetPool", "site@", kSite),
          Create("SubnetPool", "part@", R"("cidr":"10.7.@.0/28","parentRef":"site@")"),
          Create("SubnetClaim", "inside@", Sized("part@", "inside", 29)),
          Settled("subnetclaims/inside@"),
          Create("SubnetClaim", "beside@", Exact("site@", "beside", "10.7.@.16/29")),
          Settled("subnetclaims/beside@"),
          Merge("subnetpools/part@", R"({"spec":{"cidr":"10.7.@.0/27"}})"),
          Create("SubnetClaim", "next@", Sized("site@", "next", 28)),
          Settled("subnetclaims/next@"),
          Create("SubnetClaim", "last@", Sized("site@", "last", 29))};
}

// A child pool is edited without being moved, while a Subnet waits for a part of it.
IpamStories::Steps IpamStories::EditChild() const {
  return {
      Create("SubnetPool", "site@", kSite),
      Create("SubnetPool", "part@", R"("cidr":"10.7.@.0/27","parentRef":"site@")"),
      Create("SubnetClaim", "inside@", Sized("part@", "inside", 29)),
      Settled("subnetclaims/inside@"),
      Create("Subnet", "waits@", R"("poolRef":"site@","cidr":"10.7.@.8/29","clusterID":"waits")"),
      Merge("subnetpools/part@", R"({"spec":{"defaultBlockSize":30}})"),
      Merge("subnetpools/part@", R"({"spec":{"defaultBlockSize":28}})")};
}

// A child pool on a block that a claim has.
IpamStories::Steps IpamStories::ChildOnBlock() const {
  return {Create("SubnetPool", "site@", kSite),
          Create("SubnetClaim", "first@", Exact("site@", "first", "10.7.@.32/28")),
          Settled("subnetclaims/first@"),
          Create("SubnetPool", "part@", R"("cidr":"10.7.@.32/28","parentRef":"site@")"),
          Create("SubnetClaim", "second@", Sized("part@", "second", 29)),
          Settled("subnetclaims/second@"),
          Delete("subnetclaims/first@")};
}

// A claim is made again while its block rests for a month; then the pool is deleted.
IpamStories::Steps IpamStories::DeletePoolOfRestingBlocks() const {
  const Step claim = Create("SubnetClaim", "again@", Sized("rest@", "again", 29));
  return {
      Create("SubnetPool", "rest@", R"("cidr":"10.7.@.0/28","reuseGracePeriodSeconds":2592000)"),
      claim,
      Settled("subnetclaims/again@"),
      Delete("subnetclaims/again@"),
      claim,
      Settled("subnetclaims/again@"),
      Delete("subnetclaims/again@"),
      Delete("subnetpools/rest@")};
}

// Users write Subnets that name a claim which has a block already.
IpamStories::Steps IpamStories::NameClaimInSubnets() const {
  Steps steps = {Create("SubnetPool", "site@", kSite),
                 Create("SubnetClaim", "named@", Sized("site@", "named", 28)),
                 Settled("subnetclaims/named@")};
  for (const char* block : {"128", "136", "144"}) {
    const std::string spec =
        Numbered(Format(R"("poolRef":"site@","cidr":"10.7.@.{}/29","clusterID":"named",)"
                        R"("claimRef":{{"name":"named@","uid":)",
                        block));
    steps.emplace_back([this, spec, name = Numbered(Format("site@-10-7-@-{}-29", block)),
                        path = PathOf("subnetclaims/named@")] {
      const auto claim = world_.Ask({.path = path});
      if (claim.code != 200) return true;
      return Create("Subnet", name, Format(R"({}"{}"}})", spec, UidOf(claim.body())))();
    });
  }
  steps.push_back(Delete("subnetclaims/named@"));
  return steps;
}

// The pool of a pool claim loses its owner; then its parent is edited.
IpamStories::Steps IpamStories::StripOwner() const {
  const auto strip = [this, path = PathOf("subnetpoolclaims/strip@")] {
    const auto claim = world_.Ask({.path = path});
    const std::string pool = Text(Part(claim.body(), "status"), "boundPoolName");
    return pool.empty() ||
           Merge("subnetpools/" + pool, R"({"metadata":{"ownerReferences":null}})")();
  };
  return {Create("SubnetPool", "site@", kSite),
          Create("SubnetPoolClaim", "strip@", R"("parentPoolRef":"site@","desiredBlockSize":27)"),
          Settled("subnetpoolclaims/strip@"),
          strip,
          Merge("subnetpools/site@", R"({"spec":{"defaultBlockSize":28}})"),
          Delete("subnets/site@-10-7-@-0-27"),
          Create("SubnetClaim", "next@", Sized("site@", "next", 27))};
}

// A claim asks for no size, and another for a size that the pool does not keep for it; then the
// pool keeps the blocks for nobody.
IpamStories::Steps IpamStories::KeepBlocks() const {
  return {Create("SubnetPool", "kept@",
                 R"("cidr":"10.7.@.0/26","defaultBlockSize":29,)"
                 R"("preAllocations":{"unsized@":"10.7.@.16/28","sized@":"10.7.@.32/28"})"),
          Create("SubnetClaim", "unsized@", R"("poolRef":"kept@","clusterID":"unsized")",
                 Format(R"(,"annotations":{{"{}":"true"}})", kUnsized)),
          Settled("subnetclaims/unsized@"),
          Create("SubnetClaim", "sized@", Sized("kept@", "sized", 30)),
          Create("SubnetClaim", "waits@", Exact("kept@", "waits", "10.7.@.32/28")),
          Settled("subnetclaims/waits@"),
          Merge("subnetpools/kept@", R"({"spec":{"preAllocations":null}})")};
}

// A pool shrinks below a block that it has given out, which is then a part of another pool.
IpamStories::Steps IpamStories::Shrink() const {
  return {Create("SubnetPool", "site@", kSite),
          Create("SubnetClaim", "high@", Exact("site@", "high", "10.7.@.128/28")),
          Settled("subnetclaims/high@"),
          Merge("subnetpools/site@", R"({"spec":{"cidr":"10.7.@.0/25"}})"),
          Create("SubnetPool", "upper@", R"("cidr":"10.7.@.128/25","defaultBlockSize":29)"),
          Create("SubnetClaim", "next@", Sized("upper@", "next", 28)),
          Settled("subnetclaims/next@")};
}

// A Subnet of another namespace, in a pool of the same name and range, looks like the claim's own
// while that is made; then the claim goes.
IpamStories::Steps IpamStories::TwinSubnet() const {
  const auto elsewhere = [this](const std::string& kind, const std::string& object) {
    const int code = world_
                         .Ask({.method = kube::Method::kPost,
                               .path = IpamPicture::Collection("other", PluralOf(kind)),
                               .body = Format(R"({{"apiVersion":"plexaubnet.io/v1alpha1",)"
                                              R"("kind":"{}",{}}})",
                                              kind, object)})
                         .code;
    return code == 201 || code == 409;
  };
  const auto pool = [elsewhere, object = Numbered(Format(
                                    R"("metadata":{{"name":"site@"}},"spec":{{{}}})", kSite))] {
    return elsewhere("SubnetPool", object);
  };
  const auto twin = [this, elsewhere, path = PathOf("subnetclaims/twin@"),
                     object = Numbered(R"("metadata":{"name":"twin@",)"
                                       R"("labels":{"plexaubnet.io/ipam":"true"}},)"
                                       R"("spec":{"poolRef":"site@","cidr":"10.7.@.0/28",)"
                                       R"("clusterID":"twin","claimRef":{"name":"twin@","uid":)")] {
    const auto claim = world_.Ask({.path = path});
    if (claim.code != 200) return true;
    return elsewhere("Subnet", Format(R"({}"{}"}}}})", object, UidOf(claim.body())));
  };
  return {Create("SubnetPool", "site@", kSite), pool,
          Create("SubnetClaim", "twin@", Exact("site@", "twin", "10.7.@.0/28")), twin,
          Delete("subnetclaims/twin@")};
}

// Pools and claims of users name a pool claim as their owner, one on a block that a claim has; the
// SubnetClaim of the pool claim is edited and loses its owner.
IpamStories::Steps IpamStories::BorrowOwner() const {
  const auto owned = [this](const std::string& kind, const std::string& name,
                            const std::string& spec) -> Step {
    return [this, kind, name = Numbered(name), spec = Numbered(spec),
            path = PathOf("subnetpoolclaims/lender@")] {
      const auto claim = world_.Ask({.path = path});
      if (claim.code != 200) return true;
      const std::string owner =
          Format(R"(,"ownerReferences":[{{"apiVersion":"plexaubnet.io/v1alpha1",)"
                 R"("kind":"SubnetPoolClaim","name":"{}","uid":"{}"}}])",
                 Text(claim.body()["metadata"], "name"), UidOf(claim.body()));
      return Create(kind, name, spec, owner)();
    };
  };
  const auto edit_block_claim =
      [this, path = PathOf("subnetpoolclaims/lender@")](const std::string& patch) -> Step {
    return [this, path, patch] {
      const auto claim = world_.Ask({.path = path});
      if (claim.code != 200) return true;
      Merge("subnetclaims/" + BlockClaimOf(claim.body()), patch)();
      return true;
    };
  };
  return {Create("SubnetPool", "site@", kSite),
          Create("SubnetClaim", "key@", Exact("site@", "taken@", "10.7.@.64/28")),
          Settled("subnetclaims/key@"),
          Create("SubnetPoolClaim", "lender@", R"("parentPoolRef":"site@","desiredBlockSize":27)"),
          edit_block_claim(R"({"spec":{"clusterID":"edited","blockSize":28}})"),
          owned("SubnetPool", "taken@", R"("cidr":"10.7.@.64/28","parentRef":"site@")"),
          owned("SubnetPool", "own@", R"("cidr":"10.6.@.0/28")"),
          owned("SubnetClaim", "mine@", Sized("site@", "mine", 28)),
          Create("SubnetClaim", "thief@", Sized("taken@", "thief", 29)),
          Settled("subnetclaims/thief@"),
          Settled("subnetpoolclaims/lender@"),
          edit_block_claim(R"({"metadata":{"ownerReferences":null}})"),
          Merge("subnetpoolclaims/lender@", R"({"metadata":{"labels":{"touched":"true"}}})"),
          Delete("subnetpoolclaims/lender@")};
}

// A claim's Subnet is replaced by its spec alone and deleted, its pool is deleted and comes back
// with other sizes, while another claim waits.
IpamStories::Steps IpamStories::ReturnPool() const {
  return {Create("SubnetPool", "back@", R"("cidr":"10.7.@.0/25","reuseGracePeriodSeconds":600)"),
          Create("SubnetClaim", "told@", Sized("back@", "told", 29)),
          Settled("subnetclaims/told@"),
          Merge("subnets/back@-10-7-@-0-29",
                R"({"metadata":{"labels":{"plexaubnet.io/ipam":null},"ownerReferences":null}})"),
          Merge("subnetpools/back@", R"({"spec":{"maxBlockSize":28,"defaultBlockSize":28}})"),
          Delete("subnets/back@-10-7-@-0-29"),
          Merge("subnetpools/back@",
                R"({"metadata":{"annotations":{"ipam.plexaubnet.io/allow-delete":"true"}}})"),
          Delete("subnetpools/back@"),
          Create("SubnetClaim", "apart@", Sized("back@", "apart", 28)),
          Settled("subnetclaims/apart@"),
          Create("SubnetPool", "back@",
                 R"("cidr":"10.7.@.0/25","maxBlockSize":28,"defaultBlockSize":28)"),
          Settled("subnetclaims/told@"),
          Settled("subnetclaims/apart@")};
}

// A block that is kept for one claim is kept for another one instead, which waits for room.
IpamStories::Steps IpamStories::MoveKept() const {
  return {Create("SubnetPool", "move@",
                 R"("cidr":"10.7.@.0/28","defaultBlockSize":29,)"
                 R"("preAllocations":{"old@":"10.7.@.8/29"})"),
          Create("SubnetClaim", "first@", Sized("move@", "first", 29)),
          Settled("subnetclaims/first@"),
          Create("SubnetClaim", "new@", Sized("move@", "new", 29)),
          Settled("subnetclaims/new@"),
          Merge("subnetpools/move@",
                R"({"spec":{"preAllocations":{"old@":null,"new@":"10.7.@.8/29"}}})")};
}

// A user's claim has the name that the SubnetClaim of a pool claim would get. Its finalizer makes a
// deletion visible.
IpamStories::Steps IpamStories::TakeBlockClaimsName() const {
  const auto name = std::make_shared<std::string>("late");
  const auto take = [this, name, path = PathOf("subnetpoolclaims/late@"),
                     spec = Sized(Numbered("site@"), "mine", 28)] {
    const auto claim = world_.Ask({.path = path});
    if (claim.code == 200) *name = BlockClaimOf(claim.body());
    return Create("SubnetClaim", *name, spec, R"(,"finalizers":["example.com/hold"])")();
  };
  const auto let_go = [this, name] {
    LetGo("subnetclaims/" + *name);
    return true;
  };
  return {Create("SubnetPoolClaim", "late@", R"("parentPoolRef":"site@","desiredBlockSize":27)"),
          Settled("subnetpoolclaims/late@"),
          take,
          Create("SubnetPool", "site@", kSite),
          Settled("subnetpoolclaims/late@"),
          let_go};
}

// A parent that has nothing to give becomes so small that no part of it has the size of a pool
// claim that waits.
IpamStories::Steps IpamStories::ShrinkParent() const {
  return {Create("SubnetPool", "site@",
                 R"("cidr":"10.7.@.0/24","excludedRanges":["10.7.@.0/24"],"defaultBlockSize":29)"),
          Create("SubnetPoolClaim", "small@", R"("parentPoolRef":"site@","desiredBlockSize":26)"),
          Settled("subnetpoolclaims/small@"),
          Merge("subnetpools/site@", R"({"spec":{"cidr":"10.7.@.0/26","excludedRanges":[]}})"),
          Create("SubnetClaim", "next@", Sized("site@", "next", 28))};
}

// A cluster comes back while its block rests for a month.
IpamStories::Steps IpamStories::RestAndReturn() const {
  return {
      Create("SubnetPool", "idle@", R"("cidr":"10.7.@.0/28","reuseGracePeriodSeconds":2592000)"),
      Create("SubnetClaim", "once@", Sized("idle@", "idle", 29)),
      Settled("subnetclaims/once@"),
      Delete("subnetclaims/once@"),
      Merge("subnets/idle@-10-7-@-0-29/status", R"({"status":{"phase":"Failed"}})"),
      Create("SubnetClaim", "twice@", Sized("idle@", "idle", 29))};
}

void IpamStories::Begin() {
  using Story = Steps (IpamStories::*)() const;
  static constexpr std::array<Story, 9> kStories = {
      &IpamStories::GrowChild,          &IpamStories::EditChild,
      &IpamStories::ChildOnBlock,       &IpamStories::DeletePoolOfRestingBlocks,
      &IpamStories::NameClaimInSubnets, &IpamStories::StripOwner,
      &IpamStories::KeepBlocks,         &IpamStories::Shrink,
      &IpamStories::TwinSubnet};
  ++number_;
  Start((this->*kStories[world_.random().Below(kStories.size())])());
}

void IpamStories::BeginLater(std::uint64_t seed) {
  using Story = Steps (IpamStories::*)() const;
  static constexpr std::array<Story, 2> kFives = {&IpamStories::BorrowOwner,
                                                  &IpamStories::ReturnPool};
  static constexpr std::array<Story, 3> kNines = {
      &IpamStories::MoveKept, &IpamStories::TakeBlockClaimsName, &IpamStories::RestAndReturn};
  const std::uint64_t which = seed / 10;
  ++number_;
  if (seed % 10 == 5) Start((this->*kFives[which % kFives.size()])());
  if (seed % 10 == 3) Start(TellTwo(which));
  if (seed % 10 == 7) Start(ShrinkParent());
  if (seed % 10 == 1) Start(StripBlockClaim());
  if (seed % 10 == 2) Start(which % 4 == 3 ? BreakPool() : TwinPools());
  if (seed % 10 == 4) Start(EditCluster());
  if (seed % 10 == 9) Start((this->*kNines[which % kNines.size()])());
}

void IpamStories::Start(Steps steps) {
  world_.scheduler().After(world_.random().Between(0s, world_.chaos() * 3 / 2),
                           [this, steps = std::move(steps)] { Follow(steps, 0, 0); });
}

void IpamStories::Follow(Steps steps, std::size_t next, int tries) {
  constexpr int kMostTries = 12;
  if (next == steps.size()) return;
  const bool done = steps[next]();
  if (done || tries == kMostTries) ++next;
  const int again = done || tries == kMostTries ? 0 : tries + 1;
  Dice& random = world_.random();
  const auto pause = random.Chance(0.5) ? random.Between(1ms, 200ms) : random.Between(200ms, 5s);
  world_.scheduler().After(
      pause, [this, steps = std::move(steps), next, again] { Follow(steps, next, again); });
}

void IpamStories::LeaveAsPlexaubnet() {
  const auto uid = [&](const std::string& path) {
    return UidOf(world_.Must({.path = PathOf(path)}).body());
  };
  const auto owned = [&](const std::string& kind, const std::string& name) {
    return Format(R"(,"ownerReferences":[{{"apiVersion":"plexaubnet.io/v1alpha1","kind":"{}",)"
                  R"("name":"{}","uid":"{}","controller":true}}])",
                  kind, name, uid(PluralOf(kind) + "/" + name));
  };
  const auto tell = [&](const std::string& path, const std::string& status) {
    Merge(path + "/status", Format(R"({{"status":{}}})", status))();
  };
  const auto bind = [&](const std::string& claim, const std::string& pool, const std::string& cidr,
                        const std::string& cluster) {
    const std::string subnet = ipam::SubnetName(pool, *ipam::Cidr::Parse(cidr));
    Create("Subnet", subnet,
           Format(R"("poolRef":"{}","cidr":"{}","clusterID":"{}",)"
                  R"("claimRef":{{"name":"{}","uid":"{}"}})",
                  pool, cidr, cluster, claim, uid("subnetclaims/" + claim)),
           owned("SubnetClaim", claim) + R"(,"labels":{"plexaubnet.io/ipam":"true"})")();
    tell("subnets/" + subnet, R"({"phase":"Allocated","allocatedAt":"2026-01-01T00:00:00Z"})");
    tell("subnetclaims/" + claim, Format(R"({{"phase":"Bound","allocatedCIDR":"{}"}})", cidr));
  };
  const std::string finalizer = Format(R"(,"finalizers":["{}"])", ipam::kFinalizer);
  Create("SubnetPool", "world", R"("cidr":"10.8.0.0/24")", finalizer)();
  Create("SubnetPoolClaim", "finance", R"("parentPoolRef":"world","desiredBlockSize":27)",
         finalizer)();
  const std::string owner = owned("SubnetPoolClaim", "finance");
  const std::string cluster = uid("subnetpoolclaims/finance");
  Create("SubnetClaim", "finance-x7k2p", Sized("world", cluster, 27), owner)();
  bind("finance-x7k2p", "world", "10.8.0.32/27", cluster);
  Create("SubnetPool", "finance-bvd2g", R"("cidr":"10.8.0.32/27","defaultBlockSize":29)",
         owner + R"(,"labels":{"plexaubnet.io/parent":"world"})" + finalizer)();
  tell("subnetpoolclaims/finance", R"({"phase":"Bound","boundPoolName":"finance-bvd2g"})");
  Create("SubnetClaim", "till", Sized("finance-bvd2g", "till", 29))();
  bind("till", "finance-bvd2g", "10.8.0.32/29", "till");
}

}  // namespace berth::simulate
