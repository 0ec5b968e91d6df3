#pragma once

#include "kube/memory/resource.h"

// The rules of the built-in kinds, as far as clients of Berth meet them.
namespace berth::kube::memory {

Rules NamespaceRules();
Rules ConfigMapRules();
Rules SecretRules();
Rules LeaseRules();
Rules PodRules();
Rules ServiceRules();
Rules EndpointSliceRules();

// Namespaces that cannot be deleted.
bool IsImmortal(std::string_view ns);

}  // namespace berth::kube::memory
