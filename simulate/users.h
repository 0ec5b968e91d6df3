#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "json/json.h"
#include "simulate/coverage.h"
#include "simulate/fields.h"
#include "simulate/scheduler.h"

namespace berth::simulate {

class World;

// A scenario's knowledge of a kind beyond its schema.
struct UserKind {
  std::string crd;  // subnetpools.plexaubnet.io
  int weight = 1;   // how often users turn to it
  std::vector<std::string> names;
  // Names that the controller itself would give to an object of this kind.
  std::function<std::vector<std::string>(World&, const std::string& ns)> generated_names;
  // The spec of an object as users usually write it.
  std::function<Json(World&, const std::string& ns, const std::string& name)> spec;
  // Values that mean something, as JSON, by the field's name: spec.cidr.
  std::map<std::string, std::vector<std::string>> values;
  // The field that users change most, and what they change it to: a value that follows from the
  // present one, a range that grows for example. None for nothing.
  std::string favourite;
  std::function<std::optional<Json>(const Json& present, Dice& random)> next;
  // Labels and annotations that mean something, with their values.
  std::map<std::string, std::vector<std::string>> labels;
  std::map<std::string, std::vector<std::string>> annotations;
};

// Users who do everything that the kinds' schemas allow, and some that they don't: create an
// object, change a field to a usual, random, boundary or another object's value, remove it, delete,
// recreate under the same name, strip finalizers, restore a backup, edit a status, take a name that
// the controller would give, change owners. The list of actions comes from the schemas; the
// scenario gives weights and values.
class Users {
 public:
  // Installs nothing: the CustomResourceDefinitions are there. Without namespaces the kinds are
  // cluster-scoped.
  Users(World& world, std::vector<UserKind> kinds, std::vector<std::string> namespaces);

  // One action of one user.
  void Act();
  // Deletes all objects, and takes off the finalizers that users put on.
  void DeleteAll();
  const Coverage& coverage() const { return coverage_; }

  // Called for each object whose status, finalizers or owners a user changed behind the
  // controller's back, by uid, with the action's name.
  std::function<void(const Json& object, const std::string& action)> on_tampered;

 private:
  struct Kind {
    UserKind given;
    std::string group, version, plural, name;
    std::vector<Field> spec_fields;
    std::vector<Field> status_fields;
  };
  struct Target {
    const Kind* kind;
    std::string ns;
    Json object;
  };

  void Declare();
  const Kind& SomeKind();
  const std::string& SomeNamespace();
  std::optional<Target> SomeObject(const Kind& kind);
  std::string Collection(const Kind& kind, const std::string& ns) const;
  std::string ObjectPath(const Target& target) const;
  Json Manifest(const Kind& kind, const std::string& ns, const std::string& name);
  const Field& SomeSpecField(const Kind& kind);
  Json SomeValue(const Kind& kind, const Field& field);
  Json NextValue(const Target& target, const Field& field);
  std::optional<Json> AnothersValue(const Field& field);

  void Create(const Kind& kind);
  void CreateNamed(const Kind& kind, const std::string& ns, const std::string& name,
                   const char* action);
  void TakeGeneratedName(const Kind& kind);
  void ChangeSpec(const Kind& kind);
  void RemoveFromSpec(const Kind& kind);
  void EditStatus(const Kind& kind);
  void ChangeLabel(const Kind& kind);
  void ChangeAnnotation(const Kind& kind);
  void ChangeFinalizers(const Kind& kind);
  void Unhold(const Target& target);
  void ChangeOwners(const Kind& kind);
  void Delete(const Kind& kind);
  void Recreate(const Kind& kind);
  void BackUp();
  void Restore(const Kind& kind);

  bool Post(const Kind& kind, const std::string& ns, const Json& manifest);
  bool Patch(const Target& target, const Json& patch, const char* subresource = "");
  bool DeleteObject(const Target& target);
  void ChangeProperty(const Kind& kind, const char* where,
                      const std::map<std::string, std::vector<std::string>>& choices);
  void Tampered(const Target& target, const std::string& action);

  World& world_;
  std::vector<Kind> kinds_;
  std::vector<std::string> namespaces_;
  std::vector<Target> backup_;
  Coverage coverage_;
};

}  // namespace berth::simulate
