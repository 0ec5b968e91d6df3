#include "kube/memory/openapi.h"

#include "log/format.h"

namespace berth::kube::memory {
namespace {

constexpr std::string_view kMeta = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta";

Value Text(std::string_view description) {
  Value schema = Value::Object();
  schema.insert_or_assign("type", "string");
  schema.insert_or_assign("description", description);
  return schema;
}

Value Texts(std::string_view description) {
  Value schema = Value::Object();
  schema.insert_or_assign("type", "object");
  schema.insert_or_assign("description", description);
  schema.insert_or_assign("additionalProperties", Text(""));
  return schema;
}

Value MetaSchema() {
  Value properties = Value::Object();
  properties.insert_or_assign("name", Text("Name of the object, unique in its scope."));
  properties.insert_or_assign("generateName", Text("Beginning of a name the server completes."));
  properties.insert_or_assign("namespace", Text("Namespace of the object."));
  properties.insert_or_assign("uid", Text("Identifies this object across time."));
  properties.insert_or_assign("resourceVersion", Text("Version of the object."));
  properties.insert_or_assign("creationTimestamp", Text("When the object was made."));
  properties.insert_or_assign("deletionTimestamp", Text("When its deletion was asked for."));
  properties.insert_or_assign("labels", Texts("Labels to select by."));
  properties.insert_or_assign("annotations", Texts("Notes of tools and people."));
  Value finalizers = Value::Object();
  finalizers.insert_or_assign("type", "array");
  finalizers.insert_or_assign("description", "Who must agree before the object ends.");
  finalizers.insert_or_assign("items", Text(""));
  properties.insert_or_assign("finalizers", std::move(finalizers));
  Value owners = Value::Object();
  owners.insert_or_assign("type", "array");
  owners.insert_or_assign("description", "With the last of these objects this one ends.");
  ObjectAt(owners, "items").insert_or_assign("type", "object");
  properties.insert_or_assign("ownerReferences", std::move(owners));
  Value schema = Value::Object();
  schema.insert_or_assign("type", "object");
  schema.insert_or_assign("description", "What all objects have.");
  schema.insert_or_assign("properties", std::move(properties));
  return schema;
}

Value GroupVersionKind(const View& view) {
  Value value = Value::Object();
  value.insert_or_assign("group", view.version->group);
  value.insert_or_assign("version", view.version->name);
  value.insert_or_assign("kind", view.resource->kind);
  return value;
}

// "dev.berth.x.v1.Thing": as kube-apiserver names schemas, the group's parts backwards.
std::string NameOf(const View& view) {
  std::string name;
  std::string_view group = view.version->group;
  if (group.empty()) group = "core";
  while (!group.empty()) {
    const std::size_t dot = group.rfind('.');
    const std::size_t begin = dot == std::string_view::npos ? 0 : dot + 1;
    name.append(group.substr(begin)).append(".");
    group = group.substr(0, dot == std::string_view::npos ? 0 : dot);
  }
  return name + view.version->name + "." + view.resource->kind;
}

Value KindSchema(const View& view, std::string_view root) {
  Value schema = view.version->schema_document;
  if (!schema.is_object()) {
    schema = Value::Object();
    schema.insert_or_assign("type", "object");
    schema.insert_or_assign("x-kubernetes-preserve-unknown-fields", true);
  }
  Value& properties = ObjectAt(schema, "properties");
  properties.insert_or_assign("apiVersion", Text("The version of the schema of this object."));
  properties.insert_or_assign("kind", Text("The kind of this object."));
  Value metadata = Value::Object();
  metadata.insert_or_assign("$ref", std::string(root) + std::string(kMeta));
  properties.insert_or_assign("metadata", std::move(metadata));
  Value kinds = Value::Array();
  kinds.push_back(GroupVersionKind(view));
  schema.insert_or_assign("x-kubernetes-group-version-kind", std::move(kinds));
  return schema;
}

Value Schemas(const std::vector<View>& views, std::string_view root) {
  Value schemas = Value::Object();
  schemas.insert_or_assign(kMeta, MetaSchema());
  for (const View& view : views) schemas.insert_or_assign(NameOf(view), KindSchema(view, root));
  return schemas;
}

// kubectl leaves validation to a server whose PATCH takes fieldValidation.
Value Operation(const View& view, std::string_view action, std::string_view root) {
  Value parameters = Value::Array();
  for (const std::string_view name : {"dryRun", "fieldManager", "fieldValidation"}) {
    Value parameter = Value::Object();
    parameter.insert_or_assign("name", name);
    parameter.insert_or_assign("in", "query");
    ObjectAt(parameter, "schema").insert_or_assign("type", "string");
    parameters.push_back(std::move(parameter));
  }
  Value ok = Value::Object();
  ok.insert_or_assign("description", "OK");
  ObjectAt(ObjectAt(ObjectAt(ok, "content"), "application/json"), "schema")
      .insert_or_assign("$ref", std::string(root) + NameOf(view));
  Value operation = Value::Object();
  operation.insert_or_assign("parameters", std::move(parameters));
  ObjectAt(operation, "responses").insert_or_assign("200", std::move(ok));
  operation.insert_or_assign("x-kubernetes-action", action);
  operation.insert_or_assign("x-kubernetes-group-version-kind", GroupVersionKind(view));
  return operation;
}

Value Paths(const std::vector<View>& views, std::string_view root) {
  Value paths = Value::Object();
  for (const View& view : views) {
    const Version& version = *view.version;
    const std::string item =
        Format("{}{}/{}{}/{{name}}",
               version.group.empty() ? "/api/" : "/apis/" + version.group + "/", version.name,
               view.resource->namespaced ? "namespaces/{namespace}/" : "", view.resource->plural);
    Value operations = Value::Object();
    for (const std::string_view action : {"get", "put", "patch", "delete"})
      operations.insert_or_assign(action, Operation(view, action, root));
    paths.insert_or_assign(item, std::move(operations));
  }
  return paths;
}

Value Info() {
  Value info = Value::Object();
  info.insert_or_assign("title", "Berth's API server in memory");
  info.insert_or_assign("version", BERTH_VERSION);
  return info;
}

std::vector<View> ViewsOf(const Registry& registry, std::string_view group,
                          std::string_view version) {
  std::vector<View> views;
  for (const auto& [key, view] : registry.views()) {
    if (view.version->group == group && view.version->name == version) views.push_back(view);
  }
  return views;
}

std::string PathOf(const Version& version) {
  return version.group.empty() ? "api/" + version.name
                               : "apis/" + version.group + "/" + version.name;
}

}  // namespace

Value OpenApiV2(const Registry& registry) {
  std::vector<View> views;
  for (const auto& [key, view] : registry.views()) views.push_back(view);
  Value document = Value::Object();
  document.insert_or_assign("swagger", "2.0");
  document.insert_or_assign("info", Info());
  document.insert_or_assign("paths", Value::Object());
  document.insert_or_assign("definitions", Schemas(views, "#/definitions/"));
  return document;
}

Value OpenApiV3Index(const Registry& registry, const AggregatedGroups& aggregated) {
  Value paths = Value::Object();
  const auto add = [&](const std::string& path) {
    Value entry = Value::Object();
    entry.insert_or_assign("serverRelativeURL", "/openapi/v3/" + path);
    paths.insert_or_assign(path, std::move(entry));
  };
  for (const auto& [key, view] : registry.views()) add(PathOf(*view.version));
  for (const auto& [name, group] : aggregated) add("apis/" + name + "/" + group.version);
  Value document = Value::Object();
  document.insert_or_assign("paths", std::move(paths));
  return document;
}

Value OpenApiV3(const Registry& registry, std::string_view group, std::string_view version) {
  static constexpr std::string_view kRoot = "#/components/schemas/";
  const auto views = ViewsOf(registry, group, version);
  if (views.empty()) return Value::null();
  Value document = Value::Object();
  document.insert_or_assign("openapi", "3.0.0");
  document.insert_or_assign("info", Info());
  document.insert_or_assign("paths", Paths(views, kRoot));
  ObjectAt(document, "components").insert_or_assign("schemas", Schemas(views, kRoot));
  return document;
}

}  // namespace berth::kube::memory
