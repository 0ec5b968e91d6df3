#pragma once

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cloud/eni.h"
#include "cloud/simulator/aliyun/eni_product.h"
#include "cloud/simulator/aliyun/parameters.h"
#include "cloud/simulator/aliyun/product.h"
#include "cloud/simulator/aliyun/vswitch.h"
#include "cloud/simulator/faults.h"
#include "cloud/simulator/ids.h"

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
class EcsProduct : public EniProduct {
 public:
  // The references outlive this.
  EcsProduct(EcsOptions options, std::string region, Ids& ids, VSwitchRecords& vswitches,
             Faults& faults)
      : EniProduct({.eni = "eni", .instance = "i", .mac = 0}, std::move(region), ids, vswitches,
                   faults),
        options_(options) {}

  std::string_view version() const override { return "2014-05-26"; }
  std::string_view backend() const override { return "ECS"; }
  bool Has(std::string_view action) const override;
  Outcome Do(const Call& call) override;

  void SetQuota(std::size_t enis) { options_.eni_quota = enis; }

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
  // Addresses and prefixes from the ENI's vSwitch; all or none.
  Check GiveIpv4(Eni& eni, std::size_t addresses, std::size_t prefixes);
  Check GiveIpv6(Eni& eni, std::size_t addresses, std::size_t prefixes);
  // The ENIs that match every filter of the call, by ID.
  std::vector<const EniRecord*> Select(const Call& call, const std::vector<std::string>& ids) const;
  Outcome Retag(const Call& call, TagChange change);

  EcsOptions options_;
};

// The members of a described ENI.
Json DescribeEni(const EniRecord& record);

}  // namespace berth::cloud::simulator
