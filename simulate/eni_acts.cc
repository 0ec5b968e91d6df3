// Acts of users, daemons and operators on Nodes.
#include <iterator>

#include "log/format.h"
#include "simulate/eni.h"
#include "simulate/objects.h"
#include "simulate/world.h"

namespace berth::simulate {

using namespace std::chrono_literals;

namespace {

constexpr const char* kLingjun =
    R"({"metadata":{"labels":{"alibabacloud.com/lingjun-worker":"true"}}})";

}  // namespace

void Eni::Act(World& world) {
  Dice& random = world.random();
  if (random.Chance(0.2)) {
    for (const auto& [name, node] : nodes_->all()) backup_[name] = node.status();
  }
  const auto roll = random.Below(100);
  if (tampers_ && roll < 60) return users_->Act();
  if (tampers_ && roll < 68) return LoseStatus(world);
  if (roll < 75) return ScaleIn(world);
  if (roll < 82) return ReAdd(world);
  const EniFleet::Server& server = fleet_.servers[random.Below(fleet_.servers.size())];
  if (roll < 88) return ForceSync(world, server.node);
  if (roll < 94) {
    world.Ask({.method = kube::Method::kDelete, .path = EniNodes::PathOf(server.node)});
    if (random.Chance(0.3)) return;
    world.scheduler().After(random.Between(0s, 40s),
                            [this, &world, name = server.node] { StartDaemon(world, name); });
    return;
  }
  StartDaemon(world, server.node);
}

const NodeView* Eni::SomeNode(World& world) const {
  if (nodes_->all().empty()) return nullptr;
  auto node = nodes_->all().begin();
  std::advance(node, world.random().Below(nodes_->all().size()));
  return &node->second;
}

// A node's daemon writes the Node's spec, and tries again while it is refused.
void Eni::StartDaemon(World& world, const std::string& name) {
  const EniFleet::Server& server = *fleet_.Find(name);
  if (!pods_->HasCoreNode(name)) return;
  const NodeView* node = nodes_->Find(name);
  const bool is_labelled = !server.lingjun || (node && node->is_lingjun);
  if (node && is_labelled && node->spec() == server.spec) return;
  if (node && server.lingjun) world.Merge(EniNodes::PathOf(name), kLingjun);
  const char* labels = server.lingjun ? R"({"alibabacloud.com/lingjun-worker":"true"})" : "{}";
  int code = 0;
  if (node) {
    code = world
               .Ask({.method = kube::Method::kPatch,
                     .path = EniNodes::PathOf(name),
                     .body = Format(R"([{{"op":"add","path":"/spec","value":{}}}])",
                                    server.spec.to_string()),
                     .content_type = "application/json-patch+json"})
               .code;
  } else {
    Json manifest;
    manifest["apiVersion"] = "network.alibabacloud.com/v1beta1";
    manifest["kind"] = "Node";
    manifest["metadata"]["name"] = name;
    manifest["metadata"]["labels"] = Json::parse(labels);
    manifest["spec"] = server.spec;
    code = world
               .Ask({.method = kube::Method::kPost,
                     .path = EniNodes::kCollection,
                     .body = manifest.to_string()})
               .code;
  }
  if (code < 300) return;
  world.scheduler().After(world.random().Between(1s, 20s),
                          [this, &world, name] { StartDaemon(world, name); });
}

// A server is replaced by another under the same name. Its Node is deleted
// first, later, or stays.
void Eni::ScaleIn(World& world) {
  Dice& random = world.random();
  EniFleet::Server& server = fleet_.servers[random.Below(fleet_.servers.size())];
  const std::string name = server.node;
  if (!pods_->HasCoreNode(name)) return;
  world.Trace("{} is replaced", server.instance);
  const std::string instance = server.instance;
  world.scheduler().After(random.Between(0s, 20s), [this, &world, instance] {
    cloud_.Settle(world.scheduler().WallNow());
    for (const auto* record : products_.All()) {
      if (record->eni.instance_id == instance && world.random().Chance(0.3)) {
        products_.Of(instance).Edit(record->eni.id).delete_on_release = false;
      }
    }
    products_.Of(instance).DeleteInstance(instance);
  });
  if (random.Chance(0.7)) {
    world.scheduler().After(random.Between(0s, 20s), [&world, name] {
      world.Ask({.method = kube::Method::kDelete, .path = EniNodes::PathOf(name)});
    });
  }
  server.instance = Format("{}x", instance);
  server.spec["nodeMetadata"]["instanceID"] = server.instance;
  pods_->ReplaceCoreNode(name, [this, &world, name] {
    AddInstance(*fleet_.Find(name));
    StartDaemon(world, name);
  });
}

// A core Node is deleted and added again with the same server.
void Eni::ReAdd(World& world) {
  Dice& random = world.random();
  const std::string name = fleet_.servers[random.Below(fleet_.servers.size())].node;
  world.Trace("the core Node {} is deleted and added again", name);
  if (random.Chance(0.5)) {
    world.Ask({.method = kube::Method::kDelete, .path = EniNodes::PathOf(name)});
  }
  pods_->ReplaceCoreNode(name, [this, &world, name] { StartDaemon(world, name); });
}

// A status goes, or becomes one of before, as when etcd is restored; or a Node
// is lost with nobody asking its finalizer, and made again.
void Eni::LoseStatus(World& world) {
  Dice& random = world.random();
  const NodeView* node = SomeNode(world);
  if (!node) return;
  const std::string name = node->name;
  const std::string path = EniNodes::PathOf(name);
  const Json spec = node->spec();
  // Copied, like the spec: the writes below end the view.
  const Json labels = Part(node->object["metadata"], "labels");
  witness_->Tampered(name);
  if (random.Chance(0.3)) {
    world.Merge(path, R"({"metadata":{"finalizers":null}})");
    world.Ask({.method = kube::Method::kDelete, .path = path});
    Json manifest;
    manifest["apiVersion"] = "network.alibabacloud.com/v1beta1";
    manifest["kind"] = "Node";
    manifest["metadata"]["name"] = name;
    manifest["metadata"]["labels"] = labels;
    manifest["spec"] = spec;
    world.Ask({.method = kube::Method::kPost,
               .path = EniNodes::kCollection,
               .body = manifest.to_string()});
  }
  Json status;
  if (random.Chance(0.6) && backup_.contains(name)) status = backup_[name];
  Json patch = Json::Array();
  Json operation;
  operation["op"] = "add";
  operation["path"] = "/status";
  operation["value"] = status.is_null() ? Json::Object() : status;
  patch.push_back(std::move(operation));
  world.Trace("the status of {} is one of before", name);
  world.Ask({.method = kube::Method::kPatch,
             .path = path + "/status",
             .body = patch.to_string(),
             .content_type = "application/json-patch+json"});
}

// An operator wants the cloud to be looked at.
void Eni::ForceSync(World& world, const std::string& name) {
  world.Merge(EniNodes::PathOf(name) + "/status",
              R"({"status":{"nextSyncOpenAPITime":"2026-01-01T00:00:00Z"}})");
}

// A user cancels an attach: an ENI that is Available has one, before it is
// sent.
void Eni::CancelSome(World& world, int tries) {
  if (tries == 0) return;
  cloud_.Settle(world.scheduler().WallNow());
  for (const auto* record : products_.All()) {
    if (record->eni.status != "Available" || witness_->IsOthers(record->eni.id)) continue;
    DeleteLive({.plural = "enitasks",
                .name = record->eni.id,
                .which =
                    [](const Json& task) {
                      return Text(Part(task, "spec"), "operation") == "Attach" &&
                             Text(Part(task, "status"), "state") == "Pending";
                    },
                .on_deleted =
                    [this, &world, id = record->eni.id](const std::string& replica, int code) {
                      world.Trace("a user cancels the task of {}: {}", id, code);
                      if (code == 200) witness_->Cancelled(replica, id);
                    }});
  }
  world.scheduler().After(100ms, [this, &world, tries] { CancelSome(world, tries - 1); });
}

// An operator is told that the ENIs are in another account, which is a user's
// lie, and knows that there are none.
void Eni::ClearAccount(World& world, const NodeView& node) {
  const std::string account = Text(node.status(), "account");
  const bool foreign = !account.empty() && account != cloud::simulator::kDefaultAccount;
  if (!foreign || !forged_.contains(node.name)) return;
  witness_->Tampered(node.name);
  world.Merge(EniNodes::PathOf(node.name) + "/status",
              R"({"status":{"account":null,"attempts":null}})");
}

}  // namespace berth::simulate
