#include "kube/memory/decode.h"

#include <cctype>

#include "kube/memory/body.h"
#include "log/format.h"

namespace berth::kube::memory {
namespace {

// How Go calls the type of a schema's value.
std::string GoType(const Value& schema) {
  const std::string_view type = TextAt(schema, "type");
  if (type == "boolean") return "bool";
  if (type == "integer")
    return TextAt(schema, "format").empty() ? "int64" : std::string(TextAt(schema, "format"));
  if (type == "array") return "[]" + GoType(schema["items"]);
  if (const Value* values = Find(schema, "additionalProperties"))
    return "map[string]" + GoType(*values);
  return std::string(type);
}

std::string_view GoKind(const Value& value) {
  if (value.is_object()) return "object";
  if (value.is_array()) return "array";
  if (value.is_string()) return "string";
  return value.is_bool() ? "bool" : "number";
}

bool Fits(const Value& value, std::string_view type) {
  if (type == "object") return value.is_object();
  if (type == "array") return value.is_array();
  if (type == "string") return value.is_string();
  if (type == "boolean") return value.is_bool();
  return type.empty() || value.is_number();
}

// Built-in kinds are decoded into Go's types, which refuse what is of another. `owner` is the type
// that holds the value, as far as its name follows from the path.
std::optional<std::string> TypeProblem(const Value& schema, const Value& value,
                                       const std::string& owner, const std::string& path) {
  if (value.is_null()) return std::nullopt;
  if (!Fits(value, TextAt(schema, "type"))) {
    return Format("json: cannot unmarshal {} into Go struct field {}.{} of type {}", GoKind(value),
                  owner, path, GoType(schema));
  }
  if (!value.is_object()) return std::nullopt;
  const Value* properties = Find(schema, "properties");
  const Value* values = Find(schema, "additionalProperties");
  for (const auto& member : value.object_range()) {
    const Value* below = properties ? Find(*properties, member.key()) : values;
    if (!below) continue;
    std::string key(member.key());
    const std::string at = values ? path : path.empty() ? key : path + "." + key;
    std::string holder = owner;
    if (properties && Find(*below, "properties")) {
      key.front() = static_cast<char>(std::toupper(static_cast<unsigned char>(key.front())));
      holder += key;
    }
    if (auto problem = TypeProblem(*below, member.value(), holder, at)) return problem;
  }
  return std::nullopt;
}

// Go's types write no empty members; the entries of a map are no members.
void DropEmpty(const Value& schema, Value& value) {
  if (schema.contains("additionalProperties")) return;
  const Value& properties = schema["properties"];
  std::vector<std::string> empty;
  for (auto& member : value.object_range()) {
    if (IsMetaMember(member.key())) continue;
    if (member.value().is_object()) DropEmpty(properties[member.key()], member.value());
    if (IsEmpty(member.value())) empty.emplace_back(member.key());
  }
  for (const std::string& key : empty) value.erase(key);
}

std::expected<void, std::string> CleanBuiltin(const Call& call, Value& object) {
  const Version& version = *call.view.version;
  if (!version.schema) return {};
  if (auto problem = TypeProblem(version.schema_document, object, call.resource().kind, ""))
    return std::unexpected(std::move(*problem));
  if (call.resource().rules.decode) {
    if (auto problem = call.resource().rules.decode(object))
      return std::unexpected(std::move(*problem));
  }
  DropEmpty(version.schema_document, object);
  return {};
}

std::vector<std::string> ProblemsOf(const std::vector<std::string>& duplicates,
                                    const std::vector<std::string>& unknown) {
  std::vector<std::string> problems;
  problems.reserve(duplicates.size() + unknown.size());
  for (const std::string& path : duplicates)
    problems.push_back(Format("duplicate field \"{}\"", path));
  for (const std::string& path : unknown) problems.push_back(Format("unknown field \"{}\"", path));
  return problems;
}

std::string Joined(const std::vector<std::string>& texts) {
  std::string joined;
  for (const std::string& text : texts) joined.append(joined.empty() ? "" : ", ").append(text);
  return joined;
}

Status Unreadable(const Call& call, const BodyProblem& problem) {
  const std::string& kind = call.resource().kind;
  if (!problem.kind.empty()) {
    return BadRequest(Format("{} in version \"{}\" cannot be handled as a {}: {}", problem.kind,
                             call.view.version->name, kind, problem.why));
  }
  return BadRequest(Format("the object provided is unrecognized (must be of type {}): {} ({})",
                           kind, problem.why, SummaryOf(call.body)));
}

Outcome<void> CheckType(const Call& call, Value& object) {
  const Resource& resource = call.resource();
  const Version& version = *call.view.version;
  std::string kind(TextAt(object, "kind")), api_version(TextAt(object, "apiVersion"));
  if (resource.custom) {
    if (kind.empty()) {
      const std::string_view body(call.body);
      return std::unexpected(BadRequest(
          Format("the object provided is unrecognized (must be of type {0}): Object 'Kind' is "
                 "missing in '{1}' ({1})",
                 resource.kind, body.substr(0, 1024))));
    }
    if (api_version == version.api_version) return {};
    return std::unexpected(BadRequest(
        Format("the API version in the data ({}) does not match the expected API version ({})",
               api_version, version.api_version)));
  }
  if (kind.empty()) kind = resource.kind;
  if (api_version.empty()) api_version = version.api_version;
  object.insert_or_assign("kind", kind);
  object.insert_or_assign("apiVersion", api_version);
  if (kind == resource.kind && api_version == version.api_version) return {};
  const bool known = api_version == version.api_version && kind == "Secret";
  const std::size_t slash = api_version.find('/');
  return std::unexpected(BadRequest(Format(
      "{0} in version \"{1}\" cannot be handled as a {2}: {3}", kind,
      slash == std::string::npos ? api_version : api_version.substr(slash + 1), resource.kind,
      known ? Format("converting (v1.{}) to (core.{}): unknown conversion", kind, resource.kind)
            : Format("no kind \"{}\" is registered for version \"{}\" in scheme "
                     "\"pkg/runtime/scheme.go:111\"",
                     kind, api_version))));
}

}  // namespace

std::expected<void, std::string> Clean(const Call& call, Value& object,
                                       const std::vector<std::string>& duplicates) {
  const Resource& resource = call.resource();
  std::vector<std::string> unknown;
  std::vector<std::string>* const wanted = call.strict() || call.warns() ? &unknown : nullptr;
  if (auto problem = NormalizeMetadata(object, wanted, resource.custom ? "" : resource.kind))
    return std::unexpected(std::move(*problem));
  if (const Schema* schema = call.view.version->schema.get()) {
    schema->Prune(object, wanted);
    if (resource.custom) schema->Default(object);
  }
  if (!resource.custom) {
    if (auto fine = CleanBuiltin(call, object); !fine) return fine;
  }
  const auto problems = ProblemsOf(duplicates, unknown);
  if (problems.empty()) return {};
  if (call.strict()) return std::unexpected("strict decoding error: " + Joined(problems));
  for (const std::string& problem : problems) call.warnings->Add(problem);
  return {};
}

Outcome<Value> DecodeBody(const Call& call, Decoder& decoder) {
  const Resource& resource = call.resource();
  std::vector<std::string> duplicates;
  auto object = ReadBody({.type = call.content_type,
                          .text = call.body,
                          .api_version = call.view.version->api_version,
                          .kind = resource.kind},
                         decoder, call.strict() || call.warns() ? &duplicates : nullptr);
  if (!object) return std::unexpected(Unreadable(call, object.error()));
  if (auto fine = CheckType(call, *object); !fine) return std::unexpected(fine.error());
  if (auto clean = Clean(call, *object, duplicates); !clean) {
    return std::unexpected(BadRequest(Format("{} in version \"{}\" cannot be handled as a {}: {}",
                                             TextAt(*object, "kind"), call.view.version->name,
                                             resource.kind, clean.error())));
  }
  return std::move(*object);
}

Outcome<void> CheckNames(const Call& call, Value& object) {
  Value& metadata = object["metadata"];
  if (!call.resource().namespaced) metadata.erase("namespace");
  const std::string_view ns = TextAt(metadata, "namespace");
  if (!ns.empty() && ns != call.ns) {
    return std::unexpected(BadRequest(
        "the namespace of the provided object does not match the namespace sent on the request"));
  }
  if (!call.ns.empty()) metadata.insert_or_assign("namespace", call.ns);
  if (call.method == Method::kPost) return {};
  const std::string_view name = TextAt(metadata, "name");
  if (name.empty()) {
    return std::unexpected(BadRequest(
        Format("the name of the object ({} based on URL) was undeterminable: name must be provided",
               call.name)));
  }
  if (name == call.name) return {};
  return std::unexpected(BadRequest(Format(
      "the name of the object ({}) does not match the name on the URL ({})", name, call.name)));
}

}  // namespace berth::kube::memory
