#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "json/json.h"
#include "simulate/scheduler.h"

namespace berth::simulate {

// A field that a CustomResourceDefinition's schema has: a number, a text, a list, a map, or an
// object that has fields of its own.
struct Field {
  std::vector<std::string> path;  // "spec", "claimRef", "uid"
  Json schema;

  std::string Name() const;  // spec.claimRef.uid
};

// The fields below `part`, "spec" or "status", of the version that is stored.
std::vector<Field> FieldsOf(const Json& crd, std::string_view part);

// A value from the schema alone: mostly allowed, sometimes just outside a bound.
Json BoundaryValue(const Field& field, Dice& random);
Json RandomValue(const Field& field, Dice& random);

// The value at a field's path; null for none.
const Json* ValueAt(const Json& object, const Field& field);
// Sets it in an object, or in a merge patch.
void SetValue(Json& object, const Field& field, Json value);

}  // namespace berth::simulate
