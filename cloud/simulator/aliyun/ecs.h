#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cloud/eni.h"
#include "cloud/simulator/aliyun/eni_store.h"
#include "cloud/simulator/aliyun/faults.h"
#include "cloud/simulator/aliyun/ids.h"
#include "cloud/simulator/aliyun/parameters.h"
#include "cloud/simulator/aliyun/product.h"
#include "cloud/simulator/aliyun/vswitch.h"

namespace berth::cloud::simulator {

struct EcsOptions {
  std::size_t eni_quota = 100'000;

  // How long what the cloud does in the background takes.
  async::Duration until_visible{};  // to lists after a create, to lists of an instance after attach
  async::Duration attaching{};
  async::Duration detaching{};
  async::Duration deleting{};
};

// The part of ECS that keeps elastic network interfaces, one region of it. A new ENI lacks only its
// place in the lists until it is visible: every other action knows it at once.
//
// O(log n) for an action on one ENI; a list costs what it looks through: the IDs that were named,
// or else those of the instance, or else those that carry the first tag, or else all.
class EcsProduct : public Product {
 public:
  // The references outlive this.
  EcsProduct(EcsOptions options, std::string region, Ids& ids, VSwitchRecords& vswitches,
             Faults& faults)
      : options_(options),
        region_(std::move(region)),
        ids_(ids),
        vswitches_(vswitches),
        faults_(faults),
        store_(ids, vswitches) {}

  std::string_view version() const override { return "2014-05-26"; }
  bool Has(std::string_view action) const override;
  Outcome Do(const Call& call) override;

  // Lets the time pass: what has fallen due until now happens. Every call does it first.
  void Settle(async::WallTime now) { store_.Settle(now); }

  // Out of band: what others do with the same account.
  //
  // A server with its primary ENI, under its own ID or a new one; its ID. None when there is no
  // such vSwitch, its addresses are all taken, or the ID is.
  std::optional<std::string> CreateInstance(Instance instance);
  // At once: ENIs with DeleteOnRelease go, the others are Available. Whether there was one.
  bool DeleteInstance(const std::string& id);
  // At once, whatever it is used for. Whether there was one.
  bool DeleteEni(const std::string& id);
  // An ENI that exists has the status from now on; one that is Available has no instance.
  void SetStatus(const std::string& id, std::string status);
  // None when there is none. Settled as of the last call.
  const Eni* Find(const std::string& id) const;
  // An existing ENI, to be changed as others would, but not its IDs, tags, status or addresses.
  EniRecord& Edit(const std::string& id) { return *store_.Find(id); }
  void SetTags(const std::string& id, Tags tags) { store_.SetTags(id, std::move(tags)); }
  void SetQuota(std::size_t enis) { options_.eni_quota = enis; }

  const std::map<std::string, Instance>& instances() const { return store_.instances(); }
  // By ID, also those that are not visible yet or are being deleted.
  const std::map<std::string, EniRecord>& enis() const { return store_.all(); }

 private:
  using Action = Outcome (EcsProduct::*)(const Call&);
  static const std::map<std::string_view, Action>& Actions();

  Outcome CreateNetworkInterface(const Call& call);
  Outcome AttachNetworkInterface(const Call& call);
  Outcome DetachNetworkInterface(const Call& call);
  Outcome DeleteNetworkInterface(const Call& call);
  Outcome DescribeNetworkInterfaces(const Call& call);
  Outcome AssignPrivateIpAddresses(const Call& call);
  Outcome UnassignPrivateIpAddresses(const Call& call);
  Outcome AssignIpv6Addresses(const Call& call);
  Outcome UnassignIpv6Addresses(const Call& call);
  Outcome DescribeInstances(const Call& call);
  Outcome TagResources(const Call& call);
  Outcome UntagResources(const Call& call);

  // The ENI that the call names, if it may be changed. `http_code` is that of one that is gone.
  std::expected<EniRecord*, Refusal> ToChange(const Call& call, int http_code = 404);
  // The same for one whose addresses may be changed now.
  std::expected<EniRecord*, Refusal> ToAddress(const Call& call);
  // The instance that the call names.
  std::expected<const Instance*, Refusal> InstanceOf(const Call& call);
  Check CheckAttachment(const Call& call, const EniRecord& record, const Instance& instance) const;
  // Begins what a call asks for, or lets it go wrong as a fault says.
  void Begin(const Call& call, EniRecord& record, const char* status, const char* end,
             async::Duration delay);
  // Addresses and prefixes from the ENI's vSwitch; all or none.
  Check GiveIpv4(Eni& eni, std::size_t addresses, std::size_t prefixes);
  Check GiveIpv6(Eni& eni, std::size_t addresses, std::size_t prefixes);
  // The ENIs that match every filter of the call, by ID.
  std::vector<const EniRecord*> Select(const Call& call, const std::vector<std::string>& ids) const;
  Outcome Retag(const Call& call, TagChange change);

  EcsOptions options_;
  const std::string region_;
  Ids& ids_;
  VSwitchRecords& vswitches_;
  Faults& faults_;
  EniStore store_;
};

// The members of a described ENI.
Json DescribeEni(const EniRecord& record);

}  // namespace berth::cloud::simulator
