#pragma once

#include <functional>
#include <string>
#include <vector>

namespace berth::simulate {

class World;

// Sequences that users who act one by one rarely come to. Each has a pool that others are parts of,
// the site, and goes through the webhooks, which may refuse.
class IpamStories {
 public:
  explicit IpamStories(World& world) : world_(world) {}

  // Begins one of them; its steps follow within minutes.
  void Begin(const std::string& ns);
  // Objects as plexaubnet leaves them: a pool claim that is Bound to a pool with a name that the
  // API server generated, and a claim with a block of that. Before any replica runs.
  void LeaveAsPlexaubnet(const std::string& ns);

 private:
  using Steps = std::vector<std::function<void()>>;

  Steps GrowChild(const std::string& ns);
  Steps EditChild(const std::string& ns);
  Steps ChildOnBlock(const std::string& ns);
  Steps DeletePoolOfRestingBlocks(const std::string& ns);
  Steps NameClaimInSubnets(const std::string& ns);
  Steps StripOwner(const std::string& ns);

  std::function<void()> Create(const std::string& ns, const std::string& kind,
                               const std::string& name, const std::string& spec,
                               const std::string& metadata = "");
  std::function<void()> Merge(const std::string& ns, const std::string& path,
                              const std::string& patch);
  std::function<void()> Delete(const std::string& ns, const std::string& path);

  World& world_;
};

}  // namespace berth::simulate
