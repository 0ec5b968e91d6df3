#include "reconcile/eni/system.h"

#include <algorithm>
#include <ranges>
#include <utility>

#include "kube/informer.h"
#include "kube/object.h"
#include "reconcile/eni/collector.h"
#include "reconcile/eni/metrics.h"
#include "reconcile/runtime/leader_work.h"
#include "reconcile/runtime/overlay.h"

namespace berth::eni {
namespace {

using namespace std::chrono_literals;

// A pass waits for the API server alone.
constexpr std::size_t kAtOnce = 20;
constexpr auto kLongestBackOff = 10s;
// Somebody else has written the status. Not answered at once: two that write must not spin.
constexpr auto kStatusCheck = 5s;
constexpr auto kClusterRetry = 5s;
// The age that a metric may have that grows with time alone.
constexpr auto kShowEach = 5s;

// True if more than the status has changed.
bool IsNews(const Node& before, const Node& now) {
  return before.id.uid != now.id.uid || before.id.generation != now.id.generation ||
         before.id.deleting != now.id.deleting || before.id.finalizer != now.id.finalizer ||
         before.exclusive != now.exclusive || before.unsupported != now.unsupported ||
         before.backend != now.backend;
}

bool IsReady(const Node& node) {
  if (!node.status.conditions.is_array()) return false;
  return std::ranges::any_of(node.status.conditions.array_range(), [](const Json& condition) {
    return condition.get_value_or<std::string>("type", "") == "Ready" &&
           condition.get_value_or<std::string>("status", "") == "True";
  });
}

struct Namespace {
  std::string uid;
  static kube::Result<Namespace> From(kube::JsonView object) {
    return Namespace{std::string(object["metadata"]["uid"].StringOr(""))};
  }
};

}  // namespace

struct System::Parts {
  struct Work {
    explicit Work(Parts& parts);

    std::vector<runtime::Controller*> controllers() { return {&controller}; }
    void Resync() {
      nodes.ForEach([this](const std::string& key, const Node&) { controller.AddResync(key); });
    }

    const kube::Informer<Node>& nodes;
    kube::EventRecorder events;
    TaskRunner tasks;
    NodeReconciler reconciler;
    std::vector<std::unique_ptr<Collector>> collectors;  // one for each backend
    runtime::Controller controller;

   private:
    static std::vector<std::unique_ptr<Collector>> MakeCollectors(Parts& parts);
  };

  Parts(async::Executor& to_run, kube::Transport& to_use, runtime::Leadership& to_join,
        Backends to_ask, Options given);

  void Listen();
  void Count();
  void ShowMetrics();
  async::Task<void> FindCluster();
  // Whether a Node's status or a task names the ENI, or an attempt its token.
  bool IsNamed(const cloud::Eni& eni) const;
  // The cloud shows the ENI as Available. A Node that has it as InUse is to ask the cloud again.
  void LookAt(const std::string& eni);
  void Wake(const std::string& node) {
    if (work && !node.empty()) work->controller.Add(node);
  }

