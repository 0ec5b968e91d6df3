#include "simulate/cache.h"

#include "kube/informer.h"
#include "log/format.h"
#include "simulate/world.h"

namespace berth::simulate {
namespace {

using namespace std::chrono_literals;

constexpr const char* kPath = "/api/v1/namespaces/default/configmaps";
constexpr int kNames = 6;
constexpr int kActions = 150;

struct Seen {
  std::string version;
  static kube::Result<Seen> From(kube::JsonView object) {
    return Seen{std::string(object["metadata"]["resourceVersion"].StringOr(""))};
  }
};

class Follower : public Program {
 public:
  using Copy = std::map<std::string, std::string>;

  Follower(World& world, Process& process, kube::Transport& transport, bool pages, Copy& copy)
      : world_(world),
        copy_(copy),
        informer_(process, transport,
                  {.path = kPath, .query = "", .page = 2, .stream_list = !pages}) {
    copy_.clear();
    informer_.AddHandler(
        {.on_add = [this](const std::string& key, const Seen& now) { Add(key, now.version); },
         .on_update = [this](const std::string& key, const Seen& before,
                             const Seen& now) { Change(key, before.version, now.version); },
         .on_delete = [this](const std::string& key, const Seen&) { Drop(key); }});
    informer_.Start();
  }

  void Look(Copy& cached) const {
    cached.clear();
    informer_.ForEach(
        [&](const std::string& key, const Seen& seen) { cached[key] = seen.version; });
  }

 private:
  void Add(const std::string& key, const std::string& version) {
    if (!copy_.emplace(key, version).second) world_.Violate(key + " was added twice");
  }
  void Change(const std::string& key, const std::string& before, const std::string& now) {
    std::string& known = copy_[key];
    if (known != before) world_.Violate(key + " changed from a version nobody was told of");
    if (std::stoull(now) <= std::stoull(before)) world_.Violate(key + " went back in time");
    known = now;
  }
  void Drop(const std::string& key) {
    if (copy_.erase(key) == 0) world_.Violate(key + " was deleted and had not been there");
  }

  World& world_;
  Copy& copy_;
  kube::Informer<Seen> informer_;
};

}  // namespace

// Watches above all; a crash would only make it begin anew.
void Cache::Adjust(Faults& faults, Dice& random) {
  faults.cut = 0.1 * random.Fraction();
  faults.stale = 0.05 * random.Fraction();
  faults.repeated = 0.3 * random.Fraction();
  faults.forgotten = 0.3 * random.Fraction();
}

void Cache::SetUp(World& world) {
  for (int i = 0; i < kActions; ++i) {
    world.scheduler().After(world.random().Between(0s, world.chaos()),
                            [this, &world] { Act(world); });
  }
}

void Cache::Act(World& world) {
  const std::string name = Format("m{}", world.random().Below(kNames));
  const std::string path = Format("{}/{}", kPath, name);
  if (world.Ask({.path = path}).code == 404) {
    world.Ask(
        {.method = kube::Method::kPost,
         .path = kPath,
         .body = Format(R"({{"apiVersion":"v1","kind":"ConfigMap","metadata":{{"name":"{}"}}}})",
                        name)});
  } else if (world.random().Chance(0.4)) {
    world.Ask({.method = kube::Method::kDelete, .path = path});
  } else {
    world.Merge(path, Format(R"({{"data":{{"n":"{}"}}}})", world.random().Next()));
  }
}

std::unique_ptr<Program> Cache::Boot(World& world, Process& process, kube::Transport& transport) {
  auto follower = std::make_unique<Follower>(world, process, transport, pages_, copy_);
  look_ = [this, running = follower.get()] { running->Look(cached_); };
  return follower;
}

std::optional<std::string> Cache::Check(World&, const std::string&, const kube::Request&) {
  return std::nullopt;
}

std::optional<std::string> Cache::Unsettled(World& world) {
  std::map<std::string, std::string> real;
  for (const Json& item : world.List(kPath)) {
    const Json& metadata = item["metadata"];
    real["default/" + metadata["name"].as<std::string>()] =
        metadata["resourceVersion"].as<std::string>();
  }
  look_();
  if (copy_ != real) return Format("the handler knows {} of {} objects", copy_.size(), real.size());
  if (cached_ != real) return "the cache is not what the API server has";
  return std::nullopt;
}

}  // namespace berth::simulate
