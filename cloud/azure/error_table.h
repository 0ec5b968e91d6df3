#pragma once

#include <string_view>

#include "http/error.h"

namespace berth::cloud::azure {

// The class of an answer with this HTTP status and error code, which are compared without case. A
// code of the table decides; else the status does. A status of 0 is that of a long-running
// operation that failed: a code that is not in the table is kRetry then, because nobody knows that
// it will not pass. O(size of the table).
ErrorClass ClassOf(int status, std::string_view code, bool writes);

// Whether the code says that the identity may not do this, as a 403 does.
bool RefusesIdentity(std::string_view code);

}  // namespace berth::cloud::azure
