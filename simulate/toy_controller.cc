#include "simulate/toy_controller.h"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "async/task.h"
#include "json/json.h"
#include "kube/informer.h"
#include "kube/leader_election.h"
#include "log/format.h"
#include "reconcile/runtime/controller.h"

namespace berth::simulate {

const char* const kGadgetKind = R"({
  "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
  "metadata": {"name": "gadgets.toy.berth.dev"},
  "spec": {"group": "toy.berth.dev", "scope": "Namespaced",
    "names": {"plural": "gadgets", "singular": "gadget", "kind": "Gadget", "listKind": "GadgetList"},
    "versions": [{"name": "v1", "served": true, "storage": true, "subresources": {"status": {}},
      "schema": {"openAPIV3Schema": {"type": "object", "properties": {
        "spec": {"type": "object", "properties": {"size": {"type": "integer", "minimum": 0}}},
        "status": {"type": "object", "properties": {
          "slot": {"type": "string"}, "ready": {"type": "integer"},
          "observedGeneration": {"type": "integer"}}}}}}}]}})";

const char* const kPartKind = R"({
  "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
  "metadata": {"name": "parts.toy.berth.dev"},
  "spec": {"group": "toy.berth.dev", "scope": "Namespaced",
    "names": {"plural": "parts", "singular": "part", "kind": "Part", "listKind": "PartList"},
    "versions": [{"name": "v1", "served": true, "storage": true,
      "schema": {"openAPIV3Schema": {"type": "object", "properties": {
        "spec": {"type": "object", "properties": {"index": {"type": "integer"}}}}}}}]}})";

namespace {

constexpr const char* kApi = "/apis/toy.berth.dev/v1";
constexpr const char* kFinalizer = "toy.berth.dev/slot";

using Outcome = kube::Result<runtime::Requeue>;

struct Gadget {
  std::string ns;
  std::string name;
  std::string uid;
  std::string version;
  std::int64_t generation = 0;
  std::int64_t size = 0;
  std::string slot;
  std::int64_t ready = -1;
  std::int64_t observed = 0;
  bool deleting = false;
  bool has_finalizer = false;

  static kube::Result<Gadget> From(kube::JsonView object) {
    const kube::JsonView metadata = object["metadata"];
    const kube::JsonView status = object["status"];
    Gadget gadget{.ns = std::string(metadata["namespace"].StringOr("")),
                  .name = std::string(metadata["name"].StringOr("")),
                  .uid = std::string(metadata["uid"].StringOr("")),
                  .version = std::string(metadata["resourceVersion"].StringOr("")),
                  .generation = metadata["generation"].Int().value_or(0),
                  .size = object["spec"]["size"].Int().value_or(0),
                  .slot = std::string(status["slot"].StringOr("")),
                  .ready = status["ready"].Int().value_or(-1),
                  .observed = status["observedGeneration"].Int().value_or(0),
                  .deleting = metadata["deletionTimestamp"].exists()};
    metadata["finalizers"].ForEachItem([&](kube::JsonView finalizer) {
      gadget.has_finalizer |= finalizer.StringOr("") == kFinalizer;
    });
    return gadget;
  }

  std::string Path() const { return Format("{}/namespaces/{}/gadgets/{}", kApi, ns, name); }
};

struct Part {
  std::string owner;  // uid
  std::string gadget;
  std::int64_t index = 0;
  std::string uid;

  static kube::Result<Part> From(kube::JsonView object) {
    const kube::JsonView owner = object["metadata"]["ownerReferences"].At(0);
    return Part{.owner = std::string(owner["uid"].StringOr("")),
                .gadget = std::string(owner["name"].StringOr("")),
                .index = object["spec"]["index"].Int().value_or(0),
                .uid = std::string(object["metadata"]["uid"].StringOr(""))};
  }
};

class ToyController : public Program {
 public:
  ToyController(async::Executor& executor, kube::Transport& transport, Depot& depot,
                ToyOptions options);

  async::Task<void> Stop() override { return elector_.Release(fence_.QuietAt()); }

 private:
  void Listen();
  void Work();
  void Queue(const std::string& key) {
    if (controller_) controller_->Add(key);
  }

