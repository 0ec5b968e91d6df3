#pragma once

#include <map>
#include <string>

#include "simulate/scenario.h"

namespace berth::simulate {

// Three replicas that stand for election; who leads writes, all the time. At every write that is
// carried out the lease must name the writer. In the end somebody leads and writes.
class Leadership : public Scenario {
 public:
  // Without the fence the scenario shows what the fence is for.
  explicit Leadership(bool fenced) : fenced_(fenced) {}

  int replicas() const override { return 3; }
  bool writes_are_bounded() const override { return false; }
  void Adjust(Faults& faults, Dice& random) override;
  void SetUp(World& world) override;
  std::unique_ptr<Program> Boot(World& world, Process& process,
                                kube::Transport& transport) override;
  std::optional<std::string> Check(World& world, const std::string& writer,
                                   const kube::Request& request) override;
  std::optional<std::string> Unsettled(World& world) override;

 private:
  const bool fenced_;
  std::uint64_t writes_ = 0;
  std::uint64_t writes_before_ = 0;
};

}  // namespace berth::simulate
