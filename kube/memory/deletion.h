#pragma once

#include <optional>
#include <string>

#include "kube/memory/call.h"
#include "kube/memory/value.h"

// How an object's end begins: preconditions, finalizers and what becomes of those it owns.
namespace berth::kube::memory {

inline constexpr std::string_view kForegroundFinalizer = "foregroundDeletion";
inline constexpr std::string_view kOrphanFinalizer = "orphan";

// The DeleteOptions of a call, from its body and its query.
Outcome<Value> ReadDeleteOptions(const Call& call, Decoder& decoder);

// Whether the object may be deleted under these options.
Outcome<void> CheckDeletion(const Call& call, const Object& current, const Value& options);

// The effect of a deletion.
struct Deletion {
  std::optional<Value> marked;  // written first: the object as it waits for its end
  bool ends = false;            // then the object ends
};
// O(size). `now` is in Unix seconds.
Deletion MarkDeleted(const Resource& resource, const Object& current, const Value& options,
                     std::int64_t now);

}  // namespace berth::kube::memory
