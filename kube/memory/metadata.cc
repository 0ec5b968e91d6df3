#include "kube/memory/metadata.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <set>

#include "log/format.h"

namespace berth::kube::memory {
namespace {

constexpr std::size_t kMaxAnnotations = 256 * 1024;
constexpr std::string_view kForeground = "foregroundDeletion";
constexpr std::string_view kOrphan = "orphan";

enum class Shape : std::uint8_t { kString, kInteger, kStrings, kMap, kObjects };
struct Member {
  std::string_view name;
  Shape shape;
};
constexpr std::array kMembers = std::to_array<Member>({
    {"annotations", Shape::kMap},
    {"creationTimestamp", Shape::kString},
    {"deletionGracePeriodSeconds", Shape::kInteger},
    {"deletionTimestamp", Shape::kString},
    {"finalizers", Shape::kStrings},
    {"generateName", Shape::kString},
    {"generation", Shape::kInteger},
    {"labels", Shape::kMap},
    {"name", Shape::kString},
    {"namespace", Shape::kString},
    {"ownerReferences", Shape::kObjects},
    {"resourceVersion", Shape::kString},
    {"uid", Shape::kString},
});

std::string_view GoName(const Value& value) {
  if (value.is_object()) return "object";
  if (value.is_array()) return "array";
  if (value.is_string()) return "string";
  if (value.is_bool()) return "bool";
  return "number";
}

std::string CannotUnmarshal(const Value& value, std::string_view into, std::string_view type) {
  return Format("json: cannot unmarshal {} into Go struct field {} of type {}", GoName(value), into,
                type);
}

// The first part of the member that has the wrong type, with the type it should have.
std::optional<std::pair<const Value*, std::string_view>> WrongPart(const Value& value,
                                                                   Shape shape) {
  const auto first_not_string = [](auto&& values) -> const Value* {
    for (const Value& item : values) {
      if (!item.is_string()) return &item;
    }
    return nullptr;
  };
  const Value* wrong = nullptr;
  switch (shape) {
    case Shape::kString:
      if (!value.is_string()) return std::pair(&value, "string");
      break;
    case Shape::kInteger:
      if (!value.is_int64()) return std::pair(&value, "int64");
      break;
    case Shape::kStrings:
      if (!value.is_array()) return std::pair(&value, "[]string");
      wrong = first_not_string(value.array_range());
      break;
    case Shape::kMap:
      if (!value.is_object()) return std::pair(&value, "map[string]string");
      for (const auto& member : value.object_range()) {
        if (!member.value().is_string()) wrong = &member.value();
      }
      break;
    case Shape::kObjects:
      if (!value.is_array()) return std::pair(&value, "[]v1.OwnerReference");
      for (const Value& item : value.array_range()) {
        if (!item.is_object()) return std::pair(&item, "v1.OwnerReference");
      }
  }
  if (wrong) return std::pair(wrong, "string");
  return std::nullopt;
}

void AddAll(const Problems& problems, const std::string& field, std::string_view value,
            Causes& causes) {
  for (const std::string& problem : problems)
    causes.push_back(InvalidValue(field, Value(value), problem));
}

void ValidateFinalizers(const Value& metadata, Causes& causes) {
  const Value* finalizers = Find(metadata, "finalizers");
  if (!finalizers) return;
  bool foreground = false, orphan = false;
  for (std::size_t i = 0; i < finalizers->size(); ++i) {
    const std::string_view name = (*finalizers)[i].as_string_view();
    AddAll(QualifiedNameProblems(name), "metadata.finalizers", name, causes);
    foreground = foreground || name == kForeground;
    orphan = orphan || name == kOrphan;
    if (!name.contains('/') && name != kForeground && name != kOrphan && name != "kubernetes") {
      causes.push_back(
          InvalidValue(Format("metadata.finalizers[{}]", i), Value(name),
                       "name is neither a standard finalizer name nor is it fully qualified"));
    }
  }
  if (foreground && orphan) {
    causes.push_back(InvalidValue("metadata.finalizers", *finalizers,
                                  "finalizer orphan and foregroundDeletion cannot be both set"));
  }
}

// As Go writes a reference: members in the order of the type, without empty ones.
std::string Written(const Value& reference) {
  std::string text = "{";
  for (const std::string_view key :
       {"apiVersion", "kind", "name", "uid", "controller", "blockOwnerDeletion"}) {
    if (const Value* member = Find(reference, key))
      text += Format("{}\"{}\":{}", text.size() > 1 ? "," : "", key, member->to_string());
  }
  return text + "}";
}

StatusCause InvalidOwners(std::string_view value, std::string_view why) {
  return {"FieldValueInvalid", Format("Invalid value: {}: {}", value, why),
          "metadata.ownerReferences"};
}

void ValidateOwner(const Value& owner, Causes& causes) {
  const std::string_view api_version = TextAt(owner, "apiVersion");
  if (api_version.empty()) {
    causes.push_back(InvalidValue("metadata.ownerReferences.apiVersion", Value(api_version),
                                  "version must not be empty"));
  }
  for (const std::string_view key : {"kind", "name", "uid"}) {
    if (TextAt(owner, key).empty()) {
      causes.push_back(
          InvalidValue(Format("metadata.ownerReferences.{}", key), Value(""), "must not be empty"));
    }
  }
  if (api_version == "v1" && TextAt(owner, "kind") == "Event") {
    causes.push_back(
        InvalidOwners(Written(owner), "/v1, Kind=Event is disallowed from being an owner"));
  }
}

void ValidateOwners(const Value& metadata, Causes& causes) {
  const Value* owners = Find(metadata, "ownerReferences");
  if (!owners) return;
  const Value* controller = nullptr;
  std::string all;
  for (const Value& owner : owners->array_range()) {
    // No more are told, and one that names all references is long.
    if (causes.size() >= kMaxCauses) return;
    ValidateOwner(owner, causes);
    const Value* flag = Find(owner, "controller");
    if (!flag || !flag->is_bool() || !flag->as<bool>()) continue;
    if (controller) {
      if (all.empty()) {
        for (const Value& one : owners->array_range())
          all += (all.empty() ? "" : ",") + Written(one);
      }
      causes.push_back(InvalidOwners(
          "[" + all + "]",
          Format("Only one reference can have Controller set to true. Found \"true\" in "
                 "references for {}/{} and {}/{}",
                 TextAt(*controller, "kind"), TextAt(*controller, "name"), TextAt(owner, "kind"),
                 TextAt(owner, "name"))));
    }
    controller = &owner;
  }
}

void ValidateChange(const Value& metadata, const Value& old, Causes& causes) {
  for (const std::string_view key : {"name", "namespace", "uid", "creationTimestamp",
                                     "deletionTimestamp", "deletionGracePeriodSeconds"}) {
    const Value* now = Find(metadata, key);
    const Value* before = Find(old, key);
    if (now && before ? *now == *before : now == before) continue;
    causes.push_back(
        InvalidValue(Format("metadata.{}", key), now ? *now : Value::null(), "field is immutable"));
  }
  const Value* finalizers = Find(metadata, "finalizers");
  if (!Find(old, "deletionTimestamp") || !finalizers) return;
  std::set<std::string_view> known;
  if (const Value* before = Find(old, "finalizers")) {
    for (const Value& name : before->array_range()) known.insert(name.as_string_view());
  }
  std::string added;
  for (const Value& name : finalizers->array_range()) {
    if (!known.contains(name.as_string_view()))
      added += (added.empty() ? "" : ", ") + name.to_string();
  }
  if (added.empty()) return;
  causes.push_back(ForbiddenValue(
      "metadata.finalizers",
      Format("no new finalizers can be added if the object is being deleted, found new "
             "finalizers []string{{{}}}",
             added)));
}

}  // namespace

std::optional<std::string> NormalizeMetadata(Value& object, std::vector<std::string>* unknown,
                                             std::string_view kind) {
  Value& metadata = object["metadata"];
  if (metadata.is_null()) metadata = Value::Object();
  if (!metadata.is_object()) {
    if (!kind.empty())
      return CannotUnmarshal(metadata, Format("{}.metadata", kind), "v1.ObjectMeta");
    return Format("json: cannot unmarshal {} into Go value of type v1.ObjectMeta",
                  GoName(metadata));
  }
  std::vector<std::string> dropped;
  for (const auto& member : metadata.object_range()) {
    const std::string_view key = member.key();
    const auto* known = std::ranges::lower_bound(kMembers, key, {}, &Member::name);
    if (known == kMembers.end() || known->name != key) {
      dropped.emplace_back(key);
      if (unknown && key != "managedFields" && key != "selfLink")
        unknown->push_back(Format("metadata.{}", key));
    } else if (IsEmpty(member.value())) {
      dropped.emplace_back(key);
    } else if (const auto wrong = WrongPart(member.value(), known->shape)) {
      return CannotUnmarshal(*wrong->first,
                             Format("ObjectMeta.{}{}", kind.empty() ? "" : "metadata.", key),
                             wrong->second);
    }
  }
  for (const std::string& key : dropped) metadata.erase(key);
  return std::nullopt;
}

StatusCause InvalidValue(std::string field, const Value& value, std::string_view why) {
  return {"FieldValueInvalid", Format("Invalid value: {}: {}", value.to_string(), why),
          std::move(field)};
}

StatusCause RequiredValue(std::string field, std::string_view why) {
  return {"FieldValueRequired", why.empty() ? "Required value" : Format("Required value: {}", why),
          std::move(field)};
}

StatusCause ForbiddenValue(std::string field, std::string_view why) {
  return {"FieldValueForbidden", Format("Forbidden: {}", why), std::move(field)};
}

void ValidateLabelsAndAnnotations(const Value& metadata, const std::string& path, Causes& causes) {
  if (const Value* labels = Find(metadata, "labels")) {
    for (const auto& label : labels->object_range()) {
      AddAll(QualifiedNameProblems(label.key()), path + ".labels", label.key(), causes);
      const std::string_view value = label.value().as_string_view();
      AddAll(LabelValueProblems(value), path + ".labels", value, causes);
    }
  }
  const Value* annotations = Find(metadata, "annotations");
  if (!annotations) return;
  std::size_t size = 0;
  for (const auto& annotation : annotations->object_range()) {
    std::string key(annotation.key());
    std::ranges::transform(key, key.begin(), [](unsigned char c) { return std::tolower(c); });
    AddAll(QualifiedNameProblems(key), path + ".annotations", annotation.key(), causes);
    size += annotation.key().size() + annotation.value().as_string_view().size();
  }
  if (size > kMaxAnnotations) {
    causes.push_back({"FieldValueTooLong",
                      Format("Too long: may not be more than {} bytes", kMaxAnnotations),
                      path + ".annotations"});
  }
}

void ValidateMetadata(const Value& object, const Value* old,
                      Problems (*name_problems)(std::string_view), Causes& causes) {
  const Value& metadata = *Find(object, "metadata");
  const std::string_view name = TextAt(metadata, "name");
  if (name.empty()) {
    causes.push_back(RequiredValue("metadata.name", "name or generateName is required"));
  } else if (!old) {
    AddAll(name_problems(name), "metadata.name", name, causes);
  }
  ValidateLabelsAndAnnotations(metadata, "metadata", causes);
  ValidateOwners(metadata, causes);
  ValidateFinalizers(metadata, causes);
  if (old) ValidateChange(metadata, *Find(*old, "metadata"), causes);
}

}  // namespace berth::kube::memory
