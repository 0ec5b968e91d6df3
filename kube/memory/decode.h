#pragma once

#include <string>
#include <vector>

#include "kube/memory/call.h"
#include "kube/memory/value.h"

// From what a client sent to an object of the call's version.
namespace berth::kube::memory {

// The body of a POST or PUT.
Outcome<Value> DecodeBody(const Call& call, Decoder& decoder);

// Leaves out what the version does not know and sets defaults. With strict validation what it does
// not know is refused, as are `duplicates`. The error is the decoder's, in its words.
std::expected<void, std::string> Clean(const Call& call, Value& object,
                                       const std::vector<std::string>& duplicates);

// The names in the path and those in the object must agree; a namespace that the object leaves out
// is the path's.
Outcome<void> CheckNames(const Call& call, Value& object);

}  // namespace berth::kube::memory
