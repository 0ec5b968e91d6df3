#pragma once

#include <span>
#include <string_view>

namespace berth {

// The CustomResourceDefinitions that the chart installs, each a YAML document: the files of
// charts/berth/files/crds as they were when this was built.
std::span<const std::string_view> CustomResourceDefinitions();

}  // namespace berth
