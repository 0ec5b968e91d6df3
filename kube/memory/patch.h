#pragma once

#include "kube/memory/call.h"
#include "kube/memory/value.h"

namespace berth::kube::memory {

// The object with the call's patch applied. Refused with the Status to answer with: a type of patch
// that the resource does not take, a patch that is none, one that cannot be applied.
Outcome<Value> ApplyPatch(const Call& call, Decoder& decoder, Value object);

// RFC 7396.
void MergePatch(Value& object, const Value& patch);
// RFC 6902, but that a replace of what is not there adds it, as kube-apiserver's does. False when
// it cannot be applied, and then the object is anything. Refused, too: copies of over 3 MiB in all,
// and an object that would be deeper than Decoder::kMaxDepth.
bool JsonPatch(Value& object, const Value& patch);
// A merge patch that knows of lists: finalizers merge as a set, ownerReferences by uid, other lists
// are replaced; with the directives $patch and $deleteFromPrimitiveList.
void StrategicMergePatch(Value& object, const Value& patch);

}  // namespace berth::kube::memory
