#pragma once

#include <valgrind/callgrind.h>

#include <cstdio>
#include <cstdlib>
#include <string_view>

// For the programs of bench/hot: counts the instructions of a piece of work, under callgrind.
namespace berth::hot {

// Runs `round` twice: once so that caches and pools are warm, and once counted. A round is
// `operations` operations, and the same number of instructions in every run of the program.
// bench/hot/check divides the one by the other.
template <typename Round>
void Count(const char* name, int operations, Round round) {
  round();
  CALLGRIND_START_INSTRUMENTATION;
  round();
  CALLGRIND_STOP_INSTRUMENTATION;
  CALLGRIND_DUMP_STATS_AT(name);
  std::printf("%s %d\n", name, operations);
  std::fflush(stdout);
}

// A count of work that went wrong means nothing.
inline void Require(bool good, std::string_view what) {
  if (good) return;
  std::fprintf(stderr, "error: %.*s\n", static_cast<int>(what.size()), what.data());
  std::_Exit(1);
}

}  // namespace berth::hot
