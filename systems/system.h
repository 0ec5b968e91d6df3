#pragma once

#include <prometheus/registry.h>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "async/executor.h"
#include "cloud/eni.h"
#include "cloud/sandbox_agent.h"
#include "cloud/service_gateway.h"
#include "cloud/vpc.h"
#include "handlers/admission/webhooks.h"
#include "handlers/apis/api_server.h"
#include "kube/api.h"
#include "kube/transport.h"
#include "reconcile/runtime/controller.h"
#include "reconcile/runtime/desk.h"
#include "reconcile/runtime/leadership.h"
#include "systems/demo.h"
#include "systems/preflight.h"

namespace berth::systems {

// The rights of a system to objects of a kind.
enum class Rights : std::uint8_t {
  kRead,
  kReadStatus,   // reads them and patches their status
  kPatch,        // reads and patches them, not their status
  kPatchStatus,  // reads and patches them and their status
  kReplace,      // reads, creates and deletes them
  kUpdate,       // reads and updates them
  kCreate,       // creates and deletes them, too
};
struct Kind {
  kube::Resource resource;
  Rights rights = Rights::kUpdate;
  std::string_view only = {};  // the name of the one object that is read; empty for all
};

// The surroundings of a system on the control thread. All outlive Stop().
struct Host {
  async::Executor& executor;
  kube::Transport& transport;
  runtime::Leadership& leadership;  // has not started
  prometheus::Registry& registry;
  // A key that all replicas share and that nothing else uses.
  std::function<std::string(const std::string& purpose)> derive_key;
  // Alibaba Cloud; null without an account.
  cloud::Vpcs* vpcs = nullptr;
  cloud::EniAccounts* ecs = nullptr;
  cloud::EniAccounts* eflo = nullptr;
  // Azure; null without an account.
  cloud::ServiceGateway* service_gateway = nullptr;
  // The agents of sandboxes; null where they are not called.
  cloud::SandboxAgents* sandbox_agents = nullptr;
};

// One of the systems of Berth: its reconcilers, its webhooks and its live resources. A system
// switched off by its options is registered, so that its webhooks answer, and not started.
class System {
 public:
  virtual ~System() = default;

  virtual std::string_view name() const = 0;
  virtual std::vector<Kind> kinds() const = 0;
  virtual std::string_view cloud() const { return ""; }  // the provider it needs an account with
  virtual bool enabled() const { return true; }
  // The part of the demo's greeting that shows the system: commands, two spaces before each. `dir`
  // has the files of the demo.
  virtual std::string demo_commands(const std::filesystem::path& /*dir*/) const { return ""; }
  // The files of those commands.
  virtual std::vector<DemoFile> demo_files() const { return {}; }
  // Makes what those commands need in a cloud of the demo. On the control thread, before Start.
  virtual void FillDemo(const DemoClouds& /*clouds*/) const {}

  // Objects in the cluster that would behave otherwise than their users may expect; an error when
  // it cannot be read. Needs neither Register nor Start.
  virtual async::Task<kube::Result<Findings>> Preflight(const Survey* /*survey*/) {
    co_return Findings();
  }

  // Before serving, once. The system outlives both.
  virtual void Register(admission::Webhooks& webhooks, apis::ApiServer& api) = 0;

  // On the control thread, as is all that follows. Joins the leadership.
  virtual void Start(const Host& host) = 0;
  // Brings the live resources up to date; twice a second between Start and Stop.
  virtual void Publish() {}
  // The controllers while leading, none otherwise.
  virtual std::vector<const runtime::Controller*> controllers() const = 0;
  // Entries of its tables beside the caches; none once there are no objects.
  virtual std::size_t remembered() const { return 0; }
  // Ends all that Start began; the leadership has been given back and calls nobody any more.
  virtual void Stop() = 0;
};

// A system whose webhooks ask its engine, a class of reconcile/, through a runtime::Desk.
template <typename Engine, typename Desk>
class EngineSystem : public System {
 public:
  explicit EngineSystem(async::Executor& control, async::Duration within = runtime::kAnswerWithin)
      : desk_(control, within) {}

  std::vector<const runtime::Controller*> controllers() const override {
    return engine_->controllers();
  }
  std::size_t remembered() const override { return engine_->Remembered(); }
  void Stop() override {
    desk_.Open(nullptr);
    engine_.reset();
  }

 protected:
  void Open(std::unique_ptr<Engine> engine) {
    engine_ = std::move(engine);
    desk_.Open(engine_.get());
  }

  Desk desk_;
  std::unique_ptr<Engine> engine_;  // of the control thread
};

}  // namespace berth::systems
