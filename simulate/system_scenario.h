#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "simulate/scenario.h"
#include "simulate/users.h"
#include "simulate/webhook_front.h"
#include "systems/system.h"

namespace berth::simulate {

// The frame of a system's scenario: two replicas of which one leads, its
// webhooks and its users.
class SystemScenario : public Scenario {
 public:
  // `system` is a name of systems::MakeSystems.
  explicit SystemScenario(std::string system);
  ~SystemScenario() override;

  int replicas() const override { return 2; }
  std::unique_ptr<Program> Boot(World& world, Process& process,
                                kube::Transport& transport) override;
  bool DeleteAll(World& world) override;
  const Coverage* coverage() const override { return users_ ? &users_->coverage() : nullptr; }

 protected:
  // A replica's way to the cloud.
  struct Account {
    virtual ~Account() = default;
    virtual cloud::Vpcs* vpcs() { return nullptr; }
    virtual cloud::EniAccounts* ecs() { return nullptr; }
    virtual cloud::EniAccounts* eflo() { return nullptr; }
    virtual cloud::ServiceGateway* service_gateway() { return nullptr; }
    virtual cloud::SandboxAgents* sandbox_agents() { return nullptr; }
  };
  virtual std::unique_ptr<Account> Open(Process& /*process*/) { return nullptr; }
  // The API server calls the system's webhooks from here on.
  void InstallWebhooks(World& world);
  void RestartAll();
  // A user deletes a live object, if it is as `which` says, by the replicas
  // that have it. The callback gets the replica's name and life, and the
  // answer's code; it may never be called.
  struct LiveDeletion {
    std::string plural;
    std::string name;
    std::function<bool(const Json& object)> which;
    std::function<void(const std::string& replica, int code)> on_deleted;
  };
  void DeleteLive(const LiveDeletion& deletion);
  // A replica that remembers something, when there is nothing to remember.
  std::optional<std::string> CheckMemory() const;

  std::unique_ptr<Users> users_;
  std::unique_ptr<WebhookFront> front_;

 private:
  class Replica;
  std::unique_ptr<systems::System> MakeSystem(async::Executor& executor) const;

  const std::string system_;
  int starts_ = 0;                 // of Berth, in all replicas
  std::vector<Replica*> running_;  // in the order of their start
};

}  // namespace berth::simulate
