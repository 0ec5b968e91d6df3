#include "kube/memory/builtin.h"

#include <array>

#include "kube/memory/definition.h"
#include "kube/memory/event.h"
#include "kube/memory/kinds.h"
#include "kube/memory/render.h"
#include "kube/memory/workload_columns.h"
#include "log/format.h"

namespace berth::kube::memory {
namespace {

// Fields that the decoder of a kind knows; kinds without a decoder are kept as they come.
constexpr const char* kConfigMap = R"({"type":"object","properties":{
  "data":{"type":"object","additionalProperties":{"type":"string"}},
  "binaryData":{"type":"object","additionalProperties":{"type":"string","format":"byte"}},
  "immutable":{"type":"boolean"}}})";
constexpr const char* kSecret = R"({"type":"object","properties":{
  "data":{"type":"object","additionalProperties":{"type":"string","format":"byte"}},
  "stringData":{"type":"object","additionalProperties":{"type":"string"}},
  "immutable":{"type":"boolean"},"type":{"type":"string"}}})";
constexpr const char* kServiceAccount = R"({"type":"object","properties":{
  "automountServiceAccountToken":{"type":"boolean"},
  "imagePullSecrets":{"type":"array","items":{"type":"object","properties":{"name":{"type":"string"}}}},
  "secrets":{"type":"array","items":{"type":"object","x-kubernetes-preserve-unknown-fields":true}}}})";
constexpr const char* kNamespace = R"({"type":"object","properties":{
  "spec":{"type":"object","properties":{"finalizers":{"type":"array","items":{"type":"string"}}}},
  "status":{"type":"object","properties":{"phase":{"type":"string"},
    "conditions":{"type":"array","items":{"type":"object","x-kubernetes-preserve-unknown-fields":true}}}}}})";
constexpr const char* kLease =
    R"({"type":"object","properties":{"spec":{"type":"object","properties":{
  "acquireTime":{"type":"string","format":"date-time"},"holderIdentity":{"type":"string"},
  "leaseDurationSeconds":{"type":"integer","format":"int32"},
  "leaseTransitions":{"type":"integer","format":"int32"},"preferredHolder":{"type":"string"},
  "renewTime":{"type":"string","format":"date-time"},"strategy":{"type":"string"}}}}})";
constexpr const char* kEvent = R"({"type":"object","properties":{
  "action":{"type":"string"},"count":{"type":"integer","format":"int32"},
  "eventTime":{"type":"string","format":"date-time","nullable":true},
  "firstTimestamp":{"type":"string","format":"date-time","nullable":true},
  "involvedObject":{"type":"object","x-kubernetes-preserve-unknown-fields":true},
  "lastTimestamp":{"type":"string","format":"date-time","nullable":true},
  "message":{"type":"string"},"reason":{"type":"string"},
  "related":{"type":"object","x-kubernetes-preserve-unknown-fields":true},
  "reportingComponent":{"type":"string"},"reportingInstance":{"type":"string"},
  "series":{"type":"object","properties":{"count":{"type":"integer"},"lastObservedTime":{"type":"string"}}},
  "source":{"type":"object","properties":{"component":{"type":"string"},"host":{"type":"string"}}},
  "type":{"type":"string"}}})";
constexpr const char* kNewEvent = R"({"type":"object","properties":{
  "action":{"type":"string"},"deprecatedCount":{"type":"integer","format":"int32"},
  "deprecatedFirstTimestamp":{"type":"string","format":"date-time","nullable":true},
  "deprecatedLastTimestamp":{"type":"string","format":"date-time","nullable":true},
  "deprecatedSource":{"type":"object","properties":{"component":{"type":"string"},"host":{"type":"string"}}},
  "eventTime":{"type":"string","format":"date-time","nullable":true},"note":{"type":"string"},
  "reason":{"type":"string"},"regarding":{"type":"object","x-kubernetes-preserve-unknown-fields":true},
  "related":{"type":"object","x-kubernetes-preserve-unknown-fields":true},
  "reportingController":{"type":"string"},"reportingInstance":{"type":"string"},
  "series":{"type":"object","properties":{"count":{"type":"integer"},"lastObservedTime":{"type":"string"}}},
  "type":{"type":"string"}}})";

