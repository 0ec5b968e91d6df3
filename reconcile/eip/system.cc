#include "reconcile/eip/system.h"

#include <utility>

#include "kube/informer.h"
#include "log/log.h"
#include "reconcile/eip/metrics.h"
#include "reconcile/eip/reconciler.h"
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
constexpr auto kDrainFor = 2s;
constexpr auto kDrainPoll = 10ms;

// What else than the status has changed: that one only we write, unless it was wiped.
bool IsNews(const Object& before, const Object& now) {
  return before.id.uid != now.id.uid || before.id.generation != now.id.generation ||
         before.id.deleting != now.id.deleting || before.id.finalizer != now.id.finalizer ||
         before.on_lost != now.on_lost || before.on_stuck != now.on_stuck ||
         before.on_foreign != now.on_foreign || (before.has_status && !now.has_status);
}

}  // namespace

struct System::Parts {
  // What only the leader has.
  struct Work {
    Work(Parts& parts, kube::Transport& transport)
        : events(parts.executor, transport,
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

    kube::EventRecorder events;
    Reconciler reconciler;
    runtime::Controller controller;
    async::Handle resync;
  };

  Parts(async::Executor& to_run, kube::Transport& to_use, runtime::Leadership& to_join,
        cloud::Vpcs& to_ask, Options given);

  void Listen();
  void Count();
  void ShowMetrics();
  void Elected();
  void BeginWhenFresh();
  void Resync();
  async::Task<void> Drain();

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
  std::unique_ptr<Work> work;
  bool may_work = false;  // this replica leads
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
      by_uid(objects.AddIndex([](const Object& object) { return std::vector{object.id.uid}; })) {
  Listen();
  if (options.registry) Count();
  objects.Start();
  leadership.Join({.on_elected = [this] { Elected(); },
                   .on_deposed =
                       [this] {
                         may_work = false;
                         work.reset();
                       },
                   .drain = [this] { return Drain(); }});
}

void System::Parts::Listen() {
  // Who shares an address with another one may have it once that is gone.
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
                            if (work && IsNews(before, now)) work->controller.Add(key);
                          },
                      .on_delete =
                          [this, tell_others](const std::string& key, const Object& last) {
                            if (!work) return;
                            work->controller.Add(key);
                            tell_others(last);
                          },
                      .on_whole = [this] { BeginWhenFresh(); }});
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

void System::Parts::Elected() {
  may_work = true;
  latest.Clear();
  objects.Refresh();
}

void System::Parts::BeginWhenFresh() {
  if (!may_work || work || !objects.fresh()) return;
  work = std::make_unique<Work>(*this, transport);
  Resync();
  work->controller.Start();
  log::Info("eip at work", {{"objects", objects.size()}});
}

void System::Parts::Resync() {
  objects.ForEach(
      [this](const std::string& key, const Object&) { work->controller.AddResync(key); });
  work->resync = executor.RunAfter(options.resync, [this] { Resync(); });
}

async::Task<void> System::Parts::Drain() {
  const auto deadline = executor.Now() + kDrainFor;
  if (work) work->controller.Pause();
  while (work && work->controller.Stats().queue.processing > 0 && executor.Now() < deadline) {
    co_await async::Sleep(executor, kDrainPoll);
  }
  work.reset();
}

System::System(async::Executor& executor, kube::Transport& transport,
               runtime::Leadership& leadership, cloud::Vpcs& vpcs, Options options)
    : parts_(std::make_unique<Parts>(executor, transport, leadership, vpcs, options)) {}

System::~System() = default;

bool System::synced() const { return parts_->objects.HasSynced(); }
bool System::leading() const { return parts_->work != nullptr; }

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
  const Parts::Work* work = parts_->work.get();
  const std::size_t while_leading =
      work ? work->reconciler.Remembered() + work->controller.KnownKeys() : 0;
  return parts_->objects.size() + parts_->latest.size() + while_leading;
}

const runtime::Controller* System::controller() const {
  return parts_->work ? &parts_->work->controller : nullptr;
}

}  // namespace berth::eip
