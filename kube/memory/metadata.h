#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kube/memory/schema.h"
#include "kube/memory/value.h"
#include "kube/names.h"

// The rules of metadata, which all kinds share.
namespace berth::kube::memory {

// Leaves out what is empty, and managedFields, which nobody keeps here; members that metadata does
// not have go too, and their paths are added to `unknown` when given. The error says which member
// has a wrong type, in the words of Go's decoder, which names the path from a built-in `kind`.
std::optional<std::string> NormalizeMetadata(Value& object, std::vector<std::string>* unknown,
                                             std::string_view kind = "");

// Adds the mistakes of an object's metadata; `old` is the metadata before an update.
void ValidateMetadata(const Value& object, const Value* old,
                      Problems (*name_problems)(std::string_view), Causes& causes);
void ValidateLabelsAndAnnotations(const Value& metadata, const std::string& path, Causes& causes);

StatusCause InvalidValue(std::string field, const Value& value, std::string_view why);
StatusCause RequiredValue(std::string field, std::string_view why = "");
StatusCause ForbiddenValue(std::string field, std::string_view why);

}  // namespace berth::kube::memory
