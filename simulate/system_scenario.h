#pragma once

#include <prometheus/registry.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "handlers/admission/webhooks.h"
#include "reconcile/runtime/leadership.h"
#include "simulate/scenario.h"
#include "simulate/users.h"
#include "simulate/webhook_front.h"

namespace berth::simulate {

// The frame of a system's scenario: two replicas of which one leads, its webhooks and its users.
class SystemScenario : public Scenario {
 public:
  SystemScenario();
  ~SystemScenario() override;

  int replicas() const override { return 2; }
  std::unique_ptr<Program> Boot(World& world, Process& process,
                                kube::Transport& transport) override;
  bool DeleteAll(World& world) override;
  const Coverage* coverage() const override { return users_ ? &users_->coverage() : nullptr; }

 protected:
  // Berth with one system. Before the leadership starts, the system has registered its webhooks.
  struct Berth {
    Berth(Process& process, kube::Transport& transport, const std::string& identity);
    virtual ~Berth() = default;
    virtual std::size_t Remembered() const = 0;  // entries of the system's tables

    runtime::Leadership leadership;
    prometheus::Registry registry;
    admission::Webhooks webhooks{registry};
  };
  template <typename Engine, typename Desk>
  struct EngineBerth : Berth {
    using Register = void(admission::Webhooks&, Desk&);
    template <typename... Arguments>
    EngineBerth(Register* serve, Process& process, kube::Transport& transport,
                const std::string& identity, Arguments&&... arguments)
        : Berth(process, transport, identity),
          system(process, transport, leadership, std::forward<Arguments>(arguments)...),
          desk(process) {
      serve(webhooks, desk);
      desk.Open(&system);
    }
    std::size_t Remembered() const override { return system.Remembered(); }

    Engine system;
    Desk desk;
  };

  virtual std::unique_ptr<Berth> Make(Process& process, kube::Transport& transport,
                                      const std::string& identity) = 0;
  // The API server calls the webhooks from here on.
  template <typename Desk>
  void InstallWebhooks(World& world, void (*serve)(admission::Webhooks&, Desk&)) {
    front_ = std::make_unique<WebhookFront>(world);
    Desk desk(front_->home());
    prometheus::Registry registry;
    admission::Webhooks webhooks(registry);
    serve(webhooks, desk);
    front_->Install(webhooks);
  }
  void RestartAll();
  // A replica that remembers something, when there is nothing to remember.
  std::optional<std::string> CheckMemory() const;

  std::unique_ptr<Users> users_;
  std::unique_ptr<WebhookFront> front_;

 private:
  class Replica;
  std::vector<Replica*> running_;  // in the order of their start
};

}  // namespace berth::simulate
