#pragma once

#include "kube/memory/resource.h"

// Events are one kind with two faces: core/v1, which is stored, and events.k8s.io/v1.
namespace berth::kube::memory {

Rules EventRules();
// Further rules of events.k8s.io/v1 for a new event as it is stored.
void ValidateNewEvent(const Value& event, Causes& causes);
Value EventFromStored(const Value& event);
Value EventToStored(const Value& event);
std::vector<Column> EventColumns();

}  // namespace berth::kube::memory
