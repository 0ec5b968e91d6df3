#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "cloud/simulator/aliyun/cloud.h"
#include "cloud/simulator/transport.h"
#include "json/json.h"
#include "simulate/documents.h"
#include "simulate/eip_history.h"
#include "simulate/eip_witness.h"
#include "simulate/objects.h"
#include "simulate/system_scenario.h"
#include "simulate/told_watch.h"

namespace berth::simulate {

// Elastic IPs: the operator with its real client, two replicas of which one leads, on a simulated
// cloud that loses requests and answers, is slow, throttles in storms, has no quota, no money or no
// key for a while, refuses with codes that pass, and shows an address late; an access key of
// another account, or another region, for a while; at times one of these faults, or a refusal of
// one action, goes on for long after the others; an answer that lists nothing, and a request whose
// answer is lost, or has a code that nobody knows, and whose repetition is refused; users who make,
// change, import, restore and delete objects, copy a status to another object and take away all
// that Berth goes by, and others who change and delete addresses in the cloud. What must hold: see
// EipWitness. In the end no address is left that has no object, and every object's is as its spec
// says, or the object says truly why not.
class Eip : public SystemScenario {
 public:
  static constexpr const char* kCollection = "/apis/eip.alibabacloud.com/v1alpha1/eips";
  static constexpr const char* kRegion = "cn-hangzhou";
  static constexpr const char* kKeyId = "LTAIsimulated";
  // A tag of all addresses that users had before.
  static constexpr const char* kOthersTag = "stage";
  static constexpr const char* kOthersValue = "x";
  // In the message of every refusal that passes.
  static constexpr const char* kPasses = "this will pass";
  // The kind of a storm of throttles.
  static constexpr std::uint64_t kThrottles = 0;

  static std::string PathOf(std::string_view name) {
    return std::string(kCollection).append("/").append(name);
  }
  static const Json& ReadyOf(const Json& object) { return ConditionOf(object, "Ready"); }

  explicit Eip(std::uint64_t seed);
  ~Eip() override;

  void SetUp(World& world) override;
  std::optional<std::string> Check(World& world, const std::string& writer,
                                   const kube::Request& request) override;
  async::Duration Aftermath(World& world) override;
  std::optional<std::string> Unsettled(World& world) override;
  bool DeleteAll(World& world) override;
  std::optional<std::string> Left(World& world) override;
  std::vector<std::string> Refusable() const override { return {"eips.eip.alibabacloud.com"}; }
  void Refused(World& world, const kube::Request& request) override;

 private:
  class Trouble;
  class Keys;
  struct InRegion;

  std::unique_ptr<Account> Open(Process& process) override;
  void Act(World& world);
  void DropTags(World& world);
  void ThinkAgain(World& world);
  void FallBack(World& world);
  void AdoptElsewhere(World& world, const std::string& uid, const std::string& id);
  void CheckDeletionTold(World& world, const std::string& uid);
  void RenameTag(World& world);
  bool IsSettled(const Json& object) const;
  void Tampered(const Json& object, const std::string& action);
  void Wipe(World& world);
  void Restore(World& world);
  void CopyStatus(World& world);
  void ForgeOwner(World& world);
  void Overwrite(World& world, const Json& object, const Json& status);
  void WriteStatus(World& world, const std::string& name, const Json& status);
  void FollowAdvice(World& world, const std::string& uid);
  void GiveUp(World& world, const std::string& uid);
  void NoteAttempt(const Json& object);
  void Meddle(World& world);
  void SomeStorm(World& world);
  void LockOne(World& world, async::Duration length);
  void ChangeAll(World& world, const std::string& how);
  void Storm(World& world, std::uint64_t kind, async::Duration length);
  void Move(World& world);
  void GiveRegion(const std::string& region);
  void Calm();
  std::string SomeAddress(World& world) const;
  std::optional<std::string> See(World& world, const Documents& objects);
  static bool IsElsewhere(const Json& object);
  bool MayHaveLostAnAddress(const std::string& uid) const;
  void NoteSyncTime(const Json& object);
  std::optional<std::string> CheckEvent(const kube::Request& request);
  std::optional<std::string> CheckStillReady(const Json& object);
  std::optional<std::string> CheckTold(const Json& object);
  std::optional<std::string> CheckTruth(World& world, const Json& object) const;
  std::optional<std::string> CheckToken(World& world, const Json& object) const;
  std::optional<std::string> CheckOthersTags() const;
  std::optional<std::string> CheckFollowed(World& world, bool throttled);
  static std::optional<std::string> CheckOver(World& world);
  void Note(World& world);
  std::optional<std::string> CheckObject(const Json& object, const Documents& all) const;
  std::optional<std::string> CheckBlame(const Json& object, const Documents& all) const;
  std::optional<std::string> CheckAddress(const Json& object, const cloud::Eip& eip) const;

  cloud::simulator::Cloud cloud_;
  std::unique_ptr<Process> site_;  // the cloud's own
  std::unique_ptr<Trouble> trouble_;
  std::unique_ptr<cloud::simulator::Network> network_;
  std::vector<std::string> own_;  // addresses that users had before
  std::vector<std::string> packages_;
  EipWitness witness_{cloud_};
  EipHistory history_{cloud_};
  std::set<std::string> wiped_;          // uids whose status somebody took away
  std::set<std::string> edited_;         // uids whose status a user wrote since Berth did
  std::set<std::string> forged_;         // uids that the tag of an import was set to by hand
  async::Duration grace_{};              // see EipWitness::See
  bool prompt_ = false;                  // no fault keeps Berth from telling at once
  std::set<std::string> told_refusals_;  // uids with an event of a refused write
  std::map<std::string, async::TimePoint> untold_;  // path to the last refusal of its status
  int storms_ = 0;                                  // of throttles, under way
  int forbidden_ = 0;                               // times without permission, under way
  int blind_ = 0;                     // times in which every list is refused, under way
  int untrusted_ = 0;                 // times in which TLS fails, under way
  std::vector<std::string> passing_;  // codes that every call is refused with, under way
  std::string stubborn_action_;       // every call of it is refused; empty for none
  int empty_lists_ = 0;               // so many answers to come list no EIP
  async::TimePoint empty_list_at_{};  // the last one
  // By uid: so many repetitions of the request whose answer was lost are refused.
  std::map<std::string, int> refused_repetitions_;
  std::map<std::string, Json> attempts_;  // uid to a status with an attempt under way
  std::optional<ToldWatch> told_watch_;
  // Whether Berth gets another account's key, or another region, for a while.
  bool moves_ = false;
  std::string key_id_;  // of the moment
  std::string region_;
  async::TimePoint moved_until_{};                // Berth had another key or region until then
  std::map<std::string, std::string> sync_time_;  // uid to status.lastSyncTime, as last seen
  std::map<std::string, Json> ready_;             // uid to the Ready condition, as last seen
};

}  // namespace berth::simulate
