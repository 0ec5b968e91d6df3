#include "simulate/fields.h"

#include <array>
#include <utility>

#include "log/format.h"

namespace berth::simulate {
namespace {

constexpr std::size_t kLongText = 300;

std::string TypeOf(const Json& schema) { return schema.get_value_or<std::string>("type", ""); }

void Collect(const std::vector<std::string>& path, const Json& schema, std::vector<Field>& fields) {
  for (const auto& property : schema["properties"].object_range()) {
    std::vector<std::string> below = path;
    below.push_back(property.key());
    fields.push_back({below, property.value()});
    Collect(below, property.value(), fields);
  }
}

std::string RandomText(Dice& random) {
  static constexpr std::array kTexts = {"a", "Z-9", "with blank", "ü", "10.0.0.0/8", "true", "0"};
  return kTexts[random.Below(kTexts.size())];
}

Json BoundaryText(const Json& schema, Dice& random) {
  if (const Json* values = schema.find("enum"); values && random.Chance(0.8)) {
    return values->array_range()[random.Below(values->size())];
  }
  const auto least = schema.get_value_or<std::int64_t>("minLength", 0);
  const auto most =
      schema.get_value_or<std::int64_t>("maxLength", static_cast<std::int64_t>(kLongText));
  switch (random.Below(4)) {
    case 0:
      return "";
    case 1:
      return std::string(static_cast<std::size_t>(std::max<std::int64_t>(least, 1)), 'a');
    case 2:
      return std::string(static_cast<std::size_t>(most), 'a');
    default:
      return std::string(static_cast<std::size_t>(most) + 1, 'a');
  }
}

Json BoundaryNumber(const Json& schema, Dice& random) {
  const auto least = schema.get_value_or<std::int64_t>("minimum", 0);
  const auto most = schema.get_value_or<std::int64_t>("maximum", 1'000'000);
  const std::array<std::int64_t, 5> values = {least, most, least - 1, most + 1, least + 1};
  return values[random.Below(values.size())];
}

Json ValueOf(const Json& schema, Dice& random, bool boundary);

Json ListOf(const Json& schema, Dice& random, bool boundary) {
  Json list = Json::Array();
  for (std::uint64_t i = random.Below(4); i > 0; --i) {
    list.push_back(ValueOf(schema["items"], random, boundary));
  }
  return list;
}

Json MapOf(const Json& schema, Dice& random, bool boundary) {
  Json map = Json::Object();
  for (std::uint64_t i = random.Below(4); i > 0; --i) {
    map.insert_or_assign(Format("k{}", i),
                         ValueOf(schema["additionalProperties"], random, boundary));
  }
  return map;
}

Json ObjectOf(const Json& schema, Dice& random, bool boundary) {
  Json object = Json::Object();
  for (const auto& property : schema["properties"].object_range()) {
    object.insert_or_assign(property.key(), ValueOf(property.value(), random, boundary));
  }
  return object;
}

Json ValueOf(const Json& schema, Dice& random, bool boundary) {
  const std::string type = TypeOf(schema);
  if (type == "string") {
    if (boundary) return BoundaryText(schema, random);
    if (TypeOf(schema) == "string" && schema.get_value_or<std::string>("format", "") == "date-time")
      return "2026-01-01T00:00:00Z";
    return RandomText(random);
  }
  if (type == "integer") {
    return boundary ? BoundaryNumber(schema, random)
                    : Json(static_cast<std::int64_t>(random.Below(200)));
  }
  if (type == "boolean") return random.Chance(0.5);
  if (type == "array") return ListOf(schema, random, boundary);
  return schema.contains("properties") ? ObjectOf(schema, random, boundary)
                                       : MapOf(schema, random, boundary);
}

}  // namespace

std::string Field::Name() const {
  std::string name;
  for (const std::string& part : path) name += (name.empty() ? "" : ".") + part;
  return name;
}

std::vector<Field> FieldsOf(const Json& crd, std::string_view part) {
  std::vector<Field> fields;
  for (const Json& version : crd["spec"]["versions"].array_range()) {
    if (!version.get_value_or<bool>("storage", false)) continue;
    Collect({std::string(part)}, version["schema"]["openAPIV3Schema"]["properties"][part], fields);
  }
  return fields;
}

Json BoundaryValue(const Field& field, Dice& random) { return ValueOf(field.schema, random, true); }

Json RandomValue(const Field& field, Dice& random) { return ValueOf(field.schema, random, false); }

const Json* ValueAt(const Json& object, const Field& field) {
  const Json* at = &object;
  for (const std::string& part : field.path) {
    at = at->find(part);
    if (!at) return nullptr;
  }
  return at;
}

void SetValue(Json& object, const Field& field, Json value) {
  Json* at = &object;
  for (const std::string& part : field.path) {
    if (!at->is_object()) *at = Json::Object();
    at = &(*at)[part];
  }
  *at = std::move(value);
}

}  // namespace berth::simulate
