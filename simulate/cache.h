#pragma once

#include <map>
#include <string>

#include "simulate/scenario.h"

namespace berth::simulate {

// An informer whose handler keeps a copy. What the handler is told makes sense at all times: an
// object is added when it was not there, changes to a later version, and goes when it was there. In
// the end the copy and the cache are what the API server has.
class Cache : public Scenario {
 public:
  // `pages`: the state is listed page by page, not streamed.
  explicit Cache(bool pages) : pages_(pages) {}

  void Adjust(Faults& faults, Dice& random) override;
  void SetUp(World& world) override;
  std::unique_ptr<Program> Boot(World& world, Process& process,
                                kube::Transport& transport) override;
  std::optional<std::string> Check(World& world, const std::string& writer,
                                   const kube::Request& request) override;
  std::optional<std::string> Unsettled(World& world) override;

 private:
  void Act(World& world);

  const bool pages_;
  std::map<std::string, std::string> copy_;    // versions by key, as the handler was told
  std::map<std::string, std::string> cached_;  // as the cache has them
  std::function<void()> look_;                 // fills cached_
};

}  // namespace berth::simulate
