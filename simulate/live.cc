#include "simulate/live.h"

#include <csignal>
#include <future>
#include <map>
#include <utility>

#include "async/event_loop.h"
#include "kube/client.h"
#include "kube/client_transport.h"
#include "kube/config.h"
#include "log/format.h"
#include "log/log.h"
#include "simulate/toy_controller.h"

namespace berth::simulate {
namespace {

using namespace std::chrono_literals;

// Slots for as long as the process lives.
class LocalDepot : public Depot {
 public:
  explicit LocalDepot(async::Executor& executor) : executor_(executor) {}

  async::Handle Acquire(std::string token, Done done) override {
    auto [slot, fresh] = slots_.try_emplace(token);
    if (fresh) slot->second = Format("slot-{}", slots_.size());
    return executor_.RunAfter({}, [done = std::move(done), held = slot->second] { done(held); });
  }
  async::Handle Release(std::string token, Done done) override {
    slots_.erase(token);
    return executor_.RunAfter({}, [done = std::move(done)] { done(std::string()); });
  }

 private:
  async::Executor& executor_;
  std::map<std::string, std::string> slots_;
};

// Before any thread is made, so that all inherit the mask and sigwait gets the signals.
sigset_t BlockSignals() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGINT);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  return signals;
}

void InstallKind(kube::Client& client, const char* kind) {
  std::promise<void> done;
  client.Send({.method = kube::Method::kPost,
               .path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
               .body = kind},
              [&](kube::Result<kube::Response> answer) {
                if (!answer && answer.error().reason != "AlreadyExists") {
                  log::Error("cannot install a kind", {{"error", answer.error().message}});
                }
                done.set_value();
              });
  done.get_future().wait();
}

}  // namespace

int RunLive(const std::string& kubeconfig, const std::string& identity) {
  const sigset_t signals = BlockSignals();
  auto config = kube::LoadKubeconfig(kubeconfig);
  if (!config) {
    log::Error("cannot start", {{"error", config.error().message}});
    return 1;
  }
  kube::Client client(std::move(*config));
  InstallKind(client, kGadgetKind);
  InstallKind(client, kPartKind);
  async::EventLoop loop("control");
  kube::ClientTransport transport(client, loop);
  LocalDepot depot(loop);
  std::unique_ptr<Program> program;
  loop.Run(
      [&] { program = StartToy(loop, transport, depot, {.identity = identity, .elect = true}); });
  int signal = 0;
  sigwait(&signals, &signal);
  std::promise<void> stopped;
  async::Running stopping;
  loop.Post([&] { stopping = async::Start(program->Stop(), [&] { stopped.set_value(); }); });
  stopped.get_future().wait_for(20s);
  loop.Run([&] {
    stopping = {};
    program.reset();
  });
  client.Shutdown();
  loop.Stop();
  return 0;
}

}  // namespace berth::simulate
