#include "reconcile/eip/system.h"

#include <utility>

#include "kube/informer.h"
#include "reconcile/eip/metrics.h"
#include "reconcile/eip/reconciler.h"
#include "reconcile/runtime/leader_work.h"
#include "reconcile/runtime/overlay.h"

namespace berth::eip {
namespace {

using namespace std::chrono_literals;

// Most of a reconcile is waiting for the cloud, and those that wait together are asked for
// together. Half of them may be waiting for an allocation or a release: see Reconciler::kInLine.
constexpr std::size_t kAtOnce = 200;
// An object is ready again within half a minute of a fault's end.
constexpr auto kLongestBackOff = 10s;
// How old a metric may be that grows with time alone.
constexpr auto kShowEach = 5s;

// True if more than the status has changed: Berth alone writes that, unless it was wiped.
bool IsNews(const Object& before, const Object& now) {
  return before.id.uid != now.id.uid || before.id.generation != now.id.generation ||
         before.id.deleting != now.id.deleting || before.id.finalizer != now.id.finalizer ||
         before.on_lost != now.on_lost || before.on_stuck != now.on_stuck ||
         before.on_foreign != now.on_foreign || (before.has_status && !now.has_status);
}

}  // namespace

struct System::Parts {
  struct Work {
    explicit Work(Parts& parts)
        : objects(parts.objects),
          events(parts.executor, parts.transport,
                 {.controller = "berth.dev/eip",
                  .instance = parts.leadership.identity(),
                  .registry = parts.options.registry}),
          reconciler({.executor = parts.executor,
                      .api = kube::Api(parts.leadership.fenced()),
                      .events = events,
                      .objects = parts.objects,
                      .latest = parts.latest,
                      .by_address = parts.by_address,
                      .by_uid = parts.by_uid,
                      .vpcs = parts.vpcs,
                      .again = [this](const std::string& key) { controller.Add(key); }}),
          controller(parts.executor,
                     {.name = "EIP",
                      .concurrency = kAtOnce,
                      .back_off = {.max = kLongestBackOff},
                      .registry = parts.options.registry},
                     [this](std::string key) { return reconciler.Reconcile(std::move(key)); }) {}

    std::vector<runtime::Controller*> controllers() { return {&controller}; }
    void Resync() {
      objects.ForEach([this](const std::string& key, const Object&) { controller.AddResync(key); });
    }

    const kube::Informer<Object>& objects;
    kube::EventRecorder events;
    Reconciler reconciler;
    runtime::Controller controller;
  };

  Parts(async::Executor& to_run, kube::Transport& to_use, runtime::Leadership& to_join,
        cloud::Vpcs& to_ask, Options given);

  void Listen();
  void Count();
  void ShowMetrics();

  async::Executor& executor;
  kube::Transport& transport;
  runtime::Leadership& leadership;
  cloud::Vpcs& vpcs;
  const Options options;
  kube::Informer<Object> objects;
  runtime::Overlay<Object> latest;
  std::size_t by_address;
  std::size_t by_uid;
  std::unique_ptr<Metrics> metrics;  // of the cache, whoever leads
  async::Handle show;
  runtime::LeaderWork<Work> work;
};

System::Parts::Parts(async::Executor& to_run, kube::Transport& to_use, runtime::Leadership& to_join,
                     cloud::Vpcs& to_ask, Options given)
    : executor(to_run),
      transport(to_use),
      leadership(to_join),
      vpcs(to_ask),
      options(given),
      objects(to_run, to_use, {.path = kube::PathOf(kEips, "")}),
      latest(to_run, objects),
      by_address(objects.AddIndex([](const Object& object) {
        const std::string& id = object.ClaimedId();
        return id.empty() ? std::vector<std::string>() : std::vector{id};
      })),
      by_uid(objects.AddIndex([](const Object& object) { return std::vector{object.id.uid}; })),
      work(to_run, to_join,
           {.system = "eip",
            .resync = options.resync,
            .refresh =
                [this] {
                  latest.Clear();
                  objects.Refresh();
                },
            .fresh = [this] { return objects.fresh(); },
            .make = [this] { return std::make_unique<Work>(*this); }}) {
  Listen();
  if (options.registry) Count();
  objects.Start();
}

void System::Parts::Listen() {
  // An object that shares an address with another one may have it once that is gone.
  const auto tell_others = [this](const Object& gone) {
    objects.ForEachIn(by_address, gone.ClaimedId(),
                      [this](const std::string& key, const Object&) { work->controller.Add(key); });
  };
  objects.AddHandler({.on_add =
                          [this](const std::string& key, const Object& object) {
                            if (!work) return;
                            work->reconciler.SawCreation(key, object.id.uid);
                            work->controller.Add(key);
                          },
                      .on_update =
                          [this](const std::string& key, const Object& before, const Object& now) {
                            if (!work || !IsNews(before, now)) return;
                            work->controller.Add(key);
                            if (before.id.deleting == 0 && now.id.deleting != 0) {
                              work->reconciler.SawDeletion(key);
                            }
                          },
                      .on_delete =
                          [this, tell_others](const std::string& key, const Object& last) {
                            if (!work) return;
                            work->controller.Add(key);
                            tell_others(last);
                          },
                      .on_whole = [this] { work.BeginWhenFresh(); }});
}

void System::Parts::Count() {
  metrics = std::make_unique<Metrics>(*options.registry);
  objects.AddHandler(
      {.on_add = [this](const std::string& key, const Object& now) { metrics->Put(key, now); },
       .on_update = [this](const std::string& key, const Object&,
                           const Object& now) { metrics->Put(key, now); },
       .on_delete = [this](const std::string& key, const Object&) { metrics->Remove(key); }});
  ShowMetrics();
}

void System::Parts::ShowMetrics() {
  metrics->Show(executor.WallNow());
  show = executor.RunAfter(kShowEach, [this] { ShowMetrics(); });
}

System::System(async::Executor& executor, kube::Transport& transport,
               runtime::Leadership& leadership, cloud::Vpcs& vpcs, Options options)
    : parts_(std::make_unique<Parts>(executor, transport, leadership, vpcs, options)) {}

System::~System() = default;

bool System::synced() const { return parts_->objects.HasSynced(); }
bool System::leading() const { return static_cast<bool>(parts_->work); }

std::string System::HolderOf(const std::string& allocation_id,
                             const std::string& except_uid) const {
  std::string holder;
  parts_->objects.ForEachIn(parts_->by_address, allocation_id,
                            [&](const std::string&, const Object& object) {
                              if (object.id.uid != except_uid) holder = object.id.Key();
                            });
  return holder;
}

std::size_t System::Remembered() const {
  const auto& work = parts_->work;
  return parts_->objects.size() + parts_->latest.size() + work.KnownKeys() +
         (work ? work->reconciler.Remembered() : 0);
}

std::vector<const runtime::Controller*> System::controllers() const {
  return parts_->work.controllers();
}

}  // namespace berth::eip
