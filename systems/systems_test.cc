#include "systems/systems.h"

#include <gmock/gmock.h>

#include "async/test_executor.h"
#include "handlers/apis/live_collection.h"
#include "handlers/memory/webhook_calls.h"
#include "kube/informer.h"
#include "kube/memory/local_transport.h"
#include "log/format.h"
#include "reconcile/runtime/identity.h"
#include "reconcile/runtime/leader_work.h"
#include "systems/manifest.h"

// A system that is put into the list, and nothing else, has its webhooks called, its controllers
// run, its live resource shown and its manifest written.
namespace berth::systems {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;
using testing::Not;
using testing::SizeIs;

constexpr kube::Resource kGadgets{"test.berth.dev", "v1beta1", "gadgets", "Gadget"};
constexpr kube::Resource kWidgets{"test.berth.dev", "v1beta1", "widgets", "Widget"};

struct Gadget {
  runtime::Identity id;
  static kube::Result<Gadget> From(kube::JsonView object) {
    return Gadget{runtime::Identity::From(object, "")};
  }
};

apis::ResourceType GadgetUsageType() {
  apis::ResourceType type("GadgetUsage");
  return type;
}

// Makes a Widget for every Gadget, and refuses Gadgets whose size is below 1.
class Gadgets : public System {
 public:
  std::string_view name() const override { return "gadgets"; }
  std::vector<Kind> kinds() const override { return {{kGadgets}, {kWidgets, Rights::kCreate}}; }

  void Register(admission::Webhooks& webhooks, apis::ApiServer& api) override {
    webhooks.On(admission::Phase::kValidate, kGadgets, {admission::Operation::kCreate},
                [](const admission::Request& request, async::Executor&, auto reply) {
                  const bool good = request.object["spec"]["size"].Int().value_or(0) > 0;
                  reply(good ? admission::Response::Allow()
                             : admission::Response::Deny(kube::BadRequest("a size of 1 or more")));
                });
    api.Add(usages_);
  }
  void Start(const Host& host) override { running_.emplace(host); }
  void Publish() override {
    apis::LiveCollection::Draft draft{.name = "all"};
    draft.content["gadgets"] = running_->gadgets.size();
    usages_.Put(std::move(draft));
  }
  std::vector<const runtime::Controller*> controllers() const override {
    return running_->work.controllers();
  }
  void Stop() override { running_.reset(); }

  const apis::LiveCollection& usages() const { return usages_; }

 private:
  struct Work {
    Work(const Host& host, const kube::Informer<Gadget>& known)
        : gadgets(known),
          api(host.leadership.fenced()),
          controller(host.executor, {.name = "Gadget"},
                     [this](std::string key) { return MakeWidget(std::move(key)); }) {}
    std::vector<runtime::Controller*> controllers() { return {&controller}; }
    void Resync() {
      gadgets.ForEach([this](const std::string& key, const auto&) { controller.AddResync(key); });
    }
    async::Task<kube::Result<runtime::Requeue>> MakeWidget(std::string key) {
      const auto [ns, name] = runtime::SplitKey(key);
      const auto made = co_await api.Create(
          kWidgets, ns,
          Format(R"({{"apiVersion":"test.berth.dev/v1beta1","kind":"Widget","metadata":{{)"
                 R"("name":"{}"}}}})",
                 name));
      if (!made) co_return std::unexpected(made.error());
      co_return runtime::Requeue{};
    }

    const kube::Informer<Gadget>& gadgets;
    kube::Api api;
    runtime::Controller controller;
  };

  struct Running {
    explicit Running(const Host& given)
        : host(given),
          gadgets(host.executor, host.transport, {.path = kube::PathOf(kGadgets, "")}),
          work(host.executor, host.leadership,
               {.system = "gadgets",
                .resync = 1h,
                .refresh = [this] { gadgets.Refresh(); },
                .fresh = [this] { return gadgets.fresh(); },
                .make = [this] { return std::make_unique<Work>(host, gadgets); }}) {
      gadgets.AddHandler({.on_add =
                              [this](const std::string& key, const Gadget&) {
                                if (work) work->controller.Add(key);
                              },
                          .on_update = [](const std::string&, const Gadget&, const Gadget&) {},
                          .on_delete = [](const std::string&, const Gadget&) {},
                          .on_whole = [this] { work.BeginWhenFresh(); }});
      gadgets.Start();
    }

    const Host host;
    kube::Informer<Gadget> gadgets;
    runtime::LeaderWork<Work> work;
  };

  apis::LiveCollection usages_{GadgetUsageType()};
  std::optional<Running> running_;
};

class SystemsTest : public testing::Test {
 protected:
  SystemsTest() {
    systems_.push_back(std::make_unique<Gadgets>());
    for (const auto& resource : {kGadgets, kWidgets}) Define(resource);
    for (const auto& system : systems_) system->Register(webhooks_, api_);
    memory::InstallWebhooks(server_, webhooks_, executor_);
  }

