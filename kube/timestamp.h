#pragma once

#include <chrono>
#include <format>
#include <string>

#include "async/executor.h"

namespace berth::kube {

// As the API writes a Time: 2026-01-02T03:04:05Z.
inline std::string FormatTime(async::WallTime time) {
  return std::format("{:%FT%T}Z", std::chrono::floor<std::chrono::seconds>(time));
}

// As the API writes a MicroTime: 2026-01-02T03:04:05.000000Z.
inline std::string FormatMicroTime(async::WallTime time) {
  return std::format("{:%FT%T}Z", std::chrono::floor<std::chrono::microseconds>(time));
}

}  // namespace berth::kube
