#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "async/executor.h"
#include "cloud/simulator/agenda.h"
#include "cloud/simulator/aliyun/tags.h"
#include "cloud/simulator/ids.h"
#include "cloud/vpc.h"

namespace berth::cloud::simulator {

// An elastic IP came or went, and who wanted it so: the caller of a key, or nobody when it was done
// out of band.
struct LedgerEntry {
  enum class Event { kAllocated, kReleased };

  Event event;
  async::WallTime at;
  std::string allocation_id;
  std::string address;
  std::string by;
  std::string client_token;  // of an allocation
};

// How an EIP is associated with its instance, whose ID and type the EIP itself has.
struct Association {
  std::string mode;  // NAT, MULTI_BINDED, BINDED
  std::string private_address;
  std::string vpc_id;
  std::string instance_region;
};

// An EIP and what the cloud alone knows of it.
struct EipRecord {
  Eip eip;
  async::WallTime allocated_at;
  std::optional<async::WallTime> expires;  // of a subscription
  Association association;
  std::set<std::string> lock_reasons;  // financial, security; none unless the EIP is locked
  bool visible = false;                // to the lists
};

struct BandwidthPackage {
  int bandwidth = 0;
  std::string isp;
  async::WallTime created_at;
  std::set<std::string> members;  // IDs of EIPs
};

// The EIPs and bandwidth packages of one region, and the changes of state that the cloud makes in
// the background: "Releasing" ends in nothing, "BINDING" in "BINDED". No rule of the API is here.
// O(log n) for one EIP.
class EipStore {
 public:
  // States of an EIP that pass with time.
  enum class Phase { kInvisible, kStatus, kPackage };

  EipStore(Ids& ids, std::size_t ledger_size) : ids_(ids), ledger_size_(ledger_size) {}

  // Lets the time pass: every phase that has fallen due until now ends.
  void Settle(async::WallTime now);
  // The time of the last Settle.
  async::WallTime now() const { return now_; }
  void EndAt(async::WallTime at, const std::string& id, Phase phase);

  // With a new ID and a free address; not visible. The reference is good until it is erased.
  EipRecord& Insert(Eip eip, async::WallTime at);
  // An EIP that exists. It leaves its package.
  void Erase(const std::string& id);
  // An EIP that exists; throws std::out_of_range.
  EipRecord& At(const std::string& id) { return eips_.at(id); }
  // Null for none.
  EipRecord* Find(const std::string& id);
  const EipRecord* Find(const std::string& id) const;
  // The EIP must exist. Tags are changed by this alone: they are indexed.
  void SetTags(const std::string& id, Tags tags);

  // The visible EIPs with these IDs and addresses; where none are named, those with the tag, any
  // value if `tag_value` is empty; without a tag, all. Costs what it looks through.
  std::vector<const EipRecord*> Visible(const std::vector<std::string>& ids,
                                        const std::vector<std::string>& addresses,
                                        const std::string& tag_key,
                                        const std::string& tag_value) const;
  // Sorted by ID, visible or not.
  const std::map<std::string, EipRecord>& all() const { return eips_; }

  std::string AddPackage(int bandwidth, std::string isp);
  // Null for none.
  BandwidthPackage* FindPackage(const std::string& id);
  const BandwidthPackage* FindPackage(const std::string& id) const;
  const std::map<std::string, BandwidthPackage>& packages() const { return packages_; }

  void Enter(LedgerEntry entry);
  const std::deque<LedgerEntry>& ledger() const { return ledger_; }

 private:
  struct Due {
    std::string id;
    Phase phase;
  };

  void End(const Due& due);
  void EndStatus(EipRecord& record);
  void EndPackage(Eip& eip);
  std::string NextAddress();

  Ids& ids_;
  std::size_t ledger_size_;
  async::WallTime now_{};
  std::map<std::string, EipRecord> eips_;
  std::map<std::string, std::string> by_address_;  // to the ID
  TagIndex tags_;
  std::map<std::string, BandwidthPackage> packages_;
  Agenda<Due> agenda_;
  std::deque<LedgerEntry> ledger_;
  std::uint32_t last_address_ = 0;
};

}  // namespace berth::cloud::simulator