  kube::Response Send(kube::Method method, const std::string& path, const std::string& body = "") {
    kube::Response answer;
    server_.Handle({.method = method, .path = path, .body = body},
                   [&](kube::Response response) { answer = std::move(response); });
    executor_.RunUntilIdle();
    return answer;
  }
  kube::Response CreateGadget(int size) {
    return Send(kube::Method::kPost, kube::PathOf(kGadgets, "default"),
                Format(R"({{"apiVersion":"test.berth.dev/v1beta1","kind":"Gadget",)"
                       R"("metadata":{{"name":"one"}},"spec":{{"size":{}}}}})",
                       size));
  }
  void Define(const kube::Resource& resource) {
    Send(kube::Method::kPost, "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
         Format(R"({{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition",)"
                R"("metadata":{{"name":"{0}.{1}"}},"spec":{{"group":"{1}","scope":"Namespaced",)"
                R"("names":{{"plural":"{0}","kind":"{2}"}},"versions":[{{"name":"v1beta1",)"
                R"("served":true,"storage":true,"schema":{{"openAPIV3Schema":{{"type":"object",)"
                R"("x-kubernetes-preserve-unknown-fields":true}}}}}}]}}}})",
                resource.plural, resource.group, resource.kind));
  }

  async::TestExecutor executor_;
  Systems systems_ = MakeSystems(executor_, {});
  kube::memory::Server server_{{.now = [this] { return executor_.WallNow(); },
                                .random = [this] { return executor_.Random(); }}};
  kube::memory::LocalTransport transport_{executor_, server_};
  prometheus::Registry registry_;
  admission::Webhooks webhooks_{registry_};
  apis::Authenticator authenticator_{nullptr, nullptr};
  apis::Authorizer authorizer_{nullptr};
  apis::ApiServer api_{authenticator_, authorizer_, registry_};
};

TEST_F(SystemsTest, ASystemInTheListIsServedAndRun) {
  runtime::Leadership leadership(executor_, transport_,
                                 {.ns = "default", .name = "berth", .identity = "one"});
  const Host host{.executor = executor_,
                  .transport = transport_,
                  .leadership = leadership,
                  .registry = registry_,
                  .derive_key = [](const std::string& purpose) { return purpose; }};
  for (const auto& system : systems_) {
    if (system->enabled()) system->Start(host);
  }
  leadership.Start();
  executor_.Advance(1s);
  EXPECT_EQ(CreateGadget(0).code, 400);
  EXPECT_EQ(CreateGadget(1).code, 201);
  executor_.Advance(1s);
  EXPECT_EQ(Send(kube::Method::kGet, kube::PathOf(kWidgets, "default", "one")).code, 200);

  auto& gadgets = static_cast<Gadgets&>(*systems_.back());
  EXPECT_THAT(gadgets.controllers(), SizeIs(1));
  gadgets.Publish();
  EXPECT_THAT(gadgets.usages().Get("", "all")->json, HasSubstr(R"("gadgets":1)"));
  for (const auto& system : systems_) {
    if (system->enabled()) system->Stop();
  }
}

TEST_F(SystemsTest, EveryFileOfTheDemosCommandsIsWritten) {
  for (const auto& system : MakeSystems(executor_, OptionsOfDemo(true))) {
    EXPECT_TRUE(system->enabled()) << system->name();
    std::string commands = system->demo_commands("/the-demo");
    for (const auto& [name, text] : system->demo_files()) {
      EXPECT_THAT(text, HasSubstr("apiVersion:")) << name;
      const std::string path = Format("/the-demo/{}", name);
      ASSERT_THAT(commands, HasSubstr(path));
      commands.erase(commands.find(path), path.size());
    }
    EXPECT_THAT(commands, Not(HasSubstr("/the-demo/"))) << system->name();
  }
  for (const auto& system : MakeSystems(executor_, OptionsOfDemo(false)))
    EXPECT_EQ(system->enabled(), system->cloud().empty()) << system->name();
}

TEST_F(SystemsTest, ItsManifestFollowsFromWhatItRegisters) {
  EXPECT_EQ(ManifestOf(*systems_.back()), R"(# Written by `berth manifest`.
name: gadgets
kinds:
  - {"group":"test.berth.dev","version":"v1beta1","resource":"gadgets","crd":false,"scope":"Namespaced","verbs":["get","list","watch","update","patch"],"statusVerbs":["get","update","patch"],"validate":{"operations":["CREATE"],"sideEffects":"None"}}
  - {"group":"test.berth.dev","version":"v1beta1","resource":"widgets","crd":false,"scope":"Namespaced","verbs":["get","list","watch","update","patch","create","delete"],"statusVerbs":["get","update","patch"]}
live:
  - {"resource":"gadgetusages","verbs":["get","list","watch"]}
)");
}

}  // namespace
}  // namespace berth::systems
