#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "json/json.h"
#include "reconcile/ipam/cidr.h"
#include "simulate/scenario.h"

namespace berth::simulate {

// Subnet IPAM with all its reconcilers, two replicas of which one leads, and users who make, change
// and delete all four kinds. What must hold: after every write, no two Subnets that Berth made
// share an address, unless one is the block that the other's pool is made of. In the end every
// claim is Bound, or in Error for a reason that is true; figures are exact; nothing is left of what
// is gone.
class Ipam : public Scenario {
 public:
  Ipam();
  ~Ipam() override;

  int replicas() const override { return 2; }
  void SetUp(World& world) override;
  std::unique_ptr<Program> Boot(World& world, Process& process,
                                kube::Transport& transport) override;
  std::optional<std::string> Check(World& world, const std::string& writer,
                                   const kube::Request& request) override;
  std::optional<std::string> Unsettled(World& world) override;

 private:
  class Replica;
  struct Picture;

  void Act(World& world);
  void MakePool(World& world);
  void ChangePool(World& world);
  void MakeClaim(World& world);
  void MakePoolClaim(World& world);
  void MakeSubnet(World& world);
  void Drop(World& world);
  void Admit(World& world, const std::string& review,
             const std::function<void(kube::Result<std::string>)>& answer);

  std::map<std::string, Replica*> running_;  // by the process' name
  int last_ = 0;
};

}  // namespace berth::simulate
