#pragma once

#include <expected>
#include <string>
#include <vector>

#include "cloud/simulator/product.h"
#include "cloud/vpc.h"

namespace berth::cloud::simulator {

// "ResourceId.1", "ResourceId.2", … up to the first that is absent.
std::vector<std::string> Numbered(const Call& call, const std::string& name);
// "Tag.1.Key", "Tag.1.Value", …; a refusal when the cloud would not take them as tags.
std::expected<Tags, Refusal> NumberedTags(const Call& call);

// What AllocateEipAddress asks for, the cloud's defaults filled in; neither ID nor address.
std::expected<Eip, Refusal> EipToAllocate(const Call& call);
// `eip` as ModifyEipAddressAttribute wants it.
std::expected<Eip, Refusal> EipModified(Eip eip, const Call& call);

}  // namespace berth::cloud::simulator
