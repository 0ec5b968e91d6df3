#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "cloud/eni.h"
#include "cloud/simulator/aliyun/eni_store.h"
#include "cloud/simulator/aliyun/product.h"
#include "cloud/simulator/aliyun/vswitch.h"
#include "cloud/simulator/faults.h"
#include "cloud/simulator/ids.h"

namespace berth::cloud::simulator {

// A product that keeps network interfaces, one region of it: what ECS and EFLO have in common, and
// what others than the client do in either. Statuses are those of cloud::Eni, whatever the product
// calls them on the wire.
class EniProduct : public Product {
 public:
  // Prefixes of IDs, and where MAC addresses begin.
  struct Names {
    const char* eni;
    const char* instance;
    std::uint32_t mac;
  };

  // The references outlive this.
  EniProduct(const Names& names, std::string region, Ids& ids, VSwitchRecords& vswitches,
             Faults& faults)
      : region_(std::move(region)),
        ids_(ids),
        vswitches_(vswitches),
        store_(ids, vswitches, names.eni, names.mac),
        names_(names),
        faults_(faults) {}

  // "ECS" or "EFLO"
  virtual std::string_view backend() const = 0;

  // Lets the time pass: what has fallen due until now happens. Every call does it first.
  virtual void Settle(async::WallTime now) { store_.Settle(now); }

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

  const std::map<std::string, Instance>& instances() const { return store_.instances(); }
  // By ID, also those that are not visible yet or are being deleted.
  const std::map<std::string, EniRecord>& enis() const { return store_.all(); }

 protected:
  // Begins what a call asks for, or lets it go wrong as a fault says.
  void Begin(const Call& call, EniRecord& record, const char* status, const char* end,
             async::Duration delay);
  // The fault that the background of the call has, which is used up.
  std::optional<Fault> TakeFault(const Call& call);

  const std::string region_;
  Ids& ids_;
  VSwitchRecords& vswitches_;
  EniStore store_;

 private:
  const Names names_;
  Faults& faults_;
};

}  // namespace berth::cloud::simulator
