#pragma once

#include <string_view>

#include "http/error.h"

namespace berth::cloud::aliyun {

// The class of an answer with this error code. The code decides, because the HTTP status
// says little: throttles come as 400. A code that is not in the table is kRetry: nobody knows that
// it will not pass. kNotFound: what was to be gone is gone. kConflict: the resource is not in the
// state that the caller took it to be in, so read it again. O(size of the table).
ErrorClass ClassOf(std::string_view code);

// Whether the code says that the access key is not, or no longer, good.
bool RefusesKey(std::string_view code);

}  // namespace berth::cloud::aliyun
