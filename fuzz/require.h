#pragma once

#include <cstdio>
#include <cstdlib>

// Ends the run with a finding unless `holds`; `property` is told in the log.
inline void Require(bool holds, const char* property) {
  if (holds) return;
  std::fprintf(stderr, "does not hold: %s\n", property);
  std::abort();
}