Value AgeCell(const Value& object, std::int64_t now) {
  return AgeOf(TextAt(object, "metadata", "creationTimestamp"), now);
}
Value DataCell(const Value& object, std::int64_t /*now*/) {
  const auto count = [&](std::string_view key) {
    const Value* data = Find(object, key);
    return data ? data->size() : 0;
  };
  return Value(count("data") + count("binaryData"));
}
Value CreatedCell(const Value& object, std::int64_t /*now*/) {
  return Value(TextAt(object, "metadata", "creationTimestamp"));
}

Column At(std::string name, std::string_view path) {
  return {.name = std::move(name), .type = "string", .path = JsonPath::Parse(path)};
}
Column Age() { return {.name = "Age", .type = "string", .make = AgeCell}; }
Column Data() { return {.name = "Data", .type = "string", .make = DataCell}; }

std::vector<SelectableField> Selectable(std::initializer_list<const char*> paths) {
  std::vector<SelectableField> fields;
  for (const char* path : paths) fields.push_back({path, path});
  return fields;
}

// Adds resources one by one, each with the stored version first.
class Builder {
 public:
  explicit Builder(Cluster& cluster) : cluster_(cluster) {}

  std::shared_ptr<Resource> Make(std::string group, std::string plural, std::string singular,
                                 std::string kind) {
    auto resource = std::make_shared<Resource>(cluster_.history(), cluster_.version());
    resource->group = std::move(group);
    resource->plural = std::move(plural);
    resource->singular = std::move(singular);
    resource->list_kind = kind + "List";
    resource->kind = std::move(kind);
    return resource;
  }

  std::shared_ptr<Version> Serve(Resource& resource, const std::string& group, const char* schema,
                                 std::vector<Column> columns) {
    auto version = std::make_shared<Version>();
    version->group = group;
    version->name = "v1";
    version->api_version = group.empty() ? "v1" : group + "/v1";
    version->columns = std::move(columns);
    Causes causes;
    if (schema) {
      version->schema_document = *decoder_.Decode(schema);
      version->schema = Schema::Parse(version->schema_document, "", causes);
    }
    resource.versions.push_back(version);
    return version;
  }

 private:
  Cluster& cluster_;
  Decoder decoder_;
};

void AddCore(Cluster& cluster, Builder& builder) {
  auto namespaces = builder.Make("", "namespaces", "namespace", "Namespace");
  const auto ns =
      builder.Serve(*namespaces, "", kNamespace, {At("Status", ".status.phase"), Age()});
  ns->has_status = true;
  ns->selectable_fields = Selectable({"status.phase"});
  namespaces->short_names = {"ns"};
  namespaces->namespaced = false;
  namespaces->deletes_collection = false;
  namespaces->rules = NamespaceRules();
  cluster.registry().Add(namespaces);

  auto maps = builder.Make("", "configmaps", "configmap", "ConfigMap");
  builder.Serve(*maps, "", kConfigMap, {Data(), Age()});
  maps->short_names = {"cm"};
  maps->selects_known_fields = true;
  maps->rules = ConfigMapRules();
  cluster.registry().Add(maps);

  auto secrets = builder.Make("", "secrets", "secret", "Secret");
  const auto secret = builder.Serve(*secrets, "", kSecret, {At("Type", ".type"), Data(), Age()});
  secret->selectable_fields = Selectable({"type"});
  secrets->rules = SecretRules();
  cluster.registry().Add(secrets);

  auto accounts = builder.Make("", "serviceaccounts", "serviceaccount", "ServiceAccount");
  builder.Serve(*accounts, "", kServiceAccount, {Age()});
  accounts->short_names = {"sa"};
  accounts->selects_known_fields = true;
  cluster.registry().Add(accounts);

  auto leases = builder.Make("coordination.k8s.io", "leases", "lease", "Lease");
  builder.Serve(*leases, "coordination.k8s.io", kLease,
                {At("Holder", ".spec.holderIdentity"), Age()});
  leases->unconditional_update = false;
  leases->create_on_update = true;
  leases->selects_known_fields = true;
  leases->rules = LeaseRules();
  cluster.registry().Add(leases);
}

