#include <string>

#include "handlers/apis/discovery.h"

namespace berth::apis {
namespace {

constexpr const char* kMeta = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta";
constexpr const char* kListMeta = "io.k8s.apimachinery.pkg.apis.meta.v1.ListMeta";
constexpr const char* kPrefix = "dev.berth.live.v1alpha1.";

Json Reference(const std::string& root, const std::string& name, const char* description) {
  Json schema = Json::Object();
  schema["description"] = description;
  schema["$ref"] = root + name;
  return schema;
}

Json MetaSchema() {
  return ObjectSchema(
      "The metadata of a live object, which has fewer members than a stored one.",
      {{"name", "string", "Name of the object, unique in its scope."},
       {"generateName", "string", "Beginning of a name that is made up."},
       {"namespace", "string", "Namespace of the object; empty for cluster-wide ones."},
       {"uid", "string", "Identifies this object across time."},
       {"resourceVersion", "string", "Version of the object; a watch starts after one."},
       {"creationTimestamp", "string", "When the object was first seen.", "date-time"},
       {"labels", "string{}", "Labels to select by."}});
}

Json ListMetaSchema() {
  return ObjectSchema(
      "The metadata of a list.",
      {{"resourceVersion", "string", "Version of the collection that was read."},
       {"continue", "string", "Where to go on, when the list was cut by a limit."}});
}

Json GroupVersionKind(const std::string& kind) {
  Json gvk = Json::Object();
  gvk["group"] = kGroup;
  gvk["version"] = kVersion;
  gvk["kind"] = kind;
  return gvk;
}

Json TypedSchema(const std::string& kind, const std::string& description) {
  Json schema = ObjectSchema(description,
                             {{"apiVersion", "string", "The version of the schema of this object."},
                              {"kind", "string", "The kind of this object."}});
  schema["x-kubernetes-group-version-kind"] = Json::Array();
  schema["x-kubernetes-group-version-kind"].push_back(GroupVersionKind(kind));
  return schema;
}

Json KindSchema(const ResourceType& type, const std::string& root) {
  Json schema = TypedSchema(type.kind, type.description);
  schema["properties"]["metadata"] = Reference(root, kMeta, "Standard metadata.");
  for (const auto& member : type.properties.object_range())
    schema["properties"][member.key()] = member.value();
  return schema;
}

Json ListSchema(const ResourceType& type, const std::string& root) {
  Json items = Json::Object();
  items["type"] = "array";
  items["description"] = "The objects.";
  items["items"] = Json::Object();
  items["items"]["$ref"] = root + kPrefix + type.kind;
  Json schema = TypedSchema(type.kind + "List", "A list of " + type.plural + ".");
  schema["properties"]["metadata"] = Reference(root, kListMeta, "Standard list metadata.");
  schema["properties"]["items"] = std::move(items);
  schema["required"] = Json::Array();
  schema["required"].push_back("items");
  return schema;
}

Json Schemas(const std::vector<const ResourceType*>& types, const std::string& root) {
  Json schemas = Json::Object();
  for (const auto* type : types) {
    schemas[kPrefix + type->kind] = KindSchema(*type, root);
    if (!type->action) schemas[kPrefix + type->kind + "List"] = ListSchema(*type, root);
  }
  schemas[kMeta] = MetaSchema();
  schemas[kListMeta] = ListMetaSchema();
  return schemas;
}

Json PathParameter(const char* name, bool v3) {
  Json parameter = Json::Object();
  parameter["name"] = name;
  parameter["in"] = "path";
  parameter["required"] = true;
  if (v3) {
    parameter["schema"] = Json::Object();
    parameter["schema"]["type"] = "string";
  } else {
    parameter["type"] = "string";
  }
  return parameter;
}

// The content of a request or a response, as each version of OpenAPI says it.
void PutBody(Json& carrier, const std::string& reference, bool v3) {
  Json schema = Json::Object();
  schema["$ref"] = reference;
  if (!v3) {
    carrier["schema"] = std::move(schema);
    return;
  }
  carrier["content"] = Json::Object();
  carrier["content"]["application/json"] = Json::Object();
  carrier["content"]["application/json"]["schema"] = std::move(schema);
}

Json Operation(const ResourceType& type, const char* action, const std::string& root,
               const std::string& schema, bool v3) {
  const bool creates = std::string_view(action) == "create";
  Json answer = Json::Object();
  answer["description"] = creates ? "Created" : "OK";
  PutBody(answer, root + schema, v3);
  Json operation = Json::Object();
  operation["description"] = std::string(action) + " " + type.plural;
  operation["operationId"] = std::string(action) + "LiveBerthDevV1alpha1" + type.kind;
  operation["responses"] = Json::Object();
  operation["responses"][creates ? "201" : "200"] = std::move(answer);
  operation["x-kubernetes-action"] = creates ? "post" : action;
  operation["x-kubernetes-group-version-kind"] = GroupVersionKind(type.kind);
  return operation;
}

Json Create(const ResourceType& type, const std::string& root, bool v3) {
  const std::string schema = kPrefix + type.kind;
  Json operation = Operation(type, "create", root, schema, v3);
  Json body = Json::Object();
  body["required"] = true;
  PutBody(body, root + schema, v3);
  if (v3) {
    operation["requestBody"] = std::move(body);
  } else {
    body["name"] = "body";
    body["in"] = "body";
    operation["parameters"] = Json::Array();
    operation["parameters"].push_back(std::move(body));
  }
  return operation;
}

void AddPaths(Json& paths, const ResourceType& type, const std::string& root, bool v3) {
  std::string base = std::string("/apis/") + kGroupVersion + "/";
  if (type.namespaced) base += "namespaces/{namespace}/";
  base += type.plural;
  const auto parameters = [&](bool item) {
    Json list = Json::Array();
    if (type.namespaced) list.push_back(PathParameter("namespace", v3));
    if (item) list.push_back(PathParameter("name", v3));
    return list;
  };
  paths[base] = Json::Object();
  paths[base]["parameters"] = parameters(false);
  if (type.action) {
    paths[base]["post"] = Create(type, root, v3);
    return;
  }
  paths[base]["get"] = Operation(type, "list", root, kPrefix + type.kind + "List", v3);
  const std::string item = base + "/{name}";
  paths[item] = Json::Object();
  paths[item]["parameters"] = parameters(true);
  paths[item]["get"] = Operation(type, "get", root, kPrefix + type.kind, v3);
  if (type.deletable)
    paths[item]["delete"] = Operation(type, "delete", root, kPrefix + type.kind, v3);
}

Json Paths(const std::vector<const ResourceType*>& types, const std::string& root, bool v3) {
  Json paths = Json::Object();
  for (const auto* type : types) AddPaths(paths, *type, root, v3);
  return paths;
}

Json Info() {
  Json info = Json::Object();
  info["title"] = "Berth";
  info["version"] = BERTH_VERSION;
  return info;
}

}  // namespace

ResourceType::ResourceType(std::string_view name) : kind(name) {
  for (const char c : name) singular += static_cast<char>(std::tolower(c));
  plural = singular + "s";
}

Json Schema(const Field& field) {
  Json schema;
  const bool list = field.type.ends_with("[]"), map = field.type.ends_with("{}");
  schema["type"] = list ? "array" : map ? "object" : field.type;
  if (list || map) {
    const std::string_view type = field.type.substr(0, field.type.size() - 2);
    Json& items = schema[list ? "items" : "additionalProperties"];
    items["type"] = type;
    if (!field.format.empty()) items["format"] = field.format;
  } else if (!field.format.empty()) {
    schema["format"] = field.format;
  }
  schema["description"] = field.description;
  return schema;
}

Json ObjectSchema(std::string_view description, std::initializer_list<Field> fields) {
  Json schema;
  schema["type"] = "object";
  schema["description"] = description;
  for (const Field& field : fields) schema["properties"][field.name] = Schema(field);
  return schema;
}

Document OpenApiV2(const std::vector<const ResourceType*>& types) {
  const std::string root = "#/definitions/";
  Json document = Json::Object();
  document["swagger"] = "2.0";
  document["info"] = Info();
  document["paths"] = Paths(types, root, false);
  document["definitions"] = Schemas(types, root);
  return MakeDocument(document.to_string());
}

Document OpenApiV3(const std::vector<const ResourceType*>& types) {
  const std::string root = "#/components/schemas/";
  Json document = Json::Object();
  document["openapi"] = "3.0.0";
  document["info"] = Info();
  document["paths"] = Paths(types, root, true);
  document["components"] = Json::Object();
  document["components"]["schemas"] = Schemas(types, root);
  return MakeDocument(document.to_string());
}

Document OpenApiV3Index(const Document& group_document) {
  const std::string path = std::string("apis/") + kGroupVersion;
  const std::string hash = group_document.etag.substr(1, group_document.etag.size() - 2);
  Json index = Json::Object();
  index["paths"] = Json::Object();
  index["paths"][path] = Json::Object();
  index["paths"][path]["serverRelativeURL"] = "/openapi/v3/" + path + "?hash=" + hash;
  return MakeDocument(index.to_string());
}

}  // namespace berth::apis
