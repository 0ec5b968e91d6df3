#include "server/survey.h"

namespace berth::server {

const Json* Survey::Value(std::initializer_list<std::string_view> path) const {
  const Json* at = &values;
  for (const std::string_view key : path) {
    at = at && at->is_object() ? at->find(key) : nullptr;
  }
  return at;
}

std::string Survey::Text(std::initializer_list<std::string_view> path,
                         std::string_view otherwise) const {
  const Json* value = Value(path);
  return value && value->is_string() ? value->as_string() : std::string(otherwise);
}

bool Survey::IsTrue(std::initializer_list<std::string_view> path) const {
  const Json* value = Value(path);
  return value && *value == Json(true);
}

std::vector<std::string> Survey::UncheckedNamespaces() const {
  std::vector<std::string> namespaces = {ns};
  const Json* excluded = Value({"webhooks", "excludedNamespaces"});
  if (!excluded || !excluded->is_array()) {
    namespaces.emplace_back("kube-system");
    return namespaces;
  }
  for (const Json& name : excluded->array_range()) {
    if (name.is_string()) namespaces.push_back(name.as_string());
  }
  return namespaces;
}

}  // namespace berth::server
