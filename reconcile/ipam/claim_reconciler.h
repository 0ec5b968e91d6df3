#pragma once

#include <map>
#include <optional>
#include <string>

#include "reconcile/ipam/context.h"
#include "reconcile/ipam/refusals.h"

namespace berth::ipam {

// SubnetClaims become Subnets: what the seed calls the CIDRAllocator. Which block is the Space's to
// say; here it is written down, in an order that a crash can interrupt anywhere: the Subnet, which
// is the allocation and names its claim by uid; then the claim's status; then the end of its stamp.
class ClaimReconciler {
 public:
  // `on_made` is told of a Subnet that was made before the watch is. `end_rest` ends the grace
  // period of a Subnet for a claim, both by key; false when that was asked before. `unseen` finds a
  // Subnet that the watch has yet to bring.
  using EndRest = std::function<bool(const std::string& subnet, const std::string& claim)>;
  using Unseen = std::function<const Subnet*(const std::string& subnet)>;
  ClaimReconciler(Context& context, std::function<void(const Subnet&)> on_made, EndRest end_rest,
                  Unseen unseen)
      : context_(context),
        on_made_(std::move(on_made)),
        end_rest_(std::move(end_rest)),
        unseen_(std::move(unseen)) {}

  async::Task<Outcome> Reconcile(std::string key);

  // A claim has arrived: what was reserved for it is its own from now on, however long the queue.
  void Arrived(const Claim& claim);
  // The block that the claim had asked for back is free: nobody comes in between.
  void TakeNow(const Claim& claim);
  // A block or a clusterID of its pool is free. A claim that waits takes it, if it can. False if
  // its status says already why it still waits; otherwise the claim is to be queued. O(log n), and
  // what Space::RestingFor costs.
  bool Serve(const Claim& claim);
  // It is gone: what was held for it and never asked for is free.
  void Left(const Claim& claim);
  // Something is being made of the claim's block: as long as that may be under way the block stays
  // the claim's, also when its Subnet goes. Until when it was kept already, if it was.
  std::optional<async::TimePoint> Keep(const Claim& claim, const Cidr& block);
  // It was made, or refused: the block is kept no longer than `earlier`.
  void Release(const Claim& claim, std::optional<async::TimePoint> earlier);
  // Its Subnet was refused and is not tried again yet: what becomes free is not for this claim.
  bool BacksOff(const Claim& claim) const;
  // Whether a Subnet that is gone was asked for a second time, without an answer yet, and may be
  // made again at any moment; or its block is kept.
  bool MayReturn(const Subnet& subnet) const;
  // Whether the claim that a Subnet was made for is there and was told of its block: when the
  // Subnet is deleted the block stays the claim's, which makes it again.
  bool IsTold(const Subnet& subnet) const;
  // Holds the block that a claim was told of, if its Subnet is gone: before any other claim's turn.
  void Reclaim(const Claim& claim);
  // Entries of all its tables, as of the other reconcilers: 0 when there are no objects.
  std::size_t Remembered() const { return attempts_.size() + refusals_.size() + telling_.size(); }

 private:
  // A Subnet that was asked for without an answer, once or several times.
  struct Attempt {
    std::string pool;
    Cidr block;
    async::TimePoint settled;  // the last of them
    std::string subnet = {};   // the name of the Subnet that was asked for last
  };
  // A block in a status write without an answer.
  struct Telling {
    std::string uid;  // the claim's
    std::string block;
  };
  struct Given {
    Cidr block;
    std::string subnet;  // the Subnet's name
  };

  async::Task<Outcome> Settle(std::string key, Owner except);
  async::Task<kube::Result<bool>> Exists(Claim claim);
  async::Task<kube::Result<Given>> BlockOf(Claim claim, Owner owner);
  std::string SubnetNameOf(const Claim& claim, const Space::Binding& held) const;
  async::Task<kube::Result<Given>> Allocate(Claim claim, Owner owner);
  std::expected<Cidr, Denial> Choose(const Claim& claim, Owner owner);
  bool HasChanged(const Claim& claim, Owner owner);
  // The watch has told of its end.
  bool HasLeft(const Claim& claim) const;
  bool TakesBack(const Claim& claim, Owner owner);
  async::Task<kube::Result<Given>> Make(Claim claim, Owner owner, Cidr block);
  async::Task<kube::Result<Given>> MakeAs(Claim claim, Owner owner, Cidr block, std::string name);
  async::Task<kube::Result<Given>> Adopt(Claim claim, Owner owner, Cidr block, std::string name);
  std::string BodyOf(const Claim& claim, const Cidr& block, const std::string& name) const;
  async::Task<Outcome> ReportBound(Claim claim, Given given);
  async::Task<Outcome> ReportError(Claim claim, std::string reason, std::string message);
  // A status that has to wait is not written, and the Requeue says how long; see StatusPace.
  async::Task<Outcome> Write(Claim* claim, Report report, std::string allocated);
  async::Task<Step> DropStamp(Claim claim);
  async::Task<Outcome> End(Claim claim);
  void Answered(const std::string& key, Owner owner, std::optional<async::TimePoint> earlier);
  std::string OpenName(const std::string& key, Owner owner) const;
  std::optional<async::TimePoint> OpenUntil(const std::string& key, Owner owner) const;
  void Take(std::string_view body);

  Context& context_;
  const std::function<void(const Subnet&)> on_made_;
  const EndRest end_rest_;
  const Unseen unseen_;
  std::map<std::string, std::map<Owner, Attempt>> attempts_;  // by the claim's key
  Refusals refusals_;
  std::map<std::string, Telling> telling_;  // by the claim's key
};

}  // namespace berth::ipam
