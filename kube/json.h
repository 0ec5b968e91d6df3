#pragma once

#include <jsoncons/json.hpp>

namespace berth {

// JSON that is built, patched or written; members keep the order they were given. For reading
// requests see json_view.h.
using Json = jsoncons::ojson;

}  // namespace berth
