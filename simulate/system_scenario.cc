#include "simulate/system_scenario.h"

#include "log/format.h"

namespace berth::simulate {

SystemScenario::Berth::Berth(Process& process, kube::Transport& transport,
                             const std::string& identity)
    : leadership(process, transport, {.ns = "default", .name = "berth", .identity = identity}) {}

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
  std::size_t Remembered() const { return berth_->Remembered(); }
  void Restart() {
    owner_.front_->Leave(process_);
    berth_.reset();
    berth_ = owner_.Make(process_, transport_, Format("{}.{}", process_.name(), process_.life()));
    owner_.front_->Join(process_, berth_->webhooks);
    berth_->leadership.Start();
  }

 private:
  SystemScenario& owner_;
  Process& process_;
  kube::Transport& transport_;
  std::unique_ptr<Berth> berth_;
};

SystemScenario::SystemScenario() = default;
SystemScenario::~SystemScenario() = default;

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

std::optional<std::string> SystemScenario::CheckMemory() const {
  for (const Replica* replica : running_) {
    if (const std::size_t entries = replica->Remembered(); entries > 0)
      return Format("a replica remembers {} entries of nothing", entries);
  }
  return std::nullopt;
}

}  // namespace berth::simulate
