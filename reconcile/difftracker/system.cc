#include "reconcile/difftracker/system.h"

#include <string>
#include <utility>

#include "kube/informer.h"
#include "kube/object.h"
#include "log/log.h"
#include "reconcile/difftracker/work.h"
#include "reconcile/runtime/leader_work.h"

namespace berth::difftracker {
namespace {

using namespace std::chrono_literals;

constexpr auto kClusterRetry = 5s;
constexpr auto kShowEach = 5s;

struct Namespace {
  std::string uid;
  static kube::Result<Namespace> From(kube::JsonView object) {
    return Namespace{std::string(object["metadata"]["uid"].StringOr(""))};
  }
};

std::vector<std::string> Given(const std::string& value) {
  return value.empty() ? std::vector<std::string>() : std::vector{value};
}

std::vector<std::string> NodesOf(const Slice& slice) {
  std::vector<std::string> nodes;
  for (const Endpoint& endpoint : slice.endpoints) {
    if (!endpoint.node.empty()) nodes.push_back(endpoint.node);
  }
  return nodes;
}

std::vector<std::string> EgressOf(const Pod& pod) {
  return pod.egress ? Given(pod.egress->Egress()) : std::vector<std::string>();
}

}  // namespace

struct System::Parts {
  Parts(async::Executor& to_run, kube::Transport& to_use, runtime::Leadership& to_join,
        cloud::ServiceGateway& to_ask, Options given);

  void Listen();
  void ShowMetrics();
  async::Task<void> FindCluster();
  std::unique_ptr<Work> MakeWork();

