#include "simulate/world.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "kube/yaml.h"
#include "log/format.h"
#include "log/log.h"
#include "reconcile/crds.h"

namespace berth::simulate {

using namespace std::chrono_literals;

namespace {

kube::Request WithoutQuery(kube::Request request) {
  request.path.resize(std::min(request.path.size(), request.path.find('?')));
  return request;
}

}  // namespace

World::World(Options options, Scenario& scenario)
    : options_(options), scenario_(scenario), random_(options.seed) {
  if (options_.faults) {
    faults_ = Faults::Draw(random_);
    scenario_.Adjust(faults_, random_);
  }
  server_ = std::make_unique<kube::memory::Server>(
      kube::memory::Server::Options{.now = [this] { return scheduler_.WallNow(); },
                                    .random = [this] { return random_.Next(); },
                                    .machinery = scenario_.machinery()});
}

World::~World() {
  // Replicas first: they hold watches of the server.
  for (Replica& replica : replicas_) replica.process->Crash();
}

std::optional<std::string> World::Run() {
  Trace("faults:{}", faults_.Describe());
  scenario_.SetUp(*this);
  replicas_.resize(static_cast<std::size_t>(scenario_.replicas()));
  for (std::size_t i = 0; i < replicas_.size(); ++i) {
    Replica& replica = replicas_[i];
    replica.process =
        std::make_unique<Process>(scheduler_, random_, std::string(1, static_cast<char>('a' + i)),
                                  [this, &replica](Process&) { BeforeTurn(replica); });
    replica.network = std::make_unique<Network>(*this, *replica.process);
    Boot(replica);
  }
  RunBackground();
  if (scenario_.machinery()) RunMachinery(0s);
  if (const auto resources = scenario_.Refusable(); faults_.forbidden > 0 && !resources.empty()) {
    refusals_.Draw(random_, scheduler_.Now(), options_.chaos, resources);
  }
  const auto end = scheduler_.Now() + options_.chaos;
  while (!violation_ && scheduler_.Step(end)) {
  }
  if (violation_) return violation_;
  Heal();
  const auto aftermath = scheduler_.Now() + scenario_.Aftermath(*this);
  while (!violation_ && scheduler_.Step(aftermath)) {
  }
  if (violation_) return violation_;
  if (auto unsettled = Settle(&Scenario::Unsettled)) return unsettled;
  if (!scenario_.DeleteAll(*this)) return std::nullopt;
  return Settle(&Scenario::Left);
}

void World::Boot(Replica& replica) {
  if (replica.process->running()) return;
  Trace("{} boots, life {}", replica.process->name(), replica.process->life());
  replica.process->Run(scenario_.Boot(*this, *replica.process, *replica.network));
}

void World::BeforeTurn(Replica& replica) {
  Process& process = *replica.process;
  if (random_.Chance(faults_.crash)) {
    ++disruptions_;
    Trace("{} crashes", process.name());
    process.Crash();
    scheduler_.After(random_.Between(0s, 10s), [this, &replica] { Boot(replica); });
  } else if (random_.Chance(faults_.pause)) {
    ++disruptions_;
    const auto pause = random_.Between(1s, 60s);
    Trace("{} pauses for {}", process.name(), std::chrono::floor<std::chrono::milliseconds>(pause));
    process.PauseUntil(scheduler_.Now() + pause);
  } else if (random_.Chance(faults_.partition)) {
    ++disruptions_;
    const auto partition = random_.Between(1s, 60s);
    Trace("{} is cut off for {}", process.name(),
          std::chrono::floor<std::chrono::milliseconds>(partition));
    replica.partitioned_until = scheduler_.Now() + partition;
  }
}

bool World::Partitioned(const Process& process) const {
  for (const Replica& replica : replicas_) {
    if (replica.process.get() == &process) return replica.partitioned_until > scheduler_.Now();
  }
  return false;
}

// Background work of the API server and the controller manager.
void World::RunBackground() {
  scheduler_.After(random_.Between(100ms, 3s), [this] {
    if (server_->CollectGarbage()) Checked("garbage", {});
    if (random_.Chance(0.2)) server_->Tick();
    if (random_.Chance(faults_.forgotten)) {
      Trace("history forgotten");
      server_->Compact();
    }
    RunBackground();
  });
}

// The cluster's schedulers, kubelets and EndpointSlice controller: one request, a while after the
// last.
void World::RunMachinery(async::Duration most) {
  scheduler_.After(random_.Between(0s, most), [this] {
    const bool ran = server_->RunMachinery();
    if (ran) Checked("machinery", {});
    RunMachinery(ran ? 100ms : 1s);
  });
}

void World::Heal() {
  Trace("{}", "all is well from now on");
  faults_ = {};
  refusals_.End();
  healed_ = scheduler_.Now();
  for (Replica& replica : replicas_) {
    replica.partitioned_until = {};
    Boot(replica);
  }
}

// Runs until the state is as it must be, and stays so for a while.
std::optional<std::string> World::Settle(Judge judge) {
  const auto give_up = scheduler_.Now() + scenario_.patience();
  std::optional<std::string> unsettled = "never looked at";
  int calm = 0;
  while (scheduler_.Now() < give_up && calm < 3) {
    const auto until = scheduler_.Now() + 10s;
    while (!violation_ && scheduler_.Step(until)) {
    }
    if (violation_) return violation_;
    unsettled = (scenario_.*judge)(*this);
    calm = unsettled ? 0 : calm + 1;
  }
  if (unsettled) return "does not settle: " + *unsettled;
  return std::nullopt;
}

void World::Handle(const kube::Request& request, const std::string& writer,
                   std::function<void(kube::Response)> done) {
  const bool by_user = writer == "user";
  if (auto refusal = refusals_.Refuse(request, by_user, scheduler_.Now())) {
    Watched(writer, request, WriteWatch::Effect::kFailed);
    if (!by_user) scenario_.Refused(*this, WithoutQuery(request));
    return done(std::move(*refusal));
  }
  const auto before = server_->version();
  const std::string outer = std::exchange(writer_, writer);
  server_->Handle(
      request, [this, request, writer, before, done = std::move(done)](kube::Response response) {
        const bool changed = server_->version() != before;
        if (changed) {
          Trace("{} wrote: {} {} {}", writer, Name(request.method), request.path, request.body);
          CheckLease(request);
          Checked(writer, request);
        }
        using enum WriteWatch::Effect;
        Watched(writer, request, changed ? kChange : response.code < 300 ? kNothing : kFailed);
        done(std::move(response));
      });
  writer_ = outer;
}

void World::Watched(const std::string& writer, const kube::Request& request,
                    WriteWatch::Effect effect) {
  if (writer == "user" || violation_ || !scenario_.writes_are_bounded()) return;
  if (auto wrong = write_watch_.Saw(writer, request, effect, scheduler_.Now()))
    Violate(std::move(*wrong));
}

// Once everything works, no leader loses its lease.
void World::CheckLease(const kube::Request& request) {
  constexpr auto kUntilSettled = 2min;
  if (!request.path.contains("/leases/") || healed_ == async::TimePoint()) return;
  const auto lease = Json::Parse(request.body);
  if (!lease) return;
  const std::string holder = (*lease)["spec"].get_value_or<std::string>("holderIdentity", "");
  const std::string before = std::exchange(holders_[request.path], holder);
  if (before.empty() || before == holder || scheduler_.Now() < healed_ + kUntilSettled) return;
  Violate(Format("the lease went from {} to {} although everything worked", before, holder));
}

void World::Checked(const std::string& writer, const kube::Request& request) {
  if (violation_) return;
  if (auto wrong = scenario_.Check(*this, writer, WithoutQuery(request))) {
    Violate(std::move(*wrong));
  }
}

void World::Violate(std::string what) {
  if (violation_) return;
  Trace("violation: {}", what);
  violation_ = std::move(what);
}

void World::Interfere(const kube::Request& request) {
  if (request.method != kube::Method::kPatch && request.method != kube::Method::kDelete) return;
  std::string path = request.path.substr(0, request.path.find('?'));
  if (path.ends_with("/status")) path.resize(path.size() - 7);
  Ask({.method = kube::Method::kPatch,
       .path = path,
       .body = Format(R"({{"metadata":{{"annotations":{{"touched":"{}"}}}}}})", ++touches_),
       .content_type = "application/merge-patch+json"});
}

void World::InstallDefinitions() {
  // The same for every seed, and YAML is slow to read.
  static const std::vector<std::string> definitions = [] {
    std::vector<std::string> all;
    for (const std::string_view yaml : CustomResourceDefinitions()) {
      all.push_back(kube::YamlToJson(yaml)->to_string());
    }
    return all;
  }();
  for (const std::string& definition : definitions) {
    Must({.method = kube::Method::kPost,
          .path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
          .body = definition});
  }
}

World::Answer World::Ask(kube::Request request) {
  Answer answer;
  Handle(request, "user", [&](kube::Response response) {
    answer.code = response.code;
    answer.text = std::move(response.body);
  });
  return answer;
}

World::Answer World::Merge(std::string path, std::string patch) {
  return Ask({.method = kube::Method::kPatch,
              .path = std::move(path),
              .body = std::move(patch),
              .content_type = "application/merge-patch+json"});
}

World::Answer World::Must(kube::Request request) {
  const std::string what = Format("{} {}", Name(request.method), request.path);
  Answer answer = Ask(std::move(request));
  if (answer.code < 200 || answer.code >= 300) {
    log::Error("a scenario's own request failed", {{"request", what}, {"answer", answer.text}});
    std::abort();
  }
  return answer;
}

Documents World::List(const std::string& path) const {
  auto objects = server_->Look(path);
  if (!objects) {
    log::Error("a scenario reads what nobody serves", {{"path", path}});
    std::abort();
  }
  return Documents(std::move(*objects));
}

void World::Print(const std::string& line) const {
  const std::chrono::duration<double> now = scheduler_.Now().time_since_epoch();
  options_.trace(Format("{:12.6f} {}", now.count(), line));
}

}  // namespace berth::simulate
