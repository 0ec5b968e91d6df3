#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "simulate/ipam_picture.h"
#include "simulate/ipam_stories.h"
#include "simulate/system_scenario.h"

namespace berth::simulate {

// Subnet IPAM with all its reconcilers and webhooks, two replicas of which one leads, and users who
// do everything with all four kinds, in two namespaces. What must hold: no Subnet is made for a
// claim that shares an address with another claim's, unless one is the block that the other's pool
// is made of. In the end every claim is Bound, or in Error for a reason that is true; figures are
// exact; nothing is left of what is gone, neither in the API server nor in memory.
class Ipam : public SystemScenario {
 public:
  Ipam();
  ~Ipam() override;

  void SetUp(World& world) override;
  std::optional<std::string> Check(World& world, const std::string& writer,
                                   const kube::Request& request) override;
  std::optional<std::string> Unsettled(World& world) override;
  async::Duration Aftermath(World& world) override;
  // Over before the first resync of a leader that begins when all is well: nothing waits for that.
  async::Duration patience() const override { return std::chrono::minutes(6); }
  std::vector<std::string> Refusable() const override;
  void Refused(World& world, const kube::Request& request) override;
  std::optional<std::string> Left(World& world) override;

 private:
  // After a write by users: a pool claim that they removed by force cannot look after its claim.
  void ForgetForced(World& world);

  std::map<std::string, std::string> told_;  // see IpamPicture::CheckStatus
  std::set<std::string> by_hand_;            // uids of Subnets that users have written
  std::set<std::string> tampered_;           // uids of objects, see Users::on_tampered
  std::map<std::string, int> refused_;       // Subnets of a claim, by uid, since its status said so
  std::optional<std::string> untold_;        // the first violation in that
  IpamPicture::InternalClaims internal_;
  std::unique_ptr<IpamStories> stories_;
};

}  // namespace berth::simulate
