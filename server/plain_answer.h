#pragma once

#include <string>
#include <string_view>

#include "kube/status.h"

// Answers that are written without Drogon: the head and the body, which is JSON. `close` tells the
// client that the connection ends. O(body).
namespace berth::server {

// 200.
std::string PlainAnswer(std::string_view json, bool close);
std::string PlainAnswer(const kube::Status& status, bool close);

}  // namespace berth::server
