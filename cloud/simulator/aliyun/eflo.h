#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cloud/eni.h"
#include "cloud/simulator/agenda.h"
#include "cloud/simulator/aliyun/eni_product.h"
#include "cloud/simulator/aliyun/parameters.h"
#include "cloud/simulator/aliyun/product.h"

namespace berth::cloud::simulator {

struct EfloOptions {
  // How long what the cloud does in the background takes.
  async::Duration until_visible{};  // to lists after a create, to lists of a node after attach
  async::Duration attaching{};      // and creating
  async::Duration detaching{};
  async::Duration deleting{};
  async::Duration assigning{};  // an address, and taking it away
};

// The part of EFLO that keeps the network interfaces of Lingjun nodes, one region of it. All that
// changes one is only begun by the call. Its statuses on the wire: Unattached is Available here,
// Available is InUse. The primary ENI of a node is of type DEFAULT there, others are CUSTOM; the
// quota of a node (`adapters`) counts the CUSTOM ones.
//
// O(log n) for an action on one ENI; a list costs what it looks through: the ENI or node that was
// named, or else the ENIs that carry the first tag, or else all.
class EfloProduct : public EniProduct {
 public:
  // The references outlive this.
  EfloProduct(EfloOptions options, std::string region, Ids& ids, VSwitchRecords& vswitches,
              Faults& faults)
      : EniProduct({.eni = "leni", .instance = "e01-cn", .mac = 1u << 23}, std::move(region), ids,
                   vswitches, faults),
        options_(options) {}

  std::string_view version() const override { return "2022-05-30"; }
  std::string_view backend() const override { return "EFLO"; }
  bool Has(std::string_view action) const override;
  Outcome Do(const Call& call) override;
  void Settle(async::WallTime now) override;

 private:
  using Action = Outcome (EfloProduct::*)(const Call&);
  static const std::map<std::string_view, Action>& Actions();

  // The change of an address that ends by itself: an empty status takes it away.
  struct AddressDue {
    std::string eni;
    std::string name;
    std::string end;
  };

  // Each answers with the Content.
  Outcome CreateElasticNetworkInterface(const Call& call);
  Outcome AttachElasticNetworkInterface(const Call& call);
  Outcome DetachElasticNetworkInterface(const Call& call);
  Outcome DeleteElasticNetworkInterface(const Call& call);
  Outcome ListElasticNetworkInterfaces(const Call& call);
  Outcome GetElasticNetworkInterface(const Call& call);
  Outcome AssignLeniPrivateIpAddress(const Call& call);
  Outcome UnassignLeniPrivateIpAddress(const Call& call);
  Outcome ListLeniPrivateIpAddresses(const Call& call);

  // The ENI that the call names, of any type, and one that a client may change.
  std::expected<EniRecord*, Refusal> Named(const Call& call);
  std::expected<EniRecord*, Refusal> ToChange(const Call& call);
  std::expected<const Instance*, Refusal> NodeOf(const Call& call);
  Check CheckQuota(const Instance& node) const;
  // The ENIs that match every filter of the call, by ID.
  std::vector<const EniRecord*> Select(const Call& call) const;
  // A new status of a secondary address, and the one it has after the time of the options.
  void BeginAddress(const Call& call, EniRecord& record, const std::string& name,
                    const std::string& status, const std::string& end);
  void EndAddress(const AddressDue& due);

  const EfloOptions options_;
  Agenda<AddressDue> addresses_due_;
};

// The status as EFLO tells it.
std::string EfloStatus(const std::string& status);

}  // namespace berth::cloud::simulator
