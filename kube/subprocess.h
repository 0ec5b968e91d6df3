#pragma once

#include <chrono>
#include <cstddef>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "kube/error.h"

namespace berth::kube {

struct Program {
  std::string command;  // looked for in PATH unless it has a slash
  std::vector<std::string> args;
  std::vector<std::pair<std::string, std::string>> environment;  // over our own
  std::chrono::milliseconds time_limit{60'000};
  std::size_t output_limit = std::size_t{1} << 20;
};

// Runs a program and returns what it wrote to its standard output. No shell; nothing to read, its
// standard error goes nowhere, and no file of ours is open in it. Past a limit, or when `stop` is
// requested, it is killed together with what it has started. Blocks until it has ended. Errors say
// which command and how it ended, never what it wrote: kTerminal when it cannot be started as
// things are, else kRetry. Thread-safe.
Result<std::string> RunProgram(const Program& program, std::stop_token stop);

}  // namespace berth::kube
