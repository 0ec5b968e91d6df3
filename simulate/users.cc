#include "simulate/users.h"

#include <algorithm>
#include <array>
#include <utility>

#include "kube/transport.h"
#include "log/format.h"
#include "simulate/objects.h"
#include "simulate/world.h"

namespace berth::simulate {
namespace {

using namespace std::chrono_literals;

constexpr const char* kObject = "(object)";
constexpr const char* kForeignFinalizer = "example.com/hold";

Json WithoutHold(const Json& finalizers) {
  Json kept = Json::Array();
  for (const Json& finalizer : finalizers.array_range()) {
    if (finalizer.as_string() != kForeignFinalizer) kept.push_back(finalizer);
  }
  return kept;
}

// As a backup keeps it: with everything that the user wrote, and nothing that the server did.
Json Portable(const Json& object) {
  Json copy = object;
  if (const Json* finalizers = object["metadata"].find("finalizers"))
    copy["metadata"]["finalizers"] = WithoutHold(*finalizers);
  copy.erase("status");
  for (const char* own : {"uid", "resourceVersion", "creationTimestamp", "generation",
                          "managedFields", "deletionTimestamp", "deletionGracePeriodSeconds"}) {
    copy["metadata"].erase(own);
  }
  return copy;
}

}  // namespace

Users::Users(World& world, std::vector<UserKind> kinds, std::vector<std::string> namespaces)
    : world_(world), namespaces_(std::move(namespaces)) {
  for (UserKind& given : kinds) {
    const auto found =
        world.List("/apis/apiextensions.k8s.io/v1/customresourcedefinitions/" + given.crd);
    const Json& crd = found[0];
    const Json& spec = crd["spec"];
    Kind kind{.given = std::move(given),
              .group = Text(spec, "group"),
              .version = "",
              .plural = Text(spec["names"], "plural"),
              .name = Text(spec["names"], "kind"),
              .spec_fields = FieldsOf(crd, "spec"),
              .status_fields = FieldsOf(crd, "status")};
    for (const Json& version : spec["versions"].array_range()) {
      if (version.get_value_or<bool>("storage", false)) kind.version = Text(version, "name");
    }
    kinds_.push_back(std::move(kind));
  }
  if (namespaces_.empty()) namespaces_.emplace_back();
  Declare();
}

void Users::Declare() {
  for (const Kind& kind : kinds_) {
    for (const Field& field : kind.spec_fields) {
      for (const char* action : {"create", "change", "remove"}) {
        coverage_.Declare(kind.name, field.Name(), action);
      }
    }
    for (const Field& field : kind.status_fields) {
      coverage_.Declare(kind.name, field.Name(), "edit");
    }
    for (const auto& [label, values] : kind.given.labels) {
      for (const char* action : {"change", "remove"})
        coverage_.Declare(kind.name, "labels." + label, action);
    }
    for (const auto& [annotation, values] : kind.given.annotations) {
      for (const char* action : {"change", "remove"})
        coverage_.Declare(kind.name, "annotations." + annotation, action);
    }
    for (const char* action : {"create", "delete", "recreate", "restore"}) {
      coverage_.Declare(kind.name, kObject, action);
    }
    for (const char* action : {"add", "strip"}) coverage_.Declare(kind.name, "finalizers", action);
    for (const char* action : {"change", "remove"})
      coverage_.Declare(kind.name, "ownerReferences", action);
    if (kind.given.generated_names) coverage_.Declare(kind.name, kObject, "take a name");
  }
}

void Users::Act() {
  struct Choice {
    int weight;
    void (Users::*act)(const Kind&);
  };
  static constexpr std::array kChoices = {
      Choice{34, &Users::Create},          Choice{18, &Users::ChangeSpec},
      Choice{4, &Users::RemoveFromSpec},   Choice{5, &Users::EditStatus},
      Choice{4, &Users::ChangeLabel},      Choice{5, &Users::ChangeAnnotation},
      Choice{3, &Users::ChangeFinalizers}, Choice{2, &Users::ChangeOwners},
      Choice{16, &Users::Delete},          Choice{4, &Users::Recreate},
      Choice{3, &Users::Restore},          Choice{2, &Users::TakeGeneratedName}};
  if (world_.random().Chance(0.05)) BackUp();
  int all = 0;
  for (const Choice& choice : kChoices) all += choice.weight;
  auto roll = static_cast<int>(world_.random().Below(static_cast<std::uint64_t>(all)));
  const Kind& kind = SomeKind();
  for (const Choice& choice : kChoices) {
    if (roll < choice.weight) return (this->*choice.act)(kind);
    roll -= choice.weight;
  }
}

const Users::Kind& Users::SomeKind() {
  int all = 0;
  for (const Kind& kind : kinds_) all += kind.given.weight;
  auto roll = static_cast<int>(world_.random().Below(static_cast<std::uint64_t>(all)));
  for (const Kind& kind : kinds_) {
    if (roll < kind.given.weight) return kind;
    roll -= kind.given.weight;
  }
  return kinds_.back();
}

// Mostly the first.
const std::string& Users::SomeNamespace() {
  if (namespaces_.size() == 1 || world_.random().Chance(0.8)) return namespaces_.front();
  return namespaces_[world_.random().Below(namespaces_.size())];
}

std::optional<Users::Target> Users::SomeObject(const Kind& kind) {
  const std::string& ns = SomeNamespace();
  const auto objects = world_.List(Collection(kind, ns));
  if (objects.empty()) return std::nullopt;
  return Target{&kind, ns, objects[world_.random().Below(objects.size())]};
}

std::string Users::Collection(const Kind& kind, const std::string& ns) const {
  const std::string base = Format("/apis/{}/{}/", kind.group, kind.version);
  return ns.empty() ? base + kind.plural : Format("{}namespaces/{}/{}", base, ns, kind.plural);
}

std::string Users::ObjectPath(const Target& target) const {
  return Collection(*target.kind, target.ns) + "/" + NameOf(target.object);
}

Json Users::Manifest(const Kind& kind, const std::string& ns, const std::string& name) {
  Json manifest;
  manifest["apiVersion"] = kind.group + "/" + kind.version;
  manifest["kind"] = kind.name;
  manifest["metadata"]["name"] = name;
  manifest["spec"] = kind.given.spec(world_, ns, name);
  Dice& random = world_.random();
  while (!kind.spec_fields.empty() && random.Chance(0.25)) {
    const Field& field = kind.spec_fields[random.Below(kind.spec_fields.size())];
    SetValue(manifest, field, SomeValue(kind, field));
  }
  const auto put = [&](const char* where, const auto& choices) {
    for (const auto& [key, values] : choices) {
      if (random.Chance(0.08))
        manifest["metadata"][where][key] = values[random.Below(values.size())];
    }
  };
  put("labels", kind.given.labels);
  put("annotations", kind.given.annotations);
  return manifest;
}

Json Users::SomeValue(const Kind& kind, const Field& field) {
  Dice& random = world_.random();
  const auto usual = kind.given.values.find(field.Name());
  const auto roll = random.Below(100);
  if (usual != kind.given.values.end() && roll < 60)
    return Json::parse(usual->second[random.Below(usual->second.size())]);
  if (roll < 75) {
    if (auto value = AnothersValue(field)) return std::move(*value);
  }
  return roll < 90 ? BoundaryValue(field, random) : RandomValue(field, random);
}

const Field& Users::SomeSpecField(const Kind& kind) {
  Dice& random = world_.random();
  const auto favourite = std::ranges::find(kind.spec_fields, kind.given.favourite, &Field::Name);
  if (favourite != kind.spec_fields.end() && random.Chance(0.4)) return *favourite;
  return kind.spec_fields[random.Below(kind.spec_fields.size())];
}

Json Users::NextValue(const Target& target, const Field& field) {
  const Kind& kind = *target.kind;
  const Json* present = ValueAt(target.object, field);
  if (present && kind.given.next && field.Name() == kind.given.favourite &&
      world_.random().Chance(0.6)) {
    if (auto next = kind.given.next(*present, world_.random())) return std::move(*next);
  }
  return SomeValue(kind, field);
}

// A value that an object of any kind has in a field of this name.
std::optional<Json> Users::AnothersValue(const Field& field) {
  for (int tries = 0; tries < 3; ++tries) {
    const Kind& kind = SomeKind();
    const auto target = SomeObject(kind);
    if (!target) continue;
    for (const Field& other : kind.spec_fields) {
      if (other.path.back() != field.path.back()) continue;
      if (const Json* value = ValueAt(target->object, other)) return *value;
    }
  }
  return std::nullopt;
}

bool Users::Post(const Kind& kind, const std::string& ns, const Json& manifest) {
  const auto answer = world_.Ask(
      {.method = kube::Method::kPost, .path = Collection(kind, ns), .body = manifest.to_string()});
  return answer.code == 201;
}

bool Users::Patch(const Target& target, const Json& patch, const char* subresource) {
  const auto answer = world_.Merge(ObjectPath(target) + subresource, patch.to_string());
  return answer.code == 200;
}

void Users::Tampered(const Target& target, const std::string& action) {
  if (on_tampered) on_tampered(target.object, action);
}

void Users::CreateNamed(const Kind& kind, const std::string& ns, const std::string& name,
                        const char* action) {
  const Json manifest = Manifest(kind, ns, name);
  const bool accepted = Post(kind, ns, manifest);
  coverage_.Add(kind.name, kObject, action, accepted);
  for (const Field& field : kind.spec_fields) {
    if (ValueAt(manifest, field)) coverage_.Add(kind.name, field.Name(), "create", accepted);
  }
}

void Users::Create(const Kind& kind) {
  const auto& names = kind.given.names;
  CreateNamed(kind, SomeNamespace(), names[world_.random().Below(names.size())], "create");
}

void Users::TakeGeneratedName(const Kind& kind) {
  if (!kind.given.generated_names) return;
  const std::string& ns = SomeNamespace();
  const auto names = kind.given.generated_names(world_, ns);
  if (names.empty()) return;
  CreateNamed(kind, ns, names[world_.random().Below(names.size())], "take a name");
}

void Users::ChangeSpec(const Kind& kind) {
  const auto target = SomeObject(kind);
  if (!target || kind.spec_fields.empty()) return;
  const Field& field = SomeSpecField(kind);
  Json patch;
  SetValue(patch, field, NextValue(*target, field));
  coverage_.Add(kind.name, field.Name(), "change", Patch(*target, patch));
}

void Users::RemoveFromSpec(const Kind& kind) {
  const auto target = SomeObject(kind);
  if (!target || kind.spec_fields.empty()) return;
  const Field& field = kind.spec_fields[world_.random().Below(kind.spec_fields.size())];
  Json patch;
  SetValue(patch, field, Json::null());
  coverage_.Add(kind.name, field.Name(), "remove", Patch(*target, patch));
}

void Users::EditStatus(const Kind& kind) {
  const auto target = SomeObject(kind);
  if (!target || kind.status_fields.empty()) return;
  const Field& field = kind.status_fields[world_.random().Below(kind.status_fields.size())];
  Json patch;
  SetValue(patch, field, world_.random().Chance(0.3) ? Json::null() : SomeValue(kind, field));
  const bool accepted = Patch(*target, patch, "/status");
  if (accepted) Tampered(*target, field.Name());
  coverage_.Add(kind.name, field.Name(), "edit", accepted);
}

void Users::ChangeProperty(const Kind& kind, const char* where,
                           const std::map<std::string, std::vector<std::string>>& choices) {
  const auto target = SomeObject(kind);
  if (!target || choices.empty()) return;
  Dice& random = world_.random();
  auto choice = choices.begin();
  std::advance(choice, random.Below(choices.size()));
  const bool remove = random.Chance(0.4);
  Json patch;
  patch["metadata"][where][choice->first] =
      remove ? Json::null() : Json(choice->second[random.Below(choice->second.size())]);
  coverage_.Add(kind.name, Format("{}.{}", where, choice->first), remove ? "remove" : "change",
                Patch(*target, patch));
}

void Users::ChangeLabel(const Kind& kind) { ChangeProperty(kind, "labels", kind.given.labels); }

void Users::ChangeAnnotation(const Kind& kind) {
  ChangeProperty(kind, "annotations", kind.given.annotations);
}

// Somebody strips them, to get rid of an object; or another controller holds an object for a while.
void Users::ChangeFinalizers(const Kind& kind) {
  const auto target = SomeObject(kind);
  if (!target) return;
  Json finalizers = target->object["metadata"].get_value_or<Json>("finalizers", Json::Array());
  const bool strip = world_.random().Chance(0.5);
  Json patch;
  if (strip) {
    patch["metadata"]["finalizers"] = Json::null();
  } else {
    finalizers.push_back(kForeignFinalizer);
    patch["metadata"]["finalizers"] = finalizers;
  }
  const bool accepted = Patch(*target, patch);
  if (accepted && strip) Tampered(*target, "finalizers");
  if (accepted && !strip) {
    world_.scheduler().After(world_.random().Between(1s, 60s),
                             [this, target = *target] { Unhold(target); });
  }
  coverage_.Add(kind.name, "finalizers", strip ? "strip" : "add", accepted);
}

// The other controller lets the object go.
void Users::Unhold(const Target& target) {
  const Json object = world_.Ask({.path = ObjectPath(target)}).body();
  const Json& all = Part(object["metadata"], "finalizers");
  const Json kept = WithoutHold(all);
  if (kept.size() == all.size()) return;
  Json patch;
  patch["metadata"]["finalizers"] = kept;
  if (Patch(target, patch)) return;
  world_.scheduler().After(5s, [this, target] { Unhold(target); });
}

void Users::ChangeOwners(const Kind& kind) {
  const auto target = SomeObject(kind);
  if (!target) return;
  const Kind& owners = SomeKind();
  const auto owner = SomeObject(owners);
  const bool remove = !owner || owner->ns != target->ns || world_.random().Chance(0.5);
  Json patch;
  if (remove) {
    patch["metadata"]["ownerReferences"] = Json::null();
  } else {
    Json reference;
    reference["apiVersion"] = owners.group + "/" + owners.version;
    reference["kind"] = owners.name;
    reference["name"] = NameOf(owner->object);
    reference["uid"] = Text(owner->object["metadata"], "uid");
    patch["metadata"]["ownerReferences"] = Json::Array({reference});
  }
  const bool accepted = Patch(*target, patch);
  if (accepted) Tampered(*target, "ownerReferences");
  coverage_.Add(kind.name, "ownerReferences", remove ? "remove" : "change", accepted);
}

bool Users::DeleteObject(const Target& target) {
  static constexpr std::array kPropagation = {"Background", "Foreground", "Orphan"};
  const auto roll = world_.random().Below(20);
  kube::Request request{.method = kube::Method::kDelete, .path = ObjectPath(target)};
  if (roll < kPropagation.size()) {
    request.body =
        Format(R"({{"apiVersion":"v1","kind":"DeleteOptions","propagationPolicy":"{}"}})",
               kPropagation[roll]);
  }
  const bool accepted = world_.Ask(std::move(request)).code < 300;
  if (accepted && roll == 2) Tampered(target, "orphan");
  return accepted;
}

void Users::Delete(const Kind& kind) {
  const auto target = SomeObject(kind);
  if (target) coverage_.Add(kind.name, kObject, "delete", DeleteObject(*target));
}

void Users::Recreate(const Kind& kind) {
  const auto target = SomeObject(kind);
  if (!target || !DeleteObject(*target)) return;
  const auto create = [this, &kind, ns = target->ns, name = NameOf(target->object)] {
    CreateNamed(kind, ns, name, "recreate");
  };
  create();
  // As a client does that waits for the deletion.
  world_.scheduler().After(world_.random().Between(0s, 10s), create);
}

void Users::BackUp() {
  backup_.clear();
  for (const Kind& kind : kinds_) {
    for (const std::string& ns : namespaces_) {
      for (const Json& object : world_.List(Collection(kind, ns)))
        backup_.push_back({&kind, ns, object});
    }
  }
}

void Users::Restore(const Kind& kind) {
  std::vector<const Target*> choices;
  for (const Target& target : backup_) {
    if (target.kind == &kind) choices.push_back(&target);
  }
  if (choices.empty()) return;
  const Target& target = *choices[world_.random().Below(choices.size())];
  coverage_.Add(kind.name, kObject, "restore", Post(kind, target.ns, Portable(target.object)));
}

void Users::DeleteAll() {
  for (const Kind& kind : kinds_) {
    for (const std::string& ns : namespaces_) {
      for (const Json& object : world_.List(Collection(kind, ns))) {
        const Target target{&kind, ns, object};
        Unhold(target);
        world_.Ask({.method = kube::Method::kDelete, .path = ObjectPath(target)});
      }
    }
  }
}

}  // namespace berth::simulate
