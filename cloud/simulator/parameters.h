#pragma once

#include <cstddef>
#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cloud/simulator/product.h"
#include "cloud/vpc.h"

// A call's parameters, read as the cloud reads them.
namespace berth::cloud::simulator {

// At most so many characters, and no URL.
bool IsText(std::string_view text, std::size_t most);
// "ResourceId.1", "ResourceId.2", … up to the first that is absent.
std::vector<std::string> Numbered(const Call& call, const std::string& name);
// "Tag.1.Key", "Tag.1.Value", …; a refusal when the cloud would not take them as tags.
std::expected<Tags, Refusal> NumberedTags(const Call& call);
// "a,b,c".
std::vector<std::string> CommaSeparated(const std::string& text);
// A whole number; `otherwise` where the parameter is not given. None when it is no number.
std::optional<std::size_t> Count(const std::string& text, std::size_t otherwise);
// Whether a type of resource, in whatever case, is the one wanted.
bool IsResource(std::string_view type, std::string_view wanted);

}  // namespace berth::cloud::simulator