void AddEvents(Cluster& cluster, Builder& builder) {
  auto events = builder.Make("", "events", "event", "Event");
  const auto fields = [](std::string_view about, std::string component) {
    std::vector<SelectableField> all = Selectable({"reason", "type"});
    all.push_back({"source", "source.component"});
    all.push_back({std::move(component), "reportingComponent"});
    for (const char* member :
         {"kind", "namespace", "name", "uid", "apiVersion", "resourceVersion", "fieldPath"})
      all.push_back({Format("{}.{}", about, member), Format("involvedObject.{}", member)});
    return all;
  };
  const auto core = builder.Serve(*events, "", kEvent, EventColumns());
  core->selectable_fields = fields("involvedObject", "reportingComponent");
  core->name_column = false;
  const auto face = builder.Serve(*events, "events.k8s.io", kNewEvent, EventColumns());
  face->selectable_fields = fields("regarding", "reportingController");
  face->name_column = false;
  face->from_stored = EventFromStored;
  face->to_stored = EventToStored;
  face->validate_new = ValidateNewEvent;
  events->short_names = {"ev"};
  events->create_on_update = true;
  events->rules = EventRules();
  cluster.registry().Add(events);
}

// Kept as they come, with the few defaults of kinds.cc; see machinery.h for what acts on them.
void AddWorkloads(Cluster& cluster, Builder& builder) {
  auto pods = builder.Make("", "pods", "pod", "Pod");
  const auto pod = builder.Serve(*pods, "", nullptr, PodColumns());
  pod->has_status = true;
  pod->selectable_fields = Selectable({"spec.nodeName", "spec.restartPolicy", "spec.schedulerName",
                                       "spec.serviceAccountName", "spec.hostNetwork",
                                       "status.phase", "status.podIP", "status.nominatedNodeName"});
  pods->short_names = {"po"};
  pods->categories = {"all"};
  pods->has_generation = true;
  pods->returns_deleted = true;
  pods->rules = PodRules();
  cluster.registry().Add(pods);

  auto services = builder.Make("", "services", "service", "Service");
  const auto service = builder.Serve(*services, "", nullptr, ServiceColumns());
  service->has_status = true;
  service->selectable_fields = Selectable({"spec.clusterIP", "spec.type"});
  services->short_names = {"svc"};
  services->categories = {"all"};
  services->create_on_update = true;
  services->returns_deleted = true;
  services->rules = ServiceRules();
  cluster.registry().Add(services);

  auto nodes = builder.Make("", "nodes", "node", "Node");
  const auto node = builder.Serve(*nodes, "", nullptr, NodeColumns());
  node->has_status = true;
  node->selectable_fields = Selectable({"spec.unschedulable"});
  nodes->short_names = {"no"};
  nodes->namespaced = false;
  cluster.registry().Add(nodes);

  auto slices =
      builder.Make("discovery.k8s.io", "endpointslices", "endpointslice", "EndpointSlice");
  builder.Serve(*slices, "discovery.k8s.io", nullptr, EndpointSliceColumns());
  slices->has_generation = true;
  slices->rules = EndpointSliceRules();
  cluster.registry().Add(slices);
}

void AddDefinitions(Cluster& cluster, Builder& builder) {
  const std::string group = "apiextensions.k8s.io";
  auto definitions = builder.Make(group, "customresourcedefinitions", "customresourcedefinition",
                                  "CustomResourceDefinition");
  const auto version = builder.Serve(*definitions, group, nullptr,
                                     {{.name = "Created At", .type = "date", .make = CreatedCell}});
  version->has_status = true;
  definitions->short_names = {"crd", "crds"};
  definitions->categories = {"api-extensions"};
  definitions->namespaced = false;
  definitions->has_generation = true;
  definitions->unconditional_update = false;
  definitions->selects_known_fields = true;
  definitions->rules = DefinitionRules();
  cluster.registry().Add(definitions);
}

void AddNamespace(Cluster& cluster, std::string_view name) {
  const auto namespaces = cluster.registry().Find("", "namespaces");
  Value object = Value::Object();
  object.insert_or_assign("apiVersion", "v1");
  object.insert_or_assign("kind", "Namespace");
  Value& metadata = ObjectAt(object, "metadata");
  metadata.insert_or_assign("name", name);
  metadata.insert_or_assign("uid", cluster.NewUid());
  metadata.insert_or_assign("creationTimestamp", cluster.Date());
  namespaces->rules.prepare(object, nullptr);
  cluster.Put(*namespaces, std::string(name), std::move(object));
}

}  // namespace

void AddBuiltinResources(Cluster& cluster) {
  Builder builder(cluster);
  AddCore(cluster, builder);
  AddEvents(cluster, builder);
  AddWorkloads(cluster, builder);
  AddDefinitions(cluster, builder);
  for (const std::string_view name : {"default", "kube-node-lease", "kube-public", "kube-system"})
    AddNamespace(cluster, name);
}

}  // namespace berth::kube::memory