  async::Executor& executor;
  kube::Transport& transport;
  runtime::Leadership& leadership;
  cloud::ServiceGateway& gateway;
  const Options options;
  std::string cluster;
  kube::Informer<Service> services;
  runtime::Overlay<Service> latest;
  std::size_t services_by_uid;
  kube::Informer<Slice> slices;
  std::size_t slices_by_service;
  std::size_t slices_by_node;
  kube::Informer<Pod> pods;
  std::size_t pods_by_uid;
  std::size_t pods_by_egress;
  kube::Informer<Node> nodes;
  std::size_t nodes_by_ip;
  std::unique_ptr<Metrics> metrics;
  async::Handle show;
  async::Running finding;
  runtime::LeaderWork<Work> work;
};

System::Parts::Parts(async::Executor& to_run, kube::Transport& to_use, runtime::Leadership& to_join,
                     cloud::ServiceGateway& to_ask, Options given)
    : executor(to_run),
      transport(to_use),
      leadership(to_join),
      gateway(to_ask),
      options(given),
      services(to_run, to_use, {.path = kube::PathOf(kServices, "")}),
      latest(to_run, services),
      services_by_uid(services.AddIndex(
          [](const Service& service) { return std::vector{service.GatewayKey()}; })),
      slices(to_run, to_use, {.path = kube::PathOf(kSlices, "")}),
      slices_by_service(slices.AddIndex([](const Slice& slice) { return Given(slice.service); })),
      slices_by_node(slices.AddIndex(NodesOf)),
      pods(to_run, to_use, {.path = kube::PathOf(kPods, "")}),
      pods_by_uid(pods.AddIndex([](const Pod& pod) {
        return pod.egress ? Given(pod.egress->id.uid) : std::vector<std::string>();
      })),
      pods_by_egress(pods.AddIndex(EgressOf)),
      nodes(to_run, to_use, {.path = kube::PathOf(kNodes, "")}),
      nodes_by_ip(nodes.AddIndex([](const Node& node) {
        std::vector<std::string> ips = Given(node.ipv4);
        ips.append_range(Given(node.ipv6));
        return ips;
      })),
      work(to_run, to_join,
           {.system = "difftracker",
            .resync = options.resync,
            .refresh =
                [this] {
                  latest.Clear();
                  services.Refresh();
                  slices.Refresh();
                  pods.Refresh();
                  nodes.Refresh();
                },
            .fresh =
                [this] {
                  return services.fresh() && slices.fresh() && pods.fresh() && nodes.fresh() &&
                         !cluster.empty();
                },
            .make = [this] { return MakeWork(); }}) {
  if (options.registry) metrics = std::make_unique<Metrics>(*options.registry);
  Listen();
  if (metrics) ShowMetrics();
  services.Start();
  slices.Start();
  pods.Start();
  nodes.Start();
  finding = async::Start(FindCluster());
}

std::unique_ptr<Work> System::Parts::MakeWork() {
  if (metrics) metrics->Clear();
  return std::make_unique<Work>(Work::Parts{.executor = executor,
                                            .leadership = leadership,
                                            .gateway = gateway,
                                            .cluster = cluster,
                                            .caches = {.services = services,
                                                       .services_by_uid = services_by_uid,
                                                       .slices = slices,
                                                       .slices_by_service = slices_by_service,
                                                       .slices_by_node = slices_by_node,
                                                       .pods = pods,
                                                       .pods_by_uid = pods_by_uid,
                                                       .pods_by_egress = pods_by_egress,
                                                       .nodes = nodes},
                                            .nodes_by_ip = nodes_by_ip,
                                            .latest = latest,
                                            .drift = options.resync,
                                            .registry = options.registry,
                                            .metrics = metrics.get()});
}

async::Task<void> System::Parts::FindCluster() {
  const kube::Api api(transport);
  std::string told;
  while (cluster.empty()) {
    const auto read = co_await api.Get(kNamespaces, "", "kube-system");
    if (read) {
      if (auto found = kube::Decode<Namespace>(*read)) cluster = found->uid;
    }
    if (!cluster.empty()) break;
    const std::string why = read ? "it has no uid" : read.error().message;
    if (why != told) {
      log::Warn("the namespace kube-system, whose uid is the cluster's tag, cannot be read",
                {{"error", why}});
      told = why;
    }
    co_await async::Sleep(executor, kClusterRetry);
  }
  work.BeginWhenFresh();
}

void System::Parts::Listen() {
  const auto whole = [this] { work.BeginWhenFresh(); };
  services.AddHandler(
      {.on_add =
           [this](const std::string& key, const Service& now) {
             if (work) work->ServiceChanged(key, nullptr, &now);
           },
       .on_update =
           [this](const std::string& key, const Service& before, const Service& now) {
             if (work) work->ServiceChanged(key, &before, &now);
           },
       .on_delete =
           [this](const std::string& key, const Service& last) {
             if (work) work->ServiceChanged(key, &last, nullptr);
           },
       .on_whole = whole});
  slices.AddHandler({.on_add =
                         [this](const std::string& key, const Slice& now) {
                           if (work) work->SliceChanged(key, &now);
                         },
                     .on_update =
                         [this](const std::string& key, const Slice&, const Slice& now) {
                           if (work) work->SliceChanged(key, &now);
                         },
                     .on_delete =
                         [this](const std::string& key, const Slice&) {
                           if (work) work->SliceChanged(key, nullptr);
                         },
                     .on_whole = whole});
  pods.AddHandler({.on_add =
                       [this](const std::string& key, const Pod& now) {
                         if (work) work->PodChanged(key, nullptr, now.egress.get());
                       },
                   .on_update =
                       [this](const std::string& key, const Pod& before, const Pod& now) {
                         if (work) work->PodChanged(key, before.egress.get(), now.egress.get());
                       },
                   .on_delete =
                       [this](const std::string& key, const Pod& last) {
                         if (work) work->PodChanged(key, last.egress.get(), nullptr);
                       },
                   .on_whole = whole});
  nodes.AddHandler({.on_add =
                        [this](const std::string& name, const Node& now) {
                          if (work) work->NodeChanged(name, nullptr, &now);
                        },
                    .on_update =
                        [this](const std::string& name, const Node& before, const Node& now) {
                          if (work) work->NodeChanged(name, &before, &now);
                        },
                    .on_delete =
                        [this](const std::string& name, const Node& last) {
                          if (work) work->NodeChanged(name, &last, nullptr);
                        },
                    .on_whole = whole});
}

void System::Parts::ShowMetrics() {
  metrics->Show(work ? &work->engine() : nullptr, executor.Now());
  show = executor.RunAfter(kShowEach, [this] { ShowMetrics(); });
}

System::System(async::Executor& executor, kube::Transport& transport,
               runtime::Leadership& leadership, cloud::ServiceGateway& gateway, Options options)
    : parts_(std::make_unique<Parts>(executor, transport, leadership, gateway, options)) {}

System::~System() = default;

bool System::synced() const { return parts_->services.HasSynced(); }
bool System::leading() const { return static_cast<bool>(parts_->work); }
bool System::started() const { return parts_->work && parts_->work->engine().started(); }

Tracker* System::tracker() { return parts_->work.get(); }

std::vector<const runtime::Controller*> System::controllers() const {
  return parts_->work.controllers();
}

std::size_t System::Remembered() const {
  const auto* work = parts_->work.get();
  return work ? work->Remembered() + parts_->work.KnownKeys() : 0;
}

}  // namespace berth::difftracker
