#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "async/executor.h"
#include "cloud/simulator/aliyun/cloud.h"
#include "json/json.h"
#include "simulate/documents.h"

namespace berth::simulate {

// Sees every state of the EIP objects and every entry of the cloud's ledger, and says what nobody
// asked for: two addresses for one object, a release of what was to be kept or has another object's
// tag, a tag that names another object and is overwritten, an address that is left over.
class EipWitness {
 public:
  // The tag of an address that another cluster has adopted.
  static constexpr const char* kElsewhere = "another-cluster";

  explicit EipWitness(const cloud::simulator::Cloud& cloud) : cloud_(cloud) {}

  // After every write: what has happened since that should not have. A release counts against what
  // another object asked for only when it had asked `grace` before.
  std::optional<std::string> See(const Documents& objects, async::TimePoint now,
                                 async::Duration grace);
  // An address that was allocated and is nobody's, although somebody was to release it.
  std::optional<std::string> Leaked(const Documents& objects) const;

  // Somebody took away what the operator goes by: whatever becomes of this object's address is not
  // its fault.
  void Excuse(const std::string& uid) { excused_.insert(uid); }
  bool IsExcused(const std::string& uid) const { return excused_.contains(uid); }
  // Whether an event of the object is true.
  std::optional<std::string> CheckEvent(const std::string& uid, const std::string& reason,
                                        const std::string& note) const;
  // Another cluster has set its tag to kElsewhere.
  void Adopted(const std::string& id, async::WallTime when) {
    adopters_.insert(kElsewhere);
    adopted_[id] = when;
  }
  // The cloud has given up its release.
  void FellBack(const std::string& id) {
    released_.erase(id);
    fell_back_[id] = now_;
  }
  // Whether others took its tags off.
  bool IsUntagged(const std::string& id) const { return untagged_.contains(id); }
  // Everybody who has ever named it.
  std::set<std::string> NamersOf(const std::string& id) const {
    const auto found = namers_.find(id);
    return found == namers_.end() ? std::set<std::string>() : found->second;
  }
  bool HasAsked(const std::string& uid) const { return adopters_.contains(uid); }
  // The object is gone, with nobody having been asked what becomes of its address.
  void Orphan(const std::string& uid) { stays_.insert(uid); }
  // Others took its tags off: it is not another object's any more.
  void Untag(const std::string& id) {
    untagged_.insert(id);
    std::erase_if(first_tag_, [&](const auto& entry) { return entry.first.first == id; });
  }
  // The cloud refuses every purchase for longer than a request is in doubt: an address that lost
  // its tag before its object was told of it is not found by its request either.
  void RefusePurchases() { purchases_refused_ = true; }
  // Whether another object has ever named it.
  bool WasNamedByOthers(const std::string& id, const std::string& uid) const;
  // For whom it was allocated; empty when not by the operator.
  std::string OwnerOf(const std::string& id) const;
  // The uid in its tag; empty for none.
  std::string TagOf(const std::string& id) const;

 private:
  // In whatever account and region; none when there is none.
  const cloud::Eip* Find(const std::string& id) const;
  void Meet(const Json& object, async::TimePoint now);
  std::optional<std::string> CheckTags();
  // Whether its tag named another object when this one came to have it, which did not ask for it.
  bool WasForeign(const std::string& id, const std::string& uid) const;
  bool IsNamed(const std::string& id) const;  // by an object that stays
  void MeetDeleted(const Json& object);
  std::optional<std::string> Read(const cloud::simulator::LedgerEntry& entry);
  std::optional<std::string> CheckBought(const cloud::simulator::LedgerEntry& entry) const;
  std::optional<std::string> CheckRelease(const cloud::simulator::LedgerEntry& entry) const;
  // Whether it has deleted objects, and each of them has asked to keep it for long enough.
  bool IsKept(const std::string& id) const;

  const cloud::simulator::Cloud& cloud_;
  std::map<const cloud::simulator::VpcProduct*, std::size_t> read_;  // entries of each ledger
  std::map<std::string, std::int64_t> deleted_;  // uid, since when, in Unix seconds
  std::map<std::string, std::string> owner_;     // address to uid
  std::map<std::string, std::string> held_;      // uid to the address it has now
  std::set<std::string> knew_;                   // uids that were told of their address
  std::set<std::string> stays_;                  // uids whose address may stay when they go
  std::set<std::string> goes_;                   // uids whose address may go with them
  // Deleted uids that ask to keep their address now, and since when.
  std::map<std::string, async::TimePoint> kept_since_;
  std::set<std::string> given_;  // addresses that were not allocated for who gave them
  std::map<std::pair<std::string, std::string>, std::string> first_tag_;  // by address and uid
  std::map<std::string, std::string> tag_;  // address to the uid that its tag names
  std::set<std::string> untagged_;          // addresses whose tags others took off
  bool purchases_refused_ = false;
  std::set<std::string> released_;                     // addresses that Berth has released
  std::map<std::string, async::TimePoint> fell_back_;  // address, when
  std::map<std::string, async::WallTime> adopted_;
  std::set<std::string> adopters_;  // uids that have asked for an address of another
  struct Claim {
    async::TimePoint since;
    async::TimePoint seen;
  };
  std::map<std::string, std::map<std::string, Claim>> named_;  // address, by whom that stays
  std::map<std::string, std::set<std::string>> namers_;        // address, by whom ever
  async::TimePoint now_{};
  async::Duration grace_{};
  std::set<std::string> excused_;
};

}  // namespace berth::simulate
