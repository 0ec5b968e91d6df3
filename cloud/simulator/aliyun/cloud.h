#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "cloud/simulator/aliyun/client_tokens.h"
#include "cloud/simulator/aliyun/ecs.h"
#include "cloud/simulator/aliyun/eflo.h"
#include "cloud/simulator/aliyun/gate.h"
#include "cloud/simulator/aliyun/sts.h"
#include "cloud/simulator/aliyun/throttle.h"
#include "cloud/simulator/aliyun/vpc.h"
#include "cloud/simulator/faults.h"
#include "cloud/simulator/ids.h"
#include "http/transport.h"

namespace berth::cloud::simulator {

// Alibaba Cloud, as it answers on the wire: an account, and others when there are keys of others.
// One thread at a time.
class Cloud : public Server {
 public:
  struct Options {
    std::uint64_t seed = 1;  // of all IDs and secrets
    VpcOptions vpc;
    EcsOptions ecs;  // in the region of `vpc`
    EfloOptions eflo;
    ClientTokens::Options client_tokens;
    // By action. Alibaba Cloud publishes 120 for AllocateEipAddress and 300 for
    // AddCommonBandwidthPackageIp.
    Throttle::Limits calls_per_minute;
  };
  using Calls = CallCounts;

  explicit Cloud(Options options);
  Cloud(const Cloud&) = delete;
  Cloud& operator=(const Cloud&) = delete;

  http::Response Answer(const http::Request& request, async::WallTime now) override;
  http::Response Decline(const http::Request& request, const Refusal& refusal) override;
  std::string ActionOf(const http::Request& request) const override;
  Refusal RefusalWith(std::string code) const override;
  void EmptyLists(http::Response& response) const override;

  // Controls that a client does not have.
  Gate& keys() { return gate_; }
  StsProduct& sts() { return sts_; }
  // The VPC of the default account, in the region of the options.
  VpcProduct& vpc() { return accounts_.begin()->second->vpc; }
  const VpcProduct& vpc() const { return accounts_.begin()->second->vpc; }
  // The VPC of any account in any region, which is there from now on. None sees the addresses of
  // another.
  VpcProduct& vpc(const std::string& account, const std::string& region);
  // ECS and EFLO beside them.
  EcsProduct& ecs() { return accounts_.begin()->second->ecs; }
  const EcsProduct& ecs() const { return accounts_.begin()->second->ecs; }
  EcsProduct& ecs(const std::string& account, const std::string& region);
  EfloProduct& eflo() { return accounts_.begin()->second->eflo; }
  const EfloProduct& eflo() const { return accounts_.begin()->second->eflo; }
  EfloProduct& eflo(const std::string& account, const std::string& region);
  // Both, which keep network interfaces.
  std::array<EniProduct*, 2> eni_products() { return {&ecs(), &eflo()}; }
  // All VPCs that there are, in no order that means anything.
  std::vector<const VpcProduct*> vpcs() const;
  // Lets the time pass in all of them.
  void Settle(async::WallTime now);
  Throttle& throttle() { return throttle_; }
  Faults& faults() override { return faults_; }
  const std::map<std::string, Calls>& calls() const { return calls_; }

 private:
  // An account in a region.
  struct Account {
    Account(const Options& options, const std::string& region, Ids& ids, Faults& faults);

    ClientTokens client_tokens;
    VpcProduct vpc;
    EcsProduct ecs;
    EfloProduct eflo;
  };
  // The default one is the first: its key is empty.
  using Accounts = std::map<std::pair<std::string, std::string>, std::unique_ptr<Account>>;

  Outcome Carry(const Received& request, async::WallTime now);
  Product* Find(const std::string& version, const Call& call);
  Account& AccountOf(const Call& call);
  Account& AccountIn(const std::string& account, const std::string& region);

  Ids ids_;
  Gate gate_;
  Throttle throttle_;
  Faults faults_;
  const Options options_;
  Accounts accounts_;
  StsProduct sts_;
  std::map<std::string, Calls> calls_;
};

}  // namespace berth::cloud::simulator
