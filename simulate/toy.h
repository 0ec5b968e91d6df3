#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>

#include "json/json.h"
#include "simulate/scenario.h"
#include "simulate/toy_controller.h"

namespace berth::simulate {

// The toy's users make, change and delete gadgets. No gadget ever has two slots or more parts than
// it ever asked for; in the end each has exactly what it wants, and nothing is left of those that
// are gone.
class Toy : public Scenario {
 public:
  Toy(ToyBug bug, bool elect);
  ~Toy() override;

  int replicas() const override { return elect_ ? 2 : 1; }
  void SetUp(World& world) override;
  std::unique_ptr<Program> Boot(World& world, Process& process,
                                kube::Transport& transport) override;
  std::optional<std::string> Check(World& world, const std::string& writer,
                                   const kube::Request& request) override;
  std::optional<std::string> Unsettled(World& world) override;

 private:
  class Stock;

  void Act(World& world);
  std::optional<std::string> CheckGadget(World& world, const Json& gadget,
                                         const std::map<std::string, std::int64_t>& parts) const;

  const ToyBug bug_;
  const bool elect_;
  std::unique_ptr<Stock> stock_;
  std::map<std::string, std::unique_ptr<Depot>> depots_;  // each replica's way to the stock
  std::map<std::string, std::int64_t> most_;              // by name: the largest size asked for
};

}  // namespace berth::simulate
