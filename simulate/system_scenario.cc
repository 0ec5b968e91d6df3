#include "simulate/system_scenario.h"

#include <algorithm>

#include "log/format.h"
#include "systems/registration.h"
#include "systems/systems.h"

namespace berth::simulate {

class SystemScenario::Replica : public Program {
 public:
  Replica(SystemScenario& owner, Process& process, kube::Transport& transport)
      : owner_(owner), process_(process), transport_(transport) {
    owner_.running_.push_back(this);
    Restart();
  }
  ~Replica() override {
    std::erase(owner_.running_, this);
    owner_.front_->Leave(process_);
  }

  async::Task<void> Stop() override { return berth_->leadership.Stop(); }
  std::size_t Remembered() const { return berth_->system->remembered(); }
  void DeleteLive(const LiveDeletion& deletion) {
    berth_->system->Publish();
    apis::ResourceStore& store = *berth_->registered.api.store(deletion.plural);
    const auto object = store.Get("", deletion.name);
    if (!object || !deletion.which(Json::parse(object->json))) return;
    const std::string replica = Format("{}.{}", process_.name(), process_.life());
    store.Delete(
        {.ns = {}, .name = deletion.name}, process_,
        [replica, answer = deletion.on_deleted](const std::expected<void, kube::Status>& deleted) {
          answer(replica, deleted ? 200 : deleted.error().code);
        });
  }
  void Restart() {
    owner_.front_->Leave(process_);
    berth_.reset();
    berth_ = std::make_unique<Berth>(owner_, process_, transport_);
    owner_.front_->Join(process_, berth_->registered.webhooks);
    berth_->leadership.Start();
  }

 private:
  struct Berth {
    Berth(SystemScenario& owner, Process& process, kube::Transport& transport)
        : account(owner.Open(process)),
          leadership(
              process, transport,
              {.ns = "default",
               .name = "berth",
               .identity = Format("{}.{}.{}", process.name(), process.life(), ++owner.starts_)}),
          system(owner.MakeSystem(process)) {
      system->Start({.executor = process,
                     .transport = transport,
                     .leadership = leadership,
                     .registry = registered.registry,
                     .derive_key = [](const std::string& purpose) { return purpose; },
                     .vpcs = account ? account->vpcs() : nullptr,
                     .ecs = account ? account->ecs() : nullptr,
                     .eflo = account ? account->eflo() : nullptr,
                     .service_gateway = account ? account->service_gateway() : nullptr,
                     .sandbox_agents = account ? account->sandbox_agents() : nullptr});
    }
    ~Berth() { system->Stop(); }
    Berth(const Berth&) = delete;
    Berth& operator=(const Berth&) = delete;

    const std::unique_ptr<Account> account;
    runtime::Leadership leadership;
    const std::unique_ptr<systems::System> system;
    systems::Registration registered{*system};
  };

  SystemScenario& owner_;
  Process& process_;
  kube::Transport& transport_;
  std::unique_ptr<Berth> berth_;
};

SystemScenario::SystemScenario(std::string system) : system_(std::move(system)) {}
SystemScenario::~SystemScenario() = default;

std::unique_ptr<systems::System> SystemScenario::MakeSystem(async::Executor& executor) const {
  systems::Options options;
  options.azure.service_gateway = true;
  options.sandbox.enabled = true;
  auto all = systems::MakeSystems(executor, options);
  return std::move(*std::ranges::find(all, system_, &systems::System::name));
}

void SystemScenario::InstallWebhooks(World& world) {
  front_ = std::make_unique<WebhookFront>(world);
  const auto system = MakeSystem(front_->home());
  front_->Install(systems::Registration(*system).webhooks);
}

std::unique_ptr<Program> SystemScenario::Boot(World&, Process& process,
                                              kube::Transport& transport) {
  return std::make_unique<Replica>(*this, process, transport);
}

bool SystemScenario::DeleteAll(World&) {
  users_->DeleteAll();
  return true;
}

void SystemScenario::RestartAll() {
  for (Replica* replica : running_) replica->Restart();
}

void SystemScenario::DeleteLive(const LiveDeletion& deletion) {
  for (Replica* replica : running_) replica->DeleteLive(deletion);
}

std::optional<std::string> SystemScenario::CheckMemory() const {
  for (const Replica* replica : running_) {
    if (const std::size_t entries = replica->Remembered(); entries > 0)
      return Format("a replica remembers {} entries of nothing", entries);
  }
  return std::nullopt;
}

}  // namespace berth::simulate
