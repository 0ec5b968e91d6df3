#include "kube/memory/definition.h"

#include <algorithm>
#include <cctype>

#include "log/format.h"

namespace berth::kube::memory {
namespace {

constexpr std::string_view kCleanup = "customresourcecleanup.apiextensions.k8s.io";
constexpr std::string_view kDns1035 =
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an "
    "alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', "
    "regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')";

std::string Lower(std::string_view text) {
  std::string lower(text);
  std::ranges::transform(lower, lower.begin(), [](unsigned char c) { return std::tolower(c); });
  return lower;
}

bool IsDns1035(std::string_view text) {
  return DnsLabelProblems(text).empty() && std::isalpha(static_cast<unsigned char>(text.front()));
}

std::vector<std::string> Strings(const Value* list) {
  std::vector<std::string> strings;
  if (!list || !list->is_array()) return strings;
  for (const Value& item : list->array_range()) {
    if (item.is_string()) strings.push_back(item.as<std::string>());
  }
  return strings;
}

bool FlagAt(const Value& value, std::string_view key) {
  const Value* found = Find(value, key);
  return found && found->is_bool() && found->as<bool>();
}

// The versions of a definition; none when they are not a list of objects.
std::vector<const Value*> VersionsOf(const Value& definition) {
  std::vector<const Value*> versions;
  const Value* list = Find(definition, "spec", "versions");
  if (!list || !list->is_array()) return versions;
  for (const Value& version : list->array_range()) {
    if (version.is_object()) versions.push_back(&version);
  }
  return versions;
}

std::vector<const Value*> Items(const Value& version, std::string_view key) {
  std::vector<const Value*> items;
  const Value* list = Find(version, key);
  if (!list || !list->is_array()) return items;
  for (const Value& item : list->array_range()) items.push_back(&item);
  return items;
}

// ---- From a definition to a resource

std::vector<Column> ReadColumns(const Value& version) {
  const auto listed = Items(version, "additionalPrinterColumns");
  if (listed.empty()) {
    return {{.name = "Age",
             .type = "date",
             .description = "",
             .path = JsonPath::Parse(".metadata.creationTimestamp")}};
  }
  std::vector<Column> columns;
  for (const Value* item : listed) {
    const std::string_view path = TextAt(*item, "jsonPath");
    std::string description(TextAt(*item, "description"));
    if (description.empty())
      description = Format("Custom resource definition column (in JSONPath format): {}", path);
    columns.push_back({.name = std::string(TextAt(*item, "name")),
                       .type = std::string(TextAt(*item, "type")),
                       .format = std::string(TextAt(*item, "format")),
                       .description = std::move(description),
                       .priority = static_cast<int>(IntAt(*item, "priority")),
                       .path = JsonPath::Parse(path)});
  }
  return columns;
}

std::shared_ptr<const Version> ReadVersion(const std::string& group, const Value& version) {
  auto read = std::make_shared<Version>();
  read->group = group;
  read->name = TextAt(version, "name");
  read->api_version = group + "/" + read->name;
  read->served = FlagAt(version, "served");
  read->has_status = Find(version, "subresources", "status") != nullptr;
  read->columns = ReadColumns(version);
  Causes ignored;  // It was valid when it was written.
  if (const Value* schema = Find(version, "schema", "openAPIV3Schema")) {
    read->schema = Schema::Parse(*schema, "", ignored);
    read->schema_document = *schema;
  }
  for (const Value* field : Items(version, "selectableFields")) {
    std::string path(TextAt(*field, "jsonPath"));
    if (path.starts_with('.')) path.erase(0, 1);
    read->selectable_fields.push_back({path, path});
  }
  return read;
}

void Read(const Value& definition, Resource& resource) {
  const Value& spec = *Find(definition, "spec");
  const Value& names = *Find(spec, "names");
  resource.group = TextAt(spec, "group");
  resource.plural = TextAt(names, "plural");
  resource.singular = TextAt(names, "singular");
  resource.kind = TextAt(names, "kind");
  resource.list_kind = TextAt(names, "listKind");
  resource.short_names = Strings(Find(names, "shortNames"));
  resource.categories = Strings(Find(names, "categories"));
  resource.namespaced = TextAt(spec, "scope") == "Namespaced";
  resource.custom = true;
  resource.has_generation = true;
  resource.unconditional_update = false;
  resource.versions.clear();
  for (const Value* version : VersionsOf(definition)) {
    resource.versions.insert(
        FlagAt(*version, "storage") ? resource.versions.begin() : resource.versions.end(),
        ReadVersion(resource.group, *version));
  }
}

// Prepares the view that readers get of objects that were written under an earlier schema.
void ReadAnew(Resource& resource) {
  const Version& stored = resource.stored();
  resource.objects.Rewrite([&](const ObjectPtr& object) -> ObjectPtr {
    Value value = object->value;
    value.insert_or_assign("apiVersion", stored.api_version);
    if (stored.schema) {
      stored.schema->Prune(value, nullptr);
      stored.schema->Default(value);
    }
    return value == object->value ? object : std::make_shared<const Object>(std::move(value));
  });
}

// ---- Status

Value Condition(std::string_view type, std::string_view reason, std::string_view message,
                const std::string& date) {
  Value condition = Value::Object();
  condition.insert_or_assign("type", type);
  condition.insert_or_assign("status", "True");
  condition.insert_or_assign("lastTransitionTime", date);
  condition.insert_or_assign("reason", reason);
  condition.insert_or_assign("message", message);
  return condition;
}

void SetCondition(Value& definition, Value condition) {
  Value& conditions = ObjectAt(definition, "status")["conditions"];
  if (!conditions.is_array()) conditions = Value::Array();
  const std::string type(TextAt(condition, "type"));
  for (Value& present : conditions.array_range()) {
    if (TextAt(present, "type") != type) continue;
    present = std::move(condition);
    return;
  }
  conditions.push_back(std::move(condition));
}

std::string_view StoredVersion(const Value& definition) {
  for (const Value* version : VersionsOf(definition)) {
    if (FlagAt(*version, "storage")) return TextAt(*version, "name");
  }
  return {};
}

// ---- Rules

void Prepare(Value& definition, const Value* old) {
  Value& spec = ObjectAt(definition, "spec");
  Value& names = ObjectAt(spec, "names");
  const std::string kind(TextAt(names, "kind"));
  if (TextAt(names, "singular").empty()) names.insert_or_assign("singular", Lower(kind));
  if (TextAt(names, "listKind").empty()) names.insert_or_assign("listKind", kind + "List");
  Value& conversion = ObjectAt(spec, "conversion");
  if (TextAt(conversion, "strategy").empty()) conversion.insert_or_assign("strategy", "None");
  Value& status = ObjectAt(definition, "status");
  if (!old) {
    Value accepted = Value::Object();
    accepted.insert_or_assign("kind", "");
    accepted.insert_or_assign("plural", "");
    status.insert_or_assign("acceptedNames", std::move(accepted));
    status.insert_or_assign("conditions", Value::null());
  }
  const std::string stored(StoredVersion(definition));
  Value& versions = status["storedVersions"];
  if (!versions.is_array()) versions = Value::Array();
  const auto known = Strings(&versions);
  if (!stored.empty() && std::ranges::find(known, stored) == known.end())
    versions.push_back(stored);
}

void ValidateNames(const Value& definition, Causes& causes) {
  const Value& names = *Find(definition, "spec", "names");
  const std::string_view plural = TextAt(names, "plural");
  const std::string wanted = Format("{}.{}", plural, TextAt(definition, "spec", "group"));
  if (const auto name = TextAt(definition, "metadata", "name"); name != wanted) {
    causes.push_back(
        InvalidValue("metadata.name", Value(name), "must be spec.names.plural+\".\"+spec.group"));
  }
  for (const std::string_view key : {"plural", "singular"}) {
    const std::string_view name = TextAt(names, key);
    if (!IsDns1035(name))
      causes.push_back(InvalidValue(Format("spec.names.{}", key), Value(name), kDns1035));
  }
  for (const std::string_view key : {"kind", "listKind"}) {
    const std::string_view name = TextAt(names, key);
    if (IsDns1035(Lower(name))) continue;
    causes.push_back(
        InvalidValue(Format("spec.names.{}", key), Value(name),
                     Format("may have mixed case, but should otherwise match: {}", kDns1035)));
  }
  if (const auto scope = TextAt(definition, "spec", "scope");
      scope != "Cluster" && scope != "Namespaced") {
    causes.push_back({"FieldValueNotSupported",
                      Format(R"(Unsupported value: "{}": supported values: "Cluster", )"
                             R"("Namespaced")",
                             scope),
                      "spec.scope"});
  }
}

void ValidateSchema(const Value& version, const std::string& path, Causes& causes) {
  const Value* schema = Find(version, "schema", "openAPIV3Schema");
  if (!schema) {
    causes.push_back(RequiredValue(path));
    return;
  }
  const std::string_view type = TextAt(*schema, "type");
  if (type.empty()) {
    causes.push_back(RequiredValue(path + ".type", "must not be empty at the root"));
  } else if (type != "object") {
    causes.push_back(InvalidValue(path + ".type", Value(type), "must be object at the root"));
  }
  Schema::Parse(*schema, path, causes);
}

void ValidateVersions(const Value& definition, Causes& causes) {
  const auto versions = VersionsOf(definition);
  const auto storing = std::ranges::count_if(
      versions, [](const Value* version) { return FlagAt(*version, "storage"); });
  if (storing != 1) {
    const Value* given = Find(definition, "spec", "versions");
    causes.push_back(InvalidValue("spec.versions", given ? *given : Value::Array(),
                                  "must have exactly one version marked as storage version"));
    causes.push_back(InvalidValue("status.storedVersions", Value::null(),
                                  "must have at least one stored version"));
  }
  for (std::size_t i = 0; i < versions.size(); ++i) {
    // A single version's schema is the definition's own to kube-apiserver.
    ValidateSchema(*versions[i],
                   versions.size() == 1 ? "spec.validation.openAPIV3Schema"
                                        : Format("spec.versions[{}].schema.openAPIV3Schema", i),
                   causes);
  }
  if (TextAt(definition, "spec", "conversion", "strategy") != "None") {
    causes.push_back(ForbiddenValue("spec.conversion.strategy",
                                    "the in-memory API server converts by \"None\" only"));
  }
}

void Validate(const Value& definition, const Value* old, Causes& causes) {
  ValidateNames(definition, causes);
  ValidateVersions(definition, causes);
  if (!old) return;
  for (const std::string_view key : {"group", "scope"}) {
    const Value* now = Find(definition, "spec", key);
    if (now && *now != *Find(*old, "spec", key)) {
      causes.push_back(InvalidValue(Format("spec.{}", key), *now, "field is immutable"));
    }
  }
}

void BeginDeletion(Value& definition, const std::string& date) {
  Value& metadata = definition["metadata"];
  metadata.insert_or_assign("deletionTimestamp", date);
  Value& finalizers = metadata["finalizers"];
  if (!finalizers.is_array()) finalizers = Value::Array();
  finalizers.push_back(kCleanup);
  SetCondition(definition, Condition("Terminating", "InstanceDeletionPending",
                                     "CustomResourceDefinition marked for deletion; CustomResource "
                                     "deletion will begin soon",
                                     date));
}

}  // namespace

Rules DefinitionRules() {
  return {.prepare = Prepare, .validate = Validate, .begin_deletion = BeginDeletion};
}

std::shared_ptr<Resource> DefinedBy(const Cluster& cluster, const Value& definition) {
  return cluster.registry().Find(TextAt(definition, "spec", "group"),
                                 TextAt(definition, "spec", "names", "plural"));
}

void ServeDefinition(Cluster& cluster, const Object& definition) {
  auto resource = DefinedBy(cluster, definition.value);
  const bool served = resource != nullptr;
  if (!served) resource = std::make_shared<Resource>(cluster.history(), cluster.version());
  const std::int64_t generation = IntAt(definition.value, "metadata", "generation");
  if (std::exchange(resource->served_generation, generation) != generation) {
    Read(definition.value, *resource);
    cluster.registry().Add(resource);
    if (served) ReadAnew(*resource);
  }
  const Value* conditions = Find(definition.value, "status", "conditions");
  if (conditions && conditions->is_array()) return;
  Value written = definition.value;
  const std::string date = cluster.Date();
  ObjectAt(written, "status")
      .insert_or_assign("acceptedNames", *Find(definition.value, "spec", "names"));
  SetCondition(written, Condition("NamesAccepted", "NoConflicts", "no conflicts found", date));
  SetCondition(written, Condition("Established", "InitialNamesAccepted",
                                  "the initial names have been accepted", date));
  cluster.Put(*cluster.registry().Find(kDefinitionsGroup, kDefinitions),
              std::string(definition.name()), std::move(written));
}

bool NoteDeletionInProgress(Cluster& cluster, const Object& definition) {
  Value written = definition.value;
  Value condition = Condition("Terminating", "InstanceDeletionInProgress",
                              "CustomResource deletion is in progress", cluster.Date());
  for (const Value* present : Items(*Find(definition.value, "status"), "conditions")) {
    if (TextAt(*present, "reason") == TextAt(condition, "reason")) return false;
  }
  SetCondition(written, std::move(condition));
  cluster.Put(*cluster.registry().Find(kDefinitionsGroup, kDefinitions),
              std::string(definition.name()), std::move(written));
  return true;
}

}  // namespace berth::kube::memory
