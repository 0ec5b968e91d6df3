#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "async/executor.h"
#include "cloud/eni.h"
#include "cloud/simulator/agenda.h"
#include "cloud/simulator/aliyun/tags.h"
#include "cloud/simulator/aliyun/vswitch.h"
#include "cloud/simulator/ids.h"

namespace berth::cloud::simulator {

// An ENI and facts that the cloud alone knows of it.
struct EniRecord {
  Eni eni;
  std::string name;
  std::string description;
  bool delete_on_release = true;  // with its instance
  async::WallTime visible_at;     // to the lists
  async::WallTime listed_at;      // to lists of its instance
  // Of secondary addresses on EFLO, by their names: Executing, Available, Deleting.
  std::map<std::string, std::string> address_status;
  std::uint64_t transition = 0;  // the latest change in the background; only that one ends

  std::size_t ipv4_used() const { return eni.ipv4.size() + eni.ipv4_prefixes.size(); }
  std::size_t ipv6_used() const { return eni.ipv6.size() + eni.ipv6_prefixes.size(); }
};

// A server that ENIs are attached to.
struct Instance {
  std::string id;
  std::string status = "Running";
  std::string type = "ecs.g7.xlarge";
  std::string vswitch_id;    // of its primary ENI
  std::size_t adapters = 4;  // ENIs, the primary one among them, without members
  std::size_t ipv4_per_adapter = 10;
  std::size_t ipv6_per_adapter = 10;
  async::WallTime created_at{};
};

// The ENIs and instances of one region, and the changes of state that the cloud makes in the
// background. ENIs give their addresses back when they go. No rule of the API is here. O(log n) for
// one ENI.
class EniStore {
 public:
  // `prefix` begins the IDs of ENIs, `mac` is the number of the last MAC address before theirs.
  EniStore(Ids& ids, VSwitchRecords& vswitches, std::string prefix, std::uint32_t mac)
      : ids_(ids), vswitches_(vswitches), prefix_(std::move(prefix)), last_mac_(mac) {}

  // Lets the time pass: every change that has fallen due until now ends.
  void Settle(async::WallTime now);
  // The time of the last Settle.
  async::WallTime now() const { return now_; }

  // With a new ID and MAC address; its addresses have been taken from its vSwitch. The reference is
  // good until it is erased.
  EniRecord& Insert(EniRecord record);
  // An ENI that exists.
  void Erase(const std::string& id);
  // Null for none.
  EniRecord* Find(const std::string& id);
  const EniRecord* Find(const std::string& id) const;
  const std::map<std::string, EniRecord>& all() const { return enis_; }

  // The ENI must exist. Tags and instances are changed by these alone: they are indexed.
  void SetTags(const std::string& id, Tags tags);
  void Join(EniRecord& record, const std::string& instance, const std::string& trunk);
  void Leave(EniRecord& record);

  // The ENI has this status, and the one of `end` after `delay`: InUse, Available, or none for an
  // ENI that goes. Whatever was under way does not end any more.
  void Begin(EniRecord& record, std::string status, std::string end, async::Duration delay);
  // The ENI has this status from now on.
  void Rest(EniRecord& record, std::string status);

  // The IDs of the instance's ENIs, of those with the tag, of all.
  const std::set<std::string>& OfInstance(const std::string& instance) const;
  std::vector<std::string> Tagged(const std::string& key, const std::string& value) const {
    return tags_.With(key, value);
  }
  // How many of the instance's adapters are taken.
  std::size_t AdaptersOf(const std::string& instance) const;

  std::map<std::string, Instance>& instances() { return instances_; }
  const std::map<std::string, Instance>& instances() const { return instances_; }

 private:
  struct Due {
    std::string id;
    std::uint64_t transition;
    std::string end;
  };

  void End(const Due& due);

  Ids& ids_;
  VSwitchRecords& vswitches_;
  const std::string prefix_;
  async::WallTime now_{};
  std::map<std::string, EniRecord> enis_;
  std::map<std::string, Instance> instances_;
  std::map<std::string, std::set<std::string>> by_instance_;
  TagIndex tags_;
  Agenda<Due> agenda_;
  std::uint64_t last_transition_ = 0;
  std::uint32_t last_mac_;
};

}  // namespace berth::cloud::simulator
