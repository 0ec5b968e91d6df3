#pragma once

#include <string_view>

namespace berth::kube::memory {

// Whether a text is of the format a schema names, as kube-apiserver checks it; a format it does not
// know, or that is not for texts, holds for all. O(length).
bool HasFormat(std::string_view text, std::string_view format);

}  // namespace berth::kube::memory
