#pragma once

#include "kube/memory/cluster.h"

// CustomResourceDefinitions, and the resources they define.
namespace berth::kube::memory {

inline constexpr std::string_view kDefinitionsGroup = "apiextensions.k8s.io";
inline constexpr std::string_view kDefinitions = "customresourcedefinitions";

Rules DefinitionRules();

// Serves what the definition defines, anew where it is served already, and says so in its status.
// Objects that are there take on what the schema has now. O(objects) after a change of the schema.
void ServeDefinition(Cluster& cluster, const Object& definition);

// The resource of a definition, or null while there is none.
std::shared_ptr<Resource> DefinedBy(const Cluster& cluster, const Value& definition);

// Says in the status that objects are being deleted; false when it does already.
bool NoteDeletionInProgress(Cluster& cluster, const Object& definition);

}  // namespace berth::kube::memory
