#include "kube/memory/kinds.h"

#include <algorithm>
#include <array>

#include "http/base64.h"
#include "kube/memory/format.h"
#include "log/format.h"

namespace berth::kube::memory {
namespace {

constexpr std::string_view kNameLabel = "kubernetes.io/metadata.name";
constexpr std::string_view kImmutable = "field is immutable when `immutable` is set";

bool FlagAt(const Value& object, std::string_view key) {
  const Value* found = Find(object, key);
  return found && found->is_bool() && found->as<bool>();
}

bool SameMember(const Value& a, const Value& b, std::string_view key) {
  const Value* one = Find(a, key);
  const Value* other = Find(b, key);
  return one && other ? *one == *other : one == other;
}

// ---- Namespaces

Problems NamespaceNameProblems(std::string_view name) {
  if (name.contains('.')) return {"must not contain dots"};
  return DnsLabelProblems(name);
}

void PrepareNamespace(Value& object, const Value* old) {
  ObjectAt(object["metadata"], "labels")
      .insert_or_assign(kNameLabel, std::string(TextAt(object, "metadata", "name")));
  if (old) {
    CopyMember(*old, object, "spec");
    return;
  }
  Value finalizers = Value::Array();
  finalizers.push_back("kubernetes");
  ObjectAt(object, "spec").insert_or_assign("finalizers", std::move(finalizers));
  ObjectAt(object, "status").insert_or_assign("phase", "Active");
}

void ValidateNamespace(const Value& object, const Value* old, Causes& causes) {
  const std::string_view phase = TextAt(object, "status", "phase");
  const bool deleting = Find(object, "metadata", "deletionTimestamp") != nullptr;
  if (old && !deleting && phase != "Active") {
    causes.push_back(InvalidValue("status.Phase", Value(phase),
                                  "may only be 'Active' if `deletionTimestamp` is empty"));
  }
}

void BeginNamespaceDeletion(Value& object, const std::string& date) {
  object["metadata"].insert_or_assign("deletionTimestamp", date);
  ObjectAt(object, "status").insert_or_assign("phase", "Terminating");
}

// ---- Config maps and secrets

std::optional<std::string> DecodeBytes(const Value& object, std::string_view key) {
  const Value* data = Find(object, key);
  if (!data || !data->is_object()) return std::nullopt;
  for (const auto& member : data->object_range()) {
    if (!member.value().is_string()) continue;
    if (const auto wrong = Base64Problem(member.value().as_string_view()))
      return Format("illegal base64 data at input byte {}", *wrong);
  }
  return std::nullopt;
}

void ValidateKeys(const Value& object, std::string_view member, Causes& causes) {
  const Value* data = Find(object, member);
  if (!data) return;
  for (const auto& entry : data->object_range()) {
    const std::string key(entry.key());
    for (const std::string& problem : ConfigKeyProblems(key))
      causes.push_back(InvalidValue(Format("{}[{}]", member, key), Value(key), problem));
  }
}

// Members that may not change once `immutable` is set.
void ValidateImmutable(const Value& object, const Value* old,
                       std::initializer_list<std::string_view> members, Causes& causes) {
  if (!old || !FlagAt(*old, "immutable")) return;
  if (!FlagAt(object, "immutable")) causes.push_back(ForbiddenValue("immutable", kImmutable));
  for (const std::string_view member : members) {
    if (!SameMember(object, *old, member))
      causes.push_back(ForbiddenValue(std::string(member), kImmutable));
  }
}

std::optional<std::string> DecodeConfigMap(const Value& object) {
  return DecodeBytes(object, "binaryData");
}

void ValidateConfigMap(const Value& object, const Value* old, Causes& causes) {
  ValidateKeys(object, "data", causes);
  ValidateKeys(object, "binaryData", causes);
  const Value* data = Find(object, "data");
  const Value* binary = Find(object, "binaryData");
  if (data && binary) {
    for (const auto& entry : data->object_range()) {
      if (!binary->contains(entry.key())) continue;
      causes.push_back(InvalidValue(Format("data[{}]", std::string(entry.key())),
                                    Value(entry.key()), "duplicate of key present in binaryData"));
    }
  }
  ValidateImmutable(object, old, {"data", "binaryData"}, causes);
}

std::optional<std::string> DecodeSecret(const Value& object) { return DecodeBytes(object, "data"); }

void PrepareSecret(Value& object, const Value* /*old*/) {
  if (TextAt(object, "type").empty()) object.insert_or_assign("type", "Opaque");
  const Value* text = Find(object, "stringData");
  if (!text) return;
  const Value plain = *text;
  for (const auto& entry : plain.object_range()) {
    ObjectAt(object, "data")
        .insert_or_assign(entry.key(), EncodeBase64(entry.value().as_string_view()));
  }
  object.erase("stringData");
}

void ValidateSecret(const Value& object, const Value* old, Causes& causes) {
  ValidateKeys(object, "data", causes);
  const auto require = [&](std::string_view key) {
    if (!Find(object, "data", key)) causes.push_back(RequiredValue(Format("data[{}]", key)));
  };
  if (TextAt(object, "type") == "kubernetes.io/tls") {
    require("tls.crt");
    require("tls.key");
  }
  if (old && !SameMember(object, *old, "type"))
    causes.push_back(InvalidValue("type", object["type"], "field is immutable"));
  ValidateImmutable(object, old, {"data"}, causes);
}

// ---- Leases

std::optional<std::string> DecodeLease(const Value& object) {
  for (const std::string_view key : {"acquireTime", "renewTime"}) {
    const std::string_view time = TextAt(object, "spec", key);
    if (time.empty() || HasFormat(time, "date-time")) continue;
    return Format(
        R"(parsing time "{0}" as "2006-01-02T15:04:05.000000Z07:00": cannot parse "{0}" as "2006")",
        time);
  }
  return std::nullopt;
}

void PrepareLease(Value& object, const Value* /*old*/) { ObjectAt(object, "spec"); }

void ValidateLease(const Value& object, const Value* /*old*/, Causes& causes) {
  const auto check = [&](std::string_view key, std::int64_t least, std::string_view why) {
    const Value* number = Find(object, "spec", key);
    if (number && number->is_int64() && number->as<std::int64_t>() < least)
      causes.push_back(InvalidValue(Format("spec.{}", key), *number, why));
  };
  check("leaseDurationSeconds", 1, "must be greater than 0");
  check("leaseTransitions", 0, "must be greater than or equal to 0");
}

// ---- Pods and services

void PreparePod(Value& object, const Value* old) {
  ObjectAt(object, "spec").try_emplace("terminationGracePeriodSeconds", 30);
  if (!old) ObjectAt(object, "status").insert_or_assign("phase", "Pending");
}

constexpr std::string_view kPodUpdate =
    "Forbidden: pod updates may not change fields other than `spec.containers[*].image`,"
    "`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only "
    "additions to existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set "
    "to 1 if it was previously negative)";

// The part of a pod's spec that no update may change. A pod gets its node by one.
Value FixedSpec(const Value& pod, bool has_node) {
  Value spec = *Find(pod, "spec");
  for (const char* key : {"activeDeadlineSeconds", "tolerations", "terminationGracePeriodSeconds"})
    spec.erase(key);
  if (!has_node) spec.erase("nodeName");
  for (const char* key : {"containers", "initContainers"}) {
    Value* list = spec.find(key);
    if (!list || !list->is_array()) continue;
    for (Value& container : list->array_range()) {
      if (container.is_object()) container.erase("image");
    }
  }
  return spec;
}

void ValidatePod(const Value& object, const Value* old, Causes& causes) {
  const Value* containers = Find(object, "spec", "containers");
  const bool is_list = containers && containers->is_array();
  if (!is_list || containers->empty()) causes.push_back(RequiredValue("spec.containers"));
  for (std::size_t i = 0; is_list && i < containers->size(); ++i) {
    for (const char* key : {"name", "image"}) {
      if (TextAt((*containers)[i], key).empty())
        causes.push_back(RequiredValue(Format("spec.containers[{}].{}", i, key)));
    }
  }
  if (!old) return;
  const bool has_node = !TextAt(*old, "spec", "nodeName").empty();
  if (FixedSpec(object, has_node) != FixedSpec(*old, has_node))
    causes.push_back({"FieldValueForbidden", std::string(kPodUpdate), "spec"});
}

// As kube-apiserver: a pod that runs nowhere ends at once.
std::int64_t PodGracePeriod(const Value& pod, const Value& options) {
  const std::string_view phase = TextAt(pod, "status", "phase");
  if (TextAt(pod, "spec", "nodeName").empty() || phase == "Failed" || phase == "Succeeded")
    return 0;
  const std::int64_t grace = Find(options, "gracePeriodSeconds")
                                 ? IntAt(options, "gracePeriodSeconds")
                                 : IntAt(pod, "spec", "terminationGracePeriodSeconds");
  return grace < 0 ? 1 : grace;
}

void PrepareService(Value& object, const Value* /*old*/) {
  Value& spec = ObjectAt(object, "spec");
  spec.try_emplace("type", "ClusterIP");
  Value* ports = spec.find("ports");
  if (!ports || !ports->is_array()) return;
  for (Value& port : ports->array_range()) {
    if (!port.is_object()) continue;
    port.try_emplace("protocol", "TCP");
    if (const Value* number = Find(port, "port")) port.try_emplace("targetPort", Value(*number));
  }
}

// An empty list is stored as none.
void PrepareEndpointSlice(Value& object, const Value* /*old*/) {
  for (const std::string_view key : {"endpoints", "ports"}) {
    if (const Value* list = Find(object, key); !list || IsEmpty(*list))
      object.insert_or_assign(key, Value::null());
  }
}

}  // namespace

bool IsImmortal(std::string_view ns) {
  return ns == "default" || ns == "kube-system" || ns == "kube-public";
}

Rules NamespaceRules() {
  return {.prepare = PrepareNamespace,
          .validate = ValidateNamespace,
          .name_problems = NamespaceNameProblems,
          .begin_deletion = BeginNamespaceDeletion};
}
Rules ConfigMapRules() { return {.decode = DecodeConfigMap, .validate = ValidateConfigMap}; }
Rules SecretRules() {
  return {.decode = DecodeSecret, .prepare = PrepareSecret, .validate = ValidateSecret};
}
Rules LeaseRules() {
  return {.decode = DecodeLease, .prepare = PrepareLease, .validate = ValidateLease};
}
Rules PodRules() {
  return {.prepare = PreparePod, .validate = ValidatePod, .grace_period = PodGracePeriod};
}
Rules ServiceRules() { return {.prepare = PrepareService}; }
Rules EndpointSliceRules() { return {.prepare = PrepareEndpointSlice}; }

}  // namespace berth::kube::memory