  async::Executor& executor;
  kube::Transport& transport;
  runtime::Leadership& leadership;
  const Backends backends;
  const Options options;
  std::string cluster;
  kube::Informer<Node> nodes;
  runtime::Overlay<Node> latest;
  std::size_t by_uid;
  std::size_t by_instance;
  std::size_t by_eni;      // IDs of ENIs
  std::size_t by_attempt;  // tokens
  kube::Informer<Pod> pods;
  std::size_t pods_by_node;
  kube::Informer<NodeRuntime> runtimes;
  kube::Informer<CoreNode> core_nodes;
  std::unique_ptr<Metrics> metrics;
  async::Handle show;
  async::Running finding;
  runtime::LeaderWork<Work> work;
};

System::Parts::Work::Work(Parts& parts)
    : nodes(parts.nodes),
      events(parts.executor, parts.transport,
             {.controller = "berth.dev/eni",
              .instance = parts.leadership.identity(),
              .registry = parts.options.registry}),
      tasks(
          parts.executor,
          {.enis = [&parts](const std::string& account, Backend backend) -> cloud::Enis* {
             if (backend == Backend::kEcs) return &parts.backends.ecs.In(account);
             return parts.backends.eflo ? &parts.backends.eflo->In(account) : nullptr;
           },
           .on_ended = [this](const std::string& node) { controller.Add(node); },
           .may_change = [this](const Task& task,
                                const cloud::Eni& eni) { return reconciler.MayChange(task, eni); },
           .on_result =
               [&parts](const Task& task) {
                 if (parts.metrics) parts.metrics->Ended(task);
               }}),
      reconciler({.executor = parts.executor,
                  .api = kube::Api(parts.leadership.fenced()),
                  .events = events,
                  .caches = {.nodes = parts.latest,
                             .listed_nodes = parts.nodes,
                             .nodes_by_uid = parts.by_uid,
                             .nodes_by_instance = parts.by_instance,
                             .pods = parts.pods,
                             .pods_by_node = parts.pods_by_node,
                             .runtimes = parts.runtimes,
                             .core_nodes = parts.core_nodes},
                  .backends = parts.backends,
                  .cluster = parts.cluster,
                  .tasks = tasks,
                  .again = [this](const std::string& key) { controller.Add(key); }}),
      collectors(MakeCollectors(parts)),
      controller(parts.executor,
                 {.name = "ENINode",
                  .concurrency = kAtOnce,
                  .back_off = {.max = kLongestBackOff},
                  .registry = parts.options.registry},
                 [this](std::string key) { return reconciler.Reconcile(std::move(key)); }) {}

std::vector<std::unique_ptr<Collector>> System::Parts::Work::MakeCollectors(Parts& parts) {
  std::vector<std::unique_ptr<Collector>> collectors;
  for (cloud::EniAccounts* accounts : {&parts.backends.ecs, parts.backends.eflo}) {
    if (!accounts) continue;
    collectors.push_back(std::make_unique<Collector>(
        Collector::Parts{.executor = parts.executor,
                         .accounts = *accounts,
                         .cluster = parts.cluster,
                         .is_named = [&parts](const cloud::Eni& eni) { return parts.IsNamed(eni); },
                         .on_available = [&parts](const std::string& eni) { parts.LookAt(eni); },
                         .on_deleted =
                             [&parts] {
                               if (parts.metrics) parts.metrics->Leaked(1);
                             }}));
  }
  return collectors;
}

System::Parts::Parts(async::Executor& to_run, kube::Transport& to_use, runtime::Leadership& to_join,
                     Backends to_ask, Options given)
    : executor(to_run),
      transport(to_use),
      leadership(to_join),
      backends(to_ask),
      options(given),
      nodes(to_run, to_use, {.path = kube::PathOf(kNodes, "")}),
      latest(to_run, nodes),
      by_uid(nodes.AddIndex([](const Node& node) { return std::vector{node.id.uid}; })),
      by_instance(nodes.AddIndex([](const Node& node) { return std::vector{node.spec.instance}; })),
      by_eni(nodes.AddIndex([](const Node& node) {
        return node.status.nics | std::views::keys | std::ranges::to<std::vector>();
      })),
      by_attempt(nodes.AddIndex([](const Node& node) {
        return node.status.attempts | std::views::keys | std::ranges::to<std::vector>();
      })),
      pods(to_run, to_use, {.path = kube::PathOf(kPods, "")}),
      pods_by_node(pods.AddIndex([](const Pod& pod) {
        return pod.node.empty() ? std::vector<std::string>() : std::vector{pod.node};
      })),
      runtimes(to_run, to_use, {.path = kube::PathOf(kNodeRuntimes, "")}),
      core_nodes(to_run, to_use, {.path = kube::PathOf(kCoreNodes, "")}),
      work(to_run, to_join,
           {.system = "eni",
            .resync = options.resync,
            .refresh =
                [this] {
                  latest.Clear();
                  nodes.Refresh();
                  pods.Refresh();
                  runtimes.Refresh();
                },
            .fresh =
                [this] {
                  return nodes.fresh() && pods.fresh() && runtimes.fresh() &&
                         core_nodes.HasSynced() && !cluster.empty();
                },
            .make = [this] { return std::make_unique<Work>(*this); }}) {
  Listen();
  if (options.registry) Count();
  nodes.Start();
  pods.Start();
  runtimes.Start();
  core_nodes.Start();
  finding = async::Start(FindCluster());
}

async::Task<void> System::Parts::FindCluster() {
  const kube::Api api(transport);
  while (cluster.empty()) {
    if (const auto read = co_await api.Get(kNamespaces, "", "kube-system")) {
      if (auto found = kube::Decode<Namespace>(*read)) cluster = found->uid;
    }
    if (cluster.empty()) co_await async::Sleep(executor, kClusterRetry);
  }
  work.BeginWhenFresh();
}

void System::Parts::Listen() {
  const auto whole = [this] { work.BeginWhenFresh(); };
  nodes.AddHandler({.on_add = [this](const std::string& key, const Node&) { Wake(key); },
                    .on_update =
                        [this](const std::string& key, const Node& before, const Node& now) {
                          if (!work) return;
                          if (IsNews(before, now)) {
                            work->controller.Add(key);
                          } else if (!work->reconciler.IsOwnWrite(key, now.id.version)) {
                            work->controller.AddAfter(key, kStatusCheck);
                          }
                        },
                    .on_delete = [this](const std::string& key, const Node&) { Wake(key); },
                    .on_whole = whole});
  pods.AddHandler({.on_add = [this](const std::string&, const Pod& pod) { Wake(pod.node); },
                   .on_update =
                       [this](const std::string&, const Pod& before, const Pod& now) {
                         if (before.id.uid == now.id.uid && before.node == now.node &&
                             before.needs_ip == now.needs_ip && before.addresses == now.addresses) {
                           return;
                         }
                         Wake(before.node);
                         Wake(now.node);
                       },
                   .on_delete = [this](const std::string&, const Pod& pod) { Wake(pod.node); },
                   .on_whole = whole});
  const auto runtime = [this](const std::string& key, const auto&...) { Wake(key); };
  runtimes.AddHandler(
      {.on_add = runtime, .on_update = runtime, .on_delete = runtime, .on_whole = whole});
  core_nodes.AddHandler({.on_add = runtime,
                         .on_update = [](const std::string&, const CoreNode&, const CoreNode&) {},
                         .on_delete = [](const std::string&, const CoreNode&) {},
                         .on_whole = whole});
}

void System::Parts::Count() {
  metrics = std::make_unique<Metrics>(*options.registry);
  const auto put = [this](const std::string& key, const Node& now) {
    if (now.IsOurs()) {
      metrics->PutNode(key, IsReady(now));
    } else {
      metrics->RemoveNode(key);
    }
  };
  nodes.AddHandler(
      {.on_add = put,
       .on_update = [put](const std::string& key, const Node&, const Node& now) { put(key, now); },
       .on_delete = [this](const std::string& key, const Node&) { metrics->RemoveNode(key); }});
  ShowMetrics();
}

void System::Parts::ShowMetrics() {
  metrics->Show(work ? &work->tasks.queue() : nullptr, executor.Now());
  show = executor.RunAfter(kShowEach, [this] { ShowMetrics(); });
}

bool System::Parts::IsNamed(const cloud::Eni& eni) const {
  const auto token = eni.tags.find(std::string(kAttemptTag));
  return nodes.CountIn(by_eni, eni.id) > 0 || (work && work->tasks.queue().Find(eni.id)) ||
         (token != eni.tags.end() && nodes.CountIn(by_attempt, token->second) > 0);
}

void System::Parts::LookAt(const std::string& eni) {
  nodes.ForEachIn(by_eni, eni, [&](const std::string& key, const Node& node) {
    if (node.status.nics.at(eni).status == kInUse) work->reconciler.WantSync(key);
  });
}

System::System(async::Executor& executor, kube::Transport& transport,
               runtime::Leadership& leadership, Backends backends, Options options)
    : parts_(std::make_unique<Parts>(executor, transport, leadership, backends, options)) {}

System::~System() = default;

bool System::synced() const { return parts_->nodes.HasSynced(); }
bool System::leading() const { return static_cast<bool>(parts_->work); }

TaskRunner* System::tasks() { return parts_->work ? &parts_->work->tasks : nullptr; }

std::vector<const runtime::Controller*> System::controllers() const {
  return parts_->work.controllers();
}

std::size_t System::Remembered() const {
  const auto* work = parts_->work.get();
  if (!work) return 0;
  std::size_t orphans = 0;
  for (const auto& collector : work->collectors) orphans += collector->size();
  return work->reconciler.Remembered() + work->tasks.queue().size() + orphans +
         parts_->work.KnownKeys();
}

}  // namespace berth::eni
