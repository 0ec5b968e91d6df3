#include "reconcile/sandbox/system.h"

#include <list>
#include <utility>

#include "kube/informer.h"
#include "reconcile/runtime/leader_work.h"
#include "reconcile/runtime/overlay.h"
#include "reconcile/sandbox/metrics.h"
#include "reconcile/sandbox/work.h"

namespace berth::sandbox {
namespace {

using namespace std::chrono_literals;

constexpr auto kShowEach = 5s;

std::vector<std::string> Given(const std::string& value) {
  return value.empty() ? std::vector<std::string>() : std::vector{value};
}

}  // namespace

struct System::Parts {
  Parts(async::Executor& to_run, kube::Transport& to_use, runtime::Leadership& to_join,
        cloud::SandboxAgents& to_call, Options given);

  void Listen();
  void ShowMetrics();
  std::unique_ptr<Work> MakeWork();
  void Tell(const std::string& key, const Sandbox& now) {
    for (const auto& listener : listeners) listener(key, now);
  }

  async::Executor& executor;
  kube::Transport& transport;
  runtime::Leadership& leadership;
  const Options options;
  kube::Informer<Sandbox> sandboxes;
  runtime::Overlay<Sandbox> latest;
  std::size_t sandboxes_by_uid;
  std::size_t sandboxes_by_pod;
  std::size_t sandboxes_by_pool;
  kube::Informer<Pool> pools;
  runtime::Overlay<Pool> latest_pools;
  kube::Informer<Pod> pods;
  std::size_t pods_by_uid;
  std::size_t pods_by_pool;
  Caches caches;
  std::unique_ptr<Metrics> metrics;
  TimedAgents agents;
  std::list<std::function<void(const std::string&, const Sandbox&)>> listeners;
  async::Handle show;
  runtime::LeaderWork<Work> work;
};

System::Parts::Parts(async::Executor& to_run, kube::Transport& to_use, runtime::Leadership& to_join,
                     cloud::SandboxAgents& to_call, Options given)
    : executor(to_run),
      transport(to_use),
      leadership(to_join),
      options(std::move(given)),
      sandboxes(to_run, to_use, {.path = kube::PathOf(kSandboxes, "")}),
      latest(to_run, sandboxes),
      sandboxes_by_uid(
          sandboxes.AddIndex([](const Sandbox& sandbox) { return Given(sandbox.id.uid); })),
      sandboxes_by_pod(sandboxes.AddIndex(
          [](const Sandbox& sandbox) { return Given(sandbox.status.assigned_pod_uid); })),
      sandboxes_by_pool(sandboxes.AddIndex([](const Sandbox& sandbox) {
        return Given(runtime::KeyBeside(sandbox.id.Key(), sandbox.spec.pool));
      })),
      pools(to_run, to_use, {.path = kube::PathOf(kPools, "")}),
      latest_pools(to_run, pools),
      pods(to_run, to_use, {.path = kube::PathOf(kPods, "")}),
      // Every pod: one that a user takes the owner of is not gone.
      pods_by_uid(pods.AddIndex([](const Pod& pod) { return Given(pod.id.uid); })),
      pods_by_pool(pods.AddIndex([](const Pod& pod) { return Given(pod.pool_uid); })),
      caches{.sandboxes = sandboxes,
             .sandboxes_by_uid = sandboxes_by_uid,
             .sandboxes_by_pod = sandboxes_by_pod,
             .sandboxes_by_pool = sandboxes_by_pool,
             .pools = pools,
             .pods = pods,
             .pods_by_uid = pods_by_uid,
             .pods_by_pool = pods_by_pool},
      metrics(options.registry ? std::make_unique<Metrics>(*options.registry) : nullptr),
      agents(to_run, to_call, metrics.get()),
      work(to_run, to_join,
           {.system = "sandbox",
            .resync = options.resync,
            .refresh =
                [this] {
                  latest.Clear();
                  latest_pools.Clear();
                  sandboxes.Refresh();
                  pools.Refresh();
                  pods.Refresh();
                },
            .fresh = [this] { return sandboxes.fresh() && pools.fresh() && pods.fresh(); },
            .make = [this] { return MakeWork(); }}) {
  Listen();
  if (metrics) ShowMetrics();
  sandboxes.Start();
  pools.Start();
  pods.Start();
}

std::unique_ptr<Work> System::Parts::MakeWork() {
  return std::make_unique<Work>(Work::Parts{.executor = executor,
                                            .leadership = leadership,
                                            .transport = transport,
                                            .agents = agents,
                                            .caches = caches,
                                            .latest = latest,
                                            .latest_pools = latest_pools,
                                            .stamp_key = options.stamp_key,
                                            .probe_each = options.probe_each,
                                            .registry = options.registry,
                                            .metrics = metrics.get()});
}

void System::Parts::Listen() {
  const auto whole = [this] { work.BeginWhenFresh(); };
  sandboxes.AddHandler(
      {.on_add =
           [this](const std::string& key, const Sandbox& now) {
             if (work) work->SandboxChanged(key, nullptr, &now);
             Tell(key, now);
           },
       .on_update =
           [this](const std::string& key, const Sandbox& before, const Sandbox& now) {
             if (work) work->SandboxChanged(key, &before, &now);
             Tell(key, now);
           },
       .on_delete =
           [this](const std::string& key, const Sandbox& last) {
             if (work) work->SandboxChanged(key, &last, nullptr);
           },
       .on_whole = whole});
  pools.AddHandler({.on_add =
                        [this](const std::string& key, const Pool& now) {
                          if (work) work->PoolChanged(key, nullptr, &now);
                        },
                    .on_update =
                        [this](const std::string& key, const Pool& before, const Pool& now) {
                          if (work) work->PoolChanged(key, &before, &now);
                        },
                    .on_delete =
                        [this](const std::string& key, const Pool& last) {
                          if (work) work->PoolChanged(key, &last, nullptr);
                        },
                    .on_whole = whole});
  pods.AddHandler({.on_add =
                       [this](const std::string&, const Pod& now) {
                         if (work) work->PodChanged(nullptr, &now);
                       },
                   .on_update =
                       [this](const std::string&, const Pod& before, const Pod& now) {
                         if (work) work->PodChanged(&before, &now);
                       },
                   .on_delete =
                       [this](const std::string&, const Pod& last) {
                         if (work) work->PodChanged(&last, nullptr);
                       },
                   .on_whole = whole});
}

void System::Parts::ShowMetrics() {
  metrics->Show(sandboxes, work ? &work->registry() : nullptr);
  show = executor.RunAfter(kShowEach, [this] { ShowMetrics(); });
}

System::System(async::Executor& executor, kube::Transport& transport,
               runtime::Leadership& leadership, cloud::SandboxAgents& agents, Options options)
    : parts_(std::make_unique<Parts>(executor, transport, leadership, agents, std::move(options))) {
}

System::~System() = default;

bool System::synced() const { return parts_->sandboxes.HasSynced() && parts_->pods.HasSynced(); }
bool System::leading() const { return parts_->work && parts_->work->ready(); }

std::optional<std::string> System::Stamp(const Sandbox& sandbox) {
  if (parts_->work) return parts_->work->Stamp(sandbox);
  if (parts_->metrics) parts_->metrics->Unstamped("NotLeading");
  return std::nullopt;
}

void System::Withdraw(const std::string& annotation) {
  if (parts_->work) parts_->work->Withdraw(annotation);
}

Slots* System::slots() { return parts_->work.get(); }

const Sandbox* System::Find(const std::string& key) { return parts_->latest.Get(key); }
const Pool* System::FindPool(const std::string& key) const { return parts_->pools.Get(key); }

async::Handle System::Listen(
    std::function<void(const std::string& key, const Sandbox& now)> changed) {
  auto& listeners = parts_->listeners;
  const auto place = listeners.insert(listeners.end(), std::move(changed));
  return async::Handle([&listeners, place] { listeners.erase(place); });
}

std::vector<const runtime::Controller*> System::controllers() const {
  return parts_->work.controllers();
}

std::size_t System::Remembered() const {
  const auto* work = parts_->work.get();
  return work ? work->Remembered() + parts_->work.KnownKeys() : 0;
}

}  // namespace berth::sandbox
