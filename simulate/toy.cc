#include "simulate/toy.h"

#include <utility>

#include "log/format.h"
#include "simulate/world.h"

namespace berth::simulate {
namespace {

using namespace std::chrono_literals;

constexpr const char* kGadgets = "/apis/toy.berth.dev/v1/namespaces/default/gadgets";
constexpr const char* kParts = "/apis/toy.berth.dev/v1/namespaces/default/parts";
constexpr int kNames = 3;
constexpr auto kDepotTimeout = 5s;

}  // namespace

// The slots that are taken, by token.
class Toy::Stock {
 public:
  std::map<std::string, std::string> slots;
  std::uint64_t last = 0;
};

namespace {

// A replica's way to the depot, as unreliable as the one to the API server.
class UnreliableDepot : public Depot {
 public:
  using Act = std::function<std::string(const std::string& token)>;

  UnreliableDepot(World& world, Process& process, Act acquire, Act release)
      : world_(world),
        process_(process),
        acquire_(std::move(acquire)),
        release_(std::move(release)) {}

  async::Handle Acquire(std::string token, Done done) override {
    return Call("acquires", acquire_, std::move(token), std::move(done));
  }
  async::Handle Release(std::string token, Done done) override {
    return Call("releases", release_, std::move(token), std::move(done));
  }

 private:
  struct Pending {
    Done done;
    async::Handle timer;
    bool abandoned = false;
  };

  async::Handle Call(const char* what, Act& act, std::string token, Done done) {
    Dice& random = world_.random();
    auto pending = std::make_shared<Pending>(Pending{.done = std::move(done)});
    auto finish = [pending](kube::Result<std::string> outcome) {
      pending->abandoned = true;
      auto callback = std::move(pending->done);
      callback(std::move(outcome));
    };
    pending->timer = process_.RunAfter(kDepotTimeout, [finish] {
      finish(std::unexpected(kube::Error{kube::ErrorClass::kAmbiguous, {}, "depot: no answer"}));
    });
    async::Duration delay = random.Between(1ms, 50ms);
    if (random.Chance(world_.faults().slow)) delay += random.Between(0s, Depot::kLongest - 1s);
    const bool lost = world_.Partitioned(process_) || random.Chance(world_.faults().lost_request);
    if (!lost) {
      world_.scheduler().After(
          delay, [this, what, &act, token = std::move(token), pending, finish] {
            world_.Trace("{} {} {}", process_.name(), what, token);
            std::string slot = act(token);
            if (pending->abandoned || world_.random().Chance(world_.faults().lost_answer)) return;
            pending->timer = process_.RunAfter(1ms, [finish, slot] { finish(slot); });
          });
    }
    return async::Handle([pending] {
      pending->abandoned = true;
      pending->timer = {};
    });
  }

  World& world_;
  Process& process_;
  Act acquire_;
  Act release_;
};

}  // namespace

Toy::Toy(ToyBug bug, bool elect) : bug_(bug), elect_(elect), stock_(std::make_unique<Stock>()) {}
Toy::~Toy() = default;

void Toy::SetUp(World& world) {
  for (const char* kind : {kGadgetKind, kPartKind}) {
    world.Must({.method = kube::Method::kPost,
                .path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
                .body = kind});
  }
  const int actions = 5 + static_cast<int>(world.random().Below(15));
  for (int i = 0; i < actions; ++i) {
    world.scheduler().After(world.random().Between(0s, world.chaos()),
                            [this, &world] { Act(world); });
  }
}

// A user does something.
void Toy::Act(World& world) {
  Dice& random = world.random();
  const std::string name = Format("g{}", random.Below(kNames));
  const auto size = static_cast<std::int64_t>(random.Below(4));
  const std::string path = Format("{}/{}", kGadgets, name);
  const bool exists = world.Ask({.path = path}).code == 200;
  most_[name] = std::max(most_[name], size);
  if (!exists) {
    world.Ask({.method = kube::Method::kPost,
               .path = kGadgets,
               .body = Format(R"({{"apiVersion":"toy.berth.dev/v1","kind":"Gadget",)"
                              R"("metadata":{{"name":"{}"}},"spec":{{"size":{}}}}})",
                              name, size)});
  } else if (random.Chance(0.4)) {
    world.Ask({.method = kube::Method::kDelete, .path = path});
  } else {
    world.Merge(path, Format(R"({{"spec":{{"size":{}}}}})", size));
  }
}

std::unique_ptr<Program> Toy::Boot(World& world, Process& process, kube::Transport& transport) {
  auto& depot = depots_[process.name()];
  if (!depot) {
    depot = std::make_unique<UnreliableDepot>(
        world, process,
        [this](const std::string& token) {
          auto [slot, fresh] = stock_->slots.try_emplace(token);
          if (fresh) slot->second = Format("slot-{}", ++stock_->last);
          return slot->second;
        },
        [this](const std::string& token) {
          stock_->slots.erase(token);
          return std::string();
        });
  }
  return StartToy(
      process, transport, *depot,
      {.bug = bug_, .identity = Format("{}.{}", process.name(), process.life()), .elect = elect_});
}

std::optional<std::string> Toy::Check(World& world, const std::string&,
                                      const kube::Request& request) {
  if (request.method != kube::Method::kPost || !request.path.starts_with(kParts)) {
    return std::nullopt;
  }
  std::map<std::string, std::pair<std::string, std::int64_t>> parts;  // by owner
  for (const Json& part : world.List(kParts)) {
    const Json& owner = part["metadata"]["ownerReferences"][0];
    auto& [name, count] = parts[owner["uid"].as<std::string>()];
    name = owner["name"].as<std::string>();
    ++count;
  }
  for (const auto& [uid, part] : parts) {
    if (part.second > most_.at(part.first)) {
      return Format("gadget {} has {} parts and never asked for more than {}", part.first,
                    part.second, most_.at(part.first));
    }
  }
  return std::nullopt;
}

std::optional<std::string> Toy::Unsettled(World& world) {
  std::map<std::string, std::int64_t> parts;
  for (const Json& part : world.List(kParts)) {
    ++parts[part["metadata"]["ownerReferences"][0]["uid"].as<std::string>()];
  }
  std::size_t gadgets = 0;
  for (const Json& gadget : world.List(kGadgets)) {
    ++gadgets;
    if (auto wrong = CheckGadget(world, gadget, parts)) return wrong;
    parts.erase(gadget["metadata"]["uid"].as<std::string>());
  }
  if (!parts.empty()) return Format("parts are left of gadget {}", parts.begin()->first);
  if (stock_->slots.size() > gadgets) {
    return Format("{} slots are taken by {} gadgets", stock_->slots.size(), gadgets);
  }
  return std::nullopt;
}

std::optional<std::string> Toy::CheckGadget(
    World&, const Json& gadget, const std::map<std::string, std::int64_t>& parts) const {
  const std::string name = gadget["metadata"]["name"].as<std::string>();
  if (gadget["metadata"].contains("deletionTimestamp")) return name + " is still being deleted";
  const auto size = gadget["spec"]["size"].as<std::int64_t>();
  const auto found = parts.find(gadget["metadata"]["uid"].as<std::string>());
  const auto have = found == parts.end() ? 0 : found->second;
  if (have != size) return Format("{} has {} of {} parts", name, have, size);
  const Json status = gadget.get_value_or<Json>("status", Json::Object());
  if (status.get_value_or<std::string>("slot", "").empty()) return name + " has no slot";
  if (status.get_value_or<std::int64_t>("ready", -1) != size) return name + " is not ready";
  return std::nullopt;
}

}  // namespace berth::simulate