  async::Task<Outcome> Reconcile(std::string key);
  async::Task<Outcome> End(Gadget gadget);
  async::Task<kube::Result<void>> TakeSlot(Gadget* gadget);
  async::Task<kube::Result<void>> MakeParts(Gadget gadget);
  async::Task<kube::Result<void>> MakePart(Gadget gadget, std::int64_t index);
  async::Task<kube::Result<void>> DropSurplus(Gadget gadget);
  async::Task<kube::Result<void>> Report(Gadget gadget);
  async::Task<kube::Result<kube::Response>> Call(kube::Request request);
  async::Task<kube::Result<kube::Response>> Patch(Gadget gadget, std::string part, Json change);

  // Whether an act outside, begun now, will be over before anybody else leads.
  bool MayAct() const {
    return !options_.elect || elector_.Covers(executor_.Now() + Depot::kLongest);
  }

  async::Executor& executor_;
  Depot& depot_;
  const ToyOptions options_;
  kube::LeaderElector elector_;
  kube::FencedTransport fence_;
  kube::Transport& transport_;
  kube::Informer<Gadget> gadgets_;
  kube::Informer<Part> parts_;
  std::size_t by_owner_;
  std::unique_ptr<runtime::Controller> controller_;
  std::vector<async::Handle> releases_;
  // Until when a slot that was asked for may still be handed out, by the gadget's uid. What an
  // earlier process asked for is settled a while after this one began.
  std::map<std::string, async::TimePoint> settled_;
  const async::TimePoint born_ = executor_.Now();
};

ToyController::ToyController(async::Executor& executor, kube::Transport& transport, Depot& depot,
                             ToyOptions options)
    : executor_(executor),
      depot_(depot),
      options_(std::move(options)),
      elector_(executor, transport,
               {.ns = "default", .name = "toy", .identity = options_.identity}),
      fence_(executor, transport, elector_),
      transport_(options_.elect ? static_cast<kube::Transport&>(fence_) : transport),
      gadgets_(executor, transport, {.path = std::string(kApi) + "/gadgets"}),
      parts_(executor, transport, {.path = std::string(kApi) + "/parts"}),
      by_owner_(parts_.AddIndex([](const Part& part) { return std::vector{part.owner}; })) {
  Listen();
  gadgets_.Start();
  parts_.Start();
  if (!options_.elect) {
    Work();
    return;
  }
  elector_.Start({.on_elected = [this] { Work(); }, .on_deposed = [this] { controller_.reset(); }});
}

void ToyController::Listen() {
  gadgets_.AddHandler(
      {.on_add = [this](const std::string& key, const Gadget&) { Queue(key); },
       .on_update = [this](const std::string& key, const Gadget&, const Gadget&) { Queue(key); },
       .on_delete =
           [this](const std::string& key, const Gadget& last) {
             Queue(key);
             if (options_.bug != ToyBug::kMissesADelete) return;
             releases_.push_back(depot_.Release(last.uid, [](auto) {}));
           }});
  auto owner = [this](const std::string& key, const Part& part) {
    Queue(key.substr(0, key.find('/') + 1) + part.gadget);
  };
  parts_.AddHandler({.on_add = owner,
                     .on_update = [owner](const std::string& key, const Part&,
                                          const Part& now) { owner(key, now); },
                     .on_delete = owner});
}

void ToyController::Work() {
  controller_ = std::make_unique<runtime::Controller>(
      executor_, runtime::Controller::Options{.name = "toy"},
      [this](std::string key) { return Reconcile(std::move(key)); });
  controller_->Start();
  gadgets_.ForEach([this](const std::string& key, const Gadget&) { Queue(key); });
}

async::Task<Outcome> ToyController::Reconcile(std::string key) {
  if (!gadgets_.HasSynced() || !parts_.HasSynced()) {
    co_return runtime::Requeue{std::chrono::seconds(1)};
  }
  const Gadget* cached = gadgets_.Get(key);
  if (cached == nullptr) co_return runtime::Requeue{};
  Gadget gadget = *cached;
  const bool finalizes = options_.bug != ToyBug::kMissesADelete;
  if (gadget.deleting) {
    if (!gadget.has_finalizer) co_return runtime::Requeue{};
    co_return co_await End(std::move(gadget));
  }
  if (finalizes && !gadget.has_finalizer) {
    Json change;
    change["finalizers"] = Json::Array();
    change["finalizers"].push_back(kFinalizer);
    const auto added = co_await Patch(gadget, "metadata", std::move(change));
    if (!added) co_return std::unexpected(added.error());
    co_return runtime::Requeue{};  // the change comes back as an event
  }
  if (gadget.slot.empty()) {
    if (auto taken = co_await TakeSlot(&gadget); !taken) co_return std::unexpected(taken.error());
  }
  if (auto made = co_await MakeParts(gadget); !made) co_return std::unexpected(made.error());
  if (auto dropped = co_await DropSurplus(gadget); !dropped) {
    co_return std::unexpected(dropped.error());
  }
  if (auto told = co_await Report(gadget); !told) co_return std::unexpected(told.error());
  co_return runtime::Requeue{};
}

async::Task<Outcome> ToyController::End(Gadget gadget) {
  if (!MayAct())
    co_return std::unexpected(kube::Error{kube::ErrorClass::kRetry, {}, "not leading"});
  // A request for a slot that got no answer may still be on its way: it must not arrive after the
  // slot was given back.
  auto quiet = options_.elect ? born_ : born_ + Depot::kLongest;
  if (const auto asked = settled_.find(gadget.uid); asked != settled_.end()) {
    quiet = std::max(quiet, asked->second);
  }
  if (quiet > executor_.Now()) co_return runtime::Requeue{quiet - executor_.Now()};
  const std::string token = options_.bug == ToyBug::kForgetsInACrash ? gadget.slot : gadget.uid;
  const auto released = co_await async::Callback<kube::Result<std::string>>(
      [&](auto done) { return depot_.Release(token, std::move(done)); });
  if (!released) co_return std::unexpected(released.error());
  Json change;
  change["finalizers"] = Json::null();
  const auto removed = co_await Patch(gadget, "metadata", std::move(change));
  if (!removed && removed.error().error_class != kube::ErrorClass::kNotFound) {
    co_return std::unexpected(removed.error());
  }
  settled_.erase(gadget.uid);
  co_return runtime::Requeue{};
}

// The cache may be older than the gadget's end, after which nobody would give the slot back. So the
// gadget is read once more before anything is done outside.
async::Task<kube::Result<void>> ToyController::TakeSlot(Gadget* gadget) {
  if (options_.bug == ToyBug::kNone || options_.bug == ToyBug::kForgetsInACrash) {
    const auto present = co_await Call({.path = gadget->Path()});
    if (!present) co_return std::unexpected(present.error());
    kube::JsonDocument document;
    const auto parsed = document.Parse(present->body);
    if (!parsed) co_return std::unexpected(parsed.error());
    const auto read = Gadget::From(*parsed);
    if (read->uid != gadget->uid || read->deleting || !read->has_finalizer) {
      co_return std::unexpected(kube::Error{kube::ErrorClass::kConflict, {}, "the cache is old"});
    }
    *gadget = *read;
    if (!gadget->slot.empty()) co_return kube::Result<void>();
  }
  if (!MayAct())
    co_return std::unexpected(kube::Error{kube::ErrorClass::kRetry, {}, "not leading"});
  const std::string token = options_.bug == ToyBug::kForgetsInACrash
                                ? Format("{}-{:x}", gadget->uid, executor_.Random())
                                : gadget->uid;
  settled_[gadget->uid] = executor_.Now() + Depot::kLongest;
  const auto slot = co_await async::Callback<kube::Result<std::string>>(
      [&](auto done) { return depot_.Acquire(token, std::move(done)); });
  if (!slot) co_return std::unexpected(slot.error());
  Json change;
  change["slot"] = options_.bug == ToyBug::kForgetsInACrash ? token : *slot;
  const auto written = co_await Patch(*gadget, "status", std::move(change));
  if (!written) co_return std::unexpected(written.error());
  co_return kube::Result<void>();
}

async::Task<kube::Result<void>> ToyController::MakeParts(Gadget gadget) {
  if (options_.bug == ToyBug::kActsOnStaleCache) {
    const auto have = static_cast<std::int64_t>(parts_.CountIn(by_owner_, gadget.uid));
    for (std::int64_t i = have; i < gadget.size; ++i) {
      if (auto made = co_await MakePart(gadget, i); !made) co_return made;
    }
    co_return kube::Result<void>();
  }
  // A part is named after its place, so that one made twice is refused the second time.
  for (std::int64_t i = 0; i < gadget.size; ++i) {
    const std::string key = Format("{}/{}-{}", gadget.ns, gadget.name, i);
    const Part* part = parts_.Get(key);
    if (part != nullptr && part->owner == gadget.uid) continue;
    auto made = co_await MakePart(gadget, i);
    // There already: the cache is old, or it belongs to a gadget of that name that is gone, whose
    // parts are being collected. Either way an event will come.
    if (!made && made.error().reason != "AlreadyExists") co_return made;
  }
  co_return kube::Result<void>();
}

async::Task<kube::Result<void>> ToyController::MakePart(Gadget gadget, std::int64_t index) {
  Json owner;
  owner["apiVersion"] = "toy.berth.dev/v1";
  owner["kind"] = "Gadget";
  owner["name"] = gadget.name;
  owner["uid"] = gadget.uid;
  Json part;
  part["apiVersion"] = "toy.berth.dev/v1";
  part["kind"] = "Part";
  part["metadata"] = Json::Object();
  if (options_.bug == ToyBug::kActsOnStaleCache) {
    part["metadata"]["generateName"] = gadget.name + "-";
  } else {
    part["metadata"]["name"] = Format("{}-{}", gadget.name, index);
  }
  part["metadata"]["ownerReferences"] = Json::Array();
  part["metadata"]["ownerReferences"].push_back(std::move(owner));
  part["spec"] = Json::Object();
  part["spec"]["index"] = index;
  const auto made = co_await Call({.method = kube::Method::kPost,
                                   .path = Format("{}/namespaces/{}/parts", kApi, gadget.ns),
                                   .body = part.to_string()});
  if (!made) co_return std::unexpected(made.error());
  co_return kube::Result<void>();
}

async::Task<kube::Result<void>> ToyController::DropSurplus(Gadget gadget) {
  std::vector<std::pair<std::string, std::string>> surplus;  // name, uid
  parts_.ForEachIn(by_owner_, gadget.uid, [&](const std::string& key, const Part& part) {
    if (part.index >= gadget.size) surplus.emplace_back(key.substr(key.find('/') + 1), part.uid);
  });
  for (const auto& [name, uid] : surplus) {
    const auto gone = co_await Call(
        {.method = kube::Method::kDelete,
         .path = Format("{}/namespaces/{}/parts/{}", kApi, gadget.ns, name),
         .body = Format(
             R"({{"apiVersion":"v1","kind":"DeleteOptions","preconditions":{{"uid":"{}"}}}})",
             uid)});
    if (!gone && gone.error().error_class != kube::ErrorClass::kNotFound) {
      co_return std::unexpected(gone.error());
    }
  }
  co_return kube::Result<void>();
}

async::Task<kube::Result<void>> ToyController::Report(Gadget gadget) {
  const auto ready = static_cast<std::int64_t>(parts_.CountIn(by_owner_, gadget.uid));
  if (gadget.ready == ready && gadget.observed == gadget.generation) co_return kube::Result<void>();
  Json change;
  change["ready"] = ready;
  change["observedGeneration"] = gadget.generation;
  const auto written = co_await Patch(gadget, "status", std::move(change));
  if (!written) co_return std::unexpected(written.error());
  co_return kube::Result<void>();
}

async::Task<kube::Result<kube::Response>> ToyController::Patch(Gadget gadget, std::string part,
                                                               Json change) {
  Json body;
  body["metadata"] = Json::Object();
  if (part == "metadata") {
    body["metadata"] = std::move(change);
  } else {
    body[part] = std::move(change);
  }
  body["metadata"]["uid"] = gadget.uid;
  body["metadata"]["resourceVersion"] = gadget.version;
  co_return co_await Call({.method = kube::Method::kPatch,
                           .path = gadget.Path() + (part == "status" ? "/status" : ""),
                           .body = body.to_string(),
                           .content_type = "application/merge-patch+json"});
}

async::Task<kube::Result<kube::Response>> ToyController::Call(kube::Request request) {
  co_return co_await async::Callback<kube::Result<kube::Response>>(
      [&](auto done) { return transport_.Send(std::move(request), std::move(done)); });
}

}  // namespace

std::unique_ptr<Program> StartToy(async::Executor& executor, kube::Transport& transport,
                                  Depot& depot, ToyOptions options) {
  return std::make_unique<ToyController>(executor, transport, depot, std::move(options));
}

}  // namespace berth::simulate
